// Misses and added time by type and field on the chosen memory, and the splits that would save.
const MOST_FIELDS = 25;

figure("fields", () => ifChanged(() => [state.memory], () => {
  const rows = data.fields.find((entry) => entry.memory === state.memory);
  const fields = rows ? rows.fields.slice(0, MOST_FIELDS) : [];
  const total = rows ? rows.fields.reduce((sum, row) => sum + Math.max(0, row.added_ns.value), 0) : 0;
  control("fields-lead").textContent = rows ? rows.sentence : "No far memory is chosen.";
  control("split-list").replaceChildren(...(rows ? rows.splits : []).map((split) =>
    el("li", {}, split.sentence + ".")));
  const table = document.getElementById("field-table");
  table.closest("figure").hidden = fields.length === 0;
  table.tBodies[0].replaceChildren(...fields.map((row) => fieldRow(row, total)));
}));

function fieldRow(row, total) {
  const known = row.type !== "";
  const share = total > 0 ? Math.max(0, row.added_ns.value) / total : 0;
  return el("tr", { "data-type": row.type, "data-field": row.field },
    el("td", { class: "name", title: row.type }, known ? row.label : "(no type known)"),
    el("td", {}, row.field || (known ? "(several, or unnamed)" : "")),
    el("td", { class: "number" }, known ? String(row.offset) : ""),
    el("td", { class: "number" }, known ? String(row.bytes) : ""),
    el("td", { class: "number" }, count(row.misses)),
    el("td", { class: "number" }, `+${ns(row.added_ns.value)}`),
    el("td", {}, el("div", { class: "field-bar", title: percent(share) },
      el("i", { style: { width: `${100 * share}%` } }))));
}
