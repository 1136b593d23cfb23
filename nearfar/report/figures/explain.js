// One card a phase or object: what its time consists of, near and far, and what moves it most.
const FIRST_EXPLAINED = 6, MAX_INPUTS = 4;

figure("explain", () => {
  let shown = FIRST_EXPLAINED;
  const draw = () => {
    const rows = data.breakdowns.filter((row) => row.memory === state.memory &&
      (state.phase === "total" || row.breakdown.phase === state.phase));
    rows.sort((a, b) => (a.object !== null) - (b.object !== null) ||
      b.breakdown.added_ns - a.breakdown.added_ns);
    control("explain-lead").textContent = rows.length
      ? `Everything on ${memoriesByName.get(state.memory).title}: what each time consists of, what ` +
        "limits it, and which input it depends on most."
      : "Nothing was predicted for this phase.";
    control("explain-list").replaceChildren(...rows.slice(0, shown).map(explainCard));
    control("explain-more").hidden = rows.length <= shown;
  };
  control("explain-more").addEventListener("click", () => { shown += 30; draw(); });
  return ifChanged(memoryAndPhase, draw);
});

function explainCard({ object, breakdown }) {
  const added = breakdown.added_ns, inputs = breakdown.effects.slice(0, MAX_INPUTS);
  const name = object === null ? phaseTitle(breakdown.phase) : data.objects[object].label;
  const kind = object === null ? "phase" : `object, ${phaseTitle(breakdown.phase)}`;
  return el("li", { class: "card", "data-phase": breakdown.phase,
    "data-object": object === null ? null : data.objects[object].id },
    el("div", { class: "explain-head" },
      el("span", { class: "name", title: breakdown.name }, name),
      el("span", { class: "small quiet" }, kind),
      el("span", { class: "cost" }, `${added < 0 ? "" : "+"}${ns(added)}`)),
    el("p", { class: "explain-words" }, explainWords(breakdown)),
    el("table", {},
      el("thead", {}, el("tr", {}, ["", "near", "far"].map((text) =>
        el("th", { scope: "col", class: text ? "number" : null }, text)))),
      el("tbody", {}, explainRows(breakdown).map(([title, near, far]) => el("tr", {},
        el("td", {}, title), el("td", { class: "number" }, near), el("td", { class: "number" }, far))))),
    inputs.length ? explainInputs(inputs) : null);
}

const boundWords = {
  latency: "Waiting for misses limits the phase in far memory",
  bandwidth: "The far memory's bandwidth limits the phase",
  compute: "Its own work limits the phase, near and far",
};
const rangeText = (effect) => `${ns(effect.low_ns)} to +${ns(effect.high_ns)}`;

function explainWords({ memory_share_near: memory, bound, effects }) {
  const share = memory === null ? "" : `; memory takes ${percent(memory)} of its near time`;
  const first = effects.length
    ? ` What is added depends most on ${effects[0].input}: ${rangeText(effects[0])}.` : "";
  return `${boundWords[bound]}${share}.${first}`;
}

function explainRows(breakdown) {
  const known = (number, text) => (number === null ? "\u2013" : text(number));
  const decimal = (number) => number.toFixed(1);
  return [
    ["misses", count(breakdown.misses), ""],
    ["lines written back", count(breakdown.write_backs), ""],
    ["time of the phase", ns(breakdown.near_time_ns), ns(breakdown.far_time_ns)],
    ["misses in flight", known(breakdown.overlap_near, decimal),
      known(breakdown.overlap_far, decimal)],
    ["lines at full bandwidth", known(breakdown.bandwidth_share_near, percent),
      known(breakdown.bandwidth_share_far, percent)],
    ["bandwidth drawn", "", `${digits3(breakdown.far_gb_per_s)} GB/s`],
  ];
}

// Ranges around what it adds, all on the scale of the widest.
function explainInputs(effects) {
  const most = Math.max(...effects.flatMap((effect) => [-effect.low_ns, effect.high_ns])) || 1;
  const at = (value) => 50 + (50 * value) / most;
  return el("div", { class: "explain-inputs" }, effects.map((effect) => [
    el("span", {}, effect.input),
    withTip(el("span", { class: "explain-range", role: "img",
      "aria-label": rangeText(effect) },
      el("i", { style: { left: `${at(effect.low_ns)}%`,
        width: `${at(effect.high_ns) - at(effect.low_ns)}%` } }), el("b")),
    () => [effect.input, `moves what is added by ${rangeText(effect)}`]),
  ]));
}
