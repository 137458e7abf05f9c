// What is proved about a point: the same certificate as the Python library's, with the same rounding errors accounted for.
//
// S = Diag(s) - C with s_j = Re(conj(z_j) (C z)_j). If x^H S x >= nu > 0 for all unit x orthogonal to z, then no point
// has an f above f(z) by more than (n / 2) (sqrt(nu^2 + 4 e^2) - nu), e = |S z| / sqrt n.
//
// A number of JavaScript is a double of IEEE 754 and every operation on it is rounded to nearest, so the error analysis
// of the library's proof by Cholesky factorization (Rump, Verification of positive definiteness, BIT 46, 2006) holds here.

const ROUNDOFF = 2 ** -53;
const GAP_TOLERANCE = 1e-8; // of the library
const CHANCE = 1e-10; // of an unlucky start of the run below
const LANCZOS_WORK = 4e7; // n times the square of the number of steps: a fraction of a second
const PROVED = "proved", NUMERICALLY = "numerically", OPEN = "not proved";

function gamma(k) {
  return k * ROUNDOFF / (1 - k * ROUNDOFF);
}

/**
 * Whether S + (lift / n) z z^H - shift I has a Cholesky factorization in floating point. Rows of the factor lie one
 * after the other; only the lower triangle is used. A generator that yields after every few rows.
 */
function* factorizes(C, z, s, lift, shift) {
  const n = C.n, re = new Float64Array(n * n), im = new Float64Array(n * n), share = lift / n;
  for (let j = 0; j < n; j++) {
    const zr = z.re[j], zi = z.im[j], at = j * n;
    for (let l = 0; l < j; l++) {
      re[at + l] = share * (zr * z.re[l] + zi * z.im[l]);
      im[at + l] = share * (zi * z.re[l] - zr * z.im[l]);
    }
    re[at + j] = s[j] + share - shift;
    C.row(j, (l, cr, ci) => { // entries that stand several times (repeated pairs) add up
      if (l < j) { re[at + l] -= cr; im[at + l] -= ci; } else if (l === j) re[at + j] -= cr;
    });
  }
  for (let j = 0, work = 0; j < n; j++) {
    const row = j * n;
    for (let l = 0; l < j; l++) {
      const other = l * n;
      let a = re[row + l], b = im[row + l];
      for (let k = 0; k < l; k++) {
        const p = re[row + k], q = im[row + k], u = re[other + k], v = im[other + k];
        a -= p * u + q * v;
        b -= q * u - p * v;
      }
      const pivot = re[other + l];
      re[row + l] = a / pivot;
      im[row + l] = b / pivot;
    }
    let pivot = re[row + j];
    for (let k = 0; k < j; k++) pivot -= re[row + k] * re[row + k] + im[row + k] * im[row + k];
    if (!(pivot > 0)) return false;
    re[row + j] = Math.sqrt(pivot);
    work += j * j;
    if (work > 1e6) { work = 0; yield; }
  }
  return true;
}

/** Everything about S(z) that does not need its spectrum. */
function pointOf(C, z) {
  const n = C.n, Cz = C.apply(z, vector(n)), at = alongAndAcross(z, Cz), sums = absoluteRowSums(C);
  // An entry of C z is an inner product of complex terms, two real ones of twice as many (Higham, section 3.6); 8 more
  // for the rounding of z to modulus 1 and for the product with conj(z); the sum of all by gamma(n).
  const share = Math.SQRT2 * gamma(2 * C.longestRow + 8);
  let total = 0, largest = 0, error = 0;
  for (const sum of sums) { total += sum; largest = Math.max(largest, sum); error += (share * sum) ** 2; }
  let trace = 0;
  for (let j = 0; j < n; j++) C.row(j, (l, re) => { if (l === j) trace += re; });
  const objectiveError = (share + gamma(n)) * total;
  const misfit = total - Math.abs(trace) + trace - at.f; // of the bound sum |C_jl| on f
  return {
    C, z, ...at, total, largest, misfit, objectiveError,
    eigenvalueError: share * largest,
    gradient: at.across * (1 + gamma(n + 4)) + Math.sqrt(error),
    scale: Math.max(Math.min(Math.abs(at.f), misfit), 4 * objectiveError / GAP_TOLERANCE),
  };
}

/** f* - f(z) at most, from nu. Written so that nothing cancels, and rounded up. */
function gapFrom(point, nu) {
  const n = point.C.n, e = point.gradient / Math.sqrt(n);
  if (nu > 0) return 2 * n * e * e / (Math.sqrt(nu * nu + 4 * e * e) + nu) * (1 + 1e-12);
  return Infinity;
}

/** The smallest eigenvalue of S on the complement of z, as Lanczos sees it: an estimate, never below the true one. */
function* smallestCurvature(point, tolerance, steps = null, enough = null) {
  const { C, z, s } = point, n = C.n, size = 1 / Math.sqrt(n), deflated = vector(n);
  for (let j = 0; j < n; j++) { deflated.re[j] = z.re[j] * size; deflated.im[j] = z.im[j] * size; }
  const apply = (x, y) => {
    C.apply(x, y);
    for (let j = 0; j < n; j++) { y.re[j] = s[j] * x.re[j] - y.re[j]; y.im[j] = s[j] * x.im[j] - y.im[j]; }
    return y;
  };
  const start = randomVector(n, generator(n, 29));
  const orthogonal = steps !== null; // a limit on the steps is for large n
  return yield* lanczosRun({
    n, apply, start, steps: orthogonal ? Math.min(steps, n - 1) : 3 * n + 20, tolerance, deflated, enough, orthogonal,
  });
}

/** The proof: nu from one factorization or two, given the estimate of what can be proved. */
function* byCholesky(point, estimate) {
  const { C, z, s } = point, n = C.n;
  let most = 0, trace = 0;
  for (let j = 0; j < n; j++) { most = Math.max(most, Math.abs(s[j])); trace += s[j]; }
  const lift = 2 * (most + point.largest) + 2 * point.gradient / Math.sqrt(n) || 1;
  // rounding of the entries of the matrix that is factorized: those of S, of the rank-one term, of their sums
  const forming = 8 * ROUNDOFF * (most + point.largest + 3 * lift);
  const g = Math.SQRT2 * gamma(2 * n + 8);
  for (const share of [0.5, 0.02]) {
    const shift = share * estimate;
    if (!(yield* factorizes(C, z, s, lift, shift))) continue;
    const diagonal = Math.max(0, trace + point.total + lift - n * shift); // at least the trace of what was factorized
    const nu = shift - g / (1 - g) * diagonal * (1 + 1e-10) - forming - point.eigenvalueError;
    if (nu > 0) return nu;
  }
  return -Infinity;
}

/**
 * Where S is too large to be factorized here: mu such that no eigenvalue of S on the complement of z is below mu, but
 * for a chance of CHANCE over the random start, in exact arithmetic (docs/certificate.md, Lanczos). G(mu) is the sum of
 * squares of the polynomials q_j(mu) of the run; an eigenvector below mu would have an overlap with the start below
 * 1 / sqrt G(mu), and a random start has that with a probability of at most (n - 1) / G(mu).
 */
function lanczosShift({ alpha, beta, k, value }, n) {
  if (!(value > 0)) return -Infinity;
  const needed = 2 * (n - 1) / CHANCE;
  const grows = (mu) => {
    let before = 0, now = 1, sum = 1;
    for (let j = 0; j < k; j++) {
      const next = ((mu - alpha[j]) * now - (j > 0 ? beta[j - 1] * before : 0)) / beta[j];
      before = now;
      now = next;
      sum += now * now;
      if (sum >= needed) return true;
    }
    return false;
  };
  if (!grows(0)) return -Infinity;
  let low = 0, high = value;
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (grows(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The certificate of one connected component. `dense`: up to which n the proof by factorization is tried. The verdict is
 * "proved" (rounding accounted for), "numerically" (as said at lanczosShift) or "not proved".
 */
function* certify(C, z, { dense = 400, tolerance = 1e-7, spectrum = false } = {}) {
  let ritz = [];
  const n = C.n, point = pointOf(C, z), steps = Math.max(20, Math.min(160, Math.floor(Math.sqrt(LANCZOS_WORK / n))));
  const judged = (verdict, nu, curvature, direction = null, bySpectrum = gapFrom(point, nu)) => {
    const byMisfit = Math.max(0, point.misfit) + point.objectiveError; // no f exceeds the sum of |C_jl|
    const gap = Math.min(bySpectrum, byMisfit), small = gap <= GAP_TOLERANCE * point.scale;
    return {
      ritz,
      verdict: small ? (byMisfit <= bySpectrum ? PROVED : verdict) : OPEN,
      gap, relativeGap: point.scale > 0 ? gap / point.scale : 0, nu, curvature, f: point.f, residual: point.residual, direction,
    };
  };
  if (n === 1) return judged(PROVED, 1, Infinity);
  const factorize = n <= dense;
  if (!factorize && !C.dense) {
    const second = yield* bySparseFactor(point); // a bound on lambda_2(S), for which the gap is |S z|^2 / lambda_2
    if (second > 0) return judged(PROVED, second, second, null, point.gradient ** 2 / second * (1 + 1e-12));
  }
  const enough = factorize ? null : (run) => gapFrom(point, lanczosShift(run, n)) <= GAP_TOLERANCE * point.scale;
  const run = yield* smallestCurvature(point, factorize ? tolerance : 1e-14, factorize ? null : steps, enough);
  if (factorize && spectrum) ritz = eigenvaluesOfTridiagonal(run.alpha, run.beta, run.k);
  if (run.value <= 0) return judged(OPEN, -Infinity, run.value, run.vector());
  if (factorize) return judged(PROVED, yield* byCholesky(point, run.value), run.value);
  return judged(NUMERICALLY, lanczosShift(run, n), run.value);
}
