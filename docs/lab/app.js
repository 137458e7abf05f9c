// The first part of the page: settings, the address, the workers, and what is drawn when.

readInk();
const workerAddress = URL.createObjectURL(new Blob(
  ['"use strict";\n', byId("mathematics").textContent, byId("worker").textContent], { type: "text/javascript" }));
let requests = 0;

/** A worker of its own; `ask` takes over from what it is doing. */
function startWorker(answer) {
  const worker = new Worker(workerAddress);
  worker.onmessage = ({ data }) => answer(data);
  worker.onerror = (event) => { throw new Error(event.message); };
  return {
    latest: 0,
    ask(message) {
      this.latest = ++requests;
      worker.postMessage({ ...message, request: this.latest });
      return this.latest;
    },
  };
}

const DEFAULTS = { graph: "complete", n: 100, noise: 0.3, outliers: 0, seed: 1 };
const LIMITS = { n: [10, 300], noise: [0, 0.6], outliers: [0, 0.9], seed: [0, 999999] };
const ROUNDS = 100; // draws a noise level, after which the charts are done

/** Settings from the part of the address after #; what is missing or makes no sense is left as it was. */
function settingsFrom(words, before) {
  const given = new URLSearchParams(words), settings = { ...before };
  if (GRAPHS.includes(given.get("graph"))) settings.graph = given.get("graph");
  for (const [name, [low, high]] of Object.entries(LIMITS)) {
    const value = given.has(name) ? Number(given.get(name)) : NaN;
    if (Number.isFinite(value)) settings[name] = Math.min(high, Math.max(low, name === "n" || name === "seed" ? Math.round(value) : value));
  }
  return settings;
}

let settings = settingsFrom(location.hash.slice(1), DEFAULTS);
let problem = null, state = null, samples = emptySamples(), unit = "ratio", paused = false, dirty = true, announcedAt = 0, spoken = "";
const statistics = { solves: 0, shown: 0, milliseconds: [] };

const liveWorker = startWorker((data) => {
  if (data.request !== liveWorker.latest) return; // of a problem that gave way
  if (data.kind === "problem") { liveWorker.coming = data; return; }
  problem = liveWorker.coming;
  state = data;
  dirty = liveWorker.shown = true;
  if (data.milliseconds !== undefined) {
    liveWorker.busy = false;
    statistics.solves++;
    statistics.milliseconds.push(data.milliseconds);
    if (statistics.milliseconds.length > 300) statistics.milliseconds.shift();
  }
  statistics.shown++;
  if (liveWorker.waiting) solveNow();
});

/** Small problems are solved whole, one after the other; a large one gives way once something of it was shown. */
function solveNow() {
  liveWorker.waiting = liveWorker.busy && (liveWorker.size <= 150 || !liveWorker.shown);
  if (liveWorker.waiting) return;
  liveWorker.busy = true;
  liveWorker.shown = false;
  liveWorker.size = settings.n;
  liveWorker.ask({ kind: "live", settings });
}

const sampler = startWorker((data) => {
  if (data.request !== sampler.latest) return;
  addSamples(samples, data.found);
  dirty = true;
});

let sampleTimer = 0;
/** Begins the draws anew, once the sliders rest: until then the processor is for what is shown live. */
function sampleNow() {
  samples = emptySamples();
  sampler.ask({ kind: "sample", settings, levels: [], rounds: 0 }); // ends what it does
  clearTimeout(sampleTimer);
  if (!paused) sampleTimer = setTimeout(() => sampler.ask({ kind: "sample", settings, levels: LEVELS, rounds: ROUNDS }), 350);
}

/** Everything that follows from a change of the settings. */
function change(next, { write = true } = {}) {
  const resample = ["graph", "n", "outliers", "seed"].some((name) => next[name] !== settings[name]);
  settings = next;
  showSettings();
  if (write) writeAddress();
  solveNow();
  if (resample) sampleNow();
}

let addressTimer = 0;
function writeAddress() { // browsers limit how often an address may change
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => history.replaceState(null, "", "#" + new URLSearchParams(settings)), 250);
}

function showSettings() {
  const form = byId("controls");
  for (const input of form.elements.graph) input.checked = input.value === settings.graph;
  for (const name of ["n", "noise", "outliers", "seed"]) if (document.activeElement !== byId(name) || name !== "seed") byId(name).value = settings[name];
  say("n-value", String(settings.n));
  const root = settings.graph === "complete" ? "√n" : "√(degree + 1)";
  say("noise-value", `${settings.noise.toFixed(3).replace(/0$/, "")} ${root}`);
  say("outliers-value", `${Math.round(100 * settings.outliers)} %`);
  byId("noise").setAttribute("aria-valuetext", `${settings.noise} times the square root of ${settings.graph === "complete" ? "n" : "degree plus one"}`);
  for (const button of document.querySelectorAll("[data-preset]")) {
    const { seed, ...wanted } = settingsFrom(button.dataset.preset, settings);
    button.setAttribute("aria-pressed", String(Object.entries(wanted).every(([name, value]) => settings[name] === value)));
  }
  captions();
}

function captions() {
  say("bound-name", settings.outliers > 0 ? "bound on the mean, without outliers" : "bound on the mean");
  const matrix = settings.graph === "complete" || settings.graph === "random";
  say("measured-title", matrix ? "What is measured" : "The network");
  say("measured-caption", matrix
    ? "Row j, column l: the measured angle between phases j and l, nodes in the order of their true phases (colored edges). Without noise the colors run in clean bands."
      + (settings.graph === "random" ? " Pairs that are not measured are left empty." : "")
    : `A node is colored by the error of its phase in the best fit: light is right, dark is half a turn off. ${settings.outliers > 0 ? "Orange lines are outliers." : "Errors add up along chains of neighbors."}`);
  say("proofs-caption", "A dot a draw: filled where it is proved that no phases fit better, hollow where not; the line is the share of draws proved. "
    + (settings.outliers > 0 ? "Outliers are noise, too: the proof ends sooner." : settings.graph === "ring" ? "A single loop is proved at almost any noise." : settings.graph === "complete" ? "With everybody measured, the proof begins to fail a little above 0.4 √n, where the fit is still good." : "On this graph it ends elsewhere than at 0.4 √n."));
}

function speak() {
  if (!state || !problem) return;
  const certificate = state.certificate, root = (v) => Math.sqrt(v / problem.n);
  if (!certificate) verdictBox("verdict", "none", "solving …", `${state.iterations} steps of GPM so far`);
  else if (certificate.verdict === PROVED) {
    verdictBox("verdict", "good", "✓ proved optimal", `No other phases fit better: gap ≤ ${inWords(Math.max(certificate.relativeGap, 1e-16), 2)} of the misfit, rounding accounted for.`);
  } else verdictBox("verdict", "open", "? not proved", certificate.curvature < 0
    ? "S(z) has a negative eigenvalue: nothing follows. This may still be the best fit."
    : "The smallest eigenvalue of S(z) is too near to 0 for a proof in floating point.");
  say("tile-typical", inDegrees(problem.typical));
  say("tile-eigen", inDegrees(root(state.eigenError)));
  say("tile-gpm", inDegrees(root(state.error)));
  say("tile-bound", inDegrees(root(problem.bound)));
  say("noise-words", `σ = ${inWords(problem.sigma)}; ${problem.edges.toLocaleString("en")} measurements`);
  say("draws", String(Math.min(...samples.map(({ count }) => count))));
  const times = statistics.milliseconds.slice(-20).sort((a, b) => a - b), middle = times[times.length >> 1];
  if (times.length > 2) say("timing", `Drawn, solved and judged in ${middle.toFixed(middle < 10 ? 1 : 0)} ms.`);
  const newton = state.newtonSteps ? ` GPM is slow on this graph; ${state.newtonSteps} Newton steps finished the work.` : "";
  say("steps-caption", `GPM starts at the eigenvector (orange dot): ${state.iterations} steps to a residual of ${inWords(state.newtonSteps ? state.residuals.at(-1) : state.residual, 2)}. The error is settled long before the slope is.${newton} Dashed: the bound.`);
  const words = certificate ? `${certificate.verdict === PROVED ? "Proved optimal" : "Not proved"}; best fit off by ${inDegrees(root(state.error))}, bound on the mean ${inDegrees(root(problem.bound))}.` : "";
  if (words && words !== spoken && performance.now() - announcedAt > 1500) {
    announcedAt = performance.now();
    spoken = words;
    say("announced", words);
  }
}

let paintedAt = 0;
function paint(now) {
  requestAnimationFrame(paint);
  if (!dirty || !problem || !state || document.hidden || byId("wheel").clientWidth < 100) return;
  if (stillness.matches && now - paintedAt < 700 && liveWorker.busy !== true && paintedAt) return; // calm: not every draw is shown
  dirty = false;
  paintedAt = now;
  speak();
  drawMeasured(problem, state);
  drawWheel(problem, state);
  drawErrors(samples, problem, state, settings, unit);
  drawProofs(samples, state, settings);
  drawSteps(problem, state);
  drawGauge(problem, state);
}

byId("controls").addEventListener("input", ({ target }) => {
  if (!(target.name in DEFAULTS)) return;
  if (target.name === "seed" && target.value === "") return;
  change(settingsFrom(`${target.name}=${target.value}`, settings));
});
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("again").addEventListener("click", () => change({ ...settings, seed: (settings.seed + 1) % 1000000 }));
for (const button of document.querySelectorAll("[data-preset]")) {
  button.addEventListener("click", () => change(settingsFrom(button.dataset.preset, settings)));
}
for (const button of document.querySelectorAll("[data-unit]")) {
  button.addEventListener("click", () => {
    unit = button.dataset.unit;
    for (const other of document.querySelectorAll("[data-unit]")) other.setAttribute("aria-pressed", String(other === button));
    dirty = true;
  });
}
byId("pause").addEventListener("click", () => {
  paused = !paused;
  say("pause", paused ? "Start again" : "Pause");
  sampleNow();
});
byId("save-problem").addEventListener("click", () => {
  const made = makeProblem(makeGraph(settings.graph, settings.n, settings.seed), makeDraw(makeGraph(settings.graph, settings.n, settings.seed), 0), settings.noise, settings.outliers);
  const rows = Array.from(made.re, (re, k) => `${made.network.i[k]},${made.network.j[k]},${Math.atan2(made.im[k], re)},${Math.hypot(re, made.im[k])}`);
  download("lab.csv", `i,j,angle,weight\n${rows.join("\n")}\n`);
});
byId("copy-link").addEventListener("click", async () => {
  const address = location.href.split("#")[0] + "#" + new URLSearchParams(settings);
  try { await navigator.clipboard.writeText(address); say("copy-link", "Copied"); } catch { history.replaceState(null, "", address); say("copy-link", "It is in the address bar"); }
  setTimeout(() => say("copy-link", "Copy link"), 1600);
});
addEventListener("hashchange", () => {
  if (location.hash.includes("=")) change(settingsFrom(location.hash.slice(1), settings), { write: false });
});
new ResizeObserver(() => { dirty = true; }).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); dirty = true; });

showSettings();
solveNow();
sampleNow();
requestAnimationFrame(paint);
