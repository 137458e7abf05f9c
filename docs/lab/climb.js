// Ways up f(z) = z^H C z on the circles |z_j| = 1: GPM, Newton's method, and the lift to rank two.

/** One step of the generalized power method: z + step C z, back onto the circles. */
function gpmStep(z, Cz, step, into) {
  for (let j = 0; j < z.re.length; j++) {
    into.re[j] = z.re[j] + step * Cz.re[j];
    into.im[j] = z.im[j] + step * Cz.im[j];
  }
  return normalize(into, z);
}

/**
 * The tangent Hessian H = Re(Z^H S Z) = Diag(s) - Re(conj(z_j) C_jl z_l), a real matrix with the pattern of C. Moving
 * the angles by t changes f by 2 b.t - t.H t + O(t^3).
 */
function tangentHessian(C, z, s) {
  const { n, re, im } = C, values = new Float64Array(re.length), diagonal = s.slice();
  const turned = (j, l, k) => {
    const ar = z.re[j] * z.re[l] + z.im[j] * z.im[l], ai = z.re[j] * z.im[l] - z.im[j] * z.re[l];
    return re[k] * ar - im[k] * ai;
  };
  if (C.dense) {
    for (let j = 0, k = 0; j < n; j++) {
      for (let l = 0; l < n; l++, k++) {
        values[k] = turned(j, l, k);
        if (l === j) diagonal[j] -= values[k];
      }
    }
  } else {
    for (let j = 0; j < n; j++) for (let k = C.first[j]; k < C.first[j + 1]; k++) values[k] = turned(j, C.column[k], k);
  }
  return {
    diagonal, values,
    apply(t, y) {
      for (let j = 0, k = 0; j < n; j++) {
        let sum = 0;
        if (C.dense) for (let l = 0; l < n; l++, k++) sum += values[k] * t[l];
        else for (k = C.first[j]; k < C.first[j + 1]; k++) sum += values[k] * t[C.column[k]];
        y[j] = s[j] * t[j] - sum;
      }
      return y;
    },
  };
}

/**
 * A preconditioner for H: (D + L) D^-1 (D + L^T), L the lower triangle of H, with D such that its row sums are those of H
 * but for the relaxation (Gustafsson, BIT 18, 1978). On a grid it saves most of the steps. The diagonal where C is dense,
 * or where H is no matrix of that kind.
 */
function preconditioner(C, H) {
  const n = C.n, most = H.diagonal.reduce((high, value) => Math.max(high, Math.abs(value)), 0) || 1;
  const byDiagonal = (r, x) => {
    for (let j = 0; j < n; j++) x[j] = r[j] / Math.max(Math.abs(H.diagonal[j]), 1e-3 * most);
    return x;
  };
  if (C.dense || C.re.length > 16 * n) return byDiagonal;
  const relaxed = 0.98, { first, column } = C, { values } = H; // off the diagonal, H has -values
  const d = new Float64Array(n), upper = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    let sum = 0;
    d[j] = H.diagonal[j];
    for (let k = first[j]; k < first[j + 1]; k++) {
      const l = column[k];
      if (l > j) sum -= values[k];
      else d[j] -= -values[k] / d[l] * ((1 - relaxed) * -values[k] + relaxed * upper[l]);
    }
    upper[j] = sum;
    if (!(d[j] > 1e-4 * most * 1e-2)) return byDiagonal;
  }
  return (r, x) => {
    for (let j = 0; j < n; j++) {
      let sum = r[j];
      for (let k = first[j]; k < first[j + 1] && column[k] < j; k++) sum += values[k] * x[column[k]];
      x[j] = sum / d[j];
    }
    for (let j = n - 1; j >= 0; j--) {
      let sum = 0;
      for (let k = first[j + 1] - 1; k >= first[j] && column[k] > j; k--) sum += values[k] * x[column[k]];
      x[j] += sum / d[j];
    }
    return x;
  };
}

/** Conjugate gradients on H t = b until the rest is below `target`; ends where H curves the wrong way. */
function conjugateGradients(H, inverse, b, target, most) {
  const n = b.length, t = new Float64Array(n), r = b.slice(), Hp = new Float64Array(n), y = new Float64Array(n);
  const p = inverse(r, new Float64Array(n));
  let rho = 0;
  for (let j = 0; j < n; j++) rho += r[j] * p[j];
  for (let step = 0; step < most && rho > 0; step++) {
    H.apply(p, Hp);
    let curvature = 0;
    for (let j = 0; j < n; j++) curvature += p[j] * Hp[j];
    if (!(curvature > 0)) return step === 0 ? p : t; // up along p, or along what was found before
    const length = rho / curvature;
    let left = 0, next = 0;
    for (let j = 0; j < n; j++) {
      t[j] += length * p[j];
      r[j] -= length * Hp[j];
      left += r[j] * r[j];
    }
    if (Math.sqrt(left) <= target) break;
    inverse(r, y);
    for (let j = 0; j < n; j++) next += r[j] * y[j];
    const share = next / rho;
    rho = next;
    for (let j = 0; j < n; j++) p[j] = y[j] + share * p[j];
  }
  return t;
}

/** Newton's method with conjugate gradients, steps halved until f rises; yields after every step. */
function* newton(C, z, { tolerance = 1e-13, most = 60, products = 1000 } = {}) {
  const n = C.n;
  let Cz = C.apply(z, vector(n)), at = alongAndAcross(z, Cz), steps = 0, stalled = 0;
  for (; steps < most && at.residual > tolerance && stalled < 2; steps++) {
    // Loose solves at first, tight ones when the residual is small: the steps then converge faster than linearly.
    const share = Math.max(1e-10, Math.min(0.1, Math.sqrt(at.residual) * 0.5, at.residual * 1e2));
    const target = Math.max(share, 0.2 * tolerance / at.residual) * at.across, H = tangentHessian(C, z, at.s);
    const t = conjugateGradients(H, preconditioner(C, H), at.b, target, products);
    let largest = 0, slope = 0;
    for (let j = 0; j < n; j++) { largest = Math.max(largest, Math.abs(t[j])); slope += t[j] * at.b[j]; }
    let length = Math.min(1, 1 / largest), accepted = null; // no phase turns by more than one radian at once
    for (let halving = 0; halving < 30 && slope > 0; halving++, length /= 2) {
      const trial = vector(n);
      for (let j = 0; j < n; j++) {
        const c = Math.cos(length * t[j]), d = Math.sin(length * t[j]);
        trial.re[j] = z.re[j] * c - z.im[j] * d;
        trial.im[j] = z.re[j] * d + z.im[j] * c;
      }
      normalize(trial, z);
      const product = C.apply(trial, vector(n)), there = alongAndAcross(trial, product);
      // near the top f is known to rounding only, and the gradient says more
      const level = Math.abs(at.f) + at.s.reduce((sum, value) => sum + Math.abs(value), 0);
      const rises = there.f >= at.f + 1e-4 * length * slope;
      const settles = there.f >= at.f - 1e-13 * level && there.across < at.across;
      if (rises || settles) { accepted = { trial, product, there }; break; }
    }
    if (!accepted) break;
    stalled = accepted.there.residual > 0.5 * at.residual && accepted.there.f - at.f < 1e-15 * Math.abs(at.f) ? stalled + 1 : 0;
    if (accepted.there.residual >= at.residual && stalled > 0) break; // rounding: this is as near as it comes
    ({ trial: z, product: Cz, there: at } = accepted);
    yield;
  }
  return { z, Cz, steps, ...at };
}

/** What leaves a local maximum: rows (cos a z_j, sin a v_j) of two complex numbers, v from the eigenvector of S below 0. */
function lifted(z, direction, angle) {
  const n = z.re.length, v = normalize(copied(direction), z), first = vector(n), second = vector(n);
  for (let j = 0; j < n; j++) {
    first.re[j] = Math.cos(angle) * z.re[j]; first.im[j] = Math.cos(angle) * z.im[j];
    second.re[j] = Math.sin(angle) * v.re[j]; second.im[j] = Math.sin(angle) * v.im[j];
  }
  return [first, second];
}

/** A step of the power method on rows of length one: V + step C V, every row back to length one. */
function liftedStep(C, V, step) {
  const n = C.n, products = V.map((column) => C.apply(column, vector(n)));
  for (let c = 0; c < 2; c++) {
    for (let j = 0; j < n; j++) {
      products[c].re[j] = V[c].re[j] + step * products[c].re[j];
      products[c].im[j] = V[c].im[j] + step * products[c].im[j];
    }
  }
  const [p, q] = products;
  for (let j = 0; j < n; j++) {
    const size = Math.sqrt(p.re[j] ** 2 + p.im[j] ** 2 + q.re[j] ** 2 + q.im[j] ** 2) || 1;
    p.re[j] /= size; p.im[j] /= size; q.re[j] /= size; q.im[j] /= size;
  }
  return products;
}

/** f of the lifted problem: the trace of V^H C V. */
function liftedObjective(C, V) {
  return V.reduce((sum, column) => sum + inner(column, C.apply(column, vector(C.n))).re, 0);
}

/** The unit pair (c, d) for which |V (c, d)| is largest: where most rows point. Of the 2 x 2 matrix V^H V. */
function commonDirection(V) {
  const a = inner(V[0], V[0]).re, d = inner(V[1], V[1]).re, m = inner(V[0], V[1]);
  const half = (a - d) / 2, off = Math.hypot(m.re, m.im), top = half + Math.hypot(half, off);
  if (off === 0) return a >= d ? [{ re: 1, im: 0 }, { re: 0, im: 0 }] : [{ re: 0, im: 0 }, { re: 1, im: 0 }];
  // eigenvector (m, top - 2 half) of [[a, m], [conj m, d]] with eigenvalue d + top
  const second = top - 2 * half, size = Math.hypot(off, second);
  return [{ re: m.re / size, im: m.im / size }, { re: second / size, im: 0 }];
}

/** Rounding: the rows along their common direction, back onto the circles. */
function rounded(V, old) {
  const [c, d] = commonDirection(V), z = vector(old.re.length);
  for (let j = 0; j < old.re.length; j++) {
    z.re[j] = V[0].re[j] * c.re - V[0].im[j] * c.im + V[1].re[j] * d.re - V[1].im[j] * d.im;
    z.im[j] = V[0].re[j] * c.im + V[0].im[j] * c.re + V[1].re[j] * d.im + V[1].im[j] * d.re;
  }
  return normalize(z, old);
}

/** From z over the lift to another point of the circles, polished by Newton's method. */
function* overTheLift(C, z, direction, step, steps) {
  let V = lifted(z, direction, 0.2);
  for (let k = 0; k < steps; k++) {
    V = liftedStep(C, V, step);
    yield;
  }
  return yield* newton(C, rounded(V, z));
}
