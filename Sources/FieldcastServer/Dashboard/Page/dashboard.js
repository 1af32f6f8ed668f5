// The page's state, its routes and its loop: events and the clock change the state, and the view of
// the present route is drawn from it.

import { h, show } from "./dom.js";
import { Stream } from "./stream.js";
import { channelsView, lettersView } from "./books.js";
import { healthView, nodesView } from "./fleet.js";
import { tripView } from "./trip.js";
import { tripsView } from "./trips.js";

const tokenKey = "fieldcast-token";

const routes = [
  { path: "", name: "Trips", show: "trips,health", view: tripsView },
  { path: "channels", name: "Channels", show: "channels,trips", view: channelsView },
  { path: "health", name: "Health", show: "health", view: healthView },
  { path: "nodes", name: "Nodes", show: "nodes,health", view: nodesView },
  { path: "letters", name: "Dead letters", show: "deadLetters", view: lettersView },
];

/** What is known now. The views read it and never change it. */
const state = {
  /** The last event of each name. */
  told: {},
  link: "connecting",
  linkReason: "",
  needsToken: false,
  tokenProblem: "",
  /** How the list of trips is narrowed. */
  list: { search: "", phase: "all", limit: 50 },
  /** The service's clock, in milliseconds since 1970. */
  now: () => Date.now(),
};

const stream = new Stream();
const main = document.getElementById("main");
let token = sessionStorage.getItem(tokenKey) ?? "";
let isDrawing = false;

// What is shown

function route() {
  const [first = "", second] = location.hash.replace(/^#\/?/, "").split("/");
  if (first === "trips" && second) {
    const trip = decoded(second);
    return { ...routes[0], show: "trip", trip, view: tripView };
  }
  return routes.find((each) => each.path === first) ?? routes[0];
}

/** What somebody typed into the address need not be well formed. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawNow();
  });
}

function drawNow() {
  const present = route();
  const name = (present.trip && state.told.trip?.name) || present.name;
  document.title = `${name} · Fieldcast`;
  drawBar(present);
  if (state.needsToken) return show(main, tokenForm());
  const banner = bannerText();
  show(
    main,
    banner && h("p", { class: "banner", role: "alert", "data-key": "banner" }, banner),
    lacksScope(present) ?? present.view(state, present));
}

/** A token need not show everything. */
function lacksScope(present) {
  if (!state.told.hello?.refused.includes(present.show.split(",")[0])) return null;
  const scope = present.show.startsWith("trip") ? "trips" : "admin";
  return h("p", { class: "empty", "data-key": "scope" },
    `This token lacks the scope ${scope}, which shows this.`);
}

function drawBar(present) {
  const links = routes.map((each) =>
    h("a", {
      href: `#/${each.path}`, "data-key": each.path || "trips",
      "aria-current": each.path === present.path ? "page" : null,
    }, each.name));
  show(document.getElementById("nav"), ...links);
  const words = {
    connecting: "Connecting", open: "Live", waiting: "Reconnecting", refused: "Not connected",
    paused: "Paused",
  };
  show(
    document.getElementById("link"),
    h("i", { class: `dot ${state.link}` }),
    h("span", {}, state.needsToken ? "Token needed" : words[state.link]),
    token && !state.needsToken && h("button", { type: "button", "data-action": "forget" }, "Forget token"));
  const hello = state.told.hello;
  show(
    document.getElementById("foot"),
    hello && h("p", {}, `Told by node ${hello.node}. Times are UTC`,
      hello.speed !== 1 && `; the service’s clock runs at ${hello.speed} times its pace`, "."));
}

function bannerText() {
  if (state.link === "refused") return `The service does not tell this: ${state.linkReason}`;
  if (state.link === "waiting") {
    return `What you see is not live: ${state.linkReason}. The page tries again by itself.`;
  }
  const reason = state.told.store?.reason;
  return reason ? `The service cannot read from Redis now: ${reason}` : "";
}

function tokenForm() {
  return h("form", { class: "token panel", "data-action": "token", "data-key": "token" },
    h("h1", {}, "This service asks for a token"),
    h("p", {}, "One with the scope ", h("code", {}, "trips"), " shows trips; one with ",
      h("code", {}, "admin"), " shows the rest. ", h("code", {}, "fieldcast token"), " makes one."),
    h("label", { for: "token" }, "Token"),
    h("div", { class: "field" },
      h("input", {
        id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true,
        "aria-describedby": "token-note",
      }),
      h("button", { type: "submit", class: "primary" }, "Watch")),
    h("p", { class: "problem", role: "alert" }, state.tokenProblem),
    h("p", { class: "note", id: "token-note" },
      "It stays in this tab until the tab is closed, and goes to this service alone."));
}

// What is listened to

function listen() {
  const present = route();
  const query = new URLSearchParams({ show: present.show });
  if (present.trip) query.set("trip", present.trip);
  if (present.show.includes("trips")) {
    const { search, phase, limit } = state.list;
    // Other parts want the totals alone.
    query.set("limit", present.path === "" ? limit : 1);
    if (present.path === "" && search) query.set("search", search);
    if (present.path === "" && phase !== "all") query.set("phase", phase);
  }
  stream.open(query.toString(), token);
}

/** And what it showed, which the next one may not show. */
function forgetToken() {
  sessionStorage.removeItem(tokenKey);
  token = "";
  state.told = {};
}

stream.onState = (link, more) => {
  state.link = link;
  state.linkReason = more?.reason ?? "";
  if (link === "refused" && more.status === 401) {
    state.needsToken = true;
    state.tokenProblem = token ? more.reason : "";
    forgetToken();
    draw();
    requestAnimationFrame(() => document.getElementById("token")?.focus());
  }
  draw();
};

stream.onEvent = (name, data) => {
  state.told[name] = data;
  if (name === "hello") {
    for (const part of data.refused) delete state.told[part];
    const began = performance.now();
    state.now = () => data.now + (performance.now() - began) * data.speed;
  }
  if (name === "bye") state.linkReason = data.reason;
  draw();
};

// What a reader does

addEventListener("hashchange", () => {
  delete state.told.trip;
  scrollTo(0, 0);
  if (!state.needsToken) listen();
  main.focus({ preventScroll: true });
  draw();
});

addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.dataset.action !== "token") return;
  const input = document.getElementById("token");
  token = input.value.trim();
  input.value = "";
  sessionStorage.setItem(tokenKey, token);
  state.needsToken = false;
  listen();
  draw();
});

addEventListener("click", (event) => {
  const target = event.target.closest("[data-action]");
  if (!target) return;
  if (target.dataset.action === "skip") {
    // Its address is none of the page's places.
    event.preventDefault();
    main.focus();
  } else if (target.dataset.action === "forget") {
    forgetToken();
    listen();
  } else if (target.dataset.action === "phase") {
    state.list = { ...state.list, phase: target.value, limit: 50 };
    listen();
  } else if (target.dataset.action === "more") {
    state.list = { ...state.list, limit: 200 };
    listen();
  }
  draw();
});

let searching = 0;
addEventListener("input", (event) => {
  if (event.target.dataset.action !== "search") return;
  state.list = { ...state.list, search: event.target.value.trim(), limit: 50 };
  clearTimeout(searching);
  searching = setTimeout(listen, 250);
  draw();
});

// Up and down go through a list's links, as in a list of mail; slash goes to the search.
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.nodeName);
  if (event.key === "/" && !isTyping) {
    const search = document.querySelector("[data-action=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || (isTyping && event.target.dataset.action !== "search")) return;
  const links = [...document.querySelectorAll("[data-walk] a")];
  const place = links.indexOf(document.activeElement);
  const next = links[place < 0 ? (step > 0 ? 0 : -1) : place + step];
  if (!next || (place < 0 && event.target !== document.body && !isTyping && event.target !== main)) {
    return;
  }
  event.preventDefault();
  next.focus();
});

// A page that nobody sees costs the service nothing.
let leaving = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(leaving);
  if (document.hidden) {
    leaving = setTimeout(() => {
      stream.close();
      state.link = "paused";
    }, 30000);
  } else if (state.link === "paused") {
    listen();
  }
});

setInterval(() => { if (!document.hidden) draw(); }, 1000);
listen();
draw();
