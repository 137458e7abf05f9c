// Canvases and axes: what every chart of the page is drawn with.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif';
const byId = (id) => document.getElementById(id);
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** The colors of the style sheet, read again when the page turns dark or light. */
let ink = {};
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "panel", "ink", "muted", "rule", "grid", "gpm", "eigen", "bound", "good", "quiet", "bad-edge", "good-edge"]) {
    ink[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

/** A canvas with as many pixels as it takes on the screen, cleared; units are those of the page. */
function prepared(canvas) {
  const width = canvas.clientWidth, height = Math.round(width * Number(canvas.dataset.ratio)), dense = devicePixelRatio || 1;
  const w = Math.round(width * dense), h = Math.round(height * dense);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(dense, 0, 0, dense, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = `13px ${FONT}`;
  g.lineJoin = "round";
  g.lineCap = "round";
  return { g, width, height };
}

/** Steps of 1, 2 or 5 times a power of ten, at most `most` of them. */
function niceTicks(low, high, most = 6) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const powerOfTen = (exponent) => "10" + [...String(exponent)].map((letter) => SUPERSCRIPT[letter]).join("");
const plain = (value) => String(Number(value.toPrecision(6))).replace("-", "−");

function text(g, words, x, y, { align = "center", color = ink.muted, halo = false, bold = false } = {}) {
  g.textAlign = align;
  g.textBaseline = "middle";
  g.font = `${bold ? "600 " : ""}13px ${FONT}`;
  if (halo) {
    g.strokeStyle = ink.panel;
    g.lineWidth = 4;
    g.strokeText(words, x, y);
  }
  g.fillStyle = color;
  g.fillText(words, x, y);
}

/** Axes with their grid; gives the functions from values to places. `y.log`: low and high are exponents of ten. */
function axes({ g, width, height }, x, y, part = { top: 0, bottom: height }) {
  const frame = { left: 46, right: width - 12, top: part.top + 24, bottom: part.bottom - 38 };
  const place = (low, high, from, to) => (value) => from + (value - low) / (high - low) * (to - from);
  const X = place(x.low, x.high, frame.left, frame.right), linear = place(y.low, y.high, frame.bottom, frame.top);
  const Y = y.log ? (value) => linear(Math.log10(Math.max(value, 1e-300))) : linear;
  g.lineWidth = 1;
  for (const tick of x.ticks ?? niceTicks(x.low, x.high, width < 380 ? 5 : 7)) {
    line(g, ink.grid, [[X(tick), frame.top], [X(tick), frame.bottom]], 1);
    text(g, (x.format ?? plain)(tick), X(tick), frame.bottom + 13);
  }
  const most = Math.max(1, Math.ceil((y.high - y.low) * 22 / (frame.bottom - frame.top))), exponents = []; // 22 pixels a label
  if (y.log) for (let e = Math.ceil(y.low); e <= y.high; e += most) exponents.push(e);
  for (const tick of y.log ? exponents : y.ticks ?? niceTicks(y.low, y.high, 5)) {
    line(g, ink.grid, [[frame.left, linear(tick)], [frame.right, linear(tick)]], 1);
    text(g, y.log ? powerOfTen(tick) : (y.format ?? plain)(tick), frame.left - 7, linear(tick), { align: "right" });
  }
  text(g, x.label, frame.right, part.bottom - 9, { align: "right" });
  text(g, y.label, 2, part.top + 9, { align: "left", color: y.color ?? ink.muted, bold: y.color !== undefined });
  return { X, Y, frame };
}

function line(g, color, points, width = 2.2, dash = []) {
  g.beginPath();
  for (const [x, y] of points) g.lineTo(x, y);
  g.strokeStyle = color;
  g.lineWidth = width;
  g.setLineDash(dash);
  g.stroke();
  g.setLineDash([]);
}

function dot(g, color, x, y, radius, filled = true) {
  g.beginPath();
  g.arc(x, y, radius, 0, 2 * Math.PI);
  if (filled) { g.fillStyle = color; g.fill(); }
  else { g.strokeStyle = color; g.lineWidth = 1.6; g.stroke(); }
}

/** Draws only inside the frame while `paint` runs. */
function inside(g, frame, paint) {
  g.save();
  g.beginPath();
  g.rect(frame.left, frame.top - 1, frame.right - frame.left + 1, frame.bottom - frame.top + 2);
  g.clip();
  paint();
  g.restore();
}

const degrees = (radians) => radians * 180 / Math.PI;

/** An angle in degrees with as many digits as can be read. */
function inDegrees(radians) {
  const value = Math.abs(degrees(radians));
  if (!Number.isFinite(value)) return "–";
  if (value < 1e-4) return value < 1e-12 ? "0°" : `${value.toExponential(0).replace("e-", "·10⁻")}°`.replace(/⁻(\d+)/, (_, d) => "⁻" + [...d].map((c) => SUPERSCRIPT[c]).join(""));
  return `${value < 1 ? value.toPrecision(2) : value < 10 ? value.toFixed(2) : value.toFixed(1)}°`;
}

/** A number in a few digits, with a power of ten where that is shorter. */
function inWords(value, digits = 3) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, exponent] = value.toExponential(digits - 2).split("e");
  return `${mantissa.replace("-", "−")}·${powerOfTen(Number(exponent))}`;
}

/** A file of the user's own, without a server. */
function download(name, content) {
  const anchor = document.createElement("a"), address = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** What a canvas shows, for those who do not see it. */
function describe(canvas, words) {
  if (canvas.getAttribute("aria-label") !== words) canvas.setAttribute("aria-label", words);
}

/** Sets a text only where it changed. */
function say(id, words) {
  const element = byId(id);
  if (element.textContent !== words) element.textContent = words;
}

function verdictBox(id, look, word, words) {
  const box = byId(id);
  if (box.className !== `verdict ${look}`) box.className = `verdict ${look}`;
  say(box.children[0].id, word);
  say(box.children[1].id, words);
}
