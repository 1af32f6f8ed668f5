// Numbers, times and names as people read them. Times of day are UTC, as in the service's sentences.

const grouping = new Intl.NumberFormat("en-US");

export const count = (number) => grouping.format(number ?? 0);

/** `1 trip`, `2 trips`. */
export const counted = (number, one, many = one + "s") =>
  `${count(number)} ${number === 1 ? one : many}`;

/** `8 s`, `3 min`, `2 h 5 min`, `4 d`: as exact as one wants to know at a glance. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 && hours < 10 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

export const ago = (time, now) => (now - time < 1000 ? "just now" : `${span(now - time)} ago`);

/** `412 µs`, `1.2 ms`, `3.4 s`. */
export function took(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${+(seconds * 1000).toPrecision(2)} ms`;
  return `${+seconds.toPrecision(2)} s`;
}

const iso = (time) => new Date(time).toISOString();

/** `10:41:28`; `2025-11-30 10:41` when that is another day than `now`'s. What is beyond the calendar is
    a dash. */
export function clock(time, now) {
  if (Number.isNaN(new Date(time).getTime())) return "–";
  const text = iso(time);
  return text.slice(0, 10) === iso(now).slice(0, 10)
    ? text.slice(11, 19)
    : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

/** `10:41`, as a phone's Lock Screen has it. */
export const hour = (time) => iso(time).slice(11, 16).replace(/^0/, "");

/** `Monday 30 November`. */
export const day = (time) =>
  new Date(time)
    .toLocaleDateString("en-GB", {
      weekday: "long", day: "numeric", month: "long", timeZone: "UTC",
    })
    .replace(",", "");

/** `lastPlaceName` as `Last place name`. */
export function label(name) {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `12.3 MB`. */
export function bytes(number) {
  if (number < 1e6) return `${Math.round(number / 1e3)} kB`;
  return number < 1e9 ? `${(number / 1e6).toFixed(1)} MB` : `${(number / 1e9).toFixed(2)} GB`;
}
