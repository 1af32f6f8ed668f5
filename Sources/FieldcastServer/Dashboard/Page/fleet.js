// Nodes: how each fares with APNs and Redis, and which partitions it owns.

import { h } from "./dom.js";
import { sparkline } from "./chart.js";
import { minute, tile, total } from "./trips.js";
import { ago, bytes, clock, count, counted, took } from "./words.js";

// Health

export function healthView(state) {
  const health = state.told.health;
  if (!health) return h("p", { class: "empty" }, "Asking the nodes …");
  const now = state.now();
  const sum = minute(health);
  const reports = health.nodes.filter((node) => node.report);
  return h("div", { class: "stack", "data-key": "health" },
    h("h1", {}, "APNs and Redis"),
    answers(sum, reports),
    h("div", { class: "halves" },
      h("section", { class: "panel" }, h("h2", {}, "APNs"), reports.map((node) => apns(node))),
      h("section", { class: "panel" }, h("h2", {}, "Redis"),
        health.problem && h("p", { class: "behind" }, `Other nodes’ reports cannot be read: ${health.problem}`),
        health.nodes.map((node) => redis(node, health.problem, now)))),
    h("section", { class: "panel flush" }, h("h2", {}, "Broadcasts that were not accepted"),
      refusals(reports, now)));
}

function answers(sum, reports) {
  const worst = (stage, quantile) =>
    Math.max(...reports.map(({ report }) => report.minute?.[stage]?.[quantile] ?? -1));
  const latency = (stage) => {
    const [half, most] = [worst(stage, "p50"), worst(stage, "p99")];
    const beyond = reports.some(({ report }) =>
      report.minute?.[stage]?.count > 0 && report.minute[stage].p99 === undefined);
    if (half < 0) return ["–", "nothing in the last minute"];
    return [`≤ ${took(half)}`, `half of them; 99 % ${beyond ? "over 2 min" : `≤ ${took(most)}`}`];
  };
  const failed = total(sum.failed);
  return h("div", { class: "tiles" },
    tile("Accepted at priority 10", count(total(sum.accepted10)), "in the last minute",
      sparkline(sum.accepted10 ?? [])),
    tile("Accepted at priority 5", count(total(sum.accepted5)), "in the last minute",
      sparkline(sum.accepted5 ?? [])),
    tile("Throttled (429)", count(total(sum.throttled)),
      failed ? `and ${counted(failed, "other failure")}` : "no other failure",
      sparkline((sum.throttled ?? []).map(() => 0), sum.throttled)),
    tile("APNs’ answers", ...latency("broadcast")),
    tile("Commits to Redis", ...latency("commit")));
}

function apns({ node, report }) {
  return report.apns.map((app) =>
    h("div", { class: "health", "data-key": `${node} ${app.app}` },
      h("p", {}, h("i", { class: `dot ${app.problem ? "refused" : "open"}` }), h("b", {}, app.app),
        h("span", { class: "soft" }, ` from ${node}`)),
      h("p", { class: app.problem ? "behind" : "note" },
        app.problem ?? "Requests can be sent."),
      h("div", { class: "scroll" }, h("table", { class: "plain" },
        h("thead", {}, h("tr", {}, ["Connections for", "Open", "In flight", "Waiting", "Failed"].map((head) =>
          h("th", { scope: "col" }, head)))),
        h("tbody", {}, app.pools.map((pool) =>
          h("tr", {}, h("th", { scope: "row", title: pool.host || null }, pool.name),
            [pool.open, pool.inFlight, pool.waiting, pool.failedToOpen].map((number) =>
              h("td", {}, count(number))))))))));
}

function redis({ node, isHere, report }, problem, now) {
  if (!report) {
    return h("div", { class: "health", "data-key": node },
      h("p", {}, h("i", { class: "dot refused" }), h("b", {}, node)),
      h("p", { class: "behind" }, "This node has not reported lately."));
  }
  const { microseconds, losses } = report.redis;
  // This node has just asked.
  const connected = report.redis.connected && !(isHere && problem);
  return h("div", { class: "health", "data-key": node },
    h("p", {}, h("i", { class: `dot ${connected ? "open" : "refused"}` }), h("b", {}, node),
      h("span", { class: "soft" }, isHere ? " (this page’s)" : ` reported ${ago(report.at, now)}`)),
    h("p", { class: connected ? "note" : "behind" },
      connected
        ? `Answers${microseconds === undefined ? "" : ` after ${took(microseconds / 1e6)}`}; ` +
          (losses ? `the connection was lost ${counted(losses, "time")}.` : "the connection was never lost.")
        : "Not reachable."));
}

function refusals(reports, now) {
  const all = reports.flatMap(({ node, report }) => report.refusals.map((each) => ({ ...each, node })))
    .sort((one, other) => other.at - one.at).slice(0, 20);
  if (!all.length) return h("p", { class: "empty" }, "None since the nodes began.");
  return h("div", { class: "scroll" }, h("table", { class: "plain" },
    h("thead", {}, h("tr", {}, ["When", "Answer", "Trip", "Node"].map((head) =>
      h("th", { scope: "col" }, head)))),
    h("tbody", { "data-walk": true }, all.map((each) =>
      h("tr", {}, h("th", { scope: "row" }, clock(each.at, now)),
        h("td", { class: "behind" }, each.answer || each.outcome),
        h("td", {}, h("a", { href: `#/trips/${encodeURIComponent(each.trip)}` }, each.trip.slice(0, 8))),
        h("td", {}, each.node))))));
}

// Nodes

export function nodesView(state) {
  const { nodes, health } = state.told;
  if (!nodes) return h("p", { class: "empty" }, "Looking for the nodes …");
  const now = state.now();
  const reports = new Map((health?.nodes ?? []).map((each) => [each.node, each.report]));
  return h("div", { class: "stack", "data-key": "nodes" },
    h("h1", {}, "Nodes and partitions"),
    nodes.unowned > 0 && h("p", { class: "banner" },
      `${counted(nodes.unowned, "partition")} without an owner: their trips wait until a node takes them over.`),
    h("section", { class: "panel flush" }, h("div", { class: "scroll" }, h("table", { class: "plain nodes" },
      h("thead", {}, h("tr", {}, ["Node", "Partitions", "Last taken over", "Trips in memory", "Running", "Memory"]
        .map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, nodes.nodes.map((node, place) => nodeRow(node, place, reports.get(node.node), now)))))),
    h("section", { class: "panel" }, h("h2", {}, counted(nodes.partitions, "partition")), grid(nodes, now)));
}

function nodeRow(node, place, report, now) {
  return h("tr", { "data-key": node.node },
    h("th", { scope: "row" }, h("i", { class: `owner o${place % 8}` }), node.node,
      h("small", {}, node.isHere ? "tells this page" : node.lives ? null : "gone; its leases run out")),
    h("td", {}, count(node.partitions)),
    h("td", {}, node.newestEpoch ? clock(node.newestEpoch, now) : "–",
      node.newestEpoch !== undefined && h("small", {}, `epoch ${node.newestEpoch}`)),
    h("td", {}, report ? count(report.tripsInMemory) : "–"),
    h("td", {}, report ? ago(report.startedAt, now).replace(" ago", "") : "–"),
    h("td", {}, report?.memory ? bytes(report.memory) : "–"));
}

function grid(nodes, now) {
  if (!nodes.owners) {
    return h("p", { class: "note" }, "There are too many to draw.");
  }
  return h("div", { class: "partitions", role: "img",
    "aria-label": nodes.nodes.map((node) => `${node.node} owns ${node.partitions}`).join(", ") },
    nodes.owners.map((owner, number) => {
      const name = owner < 0 ? "no owner" : nodes.nodes[owner].node;
      return h("i", {
        class: owner < 0 ? "free" : `o${owner % 8}`,
        title: `p${String(number).padStart(3, "0")}: ${name}, epoch ${nodes.epochs[number]} (${clock(nodes.epochs[number], now)})`,
      });
    }));
}
