"use strict";
// Costs and the memory plan for the numbers of elements that are set at the top. Without scripts the page shows formulas.
const model = JSON.parse(document.getElementById("model").textContent);
const bytesEach = model.dtype === "f64" ? 8 : 4;
const sizes = new Map();
const inputs = document.querySelectorAll(".sizes input");
const count = x => Math.round(x).toLocaleString("en").replace(/,/g, "\u2009");
const bytes = x => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; x >= 1024 && unit < 4; ++unit) x /= 1024;
  return (x >= 100 || unit === 0 ? x.toFixed(0) : x.toPrecision(3)) + " " + units[unit];
};
const evaluate = formula => formula.reduce((sum, [space, each]) => sum + each * (space ? sizes.get(space) : 1), 0);

function fill() {
  for (const input of inputs) sizes.set(input.dataset.space, Math.max(0, Number(input.value) || 0));
  for (const cell of document.querySelectorAll("[data-formula]")) {
    const most = Math.max(0, ...JSON.parse(cell.dataset.formula).map(evaluate));
    cell.textContent = cell.dataset.unit === "bytes" ? bytes(most) : count(most);
  }
  for (const svg of document.querySelectorAll("svg.plan")) draw(svg);
}

// As the runtime places values: by falling size, each into the smallest gap it fits.
function place(items) {
  const placed = [];
  for (const item of [...items].sort((a, b) => b.bytes - a.bytes)) {
    let top = 0, best = -1, gap = Infinity;
    for (const other of placed) {
      if (other.last < item.first || item.last < other.first) continue;
      const room = other.offset - top;
      if (room >= item.bytes && room < gap) { best = top; gap = room; }
      top = Math.max(top, other.offset + other.bytes);
    }
    item.offset = best >= 0 ? best : top;
    placed.push(item);
    placed.sort((a, b) => a.offset - b.offset);
  }
  return Math.max(0, ...items.map(item => item.offset + item.bytes));
}

function draw(svg) {
  const program = svg.dataset.program;
  const steps = model.kernels.filter(kernel => kernel.function === program);
  const items = model.buffers.filter(buffer => buffer.function === program && buffer.first !== null).map(buffer => ({
    first: buffer.first, last: buffer.last, saved: buffer.saved, space: buffer.space, name: buffer.name,
    text: (buffer.space || "") + "[" + buffer.row_elements + "]",
    bytes: buffer.row_elements * bytesEach * (buffer.space ? sizes.get(buffer.space) : 1)}));
  const total = place(items);
  const live = steps.map((_, k) => items.reduce((sum, i) => sum + (i.first <= k && k <= i.last ? i.bytes : 0), 0));
  const left = 74, width = 1360, height = 340, step = (width - left) / Math.max(1, steps.length);
  const y = at => height - at / Math.max(1, total) * height + 8;
  let text = "";
  for (let k = 0; k <= 4; ++k)
    text += `<line x1="${left}" x2="${width}" y1="${y(total * k / 4)}" y2="${y(total * k / 4)}"/>` +
            `<text class="axis" x="${left - 6}" y="${y(total * k / 4) + 4}" text-anchor="end">${bytes(total * k / 4)}</text>`;
  const colour = space => (document.querySelector(`.sizes [data-space="${CSS.escape(space || "")}"]`) || {dataset: {}}).dataset.colour || "shared";
  for (const item of items) {
    if (item.bytes === 0) continue;
    const x = left + item.first * step, w = (item.last - item.first + 1) * step - 1, h = item.bytes / Math.max(1, total) * height;
    text += `<g class="${colour(item.space)}"><title>${item.name}: ${item.text}, ${bytes(item.bytes)}, kernels ${item.first} to ${item.last}` +
            `${item.saved ? ", kept for the backward half" : ""}</title>` +
            `<rect x="${x}" y="${y(item.offset + item.bytes)}" width="${w}" height="${Math.max(.5, h - .5)}"${item.saved ? ' stroke-width="2.5"' : ""}/>` +
            (h > 13 && w > 7 * item.text.length ? `<text x="${x + w / 2}" y="${y(item.offset + item.bytes / 2) + 4}" text-anchor="middle">${item.text}</text>` : "") + "</g>";
  }
  const peak = Math.max(0, ...live);
  text += `<line class="peak" x1="${left}" x2="${width}" y1="${y(peak)}" y2="${y(peak)}"/>`;
  const every = Math.ceil(steps.length / 40);
  steps.forEach((kernel, k) => {
    if (k % every === 0)
      text += `<text class="axis" x="${left + (k + .5) * step}" y="${height + 24}" text-anchor="middle">${k}</text>`;
    text += `<rect x="${left + k * step}" y="${height + 29}" width="${step - 1}" height="5" style="fill:${kernel.half === "backward" ? "#8a6fd0" : "#4c8dff"};stroke:none"/>`;
  });
  svg.setAttribute("viewBox", `0 0 ${width + 4} ${height + 40}`);
  svg.innerHTML = text;
  const caption = document.querySelector(`[data-caption="${CSS.escape(program)}"]`);
  if (caption)
    caption.textContent = `arena ${bytes(total)}, at most ${bytes(peak)} alive at one time (dashed)`;
}

for (const input of inputs) input.addEventListener("input", fill);
fill();
