// The fair comparison: the ends, interleaving, hotness and the plan, at the planned budget
// nearest to the chosen one.
figure("alternatives", (root) => {
  const lead = control("alternatives-lead");
  const redraw = chart(root.querySelector(".draw"), "Slowdown of each way to place the data", (picture, width) => {
    const choice = nearestChoice();
    if (!choice) {
      picture.append(svg("text", { x: 0, y: 20 }, "No plan was computed for this memory and phase."));
      return 40;
    }
    const rows = choice.alternatives, left = width < 520 ? 140 : 152, right = width - (width < 520 ? 58 : 130);
    const high = Math.max(1.05, ...rows.map((row) => row.slowdown.high));
    const low = Math.min(1, ...rows.map((row) => row.slowdown.low));
    const x = d3.scaleLinear([low < 0.97 ? low : 1, high], [left, right]);
    const top = 6, bottom = top + rows.length * 32;
    xAxis(picture, x, { top, bottom, ticks: x.ticks(width < 520 ? 3 : 6), format: (v) => `${v}×`,
      label: "slowdown" });
    rows.forEach((row, i) => picture.append(wayBar(row, x, top + i * 32, { left, width })));
    return bottom + 42;
  });
  return ifChanged(() => [nearestChoice()], () => {
    const choice = nearestChoice();
    lead.textContent = choice
      ? `At ${bytes(choice.budget_bytes)} (${choice.origin}) of near memory, with the rest on ` +
        `${memoriesByName.get(choice.memory).title}; phase: ${phaseTitle(choice.phase)}.`
      : "";
    control("alternatives-caveats").replaceChildren(
      ...(choice ? choice.caveats : []).map((text) => el("li", {}, text)));
    redraw();
  });
});

function nearestChoice() {
  const mine = data.choices.filter((c) => c.memory === state.memory && c.phase === state.phase);
  const away = (choice) => Math.abs(choice.budget_bytes - state.budget);
  return mine.reduce((best, c) => (!best || away(c) < away(best) ? c : best), null);
}

function wayBar(row, x, y, { left, width }) {
  const plan = ["greedy", "optimal", "plan", "per-phase"].includes(row.name), middle = y + 16, slow = row.slowdown;
  const text = width < 520 ? times(slow.value) : `${times(slow.value)} · cost ${percent(row.cost_relative)}`;
  return withTip(svg("g", { "data-way": row.name, "data-value": slow.value },
    svg("text", { x: left - 10, y: middle + 4, "text-anchor": "end", class: plan ? "strong" : null }, row.name),
    svg("rect", { x: Math.min(x(1), x(slow.value)), y: y + 8, height: 16, rx: 2,
      width: Math.max(1.5, Math.abs(x(slow.value) - x(1))),
      fill: plan ? "var(--near)" : "var(--c8)" }),
    svg("path", { d: `M${x(slow.low)},${middle}H${x(slow.high)}M${x(slow.low)},${middle - 5}v10` +
      `M${x(slow.high)},${middle - 5}v10`, stroke: "var(--ink)", fill: "none" }),
    svg("text", { x: width, y: middle + 4, "text-anchor": "end", class: plan ? "strong" : null }, text)),
  () => [row.name, `slowdown ${times(slow.value)} (${slow.low.toFixed(2)} to ${slow.high.toFixed(2)})`,
    `time ${ns(row.time_ns.value)}`, `near memory ${bytes(row.near_bytes)}`,
    `memory cost ${percent(row.cost_relative)} of all near`]);
}
