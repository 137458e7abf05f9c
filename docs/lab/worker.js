// The worker: takes requests, works in slices so that a newer request can take over, and posts what there is to show.

let latest = 0; // the number of the last request; work on an older one is given up
const channel = new MessageChannel();
let resume = null;
channel.port1.onmessage = () => resume();
/** Lets waiting messages in; much quicker than a timer. */
const pause = () => new Promise((done) => { resume = done; channel.port2.postMessage(0); });

/** Runs a generator to its end in slices of so many milliseconds; undefined where a newer request came. */
async function inSlices(run, request, slice, show = () => {}) {
  for (;;) {
    const until = performance.now() + slice;
    let shown;
    do {
      const { done, value } = run.next();
      if (done) return value;
      if (value) shown = value;
    } while (performance.now() < until);
    if (shown) show(shown);
    await pause();
    if (request !== latest) return undefined;
  }
}

let network = null, draw = null, drawNumber = -1;

function problemOf({ graph, n, seed, noise, outliers }, number = 0) {
  if (!network || network.graph !== graph || network.n !== n || network.seed !== seed) {
    network = makeGraph(graph, n, seed);
    draw = null;
  }
  if (!draw || drawNumber !== number) {
    draw = makeDraw(network, number);
    drawNumber = number;
  }
  return makeProblem(network, draw, noise, outliers);
}

/** The phases of C as an image, row after row; pairs that are not measured are transparent. */
function imageOf({ C, network: { n, i, j }, re, im }) {
  const pixels = new Uint8ClampedArray(4 * n * n);
  const paint = (at, angle) => {
    const [r, g, b] = cyclicColor(angle);
    pixels[4 * at] = r; pixels[4 * at + 1] = g; pixels[4 * at + 2] = b; pixels[4 * at + 3] = 255;
  };
  for (let k = 0; k < i.length; k++) {
    const angle = Math.atan2(im[k], re[k]);
    paint(i[k] * n + j[k], angle);
    paint(j[k] * n + i[k], -angle);
  }
  for (let a = 0; a < n; a++) paint(a * n + a, 0);
  return pixels;
}

/** Root mean square of how far a measured angle is off, outliers and all. */
function typicalError({ network: { i, j }, draw: { truth }, re, im }) {
  let sum = 0;
  for (let k = 0; k < i.length; k++) {
    const a = i[k], b = j[k];
    const u = truth.re[a] * truth.re[b] + truth.im[a] * truth.im[b], v = truth.im[a] * truth.re[b] - truth.re[a] * truth.im[b];
    sum += Math.atan2(im[k] * u - re[k] * v, re[k] * u + im[k] * v) ** 2;
  }
  return Math.sqrt(sum / i.length);
}

/** What the page shows of a state of the solve; `problem` once, at the beginning. */
function view(problem, state) {
  const { truth } = problem.draw, certificate = state.certificate && { ...state.certificate, direction: null };
  return {
    stage: state.stage, n: problem.C.n, bound: problem.bound, degree: problem.network.degree, connectivity: problem.network.connectivity,
    eigenErrors: angleErrors(state.eigen, truth), errors: angleErrors(state.z, truth),
    eigenError: state.eigenError, error: squaredDistance(state.z, truth),
    residuals: state.residuals.slice(), history: state.errors.slice(),
    iterations: state.iterations, newtonSteps: state.newtonSteps, residual: state.residual, f: state.f, certificate,
  };
}

async function live({ request, settings }) {
  const began = performance.now(), problem = problemOf(settings);
  const { truth, angles } = problem.draw;
  postMessage({
    kind: "problem", request, n: problem.C.n, graph: settings.graph, sigma: problem.sigma, bound: problem.bound,
    typical: typicalError(problem), image: imageOf(problem), angles, i: problem.network.i, j: problem.network.j,
    outlier: problem.outlier, truth, edges: problem.network.i.length,
  });
  // whole solves in one go where they take a frame; otherwise a few steps a frame
  const slice = settings.n <= 150 ? 60 : 12;
  const state = await inSlices(
    solveProblem(problem), request, slice, (now) => postMessage({ kind: "state", request, ...view(problem, now) }));
  if (state) postMessage({ kind: "state", request, ...view(problem, state), milliseconds: performance.now() - began });
}

/** Draw after draw at every noise level, for means over many; posts them a few at a time. */
async function sample({ request, settings, levels, rounds }) {
  let found = [], posted = performance.now();
  const post = (done) => { postMessage({ kind: "samples", request, found, done }); found = []; posted = performance.now(); };
  for (let round = 0; round < rounds; round++) {
    for (let level = 0; level < levels.length; level++) {
      const problem = problemOf({ ...settings, noise: levels[level] }, 1 + round * levels.length + level);
      const state = await inSlices(solveProblem(problem, { tolerance: 1e-7, history: false }), request, 12);
      if (!state) return;
      const { verdict, curvature } = state.certificate;
      found.push({
        level, round, eigen: state.eigenError / problem.bound, gpm: state.error / problem.bound,
        proved: verdict === PROVED, curvature: curvature / problem.network.connectivity,
      });
      if (performance.now() - posted > 80) post(false);
      await pause();
      if (request !== latest) return;
    }
  }
  post(true);
}

async function edges({ request, text, unit }) {
  try {
    const began = performance.now(), list = parseEdges(text, unit), parsed = performance.now();
    const send = (kind, answer) => postMessage({
      kind, request, ...answer, names: list.names, i: list.i, j: list.j, angle: list.angle, weight: list.weight,
      looksLikeDegrees: list.looksLikeDegrees, reading: parsed - began, milliseconds: performance.now() - began,
    });
    const answer = await inSlices(solveEdges(list, (first) => send("phases", first)), request, 30);
    if (answer) send("judged", answer);
  } catch (error) {
    if (!(error instanceof EdgeListError)) throw error;
    postMessage({ kind: "refused", request, words: error.message });
  }
}

/** A matrix as it is given, solved as tightly as numbers allow: for comparisons with the Python library. */
async function matrix({ request, n, re, im }) {
  const C = denseOperator(n, Float64Array.from(re), Float64Array.from(im));
  const { z: eigen } = finished(eigenvectorEstimator(C, 1e-14));
  let z = copied(eigen), Cz = C.apply(z, vector(n));
  for (let k = 0; k < MOST_GPM_STEPS && alongAndAcross(z, Cz).residual > 1e-6; k++) {
    z = gpmStep(z, Cz, 4 / n, vector(n));
    C.apply(z, Cz);
  }
  const best = finished(newton(C, z)), certificate = finished(certify(C, best.z, { tolerance: 1e-13 }));
  postMessage({ kind: "solved", request, eigen, z: best.z, f: best.f, certificate: { ...certificate, direction: null } });
}

const work = { live, sample, edges, matrix };
onmessage = ({ data }) => {
  latest = data.request;
  work[data.kind](data);
};
