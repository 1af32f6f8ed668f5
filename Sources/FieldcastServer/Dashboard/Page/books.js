// Channels against their quota, and dead letters with their reasons.

import { h } from "./dom.js";
import { tile } from "./trips.js";
import { ago, clock, count, counted, span } from "./words.js";

// Channels

const uses = [
  ["trips", "of trips"], ["warm", "made ahead"], ["beingCreated", "being created"],
  ["awaitingDeletion", "to be deleted"], ["foreign", "in nobody’s books"],
];

export function channelsView(state) {
  const { channels, trips } = state.told;
  if (!channels) return h("p", { class: "empty" }, "Reading the channels …");
  const now = state.now();
  return h("div", { class: "stack", "data-key": "channels" },
    h("h1", {}, "Channels"),
    trips && deletions(trips, now),
    channels.apps.map((app) => appPanel(app, now)));
}

function deletions({ totals }, now) {
  return h("div", { class: "tiles" },
    tile("Due for deletion", count(totals.deletions),
      totals.nextDeletion
        ? `channels of ended trips, the next ${totals.nextDeletion > now ? `in ${span(totals.nextDeletion - now)}` : "now"}`
        : "no ended trip has one"),
    tile("Live trips without a channel", count(totals.withoutChannel),
      totals.withoutChannel ? "their members are reached by token" : "each has one"));
}

function appPanel(app, now) {
  const share = (app.used * 100) / app.limit;
  const words = { ample: "ample", scarce: "scarce: none is made ahead", usedUp: "used up: new trips are reached by token" };
  return h("section", { class: "panel", "data-key": app.app },
    h("h2", {}, app.app),
    h("p", {}, h("b", {}, count(app.used)), ` of ${count(app.limit)} channels, `,
      `${share >= 10 ? Math.round(share) : share.toFixed(1)} %: `,
      h("span", { class: app.level === "ample" ? "fresh" : "behind" }, words[app.level])),
    h("div", { class: "quota", role: "img", "aria-label": `${count(app.used)} of ${count(app.limit)} used` },
      uses.filter(([name]) => app[name] > 0).map(([name]) =>
        h("i", { class: name, style: { width: `${Math.max(0.4, (app[name] * 100) / app.limit)}%` } }))),
    h("dl", { class: "uses" }, uses.map(([name, text]) =>
      h("div", {}, h("dt", {}, h("i", { class: name }), text), h("dd", {}, count(app[name]))))),
    app.nextDeletion && h("p", { class: "note" }, `The next of those that no trip looks after is deleted `,
      app.nextDeletion > now ? `in ${span(app.nextDeletion - now)}.` : "now."),
    app.foreign > 0 && h("p", { class: "note" },
      "What is in nobody’s books may be another service’s that shares the app. ",
      h("code", {}, "fieldcast channels reconcile"), " lists them; they are deleted only when they are named."));
}

// Dead letters

export function lettersView(state) {
  const letters = state.told.deadLetters;
  if (!letters) return h("p", { class: "empty" }, "Reading the dead letters …");
  const now = state.now();
  return h("div", { class: "stack", "data-key": "letters" },
    h("h1", {}, "Dead letters"),
    h("p", { class: "note" }, letters.count
      ? `${counted(letters.count, "message")} could not be taken in; the newest ${count(letters.letters.length)}:`
      : "Everything that came was taken in."),
    letters.letters.length > 0 && h("ul", { class: "letters" }, letters.letters.map((letter) =>
      h("li", { class: "panel" },
        h("p", {}, h("span", { class: "pill bad" }, letter.reason), " ",
          h("span", { class: "soft" }, `by ${letter.door}, ${clock(letter.at, now)}, ${ago(letter.at, now)}`)),
        h("p", {}, letter.message),
        letter.excerpt && h("pre", { tabindex: "0" }, letter.excerpt)))));
}
