// Stacked areas of the largest objects, phases above.
figure("live", (root) => {
  const live = data.live;
  const redraw = chart(root.querySelector(".draw"), "Bytes alive by object over time", drawLive);
  const colour = (i) => (live.series[i].object === null ? "var(--c8)" : `var(--c${i % 8})`);
  const totals = live.time_ns.map((_, t) => live.series.reduce((sum, s) => sum + s.bytes[t], 0));
  const most = Math.max(0, ...totals);
  control("live-lead").textContent = live.time_ns.length > 1
    ? `At most ${bytes(most)} at once, ${ns(live.time_ns[totals.indexOf(most)])} after start.` : "";
  control("live-legend").replaceChildren(
    ...legend(live.series.map((series, i) => [colour(i), series.name])).children);

  function drawLive(picture, width) {
    if (live.time_ns.length < 2) {
      picture.append(svg("text", { x: 0, y: 20 }, "The profile holds fewer than two samples of live memory."));
      return 40;
    }
    const left = 64, right = width - 8, top = 50, bottom = 300, t = live.time_ns;
    const x = d3.scaleLinear([t[0] / 1e9, t[t.length - 1] / 1e9], [left, right]);
    const y = d3.scaleLinear([0, most || 1], [bottom, top]);
    xAxis(picture, x, { top, bottom, ticks: x.ticks(width < 500 ? 4 : 8), format: (v) => String(v), label: "seconds since start" });
    yAxis(picture, y, { left, right, ticks: byteTicks(most), format: bytes, label: "" });
    const rows = t.map((time, i) => Object.fromEntries([["time", time / 1e9], ...live.series.map((s, k) => [k, s.bytes[i]])]));
    d3.stack().keys([...live.series.keys()])(rows).forEach((layer, k) => picture.append(withTip(
      svg("path", { fill: colour(k), opacity: 0.9,
        d: d3.area((d) => x(d.data.time), (d) => y(d[0]), (d) => y(d[1]))(layer) }),
      () => [live.series[k].name, `at most ${bytes(Math.max(...live.series[k].bytes))}`])));
    phaseStrips(picture, live, x, top - 12);
    return bottom + 42;
  }
  return ifChanged(() => [], redraw);
});

// Round numbers of binary bytes: 1, 2 or 5 times a power of two's unit.
function byteTicks(most) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(most || 1) / Math.log(1024)));
  return d3.ticks(0, most / unit, 5).map((tick) => tick * unit);
}

function phaseStrips(picture, live, x, y) {
  let from = 0;
  live.phases.forEach((name, i) => {
    if (i + 1 < live.phases.length && live.phases[i + 1] === name) return;
    const x0 = x(live.time_ns[from] / 1e9), x1 = x(live.time_ns[Math.min(i + 1, live.phases.length - 1)] / 1e9);
    const text = phaseTitle(name);
    picture.append(withTip(svg("g", {},
      svg("rect", { x: x0, y: y - 6, width: Math.max(1, x1 - x0 - 1), height: 6, rx: 2,
        fill: name === "-" ? "var(--grid)" : "var(--faint)" }),
      x1 - x0 > 7 * text.length && name !== "-" ? svg("text", { x: (x0 + x1) / 2, y: y - 12, "text-anchor": "middle" }, text) : null),
    () => [text, `${ns(live.time_ns[from === i ? from : i] - live.time_ns[from])}`]));
    from = i + 1;
  });
}
