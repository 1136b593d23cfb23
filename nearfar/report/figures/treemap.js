// A squarified treemap (d3-hierarchy); colour in seven steps so that a reader can name them.
const MOST_TILES = 300; // more tiles than this are narrower than a pixel
const HEAT_STEPS = 6;

figure("treemap", (root) => {
  const redraw = chart(root.querySelector(".draw"), "Objects by size and sensitivity", drawTreemap);
  const drawTiles = ifChanged(memoryAndPhase, () => {
    drawHeatLegend(control("heat-legend"));
    redraw();
  });
  return () => { drawTiles(); markNear(); };
});

const sensitivity = (i) => {
  const size = data.objects[i].size_bytes, now = effect();
  return now && size > 0 ? Math.max(0, now.added_ns[i][0]) / size : 0;
};
// Lower bounds of the steps 1..HEAT_STEPS, ns per byte. Of the objects large enough to be seen
// (0.05 % of the bytes) the most sensitive is in the last step; the factor between steps is the
// smallest of 2, 3 and 10 that brings the least sensitive one into the first.
const boundsOf = remembered();
const heatBounds = () => boundsOf([effect()], makeHeatBounds);
function makeHeatBounds() {
  const seen = [...data.objects.keys()].filter((i) => data.objects[i].size_bytes > 0.0005 * data.footprint_bytes)
    .map(sensitivity).filter((perByte) => perByte > 0);
  if (!seen.length) return [];
  const most = Math.max(...seen), least = Math.min(...seen);
  const factor = [2, 3, 10].find((f) => most / f ** HEAT_STEPS <= least) ?? 10;
  // The last bound has one digit, so that the legend is easy to read.
  const last = Number((most / factor).toPrecision(1));
  return d3.range(HEAT_STEPS).map((step) => last / factor ** (HEAT_STEPS - 1 - step));
}
function heat(perByte, bounds) {
  if (!(perByte > 0) || !bounds.length) return 0;
  return Math.max(1, d3.bisectRight(bounds, perByte));
}

function drawHeatLegend(root) {
  const bounds = heatBounds(), text = (value) => String(Number(value.toPrecision(2)));
  const items = bounds.map((from, i) => [i + 1, i === 0 ? `< ${text(bounds[1])}`
    : i === HEAT_STEPS - 1 ? `≥ ${text(from)}` : `${text(from)}–${text(bounds[i + 1])}`]);
  root.replaceChildren("added ns per byte: ", ...[[0, "nothing"], ...items].map(([step, label]) => el("span", {},
    el("span", { class: "swatch", style: { background: `var(--heat${step})` } }), label)));
}

let edges = []; // each object with a tile wide enough for an edge, and the edge
function markNear() {
  const near = nearNow();
  for (const [i, edge] of edges) {
    const visibility = near.has(i) ? "visible" : "hidden";
    if (edge.getAttribute("visibility") !== visibility) edge.setAttribute("visibility", visibility);
  }
}

const tilesOf = remembered();
function drawTreemap(picture, width) {
  const height = Math.round(Math.max(280, Math.min(460, width * 0.5)));
  edges = [];
  const { leaves, gathered } = tilesOf([width, height], () => tiles(width, height));
  if (!leaves.length) {
    picture.append(svg("text", { x: 0, y: 20 }, "The profile holds no object of any size."));
    return 40;
  }
  const bounds = heatBounds();
  picture.append(...leaves.map((leaf) => tile(leaf, bounds, gathered)));
  markNear();
  return height;
}

// Where each of the largest objects is drawn, and how many others share the last tile.
function tiles(width, height) {
  const bySize = [...data.objects.keys()].filter((i) => data.objects[i].size_bytes > 0)
    .sort((a, b) => data.objects[b].size_bytes - data.objects[a].size_bytes);
  const shown = bySize.slice(0, MOST_TILES), rest = bySize.slice(MOST_TILES);
  if (!shown.length) return { leaves: [], gathered: 0 };
  const leaves = shown.map((i) => ({ i, size: data.objects[i].size_bytes }));
  if (rest.length)
    leaves.push({ i: -1, size: rest.reduce((sum, i) => sum + data.objects[i].size_bytes, 0) });
  const tree = d3.treemap().size([width, height]).paddingInner(2).round(true)(
    d3.hierarchy({ children: leaves }).sum((leaf) => leaf.size || 0).sort((a, b) => b.value - a.value));
  return { leaves: tree.leaves(), gathered: rest.length };
}

function tile(leaf, bounds, gathered) {
  const { i, size } = leaf.data, w = leaf.x1 - leaf.x0, h = leaf.y1 - leaf.y0;
  const perByte = i < 0 ? 0 : sensitivity(i), step = heat(perByte, bounds);
  const name = i < 0 ? `${gathered} small objects` : data.objects[i].label;
  const ink = step >= 5 ? "var(--heat-light-ink)" : "var(--ink)";
  const letters = Math.floor((w - 14) / 7.3); // pixels of a bold letter
  const edge = i >= 0 && w > 5 && h > 5 ? svg("rect", { x: 1.5, y: 1.5, width: w - 3, height: h - 3,
    rx: 2, fill: "none", stroke: "var(--near)", "stroke-width": 3 }) : null;
  if (edge) edges.push([i, edge]);
  const group = svg("g", { transform: `translate(${leaf.x0},${leaf.y0})`, "data-object": i },
    svg("rect", { width: w, height: h, rx: 3, fill: `var(--heat${step})` }),
    edge,
    letters > 4 && h > 22 ? svg("text", { x: 8, y: 18, style: { fill: ink, fontWeight: 600 } },
      name.length > letters ? `${name.slice(0, letters - 1)}…` : name) : null,
    letters > 7 && h > 40 ? svg("text", { x: 8, y: 34, style: { fill: ink } }, bytes(size)) : null);
  return withTip(group, () => i < 0 ? [name, bytes(size)] : [data.objects[i].name,
    `${bytes(size)}, ${whereNow(nearNow(), i)} at this budget`,
    `adds ${ns(effect() ? effect().added_ns[i][0] : 0)} if far: ${digits3(perByte)} ns per byte`]);
}
