// Latency against bandwidth for every memory that has a curve, and the program's working points.
figure("memories", (root) => {
  const drawn = data.memories.filter((memory) => memory.curves.some((c) => c.points.length > 1));
  const without = data.memories.filter((memory) => !drawn.includes(memory));
  control("memories-without").textContent = without.length
    ? `No curve is known for ${without.map((m) => m.title).join(", ")}: dashed, its idle latency ` +
      "up to its bandwidth." : "";
  control("memories-legend").replaceChildren(
    ...legend(data.memories.map((memory) => [memoryColour(memory.name), memory.title])).children);
  const redraw = chart(root.querySelector(".draw"), "Latency under load of each memory", (picture, width) =>
    drawCurves(picture, width, drawn, without.filter((m) => m.idle_latency_ns)));
  return ifChanged(memoryAndPhase, () => {
    root.querySelector(".phase-name").textContent = phaseTitle(state.phase);
    control("memories-notes").replaceChildren(...drawn.flatMap(curveNotes));
    redraw();
  });
});

// What the strong curve of a memory is of, where its source says so or its reads are few.
function curveNotes(memory) {
  const dot = data.points.find((p) => p.memory === memory.name && p.phase === state.phase);
  const share = dot ? dot.read_share : 1, curve = curveFor(memory, share), notes = [];
  if (Math.abs(curve.read_share - share) > 0.25)
    notes.push(`its nearest curve is for ${percent(curve.read_share)} reads, and the program has ${percent(share)}`);
  if (curve.note) notes.push(curve.note);
  return notes.length ? [el("li", {}, `${memory.title}: ${notes.join("; ")}.`)] : [];
}

const curveFor = (memory, share) => memory.curves.reduce((best, curve) =>
  !best || Math.abs(curve.read_share - share) < Math.abs(best.read_share - share) ? curve : best, null);

function drawCurves(picture, width, drawn, idle) {
  if (!drawn.length && !idle.length) {
    picture.append(svg("text", { x: 0, y: 20 }, "Neither a latency-load curve nor an idle latency is known of these memories."));
    return 40;
  }
  const left = 52, right = width - 10, top = 28, bottom = 340;
  const all = drawn.flatMap((m) => m.curves.flatMap((c) => c.points));
  const dots = data.points.filter((p) => p.phase === state.phase);
  const widest = Math.max(0.1, ...all.map((p) => p[0]), ...dots.map((p) => p.traffic_gb_per_s),
    ...(all.length ? [] : idle.map((m) => m.read_gb_per_s ?? 0)));
  const latencies = [...all.map((p) => p[1]), ...idle.map((m) => m.idle_latency_ns)].filter((v) => v > 0);
  // Where the program draws little, a square-root scale keeps its dots apart from the axis.
  const little = Math.max(0, ...dots.map((p) => p.traffic_gb_per_s)) < 0.06 * widest;
  const x = (little ? d3.scaleSqrt : d3.scaleLinear)([0, widest], [left, right]);
  const ticks = little ? sqrtTicks(widest, x) : x.ticks(width < 500 ? 5 : 9);
  const y = d3.scaleLog([0.85 * Math.min(...latencies), 1.1 * Math.max(...latencies)], [bottom, top]);
  xAxis(picture, x, { top, bottom, ticks, format: (v) => String(v),
    label: little ? "bandwidth, GB/s (square-root scale)" : "bandwidth, GB/s" });
  yAxis(picture, y, { left, right, ticks: logTicks(y.domain()), format: digits3, label: "latency, ns (logarithmic)" });
  for (const memory of drawn) {
    const dot = dots.find((p) => p.memory === memory.name);
    const main = curveFor(memory, dot ? dot.read_share : 1);
    for (const curve of memory.curves)
      picture.append(withTip(svg("path", { fill: "none", stroke: memoryColour(memory.name),
        d: d3.line((p) => x(p[0]), (p) => y(Math.max(p[1], y.domain()[0])))(curve.points),
        "stroke-width": curve === main ? 2.2 : 1, opacity: curve === main ? 1 : 0.28,
        "stroke-linejoin": "round" }),
      () => [memory.title, `${percent(curve.read_share)} reads, ${curve.how === "published" ? "as published" : curve.how}`, ...curve.oddities]));
  }
  for (const memory of idle)
    picture.append(withTip(svg("line", { x1: left, x2: x(Math.min(widest, memory.read_gb_per_s ?? widest)),
      y1: y(memory.idle_latency_ns), y2: y(memory.idle_latency_ns), stroke: memoryColour(memory.name),
      "stroke-width": 1.6, "stroke-dasharray": "2 5" }), () => [memory.title, `idle latency${memory.measured ? "" : " as published"}; no curve is known`]));
  for (const dot of dots) {
    const latency = dot.latency_ns ?? memoriesByName.get(dot.memory).idle_latency_ns;
    if (latency) picture.append(workingPoint(dot, latency, x, y));
  }
  return bottom + 42;
}

// 1, 2, 5 times powers of ten that lie at least 45 pixels apart.
function sqrtTicks(widest, x) {
  const ticks = [0];
  for (const tick of logTicks([widest / 1e4, widest]))
    if (x(tick) - x(ticks[ticks.length - 1]) >= 45) ticks.push(tick);
  return ticks;
}

function logTicks([low, high]) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
    for (const step of [1, 2, 5]) {
      const tick = step * 10 ** power;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  return ticks;
}

function workingPoint(dot, latency, x, y) {
  const memory = memoriesByName.get(dot.memory), chosen = dot.memory === state.memory || memory.role === "near";
  return withTip(svg("circle", { cx: x(dot.traffic_gb_per_s), cy: y(latency), r: chosen ? 7 : 5,
    fill: memoryColour(dot.memory), stroke: "var(--card)", "stroke-width": 2, "data-memory": dot.memory }),
  () => [memory.title,
    `${digits3(dot.traffic_gb_per_s)} GB/s with ${percent(dot.read_share)} reads: ${digits3(latency)} ns` +
      (memory.measured ? "" : " as published"),
    ...(memory.latency_taken ? [`idle latency taken here: ${memory.latency_taken}`] : []),
    dot.latency_ns === null ? "idle latency: no curve is known"
      : dot.beyond ? "more than the curve reaches: bandwidth binds" : "on its curve"]);
}
