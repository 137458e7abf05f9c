// Hermitian matrices C, dense or sparse, and what is asked of them. A complex vector is two arrays: {re, im}.

function vector(n) {
  return { re: new Float64Array(n), im: new Float64Array(n) };
}

function copied(x) {
  return { re: x.re.slice(), im: x.im.slice() };
}

/** Entry (j, l) at j n + l. */
function denseOperator(n, re, im) {
  return {
    n, re, im, dense: true, longestRow: n,
    apply(x, y) {
      const xr = x.re, xi = x.im;
      for (let j = 0, k = 0; j < n; j++) {
        let a = 0, b = 0;
        for (let l = 0; l < n; l++, k++) {
          const cr = re[k], ci = im[k], u = xr[l], v = xi[l];
          a += cr * u - ci * v;
          b += cr * v + ci * u;
        }
        y.re[j] = a;
        y.im[j] = b;
      }
      return y;
    },
    /** Calls visit(l, re, im) for the entries of row j that are not zero. */
    row(j, visit) {
      for (let l = 0, k = j * n; l < n; l++, k++) if (re[k] !== 0 || im[k] !== 0) visit(l, re[k], im[k]);
    },
  };
}

/** Compressed rows: the entries of row j are at first[j] to first[j + 1]. */
function sparseOperator(n, first, column, re, im) {
  let longestRow = 0;
  for (let j = 0; j < n; j++) longestRow = Math.max(longestRow, first[j + 1] - first[j]);
  return {
    n, first, column, re, im, dense: false, longestRow,
    apply(x, y) {
      const xr = x.re, xi = x.im;
      for (let j = 0; j < n; j++) {
        let a = 0, b = 0;
        for (let k = first[j]; k < first[j + 1]; k++) {
          const cr = re[k], ci = im[k], l = column[k], u = xr[l], v = xi[l];
          a += cr * u - ci * v;
          b += cr * v + ci * u;
        }
        y.re[j] = a;
        y.im[j] = b;
      }
      return y;
    },
    row(j, visit) {
      for (let k = first[j]; k < first[j + 1]; k++) visit(column[k], re[k], im[k]);
    },
  };
}

/** C of an edge list: C_ij = weight exp(i angle), C_ji its conjugate; repeated pairs add up. */
function operatorOfEdges(n, i, j, re, im) {
  const edges = i.length, first = new Int32Array(n + 1);
  for (let k = 0; k < edges; k++) { first[i[k] + 1]++; first[j[k] + 1]++; }
  for (let k = 0; k < n; k++) first[k + 1] += first[k];
  const next = first.slice(0, n), column = new Int32Array(2 * edges);
  const cr = new Float64Array(2 * edges), ci = new Float64Array(2 * edges);
  for (let k = 0; k < edges; k++) {
    const a = next[i[k]]++, b = next[j[k]]++;
    column[a] = j[k]; cr[a] = re[k]; ci[a] = im[k];
    column[b] = i[k]; cr[b] = re[k]; ci[b] = -im[k];
  }
  return sparseOperator(n, first, column, cr, ci);
}

/** Sums of |C_jl| over rows: what rounding errors are measured by. */
function absoluteRowSums(C) {
  const sums = new Float64Array(C.n);
  for (let j = 0; j < C.n; j++) C.row(j, (l, re, im) => { sums[j] += Math.hypot(re, im); });
  return sums;
}

/** w / |w| entry by entry; a zero keeps the phase of `old`. */
function normalize(w, old, into = w) {
  for (let j = 0; j < w.re.length; j++) {
    const a = w.re[j], b = w.im[j], size = Math.sqrt(a * a + b * b);
    if (size > 0) { into.re[j] = a / size; into.im[j] = b / size; }
    else { into.re[j] = old.re[j]; into.im[j] = old.im[j]; }
  }
  return into;
}

/** s_j and b_j, the real and imaginary parts of conj(z_j) (C z)_j, with f = sum s and the residual |b| / |C z|. */
function alongAndAcross(z, Cz) {
  const n = z.re.length, s = new Float64Array(n), b = new Float64Array(n);
  let f = 0, across = 0, all = 0;
  for (let j = 0; j < n; j++) {
    s[j] = z.re[j] * Cz.re[j] + z.im[j] * Cz.im[j];
    b[j] = z.re[j] * Cz.im[j] - z.im[j] * Cz.re[j];
    f += s[j];
    across += b[j] * b[j];
    all += s[j] * s[j] + b[j] * b[j];
  }
  return { s, b, f, across: Math.sqrt(across), residual: all > 0 ? Math.sqrt(across / all) : 0 };
}

/** x^H y. */
function inner(x, y) {
  let re = 0, im = 0;
  for (let j = 0; j < x.re.length; j++) {
    re += x.re[j] * y.re[j] + x.im[j] * y.im[j];
    im += x.re[j] * y.im[j] - x.im[j] * y.re[j];
  }
  return { re, im };
}

/** d_2(w, z)^2 = 2 (n - |z^H w|), the squared distance after the best turn; without cancellation where it is small. */
function squaredDistance(w, z) {
  const { re, im } = inner(z, w), size = Math.hypot(re, im) || 1, tr = re / size, ti = im / size;
  let sum = 0;
  for (let j = 0; j < w.re.length; j++) {
    const a = w.re[j] * tr + w.im[j] * ti - z.re[j], b = w.im[j] * tr - w.re[j] * ti - z.im[j];
    sum += a * a + b * b;
  }
  return sum;
}

/** The angles of w after the turn that brings it nearest to z, less those of z: in (-pi, pi]. */
function angleErrors(w, z) {
  const { re, im } = inner(z, w), errors = new Float64Array(w.re.length);
  for (let j = 0; j < errors.length; j++) {
    const a = w.re[j] * z.re[j] + w.im[j] * z.im[j], b = w.im[j] * z.re[j] - w.re[j] * z.im[j];
    errors[j] = Math.atan2(b * re - a * im, a * re + b * im);
  }
  return errors;
}
