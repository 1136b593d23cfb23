// Bars with whiskers, one far memory a row; simpler models as hollow marks; a click chooses.
figure("slowdown", (root) => {
  const place = root.querySelector(".draw");
  const rowHeight = 52, top = 8;
  const redraw = chart(place, "Slowdown on each far memory, with intervals", (picture, width) => {
    const rows = farMemories.map((memory) => effect(memory.name)).filter(Boolean);
    if (!rows.length) {
      picture.append(svg("text", { x: 0, y: 20 }, "Nothing was predicted."));
      return 40;
    }
    const models = [...new Set(rows.flatMap((row) => row.models.map((m) => m.model)))]
      .filter((name) => name !== "null");
    const most = Math.max(1.25, ...rows.map((row) => 1.08 * row.slowdown.high));
    const x = d3.scaleLinear([Math.min(1, ...rows.map((r) => r.slowdown.low - 0.01)), most],
      [1, width - 1]);
    const bottom = top + rows.length * rowHeight;
    xAxis(picture, x, { top, bottom, ticks: x.ticks(Math.min(8, width / 110)), format: (v) => `${v}×`,
      label: "slowdown (far time / near time)" });
    picture.append(svg("line", { class: "axis", x1: x(1), x2: x(1), y1: top, y2: bottom }));
    rows.forEach((row, i) => picture.append(bar(row, x, top + i * rowHeight, width, models)));
    return bottom + 44;
  });
  const keys = el("ul", { class: "legend" });
  place.append(keys);
  return ifChanged(memoryAndPhase, () => {
    root.querySelector(".phase-name").textContent = phaseTitle(state.phase);
    drawKeys(keys);
    redraw();
  });
});

const modelShapes = [d3.symbolDiamond, d3.symbolTriangle, d3.symbolSquare, d3.symbolCircle];

function bar(row, x, y, width, models) {
  const memory = memoriesByName.get(row.memory), slow = row.slowdown, middle = y + 34;
  const colour = memoryColour(row.memory), chosen = row.memory === state.memory;
  const perOperation = row.far_ns_per_operation;
  const time = perOperation ? `${ns(perOperation.value)} per operation` : ns(row.far_time_ns.value);
  const marks = row.models.filter((m) => m.model !== "null").map((m) => {
    const beyond = x(m.slowdown) > width - 6;
    const at = beyond ? width - 6 : x(m.slowdown);
    return svg("path", { d: d3.symbol(modelShapes[models.indexOf(m.model) % 4], 46)(),
      transform: `translate(${at},${middle})`, fill: "var(--card)", stroke: "var(--soft)",
      "stroke-width": 1.5, "stroke-dasharray": beyond ? "2 2" : null });
  });
  return withTip(svg("g", { class: "row-button", "data-memory": row.memory,
    onclick: () => update({ memory: row.memory }) },
    svg("rect", { x: 0, y, width, height: rowHeightOf(), fill: "transparent" }),
    svg("text", { x: 0, y: y + 16, class: chosen ? "strong halo" : "halo" },
      (memory.title.length > width / 12 ? memory.name : memory.title) +
        (memory.faster ? " · faster than near here" : "")),
    svg("text", { x: width, y: y + 16, "text-anchor": "end", class: "strong halo" },
      width < 520 ? times(slow.value)
        : `${times(slow.value)}  (${slow.low.toFixed(2)}–${slow.high.toFixed(2)})  ·  ${time}${width > 760 ? `  ·  ${row.bound}-bound` : ""}`),
    svg("rect", { x: Math.min(x(1), x(slow.value)), y: y + 26, rx: 2, height: 16,
      width: Math.max(1, Math.abs(x(slow.value) - x(1))), fill: colour, opacity: chosen ? 1 : 0.6 }),
    svg("path", { d: `M${x(slow.low)},${middle}H${x(slow.high)}M${x(slow.low)},${middle - 6}v12` +
      `M${x(slow.high)},${middle - 6}v12`, stroke: "var(--ink)", "stroke-width": 1.5, fill: "none" }),
    marks),
  () => [memory.title,
    `${times(slow.value)} (${slow.low.toFixed(2)} to ${slow.high.toFixed(2)}), bound by ${row.bound}`,
    `${time} far, ${perOperation ? ns(row.near_ns_per_operation) : ns(row.near_time_ns.value)} near`,
    ...row.models.map((m) => `model ${m.model}: ${times(m.slowdown)}`),
    row.calibrated ? "interval calibrated on this kind of memory" : "interval not calibrated"]);
}
const rowHeightOf = () => 50;

function drawKeys(keys) {
  const models = [...new Set(data.effects.flatMap((row) => row.models.map((m) => m.model)))]
    .filter((name) => name !== "null");
  keys.replaceChildren(
    el("li", {}, svg("svg", { width: 12, height: 14 },
      svg("line", { class: "axis", x1: 6, x2: 6, y1: 0, y2: 14 })), "null model: 1×"),
    ...models.map((name, i) => el("li", {}, svg("svg", { width: 14, height: 14 },
      svg("path", { d: d3.symbol(modelShapes[i % 4], 46)(), transform: "translate(7,7)",
        fill: "none", stroke: "var(--soft)", "stroke-width": 1.5 })), `model ${name}`)));
}
