// Pictures of what happened over time.

import { h, s } from "./dom.js";
import { clock, count, counted } from "./words.js";

/** A minute in thirty bars; what was refused stands on top in another colour. */
export function sparkline(values, refused = []) {
  const most = Math.max(1, ...values.map((value, place) => value + (refused[place] ?? 0)));
  const bars = values.flatMap((value, place) => {
    const bad = refused[place] ?? 0;
    const [high, top] = [(value * 24) / most, ((value + bad) * 24) / most];
    return [
      value > 0 && s("rect", { x: place * 4, y: 25 - high, width: 3, height: high, class: "c1" }),
      bad > 0 && s("rect", { x: place * 4, y: 25 - top, width: 3, height: top - high, class: "bad" }),
    ];
  });
  return s("svg", { class: "spark", viewBox: "0 0 120 26", "aria-hidden": "true",
    preserveAspectRatio: "none" }, s("path", { class: "grid", d: "M0 25.5H120" }), bars);
}

const [width, left, right] = [920, 96, 14];
const lanes = { captures: [14, 50], broadcasts: [64, 122], budget: [140, 226] };
const height = 252;

/** A trip's triggers, broadcasts and budget on one axis of time. */
export function timeline(trip, now) {
  const triggers = trip.sends.map((send) => send.triggers).concat(trip.waitingTriggers ?? []);
  const captures = triggers.flatMap(({ kept }) => kept ?? []).map((trigger) => trigger[2]);
  // Of many that came between two broadcasts the first and the last are kept.
  const all = triggers.reduce((sum, each) => sum + (each.count ?? 0), 0);
  const last = trip.endedAt ?? now;
  const first = Math.min(last - 60000, ...trip.sends.map((send) => send.sent), ...captures);
  const x = (time) => left + ((time - first) * (width - left - right)) / (last - first);
  return h("figure", { class: "timeline" },
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Timeline" },
      s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `${counted(all, "trigger")} and ${counted(trip.sends.length, "broadcast")}` },
        axis(first, last, x, now), laneNames(),
        captures.map((time) =>
          s("path", { class: "tick c3", d: `M${x(time).toFixed(1)} 18V48` })),
        trip.sends.map((send) => mark(send, x)),
        budget(trip, first, last, x))),
    h("figcaption", { class: "keys" },
      keyOf("tick", all > captures.length
        ? `trigger (${count(captures.length)} of ${count(all)} are drawn)` : "trigger"),
      keyOf("p10", "priority 10"), keyOf("p5", "priority 5"),
      keyOf("failed", "not accepted"), keyOf("end", "end"), keyOf("level", "tokens in the bucket")));
}

const keyOf = (kind, text) => h("span", { class: "key" }, h("i", { class: kind }), text);

function laneNames() {
  const names = [["Triggers", 36], ["Broadcasts", 97], ["Budget", 186]];
  return names.map(([name, y]) => s("text", { x: 0, y, class: "tick-text" }, name));
}

function axis(first, last, x, now) {
  const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];
  const step = 1000 * (steps.find((each) => (last - first) / 1000 / each <= 7) ?? 172800);
  const marks = [];
  for (let time = Math.ceil(first / step) * step; time <= last; time += step) {
    const place = x(time).toFixed(1);
    const text = clock(time, now);
    marks.push(
      s("path", { class: "grid", d: `M${place} 10V230` }),
      s("text", { class: "tick-text", x: place, y: height - 6, "text-anchor": "middle" },
        // Another day's without its year, and whole minutes without seconds.
        text.length > 8 ? text.slice(5) : step >= 60000 ? text.slice(0, 5) : text));
  }
  return marks;
}

function mark(send, x) {
  const place = x(send.sent);
  const title = s("title", {}, send.text);
  const at = place.toFixed(1);
  if (send.outcome !== "accepted") {
    return s("path", { class: "failed", d: `M${place - 4} 89l8 8m0-8l-8 8` }, title);
  }
  if (send.end) return s("rect", { class: "end", x: place - 4, y: 89, width: 8, height: 8 }, title);
  return send.priority === 10
    ? s("g", { class: "p10" }, s("path", { d: `M${at} 116V76` }),
        s("circle", { cx: at, cy: 76, r: 4.5 }), title)
    : s("g", { class: "p5" }, s("path", { d: `M${at} 116V98` }),
        s("circle", { cx: at, cy: 98, r: 4 }), title);
}

/** The bucket's level between first and last: each send has the level after its answer, and how it
    filled from then on. */
export function levels(trip, first, last) {
  const known = trip.sends.filter((send) => send.level !== undefined);
  const full = trip.budget.capacity;
  if (!known.length) return [[first, full], [last, full]];
  // Before the first that is kept it was where that took a token from.
  const { capacity, level, priority, end } = known[0];
  const before = Math.min(capacity, level + (priority === 10 && !end ? 1 : 0));
  const points = [[first, before], [known[0].sent, before]];
  known.forEach((send, place) => {
    points.push([send.sent, send.level]);
    const until = known[place + 1]?.sent ?? last;
    const full = send.sent + (send.capacity - send.level) * send.refillMilliseconds;
    if (full > send.sent && full < until) points.push([full, send.capacity]);
    const risen = send.level + (until - send.sent) / send.refillMilliseconds;
    points.push([until, Math.min(send.capacity, risen)]);
  });
  return points;
}

function budget(trip, first, last, x) {
  const { overdraft } = trip.budget;
  const [top, bottom] = lanes.budget;
  const points = levels(trip, first, last);
  const capacity = Math.max(trip.budget.capacity, ...points.map((point) => point[1]));
  const least = Math.min(0, ...points.map((point) => point[1]));
  const low = least < 0 ? -overdraft : 0;
  const y = (level) => bottom - ((level - low) * (bottom - top)) / (capacity - low);
  const line = points.map(([time, level]) => `${x(time).toFixed(1)} ${y(level).toFixed(1)}`);
  const path = `M${line.join("L")}`;
  const area = `${path}L${x(last).toFixed(1)} ${y(0)}L${x(points[0][0]).toFixed(1)} ${y(0)}Z`;
  return [
    s("path", { class: "area", d: area }), s("path", { class: "level", d: path }),
    s("path", { class: "zero", d: `M${left} ${y(0)}H${width - right}` }),
    s("text", { class: "tick-text", x: left - 6, y: top + 5, "text-anchor": "end" }, Math.round(capacity)),
    s("text", { class: "tick-text", x: left - 6, y: y(0) + 4, "text-anchor": "end" }, "0"),
  ];
}
