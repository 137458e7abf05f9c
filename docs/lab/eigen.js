// Lanczos runs on Hermitian operators.

/** Number of eigenvalues below x of the tridiagonal matrix (alpha, beta), by Sturm's sequence. */
function countBelow(alpha, beta, k, x) {
  let count = 0, pivot = 1;
  for (let j = 0; j < k; j++) {
    pivot = alpha[j] - x - (j > 0 ? beta[j - 1] * beta[j - 1] / pivot : 0);
    if (pivot === 0) pivot = 1e-300;
    if (pivot < 0) count++;
  }
  return count;
}

/** Smallest eigenvalue of the leading k x k tridiagonal matrix, by bisection. */
function smallestOfTridiagonal(alpha, beta, k) {
  let low = Infinity, high = Infinity;
  for (let j = 0; j < k; j++) {
    const radius = (j > 0 ? Math.abs(beta[j - 1]) : 0) + (j < k - 1 ? Math.abs(beta[j]) : 0);
    low = Math.min(low, alpha[j] - radius);
    high = Math.min(high, alpha[j]);
  }
  const size = Math.max(Math.abs(low), Math.abs(high));
  for (let step = 0; step < 90 && high - low > 4e-16 * size; step++) {
    const middle = low + (high - low) / 2;
    if (countBelow(alpha, beta, k, middle) > 0) high = middle;
    else low = middle;
  }
  return high;
}

/** All eigenvalues of the leading k x k tridiagonal matrix to three digits or so, ascending: for pictures. */
function eigenvaluesOfTridiagonal(alpha, beta, k) {
  let low = Infinity, high = -Infinity;
  for (let j = 0; j < k; j++) {
    const radius = (j > 0 ? beta[j - 1] : 0) + (j < k - 1 ? beta[j] : 0);
    low = Math.min(low, alpha[j] - radius);
    high = Math.max(high, alpha[j] + radius);
  }
  return Array.from({ length: k }, (_, index) => {
    let a = low, b = high;
    for (let step = 0; step < 14; step++) {
      const middle = (a + b) / 2;
      if (countBelow(alpha, beta, k, middle) > index) b = middle;
      else a = middle;
    }
    return (a + b) / 2;
  });
}

/** The eigenvector of the smallest, by three inverse iterations with partial pivoting. */
function vectorOfTridiagonal(alpha, beta, k, value) {
  let x = new Float64Array(k).fill(1 / Math.sqrt(k));
  const size = Math.max(...alpha.subarray(0, k).map(Math.abs), 1e-300);
  const shift = value - 1e-15 * size;
  for (let round = 0; round < 3; round++) {
    const d = new Float64Array(k), u = new Float64Array(k), v = new Float64Array(k), r = x.slice();
    for (let j = 0; j < k; j++) { d[j] = alpha[j] - shift; u[j] = j < k - 1 ? beta[j] : 0; }
    for (let j = 0; j < k - 1; j++) {
      const below = beta[j];
      if (Math.abs(d[j]) >= Math.abs(below)) {
        const factor = d[j] !== 0 ? below / d[j] : 0;
        d[j + 1] -= factor * u[j];
        r[j + 1] -= factor * r[j];
      } else { // rows change places
        const factor = d[j] / below, oldU = u[j], oldR = r[j];
        d[j] = below; u[j] = d[j + 1]; v[j] = u[j + 1]; r[j] = r[j + 1];
        d[j + 1] = oldU - factor * u[j];
        u[j + 1] = -factor * v[j];
        r[j + 1] = oldR - factor * r[j];
      }
    }
    for (let j = k - 1; j >= 0; j--) {
      let sum = r[j] - (j + 1 < k ? u[j] * r[j + 1] : 0) - (j + 2 < k ? v[j] * r[j + 2] : 0);
      r[j] = sum / (d[j] !== 0 ? d[j] : 1e-16 * size);
    }
    const length = Math.sqrt(r.reduce((sum, value) => sum + value * value, 0));
    x = r.map((value) => value / length);
  }
  return x;
}

/**
 * Runs Lanczos on `apply` (a function of x into y) from `start`, on the complement of `deflated` where that is given.
 * It stops when the smallest Ritz value is settled to `tolerance`, when `enough(run)` says so, or after `steps`. A
 * generator: it yields after every product, so that a caller may give way.
 *
 * `orthogonal`: every vector is made orthogonal to all before it. Without that, the run finds an eigenvalue again once it
 * has it, which does no harm to the smallest one and its vector (Paige, Linear Algebra Appl. 34, 1980), and is quicker.
 */
function* lanczosRun({ n, apply, start, steps, tolerance = 1e-10, deflated = null, enough = null, orthogonal = true }) {
  const alpha = new Float64Array(steps), beta = new Float64Array(steps), basis = [];
  let w = copied(start), y = vector(n), value = Infinity, settled = false, scale = 0, k = 0;
  const without = (x, q) => { // x less its part along the unit vector q
    const { re, im } = inner(q, x);
    for (let j = 0; j < n; j++) {
      x.re[j] -= q.re[j] * re - q.im[j] * im;
      x.im[j] -= q.re[j] * im + q.im[j] * re;
    }
  };
  if (deflated) without(w, deflated);
  let length = Math.sqrt(inner(w, w).re);
  while (k < steps) {
    for (let j = 0; j < n; j++) { w.re[j] /= length; w.im[j] /= length; }
    const q = w;
    basis.push(q);
    y = apply(q, vector(n));
    alpha[k] = inner(q, y).re;
    scale = Math.max(scale, Math.abs(alpha[k]));
    for (let j = 0; j < n; j++) { y.re[j] -= alpha[k] * q.re[j]; y.im[j] -= alpha[k] * q.im[j]; }
    if (k > 0) {
      const before = basis[k - 1], b = beta[k - 1];
      for (let j = 0; j < n; j++) { y.re[j] -= b * before.re[j]; y.im[j] -= b * before.im[j]; }
    }
    if (deflated) without(y, deflated);
    if (orthogonal) for (const old of basis) without(y, old);
    length = Math.sqrt(inner(y, y).re);
    beta[k] = length;
    scale = Math.max(scale, length);
    k++;
    w = y;
    const exhausted = length <= 1e-13 * scale || (orthogonal && k >= n - (deflated ? 1 : 0));
    if (exhausted || k === steps || k % (k < 60 ? 4 : 12) === 0) {
      value = smallestOfTridiagonal(alpha, beta, k);
      const weights = vectorOfTridiagonal(alpha, beta, k, value);
      settled = exhausted || length * Math.abs(weights[k - 1]) <= tolerance * scale;
      if (settled || (enough && enough({ alpha, beta, k, value }))) break;
    }
    yield;
  }
  return {
    alpha, beta, k, value, settled,
    vector() {
      const weights = vectorOfTridiagonal(alpha, beta, k, value), x = vector(n);
      for (let a = 0; a < k; a++) {
        for (let j = 0; j < n; j++) { x.re[j] += weights[a] * basis[a].re[j]; x.im[j] += weights[a] * basis[a].im[j]; }
      }
      return x;
    },
  };
}

/** A generator's return value, without giving way. */
function finished(run) {
  for (;;) {
    const { done, value } = run.next();
    if (done) return value;
  }
}

function randomVector(n, random) {
  const x = vector(n);
  for (let j = 0; j < n; j++) { x.re[j] = random.normal(); x.im[j] = random.normal(); }
  return x;
}

/** The eigenvector estimator: phases of the eigenvector of C with the largest eigenvalue. */
function* eigenvectorEstimator(C, tolerance = 1e-11) {
  const negative = (x, y) => {
    C.apply(x, y);
    for (let j = 0; j < C.n; j++) { y.re[j] = -y.re[j]; y.im[j] = -y.im[j]; }
    return y;
  };
  const start = randomVector(C.n, generator(C.n, 17));
  const run = yield* lanczosRun({ n: C.n, apply: negative, start, steps: 3 * C.n + 20, tolerance, orthogonal: false });
  return { z: normalize(run.vector(), start), products: run.k };
}
