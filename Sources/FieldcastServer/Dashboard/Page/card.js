// A trip's card as a phone draws it: on the Lock Screen and in the Dynamic Island's three forms.

import { h, s } from "./dom.js";
import { clock, count, day, hour, label, span } from "./words.js";

/** What phones show at `now`: the state, and how the system shows it. */
export function cardNow(trip, now) {
  const quiet = trip.quiet;
  const shown = trip.shown ?? (trip.revision === trip.published && trip.published > 0
    ? { revision: trip.revision, state: trip.contentState } : null);
  if (trip.phase === "scheduled") return { look: "none", why: "The trip has not started." };
  // Members who join are given the state of that moment.
  const card = shown ?? { revision: trip.revision, state: trip.contentState, isUntold: true };
  const staleAt = Math.max(shown?.staleAt ?? 0, quiet?.staleAt ?? 0) || undefined;
  if (trip.phase === "ended") {
    // Without an accepted end a trip is over when the system has taken every card off.
    const isGone = trip.finalAccepted === false || (trip.goneAt !== undefined && now >= trip.goneAt);
    return { ...card, look: isGone ? "gone" : "ended" };
  }
  const isStale = staleAt !== undefined && now >= staleAt;
  return { ...card, staleAt, look: isStale ? "stale" : "live" };
}

/** The forms that a built-in kind of card has; every other kind is a list of its fields. */
const kinds = {
  "field-trip": fieldTrip, "conversation-turn": conversationTurn, "job-progress": jobProgress,
};

export function forms(trip, state, now) {
  const attributes = isObject(trip.attributes) ? trip.attributes : {};
  const make = kinds[trip.type] ?? generic;
  return make(isObject(state) ? state : {}, attributes, trip, now);
}

export function phone(trip, card, now) {
  const dark = card.look === "stale" || card.look === "ended" ? card.look : "";
  return h("div", { class: "phone", role: "img", "aria-label": phoneWords(trip, card, now) },
    h("div", { class: "screen" },
      h("span", { class: "lens" }),
      h("p", { class: "date" }, day(now)),
      h("p", { class: "clock" }, hour(now)),
      card.look === "none" || card.look === "gone"
        ? h("p", { class: "nocard" }, card.look === "gone" ? "The card is gone." : card.why)
        : h("div", { class: `activity ${dark}` },
            forms(trip, card.state, now).lock,
            card.look === "stale" && h("p", { class: "tag" },
              `Not updated for ${span(now - (card.staleAt ?? now))} past its stale date`),
            card.look === "ended" && h("p", { class: "tag" }, "Ended"))));
}

function phoneWords(trip, card, now) {
  const words = wording(trip, now);
  if (card.look === "none" || card.look === "gone") return "A Lock Screen without a card";
  const state = Object.entries(isObject(card.state) ? card.state : {})
    .map(([name, value]) => `${label(name)} ${words(name, value)}`);
  return `A Lock Screen whose card ${card.look === "live" ? "shows" : `is ${card.look} and shows`} ` +
    `${trip.name}: ${state.join(", ")}`;
}

export function islands(trip, card, now) {
  if (card.look === "none" || card.look === "gone" || card.look === "ended") {
    return h("p", { class: "note" }, "Nothing is in the Dynamic Island.");
  }
  const { icon, compact, expanded } = forms(trip, card.state, now);
  const stale = card.look === "stale" ? "stale" : "";
  return h("div", { class: "islands" },
    h("figure", {}, h("div", { class: `island ${stale}` }, icon(), h("span", {}, compact)),
      h("figcaption", {}, "Compact")),
    h("figure", {}, h("div", { class: `island round ${stale}` }, icon()),
      h("figcaption", {}, "Minimal")),
    h("figure", { class: "wide" }, h("div", { class: `island large ${stale}` }, expanded),
      h("figcaption", {}, "Expanded")));
}

// The kinds

function fieldTrip(state, attributes, trip) {
  const notes = count(Number(state.notesCaptured) || 0);
  const icon = () => glyph("M12 3l7 3v5c0 4.6-3 8.4-7 10-4-1.6-7-5.4-7-10V6zM9 12l2.2 2.2L15.4 10");
  const place = state.lastPlaceName && h("p", { class: "sub" }, `Last at ${plain(state.lastPlaceName)}`);
  const title = head(icon, attributes.name ?? trip.name, attributes.notebook ?? trip.notebook);
  const figure = h("p", { class: "figure" }, h("b", {}, notes),
    notes === "1" ? " note captured" : " notes captured");
  return { icon, compact: notes, lock: [title, figure, place], expanded: [title, figure, place] };
}

const turns = {
  sending: ["Sending", "M4 12l16-8-6 16-3-6z"],
  thinking: ["Thinking …", "M6 12h.01M12 12h.01M18 12h.01"],
  answered: ["The answer is here", "M5 12.5l4.5 4.5L19 7.5"],
};

function conversationTurn(state, attributes, trip) {
  const [words, path] = turns[state.phase] ?? [plain(state.phase), turns.sending[1]];
  const icon = () => glyph(path);
  const title = head(icon, attributes.name ?? trip.name, "Assistant");
  const figure = h("p", { class: "figure" }, h("b", { class: "words" }, words));
  const steps = h("p", { class: "steps" }, Object.keys(turns).map((phase, place, all) =>
    h("i", { class: place <= all.indexOf(state.phase) ? "done" : null })));
  return {
    icon, compact: words.split(" ")[0], lock: [title, figure, steps],
    expanded: [title, figure, steps],
  };
}

function jobProgress(state, attributes, trip) {
  const share = Math.min(1, Math.max(0, Number(state.progress) || 0));
  const percent = `${Math.round(share * 100)} %`;
  const [outcome, detail] = Object.entries(isObject(state.result) ? state.result : {})[0] ?? [];
  const paths = {
    succeeded: "M5 12.5l4.5 4.5L19 7.5", failed: "M12 7v6M12 17h.01",
    cancelled: "M7 7l10 10M17 7L7 17",
  };
  const icon = () => glyph(paths[outcome] ?? "M12 4a8 8 0 1 1-8 8M12 8v4l3 2");
  const title = head(icon, attributes.name ?? trip.name, state.sender && plain(state.sender));
  const words = outcome
    ? [label(outcome), detail?.summary ?? detail?.message ?? (detail?.by && `by ${detail.by}`)]
        .filter(Boolean).map(plain).join(": ")
    : state.stage === "queued" ? "Queued" : percent;
  const figure = h("p", { class: "figure" }, h("b", { class: outcome ? "words" : null }, words));
  const bar = h("p", { class: `progress ${outcome ?? ""}` },
    h("i", { style: { width: outcome === "succeeded" ? "100%" : `${share * 100}%` } }));
  return {
    icon, compact: outcome ? label(outcome) : percent, lock: [title, figure, bar],
    expanded: [title, figure, bar],
  };
}

function generic(state, attributes, trip, now) {
  const icon = () => glyph("M6 8h12M6 12h12M6 16h7");
  const title = head(icon, attributes.name ?? trip.name, label(trip.type));
  const words = wording(trip, now);
  const rows = Object.entries(state).map(([name, value]) =>
    h("div", {}, h("dt", {}, label(name)), h("dd", {}, words(name, value))));
  const list = h("dl", { class: "fields" }, rows);
  const first = Object.entries(state).find(([, value]) => typeof value !== "object");
  return {
    icon, compact: first ? words(...first) : "", lock: [title, list],
    expanded: [title, list],
  };
}

// Parts

function head(icon, title, sub) {
  return h("div", { class: "head" }, icon(),
    h("div", {}, h("b", {}, plain(title)), sub && h("span", {}, plain(sub))));
}

const glyph = (path) =>
  s("svg", { class: "glyph", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path }));

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A value in a few words. */
function plain(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return count(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const reference = Date.UTC(2001, 0, 1);

/** How the values of a trip's fields are written, by what its type says they are. */
export function wording(trip, now) {
  const kinds = new Map((trip.fields ?? []).map((field) => [field.name, field.kind]));
  return (name, value) => valueOf(value, kinds.get(name), now);
}

function valueOf(value, kind, now) {
  if (kind === "secondsSince1970" && Number.isFinite(value)) return clock(value * 1000, now);
  if (kind === "secondsSince2001" && Number.isFinite(value)) {
    return clock(reference + value * 1000, now);
  }
  if (kind === "list" && Array.isArray(value)) return value.map(plain).join(", ") || "none";
  if (kind === "oneOf" && isObject(value)) return Object.keys(value).map(label).join(", ");
  return plain(value);
}
