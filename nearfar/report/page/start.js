// The controls, and drawing everything once and after every change.

function update(change) {
  Object.assign(state, change);
  drawControls();
  for (const redraw of redraws) redraw();
}

const control = (id) => document.getElementById(id);
const footprint = () => (frontier() ? frontier().footprint_bytes : data.footprint_bytes);

function drawControls() {
  control("memory").value = state.memory;
  control("phase").value = state.phase;
  const curve = frontier(), share = footprint() ? state.budget / footprint() : 0;
  const slider = control("budget");
  slider.disabled = !curve;
  slider.value = 100 * share;
  slider.setAttribute("aria-valuetext", `${percent(share)}, ${bytes(state.budget)}`);
  value(control("budget-text"), state.budget, `${percent(share)} · ${bytes(state.budget)}`);
  const slow = curve && curve.slowdown[pointAt(curve, state.budget)][0];
  value(control("now"), slow ?? "", curve ? times(slow) : "–");
  for (const button of control("presets").children)
    button.setAttribute("aria-pressed", Math.abs(button.dataset.share - share) < 0.0005);
}

function option(value, text) { return el("option", { value }, text); }

control("memory").append(...farMemories.map((memory) => option(memory.name, memory.title)));
control("phase").append(...data.phases.map((phase) => option(phase.name, phaseTitle(phase.name))));
control("memory").addEventListener("change", (event) => update({ memory: event.target.value }));
control("phase").addEventListener("change", (event) => update({ phase: event.target.value }));
control("budget").addEventListener("input", (event) =>
  update({ budget: Math.floor((event.target.value / 100) * footprint()) }));
control("presets").append(...[0.1, 0.25, 0.5].map((share) => el("button", {
  type: "button", "data-share": share,
  onclick: () => update({ budget: Math.floor(share * footprint()) }),
}, percent(share))));

state.budget = data.first_budget_bytes ?? Math.floor(0.25 * footprint());
const redraws = figures.map(([id, make]) => make(document.getElementById(id)));
update({});
