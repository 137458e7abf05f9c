// The pictures of the first part: measurements, wheel, error against noise, proofs, steps, smallest eigenvalue.

const LEVELS = Array.from({ length: 20 }, (_, k) => Number((0.03 * (k + 1)).toFixed(2))); // noise of the draws in the charts
const noiseAxis = ({ graph }) => ({ low: 0, high: 0.62, label: graph === "complete" ? "noise, σ / √n" : "noise, σ / √(degree + 1)" });
const imageCanvas = document.createElement("canvas");

/** C as an image of its angles, or the graph itself where it is a grid or a ring. */
function drawMeasured(problem, state) {
  const canvas = byId("measured"), at = prepared(canvas), { g, width, height } = at, { n, graph } = problem;
  if (graph === "grid" || graph === "ring") { drawNetwork(at, problem, state, canvas); return; }
  if (problem.image !== imageCanvas.shown) {
    imageCanvas.width = imageCanvas.height = n;
    imageCanvas.getContext("2d").putImageData(new ImageData(problem.image, n, n), 0, 0);
    imageCanvas.shown = problem.image;
  }
  g.imageSmoothingEnabled = false;
  const edge = 22, side = Math.min(width, height) - edge;
  g.drawImage(imageCanvas, edge, edge, side, side);
  for (let k = 0; k < side; k++) { // the true phases along both sides
    const angle = problem.angles[Math.min(n - 1, Math.floor(k / side * n))];
    g.fillStyle = cyclicStyle(angle);
    g.fillRect(edge + k, 4, 1.5, 10);
    g.fillRect(4, edge + k, 10, 1.5);
  }
  describe(canvas, `Image of the measured angles between ${n} phases, ordered by the true phase.`);
}

function drawNetwork({ g, width }, problem, state, canvas) {
  const { n, graph, i, j, outlier } = problem, places = [];
  const columns = gridColumns(n), rows = Math.ceil(n / columns), step = (width - 40) / Math.max(columns - 1, rows - 1, 1);
  for (let k = 0; k < n; k++) {
    const turn = 2 * Math.PI * k / n, radius = width / 2 - 26;
    if (graph === "grid") places.push([20 + step * (k % columns), 20 + step * Math.floor(k / columns)]);
    else places.push([width / 2 + radius * Math.cos(turn), width / 2 - radius * Math.sin(turn)]);
  }
  for (let k = 0; k < i.length; k++) {
    line(g, outlier[k] ? ink["bad-edge"] : ink.quiet, [places[i[k]], places[j[k]]], outlier[k] ? 2.6 : 1.1);
  }
  const size = graph === "grid" ? Math.max(3, Math.min(13, step * 0.36)) : Math.max(3, Math.min(11, 2.2 * width / n));
  for (let k = 0; k < n; k++) {
    const [x, y] = places[k];
    dot(g, ink.quiet, x, y, size + 0.8);
    dot(g, state ? cyclicStyle(state.errors[k]) : ink.panel, x, y, size);
  }
  describe(canvas, `A ${graph} of ${n} nodes, colored by the error of the best fit.`);
}

/** Dots at the recovered angles, in the colors of the true ones. */
function drawWheel(problem, state) {
  const canvas = byId("wheel"), { g, width } = prepared(canvas), middle = width / 2, outer = width / 2 - 20, steps = 240;
  for (let k = 0; k < steps; k++) { // the ring of true colors
    const from = 2 * Math.PI * k / steps;
    g.beginPath();
    g.arc(middle, middle, outer, -from - 2 * Math.PI / steps - 0.004, -from + 0.004);
    g.lineWidth = 13;
    g.lineCap = "butt";
    g.strokeStyle = cyclicStyle(from + Math.PI / steps);
    g.stroke();
  }
  const rings = [[state.eigenErrors, outer - 32, ink.eigen], [state.errors, outer - 64, ink.gpm]];
  const size = Math.max(2.6, Math.min(7, 300 / problem.n + 2));
  for (const [errors, radius, color] of rings) {
    dot(g, color, middle, middle, radius, false);
    for (let k = 0; k < problem.n; k++) {
      const angle = problem.angles[k] + errors[k], x = middle + radius * Math.cos(angle), y = middle - radius * Math.sin(angle);
      dot(g, ink.quiet, x, y, size + 0.8);
      dot(g, cyclicStyle(problem.angles[k]), x, y, size);
    }
  }
  [["0°", 1, 0], ["90°", 0, -1], ["±180°", -1, 0], ["−90°", 0, 1]].forEach(([words, x, y]) => {
    text(g, words, middle + x * (outer - 102), middle + y * (outer - 102));
  });
  text(g, "off by", middle, middle - 11, { color: ink.muted });
  text(g, inDegrees(Math.sqrt(state.error / problem.n)), middle, middle + 9, { color: ink.ink, bold: true });
  describe(canvas, `Recovered phases around a circle. Root mean square error of the best fit ${inDegrees(Math.sqrt(state.error / problem.n))}, of the eigenvector ${inDegrees(Math.sqrt(state.eigenError / problem.n))}.`);
}

/** Sums over the draws of the sampler, level by level. */
function emptySamples() {
  return LEVELS.map(() => ({ count: 0, eigen: 0, eigen2: 0, gpm: 0, gpm2: 0, proved: 0, curvatures: [] }));
}

function addSamples(samples, found) {
  for (const { level, eigen, gpm, proved, curvature } of found) {
    const at = samples[level];
    at.count++;
    at.eigen += eigen; at.eigen2 += eigen * eigen;
    at.gpm += gpm; at.gpm2 += gpm * gpm;
    at.proved += proved ? 1 : 0;
    if (at.curvatures.length < 40) at.curvatures.push([curvature, proved]);
  }
}

/** Mean squared errors over the bound, or their roots in degrees, against the noise. */
function drawErrors(samples, problem, state, settings, unit) {
  const canvas = byId("errors"), at = prepared(canvas), { g } = at, ratio = unit === "ratio";
  // per node and in degrees: sqrt(ratio bound / n), the bound being proportional to the square of the noise
  const rootBound = settings.noise > 0 ? degrees(Math.sqrt(problem.bound / problem.n)) / settings.noise : 0;
  const value = (mean, noise) => ratio ? mean : Math.sqrt(mean) * rootBound * noise;
  const bars = (key) => samples.flatMap((sums, k) => {
    if (sums.count === 0) return [];
    const mean = sums[key] / sums.count, variance = Math.max(0, sums[key + "2"] / sums.count - mean * mean);
    const error = sums.count > 1 ? 2 * Math.sqrt(variance / (sums.count - 1)) : 0;
    return [[LEVELS[k], value(mean, LEVELS[k]), value(Math.max(0, mean - error), LEVELS[k]), value(mean + error, LEVELS[k])]];
  });
  const eigen = bars("eigen"), gpm = bars("gpm"), all = [...eigen, ...gpm].map(([, mean]) => mean);
  const most = Math.max(0, ...all), label = ratio ? "mean squared error / bound" : "error, degrees (root of the mean square)";
  const linear = { low: 0, high: ratio ? Math.max(1.6, most) * 1.08 : Math.min(105, Math.max(5, rootBound * 0.6, most) * 1.08), label };
  // with outliers errors are many times the bound, which knows of none: powers of ten then
  const y = ratio && most > 6 ? { low: -0.3, high: Math.log10(most) + 0.1, log: true, label } : linear;
  const { X, Y, frame } = axes(at, noiseAxis(settings), y);
  inside(g, frame, () => {
    line(g, ink.bound, (ratio ? [[0, 1], [0.62, 1]] : [[0, 0], [0.62, rootBound * 0.62]]).map(([x, y]) => [X(x), Y(y)]), 1.6, [6, 5]);
    line(g, ink.quiet, [[X(settings.noise), frame.top], [X(settings.noise), frame.bottom]], 1.2, [2, 4]);
    for (const [points, color] of [[eigen, ink.eigen], [gpm, ink.gpm]]) {
      line(g, color, points.map(([x, y]) => [X(x), Y(y)]));
      for (const [x, y, low, high] of points) {
        line(g, color, [[X(x), Y(low)], [X(x), Y(high)]], 1.3);
        dot(g, color, X(x), Y(y), 3.2);
      }
    }
    if (state && settings.noise > 0) {
      for (const [error, color] of [[state.eigenError, ink.eigen], [state.error, ink.gpm]]) {
        dot(g, color, X(settings.noise), Y(value(error / problem.bound, settings.noise)), 6.5, false);
      }
    }
  });
  const last = gpm.at(-1);
  describe(canvas, last ? `Error against noise. At noise ${last[0]} the best fit has ${plain(last[1])} ${ratio ? "times the bound" : "degrees"}.` : "Error against noise, no draws yet.");
}

/** The smallest eigenvalue of every draw, and the share of draws that are proved. */
function drawProofs(samples, state, settings) {
  const canvas = byId("proofs"), at = prepared(canvas), { g } = at;
  const lowest = Math.min(-0.35, ...samples.flatMap((sums) => sums.curvatures.map(([value]) => value)));
  const low = Math.max(-0.8, lowest * 1.05); // dots below lie on the edge
  const { X, Y, frame } = axes(at, noiseAxis(settings), { low, high: 1.06, label: "smallest eigenvalue of S (1 without noise)", ticks: niceTicks(low, 1, 6) });
  inside(g, frame, () => {
    g.globalAlpha = 0.1;
    g.fillStyle = ink.good;
    g.fillRect(frame.left, frame.top, frame.right - frame.left, Y(0) - frame.top);
    g.globalAlpha = 1;
    line(g, ink.ink, [[frame.left, Y(0)], [frame.right, Y(0)]], 1.4);
    if (settings.graph === "complete" && settings.outliers === 0) {
      line(g, ink.quiet, [[X(0.4), frame.top], [X(0.4), frame.bottom]], 1.2, [6, 5]);
    }
    line(g, ink.quiet, [[X(settings.noise), frame.top], [X(settings.noise), frame.bottom]], 1.2, [2, 4]);
    samples.forEach((sums, k) => sums.curvatures.forEach(([value, proved], m) => {
      const aside = (m * 0.618034 % 1 - 0.5) * 0.016; // beside each other, the same way every time
      g.globalAlpha = 0.55;
      dot(g, proved ? ink.good : ink["bad-edge"], X(LEVELS[k] + aside), Y(Math.max(low + 0.03, value)), 2.2, proved);
      g.globalAlpha = 1;
    }));
    const share = samples.flatMap((sums, k) => sums.count ? [[X(LEVELS[k]), Y(sums.proved / sums.count)]] : []);
    line(g, ink.ink, share, 2);
    if (state && state.certificate) {
      const { verdict, curvature } = state.certificate, color = verdict === PROVED ? ink.good : ink["bad-edge"];
      dot(g, color, X(settings.noise), Y(Math.max(low + 0.03, curvature / state.connectivity)), 6.5, false);
    }
  });
  if (settings.graph === "complete" && settings.outliers === 0) text(g, "0.4 √n", X(0.4) - 6, frame.bottom - 10, { align: "right", halo: true });
  const total = samples.reduce((sum, { count }) => sum + count, 0), proved = samples.reduce((sum, s) => sum + s.proved, 0);
  describe(canvas, `Smallest eigenvalue of S against the noise: ${proved} of ${total} draws are proved optimal.`);
}

/** Above the error after every step of GPM, below the residual. */
function drawSteps(problem, state) {
  const canvas = byId("steps"), at = prepared(canvas), { g, height } = at, { residuals, history } = state;
  const x = { low: 0, high: Math.max(10, residuals.length - 1), label: "" }, half = height * 0.5 + 10;
  const shown = history.map((error) => problem.bound > 0 ? error / problem.bound : error / problem.n);
  const most = Math.max(...shown, problem.bound > 0 ? 1 : 1e-12) * 1.15;
  const label = problem.bound > 0 ? "squared error / bound" : "squared error a phase";
  const above = axes(at, { ...x, format: () => "" }, { low: 0, high: most, label, color: ink.gpm, ticks: niceTicks(0, most, 3) }, { top: 0, bottom: half + 22 });
  inside(g, above.frame, () => {
    if (problem.bound > 0) line(g, ink.bound, [[above.frame.left, above.Y(1)], [above.frame.right, above.Y(1)]], 1.6, [6, 5]);
    line(g, ink.gpm, shown.map((value, k) => [above.X(k), above.Y(value)]));
  });
  if (shown.length) dot(g, ink.eigen, above.X(0), above.Y(shown[0]), 5);
  const floor = (value) => Math.max(value, 1e-16), low = Math.min(-3, Math.floor(Math.log10(floor(Math.min(...residuals)))));
  const below = axes(at, { ...x, label: "steps of GPM" }, { low, high: 0, log: true, label: "residual (slope of f)", color: ink.muted }, { top: half, bottom: height });
  inside(g, below.frame, () => line(g, ink.quiet, residuals.map((value, k) => [below.X(k), below.Y(floor(value))])));
  describe(canvas, `${state.iterations} steps of GPM; residual ${inWords(state.residual)}.`);
}

/** The spectrum of S on a line: what Lanczos saw of it, and the smallest eigenvalue, which decides. */
function drawGauge(problem, state) {
  const canvas = byId("gauge"), { g, width, height } = prepared(canvas), y = height * 0.55, left = 26, right = width - 26;
  const { certificate, degree } = state, unit = degree + 1, ritz = certificate?.ritz ?? [];
  const top = ritz.reduce((most, value) => Math.max(most, value / unit), 1), low = -0.3 * top;
  const place = (value) => left + (Math.max(low, value) - low) / (1.04 * top - low) * (right - left);
  g.globalAlpha = 0.2;
  g.fillStyle = ink["bad-edge"];
  g.fillRect(left, y - 11, place(0) - left, 22);
  g.fillStyle = ink["good-edge"];
  g.fillRect(place(0), y - 11, right - place(0), 22);
  g.globalAlpha = 1;
  for (const tick of niceTicks(low, top, 6)) {
    line(g, ink.quiet, [[place(tick), y + 11], [place(tick), y + 17]], 1);
    text(g, plain(tick), place(tick), y + 29);
  }
  text(g, "no proof", left, y + 52, { align: "left" });
  text(g, "proof", right, y + 52, { align: "right" });
  text(g, `eigenvalues of S over ${problem.graph === "complete" ? "n" : "degree + 1"}`, 2, 9, { align: "left" });
  if (!certificate) { text(g, "…", place(0), y - 40); return; }
  const value = certificate.curvature / unit, x = place(value), good = certificate.verdict === PROVED;
  for (const other of ritz) line(g, ink.muted, [[place(other / unit), y - 8], [place(other / unit), y + 8]], 1.2);
  line(g, ink.ink, [[place(0), y - 16], [place(0), y + 16]], 2);
  g.beginPath();
  g.moveTo(x, y - 12);
  g.lineTo(x - 9, y - 28);
  g.lineTo(x + 9, y - 28);
  g.closePath();
  g.fillStyle = good ? ink.good : ink["bad-edge"];
  g.fill();
  text(g, inWords(value, 2), Math.max(34, Math.min(width - 34, x)), y - 43, { color: ink.ink, bold: true });
  describe(canvas, `Smallest eigenvalue of S over ${plain(unit)}: ${inWords(value, 2)}, ${certificate.verdict}.`);
}
