// Sparse Cholesky factorization of S without one node: the proof for graphs that fall apart when few nodes are taken away.
//
// By Cauchy's interlacing the second eigenvalue of S is at least the smallest one of S without a row and its column. If
// that matrix less shift I factorizes in floating point, it is at least shift less the backward error, which is bounded as
// for a dense matrix, with the longest row of the factor in the place of n (a term of an entry passes through no more sums).

const MOST_FACTOR_ENTRIES = 3e6, MOST_FACTOR_WORK = 3e8; // a second or so
const SMALLEST_PART = 24; // nodes that are not cut further

/** Neighbors by distance from `root` among the nodes whose mark is `own`; they are marked with `next`. */
function levelsFrom(C, root, mark, own, next) {
  const levels = [[root]];
  mark[root] = next;
  for (;;) {
    const found = [];
    for (const j of levels.at(-1)) {
      for (let k = C.first[j]; k < C.first[j + 1]; k++) {
        const l = C.column[k];
        if (mark[l] === own) { mark[l] = next; found.push(l); }
      }
    }
    if (found.length === 0) return levels;
    levels.push(found);
  }
}

/** Nested dissection: both sides of a level in the middle first, then that level; without the node `left`. */
function dissected(C, left) {
  const mark = new Int32Array(C.n), order = [];
  let marks = 0;
  mark[left] = -1;
  const all = [];
  for (let j = 0; j < C.n; j++) if (j !== left) all.push(j);
  const pending = [{ nodes: all, done: false }];
  while (pending.length) {
    const { nodes, done } = pending.pop();
    if (done || nodes.length <= SMALLEST_PART) { for (let k = nodes.length - 1; k >= 0; k--) order.push(nodes[k]); continue; }
    const own = ++marks, seen = ++marks, again = ++marks;
    for (const j of nodes) mark[j] = own;
    const far = levelsFrom(C, nodes[0], mark, own, seen).at(-1)[0], levels = levelsFrom(C, far, mark, seen, again);
    const reached = levels.reduce((sum, level) => sum + level.length, 0);
    if (reached < nodes.length) { // in pieces already
      pending.push({ nodes: nodes.filter((j) => mark[j] !== again), done: false }, { nodes: levels.flat(), done: false });
      continue;
    }
    let before = 0, cut = -1;
    levels.forEach((level, k) => {
      const middle = before + level.length / 2;
      before += level.length;
      const inside = middle > 0.3 * nodes.length && middle < 0.7 * nodes.length && k > 0 && k < levels.length - 1;
      if (inside && (cut < 0 || level.length < levels[cut].length)) cut = k;
    });
    if (cut < 0) { pending.push({ nodes, done: true }); continue; }
    const after = ++marks, separator = [], first = levels.slice(0, cut).flat();
    for (const level of levels.slice(cut + 1)) for (const j of level) mark[j] = after;
    for (const j of levels[cut]) { // who has no neighbor beyond belongs to the first side
      let beyond = false;
      for (let k = C.first[j]; k < C.first[j + 1]; k++) beyond ||= mark[C.column[k]] === after;
      (beyond ? separator : first).push(j);
    }
    // the order is built from the front, so what is to come last is pushed first
    pending.push({ nodes: separator, done: true }, { nodes: levels.slice(cut + 1).flat(), done: false }, { nodes: first, done: false });
  }
  return Int32Array.from(order);
}

/** Pattern of the factor, row by row, by walks up the elimination tree (Davis, Direct Methods for Sparse Linear Systems). */
function eliminationOf(C, order) {
  const n = order.length, place = new Int32Array(C.n).fill(-1), parent = new Int32Array(n).fill(-1), ancestor = new Int32Array(n).fill(-1);
  order.forEach((j, k) => { place[j] = k; });
  for (let k = 0; k < n; k++) {
    for (let q = C.first[order[k]]; q < C.first[order[k] + 1]; q++) {
      for (let i = place[C.column[q]]; i >= 0 && i < k;) {
        const up = ancestor[i];
        ancestor[i] = k;
        if (up < 0) parent[i] = k;
        i = up;
      }
    }
  }
  const seen = new Int32Array(n).fill(-1), stack = new Int32Array(n), path = new Int32Array(n);
  /** Fills `stack` from its returned place on with the columns of row k, in an order in which they can be solved. */
  const reach = (k) => {
    let top = n;
    seen[k] = k;
    for (let q = C.first[order[k]]; q < C.first[order[k] + 1]; q++) {
      let i = place[C.column[q]], length = 0;
      if (i < 0 || i > k) continue;
      for (; seen[i] !== k; i = parent[i]) { path[length++] = i; seen[i] = k; }
      while (length > 0) stack[--top] = path[--length];
    }
    return top;
  };
  const counts = new Int32Array(n).fill(1);
  let entries = n, longest = 0;
  for (let k = 0; k < n && entries <= MOST_FACTOR_ENTRIES; k++) {
    const top = reach(k);
    for (let q = top; q < n; q++) counts[stack[q]]++;
    entries += n - top;
    longest = Math.max(longest, n - top);
  }
  const work = counts.reduce((sum, count) => sum + count * count, 0);
  seen.fill(-1);
  return { place, reach, stack, counts, entries, longest, small: entries <= MOST_FACTOR_ENTRIES && work <= MOST_FACTOR_WORK };
}

/** Whether Diag(s) - C - shift I on the nodes of `order` factorizes. */
function* factorizesSparsely(C, s, order, { place, reach, stack, counts, entries }, shift) {
  const n = order.length, first = new Int32Array(n + 1), row = new Int32Array(entries);
  const re = new Float64Array(entries), im = new Float64Array(entries), xr = new Float64Array(n), xi = new Float64Array(n);
  for (let k = 0; k < n; k++) first[k + 1] = first[k] + counts[k];
  const end = first.slice(0, n);
  for (let k = 0, work = 0; k < n; k++) {
    const top = reach(k), node = order[k];
    let pivot = s[node] - shift;
    for (let q = C.first[node]; q < C.first[node + 1]; q++) {
      const i = place[C.column[q]];
      if (i === k) pivot -= C.re[q];
      else if (i >= 0 && i < k) { xr[i] -= C.re[q]; xi[i] += C.im[q]; } // the entry (i, k), the conjugate of (k, i)
    }
    for (let t = top; t < n; t++) {
      const i = stack[t], diagonal = re[first[i]], lr = xr[i] / diagonal, li = xi[i] / diagonal;
      xr[i] = 0;
      xi[i] = 0;
      for (let p = first[i] + 1; p < end[i]; p++) {
        const r = row[p];
        xr[r] -= re[p] * lr - im[p] * li;
        xi[r] -= re[p] * li + im[p] * lr;
      }
      pivot -= lr * lr + li * li;
      const p = end[i]++;
      row[p] = k;
      re[p] = lr;
      im[p] = -li;
      work += end[i] - first[i];
    }
    if (!(pivot > 0)) return false;
    row[end[k]] = k;
    re[end[k]++] = Math.sqrt(pivot);
    if (work > 1e6) { work = 0; yield; }
  }
  return true;
}

/** A proved lower bound on the second eigenvalue of S: positive, 0 where S has a negative one or is too near to it, or null where the factor is too large. */
function* bySparseFactor(point) {
  const { C, s } = point;
  let ground = 0;
  for (let j = 1; j < C.n; j++) if (C.first[j + 1] - C.first[j] > C.first[ground + 1] - C.first[ground]) ground = j;
  const order = dissected(C, ground);
  yield;
  const elimination = eliminationOf(C, order);
  if (!elimination.small) return null;
  let trace = 0, most = 0;
  for (const j of order) { trace += Math.abs(s[j]); most = Math.max(most, Math.abs(s[j])); }
  const g = Math.SQRT2 * gamma(2 * elimination.longest + 16);
  const errors = g / (1 - g) * (trace + point.total) * (1 + 1e-10) + 8 * ROUNDOFF * (most + point.largest) + point.eigenvalueError;
  const shift = 4 * errors;
  return (yield* factorizesSparsely(C, s, order, elimination, shift)) ? shift - errors : 0;
}
