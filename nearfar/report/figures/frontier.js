// The frontier, the readings at the chosen budget, and which objects are near there.
const MOST_LISTED = 8; // rows of the two lists: what fits beside the chart

figure("frontier", (root) => {
  const redraw = chart(root.querySelector(".draw"), "Slowdown against near memory spent", drawFrontier);
  const step = (by) => {
    const curve = frontier();
    const to = curve && curve.budget_bytes[pointAt(curve, state.budget) + by];
    if (to !== undefined) update({ budget: to });
  };
  control("less").addEventListener("click", () => step(-1));
  control("more").addEventListener("click", () => step(1));
  const redrawCurves = ifChanged(memoryAndPhase, () => {
    frontierLegend(control("frontier-legend"));
    redraw();
  });
  return () => { readings(); lists(); redrawCurves(); markBudget(); };
});

let markBudget = () => {}; // moves the mark of the budget over the curves that are drawn now

function readings() {
  const curve = frontier();
  if (!curve) {
    for (const id of ["near-objects", "time", "slow", "cost"]) control(id).textContent = "–";
    return;
  }
  const i = pointAt(curve, state.budget);
  const operations = phasesByName.get(state.phase).operations;
  const [time, low, high] = curve.time_ns[i];
  const shown = operations ? (t) => ns(t / operations) : ns;
  const near = nearNow().size;
  value(control("near-objects"), near, `${near} of ${curve.order.length}`);
  value(control("near-bytes"), curve.near_bytes[i],
    `objects, ${bytes(curve.near_bytes[i])} (${percent(curve.near_bytes[i] / curve.footprint_bytes)})`);
  value(control("time"), time, shown(time));
  control("time-interval").textContent =
    `${shown(low)} to ${shown(high)}${operations ? " per operation" : " of CPU time"}`;
  value(control("slow"), curve.slowdown[i][0], times(curve.slowdown[i][0]));
  control("slow-interval").textContent =
    `${curve.slowdown[i][1].toFixed(2)} to ${curve.slowdown[i][2].toFixed(2)}`;
  value(control("cost"), curve.cost_relative[i], percent(curve.cost_relative[i]));
  control("less").disabled = i === 0;
  control("more").disabled = i === curve.budget_bytes.length - 1;
}

const byAdded = remembered();
function lists() {
  const curve = frontier(), now = effect();
  const added = (i) => (now ? now.added_ns[i][0] : 0);
  const near = nearNow();
  const order = byAdded([now], () =>
    [...data.objects.keys()].sort((a, b) => added(b) - added(a)));
  const share = (i) => near.get(i) ?? 0;
  for (const [side, title, mine, size] of [
    ["near", "keep here", (i) => near.has(i), (i) => data.objects[i].size_bytes * share(i)],
    ["far", "can go", (i) => share(i) < 1, (i) => data.objects[i].size_bytes * (1 - share(i))]]) {
    const all = curve ? order.filter(mine) : [];
    const taken = all.reduce((sum, i) => sum + size(i), 0);
    control(`${side}-title`).textContent = `${title}: ${all.length} object${all.length === 1 ? "" : "s"}, ${bytes(taken)}`;
    const rows = all.slice(0, MOST_LISTED).map((i) => el("li", { "data-object": data.objects[i].id },
      el("span", { class: "name", title: data.objects[i].name }, data.objects[i].label),
      el("span", { class: "quiet" }, size(i) < data.objects[i].size_bytes ? `${bytes(size(i))} of ` : "",
        bytes(data.objects[i].size_bytes)),
      el("span", { class: "number" }, added(i) ? `${added(i) > 0 ? "+" : ""}${ns(added(i))} if far` : "no effect")));
    if (all.length > MOST_LISTED)
      rows.push(el("li", { class: "quiet" }, `and ${all.length - MOST_LISTED} more, in the table below`));
    control(`${side}-list`).replaceChildren(...rows);
  }
}

function drawFrontier(picture, width) {
  const curve = frontier();
  if (!curve) {
    picture.append(svg("text", { x: 0, y: 20 }, "No frontier was computed for this memory and phase."));
    markBudget = () => {};
    return 40;
  }
  const left = 44, right = width - 8, top = 28, bottom = 300;
  const total = curve.footprint_bytes || 1;
  const others = farMemories.map((m) => frontier(m.name)).filter((c) => c && c !== curve);
  const most = Math.max(1.05, ...[curve, ...others].map((c) => c.slowdown[0][0]), curve.slowdown[0][2]);
  const x = d3.scaleLinear([0, 1], [left, right]);
  const least = Math.min(1, ...curve.slowdown.map((s) => s[1]), ...others.flatMap((c) => c.slowdown.map((s) => s[0])));
  const y = d3.scaleLinear([least, most], [bottom, top]);
  xAxis(picture, x, { top, bottom, ticks: [0, .25, .5, .75, 1], format: percent,
    label: "near memory, share of all objects' bytes" });
  yAxis(picture, y, { left, right, ticks: y.ticks(5), format: (v) => `${v}×`, label: "slowdown" });
  const steps = (c, pick) => d3.line((at) => x(at[0] / total), (at) => y(pick(at[1])))
    .curve(d3.curveStepAfter)(toTheEnd(c));
  for (const other of others)
    picture.append(svg("path", { d: steps(other, (s) => s[0]), fill: "none", "stroke-width": 1.2,
      stroke: memoryColour(other.memory), opacity: 0.45 }));
  const band = d3.area((at) => x(at[0] / total), (at) => y(at[1][1]), (at) => y(at[1][2]))
    .curve(d3.curveStepAfter)(toTheEnd(curve));
  picture.append(
    svg("path", { d: band, fill: memoryColour(curve.memory), opacity: 0.14 }),
    svg("path", { d: steps(curve, (s) => s[0]), fill: "none", "stroke-width": 2.4,
      stroke: memoryColour(curve.memory), "stroke-linejoin": "round" }));
  otherWays(picture, x, y, total);
  const mark = svg("g");
  picture.append(mark);
  markBudget = () => mark.replaceChildren(...here(curve, x, y, { top, bottom, right }));
  markBudget();
  const toBudget = (event) => {
    const box = picture.getBoundingClientRect();
    const share = x.invert((event.clientX - box.left) * (width / box.width));
    update({ budget: Math.floor(Math.min(1, Math.max(0, share)) * total) });
  };
  picture.addEventListener("pointerdown", toBudget);
  picture.addEventListener("pointermove", (event) => { if (event.buttons & 1) toBudget(event); });
  return bottom + 42;
}

// Budget and slowdown of each step, and the last one again where everything is near.
const toTheEnd = (curve) => [...curve.budget_bytes.map((budget, i) => [budget, curve.slowdown[i]]),
  [curve.footprint_bytes, curve.slowdown[curve.slowdown.length - 1]]];

// The other placements of each planned budget, as hollow marks.
const wayShapes = { "hot-first": d3.symbolSquare, "page-interleaved": d3.symbolCircle,
  optimal: d3.symbolStar };
function frontierLegend(root) {
  const shown = farMemories.filter((memory) => frontier(memory.name));
  const ways = new Set(data.choices.filter((c) => c.memory === state.memory && c.phase === state.phase)
    .flatMap((c) => c.alternatives.map((way) => way.name)));
  root.replaceChildren(...legend(shown.map((m) => [memoryColour(m.name), m.title])).children,
    ...Object.entries(wayShapes).filter(([name]) => ways.has(name)).map(([name, shape]) => el("li", {},
      svg("svg", { width: 16, height: 16 }, svg("path", { d: d3.symbol(shape, 52)(),
        transform: "translate(8,8)", fill: "none", stroke: "var(--soft)", "stroke-width": 1.5 })), name)));
}
function otherWays(picture, x, y, total) {
  for (const choice of data.choices) {
    if (choice.memory !== state.memory || choice.phase !== state.phase) continue;
    for (const way of choice.alternatives) {
      if (!wayShapes[way.name]) continue;
      picture.append(withTip(svg("path", { d: d3.symbol(wayShapes[way.name], 52)(), fill: "var(--card)",
        stroke: "var(--soft)", "stroke-width": 1.5,
        transform: `translate(${x(Math.min(1, choice.budget_bytes / total))},${y(way.slowdown.value)})` }),
      () => [`${way.name} with ${bytes(choice.budget_bytes)}`, `slowdown ${times(way.slowdown.value)}`]));
    }
  }
}

function here(curve, x, y, { top, bottom, right }) {
  const i = pointAt(curve, state.budget), slow = curve.slowdown[i][0];
  const at = x(Math.min(1, state.budget / (curve.footprint_bytes || 1)));
  const leftSide = at > right - 120;
  return [
    svg("line", { x1: at, x2: at, y1: top, y2: bottom, stroke: "var(--ink)", "stroke-dasharray": "3 3" }),
    svg("circle", { cx: at, cy: y(slow), r: 6, fill: "var(--ink)", stroke: "var(--card)", "stroke-width": 2 }),
    svg("text", { x: at + (leftSide ? -10 : 10), y: y(slow) - 12, class: "strong halo",
      "text-anchor": leftSide ? "end" : "start" }, `${times(slow)} at ${bytes(state.budget)}`)];
}
