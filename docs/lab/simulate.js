// Problems with a known truth: C_jl = z_j conj(z_l) + sigma W_jl on the measured pairs, W standard complex normal. Some
// pairs are outliers: a random phase stands in the place of z_j conj(z_l).

const RANDOM_DENSITY = 0.3; // share of the pairs that a random graph measures
const GRAPHS = ["complete", "random", "grid", "ring"];

function gridColumns(n) {
  return Math.ceil(n / Math.floor(Math.sqrt(n)));
}

/** The measured pairs (j, l), j < l. */
function pairsOf(graph, n, random) {
  const i = [], j = [];
  const add = (a, b) => { i.push(a); j.push(b); };
  if (graph === "complete") for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) add(a, b);
  else if (graph === "random") { // a ring beside it, so that it is connected
    for (let a = 0; a < n; a++) {
      for (let b = a + 1; b < n; b++) {
        const taken = random.uniform() < RANDOM_DENSITY;
        if (taken || b === a + 1 || (a === 0 && b === n - 1)) add(a, b);
      }
    }
  } else if (graph === "grid") {
    const columns = gridColumns(n);
    for (let a = 0; a < n; a++) {
      if ((a + 1) % columns !== 0 && a + 1 < n) add(a, a + 1);
      if (a + columns < n) add(a, a + columns);
    }
  } else for (let a = 0; a < n; a++) add(Math.min(a, (a + 1) % n), Math.max(a, (a + 1) % n));
  return { i: Int32Array.from(i), j: Int32Array.from(j) };
}

/** The trace of the pseudo-inverse of the graph's Laplacian; times sigma^2 / 2 it is the Cramer-Rao bound. */
function inverseLaplacianTrace(graph, n, pairs) {
  if (graph === "complete") return (n - 1) / n;
  if (graph === "ring") return (n * n - 1) / 12;
  // L + 1 1^T / n is positive definite, with one eigenvalue 1 more; trace of its inverse by Cholesky: |R^-1|_F^2
  const A = new Float64Array(n * n).fill(1 / n);
  for (let k = 0; k < pairs.i.length; k++) {
    const a = pairs.i[k], b = pairs.j[k];
    A[a * n + a]++; A[b * n + b]++; A[a * n + b]--; A[b * n + a]--;
  }
  for (let j = 0; j < n; j++) {
    for (let l = 0; l <= j; l++) {
      let sum = A[j * n + l];
      for (let k = 0; k < l; k++) sum -= A[j * n + k] * A[l * n + k];
      A[j * n + l] = l === j ? Math.sqrt(sum) : sum / A[l * n + l];
    }
  }
  let trace = 0;
  const column = new Float64Array(n);
  for (let l = 0; l < n; l++) { // column l of the inverse of the factor
    for (let j = l; j < n; j++) {
      let sum = j === l ? 1 : 0;
      for (let k = l; k < j; k++) sum -= A[j * n + k] * column[k];
      column[j] = sum / A[j * n + j];
      trace += column[j] * column[j];
    }
  }
  return trace - 1;
}

/** The second eigenvalue of the Laplacian: the smallest eigenvalue of S where there is no noise. */
function algebraicConnectivity({ graph, n, i, j }) {
  if (graph === "complete") return n;
  if (graph === "ring") return 2 - 2 * Math.cos(2 * Math.PI / n);
  const C = operatorOfEdges(n, i, j, new Float64Array(i.length).fill(1), new Float64Array(i.length)), ones = vector(n);
  ones.re.fill(1);
  return finished(smallestCurvature(pointOf(C, ones), 1e-6)).value;
}

/** The graph: who is measured with whom. It depends on the seed, not on the draw of the noise. */
function makeGraph(graph, n, seed) {
  const pairs = pairsOf(graph, n, generator(seed, n, 101));
  const degree = 2 * pairs.i.length / n, network = { graph, n, seed, ...pairs, degree };
  return { ...network, trace: inverseLaplacianTrace(graph, n, pairs), connectivity: algebraicConnectivity(network) };
}

/** Truth and noise of one draw: all that a noise level and a share of outliers need no new random numbers for. */
function makeDraw(network, draw) {
  const { n, i, seed } = network, random = generator(seed, n, draw, 7), edges = i.length;
  const angles = Float64Array.from({ length: n }, () => 2 * Math.PI * random.uniform()).sort();
  const truth = vector(n), noise = vector(edges), wrong = vector(edges), rank = new Float64Array(edges);
  for (let j = 0; j < n; j++) { truth.re[j] = Math.cos(angles[j]); truth.im[j] = Math.sin(angles[j]); }
  for (let k = 0; k < edges; k++) {
    noise.re[k] = random.normal() * Math.SQRT1_2;
    noise.im[k] = random.normal() * Math.SQRT1_2;
    const angle = 2 * Math.PI * random.uniform();
    wrong.re[k] = Math.cos(angle);
    wrong.im[k] = Math.sin(angle);
    rank[k] = random.uniform();
  }
  return { truth, angles, noise, wrong, rank };
}

/** sigma of a noise level: in units of sqrt(degree + 1), which is sqrt n where all pairs are measured. */
function sigmaOf(network, noise) {
  return noise * Math.sqrt(network.degree + 1);
}

/** C, its entries along the edges, and which of these are outliers. */
function makeProblem(network, draw, noise, outliers) {
  const { n, i, j, graph } = network, edges = i.length, sigma = sigmaOf(network, noise);
  const re = new Float64Array(edges), im = new Float64Array(edges), outlier = new Uint8Array(edges);
  const { truth } = draw;
  for (let k = 0; k < edges; k++) {
    const a = i[k], b = j[k];
    outlier[k] = draw.rank[k] < outliers ? 1 : 0;
    const u = outlier[k] ? draw.wrong.re[k] : truth.re[a] * truth.re[b] + truth.im[a] * truth.im[b];
    const v = outlier[k] ? draw.wrong.im[k] : truth.im[a] * truth.re[b] - truth.re[a] * truth.im[b];
    re[k] = u + sigma * draw.noise.re[k];
    im[k] = v + sigma * draw.noise.im[k];
  }
  let C;
  if (graph === "complete" || graph === "random") {
    const cr = new Float64Array(n * n), ci = new Float64Array(n * n);
    for (let k = 0; k < edges; k++) {
      const a = i[k] * n + j[k], b = j[k] * n + i[k];
      cr[a] = re[k]; ci[a] = im[k];
      cr[b] = re[k]; ci[b] = -im[k];
    }
    if (graph === "complete") for (let a = 0; a < n; a++) cr[a * n + a] = 1; // C = z z^H + sigma W has a diagonal of ones
    C = denseOperator(n, cr, ci);
  } else C = operatorOfEdges(n, i, j, re, im);
  return { network, draw, C, re, im, outlier, sigma, bound: sigma * sigma / 2 * network.trace };
}

/** The step of GPM: 4 / n as in the paper, n being degree + 1; on grids and rings so short that f is sure to rise. */
function gpmStepLength(problem) {
  const { graph, degree } = problem.network;
  if (graph === "complete" || graph === "random") return 4 / (degree + 1);
  return 1 / absoluteRowSums(problem.C).reduce((most, sum) => Math.max(most, sum), 1e-300);
}

const MOST_GPM_STEPS = 400;

/**
 * A whole solve, as a generator that yields {stage, ...} whenever something new can be shown: eigenvector, GPM, Newton's
 * method where GPM is slow, curvature and certificate. `tolerance` is that of the residual.
 */
function* solveProblem(problem, { tolerance = 1e-8, history = true } = {}) {
  const { C, draw } = problem, n = C.n;
  const { z: eigen } = yield* eigenvectorEstimator(C, tolerance / 10);
  const state = {
    stage: "gpm", eigen, z: eigen, eigenError: squaredDistance(eigen, draw.truth), residuals: [], errors: [],
    iterations: 0, newtonSteps: 0, error: 0, certificate: null,
  };
  let z = copied(eigen), other = vector(n), Cz = C.apply(z, vector(n)), at = alongAndAcross(z, Cz);
  const step = gpmStepLength(problem);
  const record = () => {
    state.z = z;
    state.f = at.f;
    state.residual = at.residual;
    if (history) { state.residuals.push(at.residual); state.errors.push(squaredDistance(z, draw.truth)); }
  };
  record();
  while (at.residual > tolerance && state.iterations < MOST_GPM_STEPS) {
    gpmStep(z, Cz, step, other);
    [z, other] = [other, z];
    C.apply(z, Cz);
    at = alongAndAcross(z, Cz);
    state.iterations++;
    record();
    yield state;
  }
  if (at.residual > tolerance) {
    const polished = yield* newton(C, copied(z), { tolerance: 1e-12 });
    z = polished.z;
    at = polished;
    state.newtonSteps = polished.steps;
    state.z = z;
    state.f = at.f;
    state.residual = at.residual;
  }
  state.error = squaredDistance(z, draw.truth);
  state.stage = "certificate";
  yield state;
  state.certificate = yield* certify(C, z, { tolerance: 1e-6, spectrum: history });
  state.stage = "done";
  return state;
}
