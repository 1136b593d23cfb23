// Source lines ranked by what they add on the chosen memory in the chosen phase.
const FIRST_LINES = 6;

figure("lines", () => {
  let shown = FIRST_LINES;
  const draw = () => {
    const rows = data.lines.filter((row) => row.phase === state.phase)
      .map((row) => ({ row, added: lineAdded(row) }))
      .sort((a, b) => b.added - a.added || b.row.misses - a.row.misses);
    const covered = rows.reduce((sum, { row }) => sum + row.share, 0);
    control("lines-lead").textContent = rows.length
      ? `These ${rows.length} lines make ${percent(Math.min(1, covered))} of the misses of ` +
        `${phaseTitle(state.phase)}; added time is for ${memoriesByName.get(state.memory)?.title ?? "no memory"}.`
      : "The profile names no source line for this phase: nothing missed, or it was compiled without -g.";
    // One note for all is said once.
    const notes = new Set(rows.map(({ row }) => row.text_note));
    const note = notes.size === 1 && rows[0].row.text_note;
    if (note) control("lines-lead").textContent += ` Source text: ${note}.`;
    const most = rows.length ? rows[0].added : 0;
    control("line-list").replaceChildren(...rows.slice(0, shown).map((item) => lineCard(item, most, !note)));
    control("lines-more").hidden = rows.length <= shown;
  };
  control("lines-more").addEventListener("click", () => { shown += 34; draw(); });
  return ifChanged(memoryAndPhase, draw);
});

// An object's added time, shared out by where its misses happen.
function lineAdded(row) {
  const now = effect(), phase = phasesByName.get(row.phase);
  if (!now) return 0;
  return row.objects.reduce((sum, [i, part]) => {
    const all = misses(phase, i);
    return sum + (all > 0 ? Math.min(1, part / all) * now.added_ns[i][0] : 0);
  }, 0);
}

function lineCard({ row, added }, most, withNote) {
  const names = row.objects.slice(0, 3).map(([i]) => data.objects[i].label).join(", ");
  const more = row.objects.length > 3 ? ` and ${row.objects.length - 3} more` : "";
  return el("li", { class: "card", "data-file": row.file, "data-line": row.line },
    el("div", { class: "line-head" },
      el("span", { class: "place" }, row.file ? shortPath(row.file) + (row.line ? `:${row.line}` : "") : "(no line known)"),
      el("span", { class: "name quiet", title: row.function }, row.function_label),
      el("span", { class: "cost" }, `+${ns(added)}`)),
    el("div", { class: "line-bar" }, el("i", { style: {
      width: `${most > 0 ? Math.max(0, 100 * added / most) : 0}%`, background: `var(--${row.access_class})` } })),
    el("div", { class: "line-facts" },
      `${row.access_class} ${row.operation} · ${count(row.misses)} misses (${percent(row.share)}) · on ${names}${more}`),
    row.text.length ? el("pre", { tabindex: 0, "aria-label": "source text" }, row.text.map(([number, text]) =>
      el("span", { class: number === row.line ? "hit" : null, "data-line": number }, text))) : null,
    row.text_note && withNote ? el("div", { class: "line-facts" }, row.text_note) : null);
}

const shortPath = (path) => {
  const parts = path.split("/").filter((part) => part !== ".");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : path;
};
