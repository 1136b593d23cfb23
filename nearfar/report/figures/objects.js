// The table: sorted and filtered as a list of numbers; only the rows shown become elements.
const FIRST_ROWS = 25, MORE_ROWS = 200;
const classNames = ["chase", "indirect", "stream", "opaque"];

figure("objects", (root) => {
  const table = { key: "added:" + state.memory, descending: true, text: "", rows: FIRST_ROWS };
  const body = root.querySelector("tbody"), head = root.querySelector("thead tr");
  control("class-legend").replaceChildren(...legend(classNames.map((name) => [`var(--${name})`, name])).children);
  const draw = () => drawObjects(table, head, body, draw);
  control("object-filter").addEventListener("input", (event) => {
    table.text = event.target.value.toLowerCase();
    table.rows = FIRST_ROWS;
    draw();
  });
  control("object-more").addEventListener("click", () => { table.rows += MORE_ROWS; draw(); });
  let memory = state.memory;
  return () => {
    if (table.key === `added:${memory}`) table.key = `added:${state.memory}`;
    memory = state.memory;
    draw();
  };
});

// Columns: key, heading, number or text, how to sort, what to show.
function objectColumns(near) {
  const phase = phasesByName.get(state.phase), thing = (i) => data.objects[i];
  const columns = [
    { key: "now", title: "Now", sort: (i) => near.get(i) ?? 0,
      show: (i) => nearChip(near, i) },
    { key: "name", title: "Object", text: true, sort: (i) => thing(i).label.toLowerCase(), show: objectName },
    { key: "size", title: "Size", number: true, sort: (i) => thing(i).size_bytes, show: (i) => bytes(thing(i).size_bytes) },
    { key: "misses", title: "Misses", number: true, sort: (i) => misses(phase, i), show: (i) => count(misses(phase, i)) },
    { key: "classes", title: "Classes", sort: (i) => phase.chase[i] / (misses(phase, i) || 1), show: (i) => classBar(phase, i) },
  ];
  const first = farMemories.find((m) => m.name === state.memory);
  for (const memory of [first, ...farMemories.filter((m) => m !== first)].filter(Boolean)) {
    const added = effect(memory.name);
    if (!added) continue;
    columns.push({ key: `added:${memory.name}`, title: `Added on ${memory.name}`, number: true,
      sort: (i) => added.added_ns[i][0],
      show: (i) => (added.added_ns[i][0]
        ? el("span", { title: `90 %: ${ns(added.added_ns[i][1])} to ${ns(added.added_ns[i][2])}` }, ns(added.added_ns[i][0]))
        : el("span", { class: "quiet" }, "0")) });
  }
  return columns;
}

const nearChip = (near, i) =>
  el("span", { class: `chip ${near.has(i) ? "near" : "far"}` }, whereNow(near, i));

const objectName = (i) => {
  const thing = data.objects[i];
  const path = thing.frames.map((f) => `${f.function} ${f.file}:${f.line}`).join(" ← ");
  return el("span", { title: path || thing.name }, thing.label,
    el("span", { class: "small quiet" }, `  ${thing.kind}`));
};

function classBar(phase, i) {
  const all = misses(phase, i);
  const parts = classNames.map((name) => [name, all > 0 ? phase[name][i] / all : 0]);
  const text = parts.filter(([, share]) => share > 0).map(([name, share]) => `${name} ${percent(share)}`).join(", ");
  return withTip(el("span", { class: "classes", role: "img", "aria-label": text || "no misses" },
    parts.map(([name, share]) => el("i", { style: { width: `${100 * share}%`, background: `var(--${name})` } }))),
  () => ["Classes of its misses", text || "no misses"]);
}

const sortedRows = remembered(), rowsDrawn = remembered();
function drawObjects(table, head, body, draw) {
  const near = nearNow(), columns = objectColumns(near);
  const sorted = columns.find((column) => column.key === table.key) || columns[2];
  const order = [table.text, sorted.key, table.descending, state.phase];
  if (sorted.key === "now") order.push(near);
  const found = sortedRows(order, () => {
    const rows = [...data.objects.keys()].filter((i) => matches(data.objects[i], table.text));
    const keys = new Map(rows.map((i) => [i, sorted.sort(i)]));
    return rows.sort((a, b) =>
      d3.ascending(keys.get(a), keys.get(b)) * (table.descending ? -1 : 1) || a - b);
  });
  const shown = found.slice(0, table.rows);
  rowsDrawn([found, table.rows, ...memoryAndPhase()], () => {
    drawHead(table, head, columns, sorted, draw);
    body.replaceChildren(...shown.map((i) => el("tr", { "data-object": data.objects[i].id },
      columns.map((column) => el("td", { class: column.number ? "number" : column.key === "name" ? "name" : null },
        column.show(i))))));
    control("object-count").textContent = found.length
      ? `${shown.length} of ${found.length} shown` : "no object matches";
    control("object-more").hidden = found.length <= table.rows;
  });
  shown.forEach((i, row) => {
    const cell = body.children[row].firstChild;
    if (cell.textContent !== whereNow(near, i)) cell.replaceChildren(nearChip(near, i));
  });
}

function drawHead(table, head, columns, sorted, draw) {
  head.replaceChildren(...columns.map((column) => el("th", {
    scope: "col", class: column.number ? "number" : null,
    "aria-sort": column === sorted ? (table.descending ? "descending" : "ascending") : null,
  }, el("button", { type: "button", "data-key": column.key, onclick: () => {
    table.descending = column === sorted ? !table.descending : !column.text;
    table.key = column.key;
    draw();
    head.querySelector(`[data-key="${CSS.escape(column.key)}"]`).focus();
  } }, column.title))));
}

const matches = (thing, text) => !text || `${thing.name} ${thing.kind} ${thing.frames.map((f) =>
  `${f.function} ${f.file}`).join(" ")}`.toLowerCase().includes(text);
