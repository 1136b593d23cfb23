// A strip of heat along each large object, and what the plan keeps near of it.
figure("ranges", (root) => {
  const redraw = chart(root.querySelector(".draw"), "Misses by position within large objects", (picture, width) => {
    if (!data.ranges.length) {
      picture.append(svg("text", { x: 0, y: 20 }, "The profile counts no traffic by range."));
      return 40;
    }
    const choice = nearestChoice(), step = 58;
    data.ranges.forEach((item, row) => picture.append(...heatStrip(item, row * step, width, choice)));
    return data.ranges.length * step;
  });
  return ifChanged(() => [nearestChoice(), state.phase], () => {
    const choice = nearestChoice();
    const split = choice ? choice.ranges.length : 0;
    control("ranges-lead").textContent = !data.ranges.length ? "" :
      `Phase: ${phaseTitle(state.phase)}.` + (choice ? ` At ${bytes(choice.budget_bytes)} of near memory the plan ` +
        (split ? `keeps ranges of ${split} of these objects near.` : "splits none of these objects by range.") : "");
    redraw();
  });
});

function heatStrip(item, top, width, choice) {
  const object = data.objects[item.object], lines = item.lines[state.phase] || [];
  const span = lines.length * item.range_bytes || 1, most = Math.max(0, ...lines);
  const x = d3.scaleLinear([0, span], [0, width]);
  const cells = lines.map((line, i) => withTip(
    svg("rect", { x: x(i * item.range_bytes), y: top + 18, height: 18, width: Math.max(1, width / lines.length),
      fill: "var(--far)", opacity: most ? 0.06 + 0.94 * (line / most) : 0.06 }),
    () => [object.name, `${bytes(i * item.range_bytes)} to ${bytes((i + 1) * item.range_bytes)}`,
      `${count(line)} lines missed or written back`]));
  const placed = choice && choice.ranges.find((ranges) => ranges.object === item.object);
  // A share of each block without ranges: a paler bar along the whole object.
  const share = choice && choice.near.includes(item.object) ? choice.shares[item.object] ?? 1 : 0;
  const whole = share ? [[0, span]] : [];
  const near = (placed ? placed.near : whole).map(([begin, end]) => withTip(svg("rect", {
    x: x(begin), y: top + 38, height: 5, width: Math.max(1, x(Math.min(end, span)) - x(begin)), fill: "var(--near)",
    opacity: placed ? 1 : share, "data-near": `${begin}-${end}` }),
  () => [object.name, placed ? `${bytes(begin)} to ${bytes(Math.min(end, span))} near` : `${percent(share)} near`]));
  return [svg("text", { x: 0, y: top + 12, class: "strong" }, object.label),
    svg("text", { x: width, y: top + 12, "text-anchor": "end" }, bytes(object.size_bytes)), ...cells, ...near];
}
