"use strict";
// What every figure uses: the data, the state, formatting, elements, tooltips, charts.
// Text from the program reaches the page only through text nodes and attributes set by the DOM:
// nothing here or in a figure writes HTML.

const data = JSON.parse(document.getElementById("report-data").textContent);
const figures = []; // [id, make]; make(root) returns the function that redraws it
const state = { memory: data.first_memory, phase: data.first_phase, budget: 0 };

function figure(id, make) { figures.push([id, make]); }

// ---- look-ups; built once --------------------------------------------------------------------
const keyed = (rows) => new Map(rows.map((row) => [row.memory + "\u0000" + row.phase, row]));
const effects = keyed(data.effects), frontiers = keyed(data.frontiers), points = keyed(data.points);
const phasesByName = new Map(data.phases.map((phase) => [phase.name, phase]));
const memoriesByName = new Map(data.memories.map((memory) => [memory.name, memory]));
const farMemories = data.memories.filter((memory) => memory.role === "far");
const effect = (memory = state.memory, phase = state.phase) => effects.get(memory + "\u0000" + phase);
const frontier = (memory = state.memory, phase = state.phase) =>
  frontiers.get(memory + "\u0000" + phase);
const misses = (phase, i) => phase.chase[i] + phase.indirect[i] + phase.stream[i] + phase.opaque[i];
const memoryColour = (name) => {
  const i = data.memories.findIndex((memory) => memory.name === name);
  return `var(--c${i % 8})`;
};

// What is the same at every budget is computed and drawn once, or the slider of a large report
// would lag: a function that calls `make` only if a key differs from those of the call before.
function remembered() {
  let before = null, result;
  return (keys, make) => {
    if (keys.length !== before?.length || keys.some((key, i) => key !== before[i])) {
      result = make();
      before = keys;
    }
    return result;
  };
}

// A function that calls `redraw` only if one of `keys()` has changed.
function ifChanged(keys, redraw) {
  const drawn = remembered();
  return () => { drawn(keys(), redraw); };
}
const memoryAndPhase = () => [state.memory, state.phase];

// The best plan that a budget allows: the last one whose budget is not greater.
const pointAt = (curve, budget) => Math.max(0, d3.bisectRight(curve.budget_bytes, budget) - 1);
// Which objects are near now: object number to the share of it that is near.
const nearAt = remembered();
function nearNow() {
  const curve = frontier();
  if (!curve) return new Map();
  const at = pointAt(curve, state.budget);
  return nearAt([curve, at], () => new Map([
    ...curve.near[at].flatMap(([a, b]) => curve.order.slice(a, b)).map((i) => [i, 1]),
    ...Object.entries(curve.shares[at]).map(([i, share]) => [Number(i), share])]));
}
const whereNow = (near, i) => (!near.has(i) ? "far" : near.get(i) < 1 ? `${percent(near.get(i))} near` : "near");

// ---- numbers as people read them ---------------------------------------------------------------
const digits3 = (value) => String(Number(value.toPrecision(3))).replace("-", "\u2212");
function bytes(value) {
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < 4) { value /= 1024; unit += 1; }
  return `${digits3(value)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
function ns(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${digits3(value / 1e9)} s`;
  if (size >= 1e6) return `${digits3(value / 1e6)} ms`;
  if (size >= 1e3) return `${digits3(value / 1e3)} µs`;
  return `${digits3(value)} ns`;
}
function count(value) {
  for (const [size, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]])
    if (Math.abs(value) >= size) return digits3(value / size) + unit;
  return digits3(value);
}
const times = (value) => `${value.toFixed(value < 10 ? 2 : 1)}×`;
function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value < 10 && value > 0 ? value.toFixed(1) : value.toFixed(0)} %`;
}
const phaseTitle = (name) =>
  name === "total" ? "whole run" : name === "-" ? "outside phases" : name;

// ---- elements ----------------------------------------------------------------------------------
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "style") Object.assign(node.style, value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// An output that also carries its exact number, for people who script the page and for tests.
function value(node, number, text) {
  node.setAttribute("data-value", number);
  node.textContent = text;
}

// ---- one tooltip for all -------------------------------------------------------------------------
const tip = document.getElementById("tip");
function showTip(event, lines) {
  tip.replaceChildren(el("strong", {}, lines[0]), ...lines.slice(1).map((line) => el("div", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const above = event.clientY + 18 + box.height > innerHeight;
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${above ? Math.max(8, event.clientY - box.height - 12) : event.clientY + 18}px`;
}
const hideTip = () => { tip.hidden = true; };
// `lines()` returns the texts, first one as title.
function withTip(node, lines) {
  node.addEventListener("pointermove", (event) => showTip(event, lines()));
  node.addEventListener("pointerleave", hideTip);
  return node;
}

// ---- charts --------------------------------------------------------------------------------------
// A chart in `root`: `draw(svgNode, width)` draws it anew for its width and returns its height.
function chart(root, label, draw) {
  const holder = el("div", { class: "chart" });
  root.append(holder);
  let width = 0;
  const redraw = () => {
    if (!width) return;
    const picture = svg("svg", { role: "img", "aria-label": label });
    const height = draw(picture, width);
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("height", height);
    holder.replaceChildren(picture);
  };
  new ResizeObserver(() => {
    const now = Math.floor(holder.clientWidth);
    if (now !== width) { width = now; redraw(); }
  }).observe(holder);
  width = Math.floor(holder.clientWidth);
  return redraw;
}
function xAxis(picture, scale, { top, bottom, ticks, format, label }) {
  const [left, right] = scale.range();
  for (const tick of ticks) {
    const x = scale(tick);
    picture.append(
      svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
      svg("text", { x, y: bottom + 17, "text-anchor": "middle" }, format(tick)));
  }
  picture.append(
    svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    svg("text", { x: right, y: bottom + 36, "text-anchor": "end" }, label));
}
function yAxis(picture, scale, { left, right, ticks, format, label }) {
  const top = Math.min(...scale.range());
  for (const tick of ticks) {
    const y = scale(tick);
    picture.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
      svg("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, format(tick)));
  }
  picture.append(svg("text", { x: 0, y: top - 12 }, label));
}
const legend = (items) => el("ul", { class: "legend" }, items.map(([colour, text]) =>
  el("li", {}, el("span", { class: "swatch", style: { background: colour } }), text)));
