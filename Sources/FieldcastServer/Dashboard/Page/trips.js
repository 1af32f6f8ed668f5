// The list of trips: who is reached, and how fresh what phones show is.

import { h } from "./dom.js";
import { sparkline } from "./chart.js";
import { ago, count, counted, span } from "./words.js";

export const reaches = [
  ["channel", "channel"], ["updateToken", "token"], ["startToken", "start only"], ["none", "none"],
];

const phases = [["all", "All"], ["live", "Live"], ["scheduled", "Scheduled"], ["ended", "Ended"]];

export function tripsView(state) {
  const trips = state.told.trips;
  if (!trips) return h("p", { class: "empty" }, "Reading the trips …");
  return h("div", { class: "stack", "data-key": "trips" },
    h("h1", { class: "hidden" }, "Trips"),
    tiles(trips, state.told.health),
    h("section", { class: "panel flush" },
      tools(state, trips),
      trips.trips.length ? table(trips.trips, state.now()) : nothing(state, trips),
      more(state, trips)));
}

// Tiles

function tiles({ totals, complete }, health) {
  const members = reaches.reduce((sum, [name]) => sum + totals.members[name], 0);
  const reached = totals.members.channel + totals.members.updateToken;
  return h("div", { class: "tiles" },
    tile("Live trips", count(totals.live),
      `${count(totals.scheduled)} scheduled, ${count(totals.ended)} ended`),
    tile("Members reached", members ? `${Math.floor((reached * 100) / members)} %` : "–",
      members ? `${count(reached)} of ${count(members)}` : "nobody has joined",
      members > 0 && reachBar(totals.members)),
    tile("Behind", count(totals.behind),
      totals.behind ? "live trips with changes that wait" : "phones show what was captured"),
    totals.unreadable > 0 && tile("Unreadable", count(totals.unreadable),
      "trips that another version of this program wrote"),
    broadcastTile(health),
    !complete && tile("Counting", "…", "not all trips were seen yet"));
}

export function tile(name, value, more, extra) {
  return h("div", { class: "tile", "data-key": name },
    h("p", {}, name), h("b", {}, value), extra, h("small", {}, more));
}

/** The last minute of all nodes together. */
export function minute(health) {
  const sum = {};
  for (const { report } of health?.nodes ?? []) {
    for (const [name, values] of Object.entries(report?.minute ?? {})) {
      if (!Array.isArray(values)) continue;
      // The newest stand at the end; a node that began lately has fewer.
      const whole = (sum[name] ??= new Array(30).fill(0));
      values.forEach((value, place) => { whole[30 - values.length + place] += value; });
    }
  }
  return sum;
}

export const total = (values) => (values ?? []).reduce((sum, value) => sum + value, 0);

function broadcastTile(health) {
  if (!health) return null;
  const sum = minute(health);
  const sent = (sum.accepted10 ?? []).map((value, place) => value + sum.accepted5[place]);
  const throttled = total(sum.throttled);
  return tile("Broadcasts, last minute", count(total(sent)),
    `${count(total(sum.accepted10))} at priority 10` +
      (throttled ? `, ${counted(throttled, "429")}` : ", no 429"),
    sparkline(sent, sum.throttled));
}

// Tools

function tools(state, trips) {
  return h("div", { class: "tools" },
    h("label", { class: "search" },
      h("span", { class: "hidden" }, "Search trips"),
      h("input", {
        type: "search", placeholder: "Search name, notebook, type or ID", "data-action": "search",
        spellcheck: "false", autocomplete: "off", "aria-keyshortcuts": "/",
      })),
    h("div", { class: "segments", role: "group", "aria-label": "Which trips" },
      phases.map(([value, name]) =>
        h("button", {
          type: "button", "data-action": "phase", value, "data-key": value,
          "aria-pressed": String(state.list.phase === value),
        }, name))),
    // Spoken when somebody looks for something, and not with each trip that comes.
    h("p", { class: "note", role: state.list.search || state.list.phase !== "all" ? "status" : null },
      `${count(trips.trips.length)} of ${counted(trips.matching, "trip")}, newest first`));
}

function nothing(state, trips) {
  const { search, phase } = state.list;
  return h("p", { class: "empty" },
    search || phase !== "all"
      ? "No trip is like that."
      : trips.complete
        ? "No trips yet. POST /v1/trips makes one."
        : "Reading the trips …");
}

function more(state, trips) {
  if (trips.matching <= trips.trips.length) return null;
  return h("p", { class: "more" },
    trips.trips.length < 200 && state.list.limit < 200
      ? h("button", { type: "button", "data-action": "more" }, "Show more")
      : h("span", { class: "note" }, "Search for the others by name or ID."));
}

// The table

function table(trips, now) {
  const heads = ["Trip", "Phase", "Reach", "Freshness", "Last change"];
  return h("table", { class: "trips" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", { "data-walk": true }, trips.map((trip) => row(trip, now))));
}

function row(trip, now) {
  if (trip.unreadable) return unreadableRow(trip);
  return h("tr", { "data-key": trip.trip },
    h("th", { scope: "row" },
      h("a", { href: `#/trips/${encodeURIComponent(trip.trip)}` }, trip.name || "(no name)"),
      h("small", {}, trip.notebook, trip.notebook && " · ", trip.type)),
    h("td", {}, phasePill(trip.phase), trip.channel === "unavailable" && trip.phase === "live" &&
      h("small", {}, "no channel")),
    h("td", { class: "reach" }, reachCell(trip.members)),
    h("td", {}, freshness(trip, now)),
    h("td", { class: "time" }, ago(trip.movedAt, now)));
}

function unreadableRow(trip) {
  return h("tr", { "data-key": trip.trip },
    h("th", { scope: "row" },
      h("a", { href: `#/trips/${encodeURIComponent(trip.trip)}` }, "(cannot be read)"),
      h("small", {}, h("code", {}, trip.trip))),
    h("td", {}, h("span", { class: "pill bad" }, "unreadable")),
    h("td", { colspan: "3" }, h("small", {}, trip.unreadable)));
}

export const phasePill = (phase) => h("span", { class: `pill ${phase}` }, phase);

export function freshness(trip, now) {
  const numbers = h("small", { class: "numbers" },
    `revision ${count(trip.revision)}, published ${count(trip.published)}`);
  if (trip.phase === "scheduled") return [h("span", { class: "soft" }, "not started"), numbers];
  if (trip.waiting) {
    const since = trip.changedAt ? `, newest ${span(now - trip.changedAt)} old` : "";
    return [
      h("span", { class: "behind" }, `${count(trip.waiting)} behind`, h("i", {}, since)), numbers,
    ];
  }
  if (trip.finalAccepted === false) {
    return [h("span", { class: "behind" }, "final state never accepted"), numbers];
  }
  const words = { live: "current", ending: "the end is being sent" };
  return [h("span", { class: "fresh" }, words[trip.phase] ?? "final state sent"), numbers];
}

function reachCell(members) {
  const all = reaches.reduce((sum, [name]) => sum + members[name], 0);
  if (!all) return h("span", { class: "soft" }, "nobody yet");
  return [reachBar(members), h("small", {}, reachWords(members))];
}

export const reachWords = (members) =>
  reaches.filter(([name]) => members[name]).map(([name, words]) => `${count(members[name])} ${words}`)
    .join(" · ");

export function reachBar(members) {
  return h("span", { class: "shares", role: "img", "aria-label": reachWords(members) },
    reaches.filter(([name]) => members[name]).map(([name]) =>
      h("i", { class: name, style: { flexGrow: String(members[name]) } })));
}
