// One trip: its card as phones show it now, and how it came about.

import { h } from "./dom.js";
import { cardNow, islands, phone, wording } from "./card.js";
import { timeline } from "./chart.js";
import { freshness, phasePill, reachBar, reaches, reachWords, tile } from "./trips.js";
import { ago, clock, count, counted, label, span } from "./words.js";

export function tripView(state, route) {
  const trip = state.told.trip;
  const back = h("p", { class: "back" }, h("a", { href: "#/" }, "‹ All trips"));
  if (!trip || trip.trip !== route.trip) return [back, h("p", { class: "empty" }, "Reading the trip …")];
  if (trip.unknown) {
    return [back, h("h1", {}, "No such trip"),
      h("p", { class: "empty" }, "Was it created, or is it long over? ", h("code", {}, trip.trip))];
  }
  if (trip.unreadable) {
    return [back, h("h1", {}, "This trip cannot be read"), h("p", { class: "empty" },
      "Another version of this program wrote it, or something else did. ", trip.unreadable)];
  }
  const now = state.now();
  const card = cardNow(trip, now);
  return h("div", { class: "stack", "data-key": trip.trip },
    back, heading(trip, now),
    h("div", { class: "halves" },
      h("section", { class: "panel card", "aria-labelledby": "card" },
        h("h2", { id: "card" }, "What phones show now"),
        h("div", { class: "shown" }, phone(trip, card, now),
          h("div", {}, islands(trip, card, now), cardWords(trip, card, now)))),
      h("div", { class: "stack" },
        figures(trip, now),
        h("section", { class: "panel" }, h("h2", {}, "Why"),
          h("ul", { class: "why" }, trip.summary.map((sentence) => h("li", {}, sentence)))))),
    h("section", { class: "panel" }, h("h2", {}, "Triggers, broadcasts and budget"),
      trip.sends.length || trip.waitingTriggers?.count
        ? timeline(trip, now)
        : h("p", { class: "empty" }, "Nothing was captured or sent yet.")),
    h("section", { class: "panel flush" }, h("h2", {}, "Broadcasts and APNs’ answers"),
      broadcasts(trip, now)));
}

function heading(trip, now) {
  const facts = [
    trip.notebook, trip.type, trip.app,
    trip.node ? `partition ${trip.partition} of node ${trip.node}` : `partition ${trip.partition}, without an owner now`,
    times(trip, now),
  ];
  return h("div", { class: "heading" },
    h("h1", {}, trip.name || "(no name)", " ", phasePill(trip.phase)),
    h("p", { class: "note" }, facts.filter(Boolean).join(" · ")),
    h("p", { class: "note codes" }, "Trip ", h("code", {}, trip.trip),
      trip.channelID && [" Channel ", h("code", {}, trip.channelID)],
      ` ${channelWords(trip, now)}`));
}

function times(trip, now) {
  if (trip.phase === "scheduled") return `starts ${clock(trip.startsAt, now)}`;
  if (trip.endedAt) return `ended ${clock(trip.endedAt, now)}, ${ago(trip.endedAt, now)}`;
  return `since ${clock(trip.startsAt, now)}, ends ${clock(trip.endsAt, now)}`;
}

function channelWords(trip, now) {
  switch (trip.channel) {
    case "open": return `(${trip.storage === "mostRecent" ? "keeps the most recent message" : "no storage"})`;
    case "deletionDue": return `is deleted ${trip.deletionAt > now ? `in ${span(trip.deletionAt - now)}` : "now"}`;
    case "opening": return "The channel is being opened.";
    case "unavailable": return "Without a channel: members are reached by token.";
    default: return "The channel is deleted.";
  }
}

// Figures

function figures(trip, now) {
  const members = reaches.reduce((sum, [name]) => sum + trip.members[name], 0);
  const state = freshness(trip, now);
  return h("div", { class: "tiles narrow" },
    tile("Members", count(members), members ? reachWords(trip.members) : "nobody has joined",
      members > 0 && reachBar(trip.members)),
    h("div", { class: "tile", "data-key": "fresh" }, h("p", {}, "Freshness"),
      h("b", { class: "words" }, state[0]), state[1]),
    budgetTile(trip, now));
}

function budgetTile(trip, now) {
  const { capacity, refillMilliseconds, anchor, perHour, ratePerHour } = trip.budget;
  const level = anchor === undefined
    ? capacity : Math.min(capacity, (now - anchor) / refillMilliseconds);
  const rate = ratePerHour < perHour
    ? `${+ratePerHour.toFixed(1)} an hour, slowed down from ${perHour}` : `${perHour} an hour`;
  return tile("Budget", `${Math.max(level, -99).toFixed(1)} of ${capacity}`,
    level < 0 ? `in debt; ${rate}` : `tokens for priority 10; ${rate}`,
    h("span", { class: "gauge" },
      h("i", { style: { width: `${(Math.max(0, level) * 100) / capacity}%` } })));
}

// The card

function cardWords(trip, card, now) {
  if (card.look === "none") return null;
  // What is spoken when it changes, and what changes each second.
  const [words, more] = [[], []];
  if (trip.finalAccepted === false) {
    words.push("APNs never accepted the end. The system has taken the card off by now.");
  } else if (card.look === "gone") {
    words.push(`It was taken off the Lock Screen at ${clock(trip.goneAt, now)}${trip.goneBySystem ? " at the latest" : ""}.`);
  } else if (card.isUntold) {
    words.push("APNs has accepted nothing of this trip yet: who joins starts with this state.");
  } else {
    words.push(`Revision ${count(card.revision)}` +
      (card.at ? `, accepted ${clock(card.at, now)}.` : "."));
    if (card.at) more.push(`Accepted ${ago(card.at, now)}.`);
  }
  if (card.look === "ended" && trip.goneAt) {
    more.push(`It stays for ${trip.goneBySystem ? "up to " : ""}${span(trip.goneAt - now)} more.`);
  }
  if (trip.phase === "ending") words.push("The end waits for APNs to accept it.");
  if (card.look === "live" && card.staleAt) more.push(`Stale in ${span(card.staleAt - now)} if nothing comes.`);
  if (card.look === "stale") {
    words.push(`Stale since ${clock(card.staleAt, now)}: no broadcast was accepted for that long.`);
  }
  if (trip.quiet && trip.quiet.revision > (card.revision ?? 0)) {
    words.push(`Revision ${count(trip.quiet.revision)} followed at priority 5: a phone may show it already.`);
  }
  return [
    h("p", { class: "note", role: "status" }, words.join(" ")),
    more.length > 0 && h("p", { class: "note" }, more.join(" ")),
    trip.waiting > 0 && card.look !== "gone" && waiting(trip, card, now),
  ];
}

/** What the stored state has and phones do not. */
function waiting(trip, card, now) {
  const words = wording(trip, now);
  const [shown, stored] = [card.state ?? {}, trip.contentState ?? {}];
  const names = [...new Set([...Object.keys(shown), ...Object.keys(stored)])]
    .filter((name) => JSON.stringify(shown[name]) !== JSON.stringify(stored[name]));
  return h("div", { class: "waits" },
    h("p", {}, `${counted(trip.waiting, "change")} up to revision ${count(trip.revision)} not on phones yet:`),
    h("dl", { class: "changes" }, names.map((name) =>
      h("div", {}, h("dt", {}, label(name)),
        h("dd", {}, h("s", {}, words(name, shown[name])), " → ", h("b", {}, words(name, stored[name])))))));
}

// Broadcasts

function broadcasts(trip, now) {
  if (!trip.sends.length) return h("p", { class: "empty" }, "No broadcast yet.");
  const heads = ["Sent", "Priority", "Revision", "Carried", "Answer"];
  return h("div", { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "Broadcasts" },
    h("table", { class: "sends" },
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, [...trip.sends].reverse().map((send) => row(send, now)))));
}

const outcomes = {
  accepted: "accepted", throttled: "throttled", providerTokenThrottled: "turned away",
  notSent: "not sent", unknown: "unknown", channelGone: "channel gone", refused: "refused",
};

function row(send, now) {
  return h("tr", { "data-key": `${send.sent}-${send.priority}-${send.revision}` },
    h("th", { scope: "row" }, clock(send.sent, now)),
    h("td", {}, h("span", { class: `pill ${send.end ? "ended" : `p${send.priority}`}` },
      send.end ? "end" : send.priority)),
    h("td", { class: "numbers" }, send.revision === undefined ? "–" : count(send.revision)),
    h("td", {}, carried(send.triggers, now)),
    h("td", {},
      h("span", { class: send.outcome === "accepted" ? "fresh" : "behind" },
        outcomes[send.outcome] ?? send.outcome),
      h("small", {}, send.outcome === "accepted"
        ? `after ${span(send.answered - send.sent) === "0 s" ? `${send.answered - send.sent} ms` : span(send.answered - send.sent)}`
        : send.answer)));
}

function carried(triggers, now) {
  if (!triggers.count) return h("span", { class: "soft" }, "–");
  const left = triggers.count - triggers.kept.length;
  return h("details", {},
    h("summary", {}, counted(triggers.count, "trigger")),
    h("ul", {}, triggers.kept.map(([id, kind, at, verdict]) =>
      h("li", {}, h("code", {}, id), ` ${kind}, ${clock(at, now)}`, verdict !== "changed" && `, ${verdict}`)),
      left > 0 && h("li", {}, `and ${count(left)} more`)));
}
