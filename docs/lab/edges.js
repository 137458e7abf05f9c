// An edge list from a file: read, solved component by component, judged.

/** What is wrong with the text, for the user to mend. */
class EdgeListError extends Error {}

const COLUMN_NAMES = ["i", "j", "angle", "weight"];

function fieldsOf(line, separator) {
  const parts = separator === " " ? line.trim().split(/\s+/) : line.split(separator);
  for (let k = 0; k < parts.length; k++) {
    parts[k] = parts[k].trim();
    if (parts[k].charCodeAt(0) === 34) parts[k] = parts[k].replace(/^"(.*)"$/, "$1"); // a quotation mark
  }
  return parts;
}

/** The text of a number, or NaN: "" is no number, nor is what parseFloat would forgive. */
function numberOf(text) {
  return text === undefined || !/^[-+]?[\d.]/.test(text) || /^[-+]?0[xob]/i.test(text) ? NaN : Number(text);
}

/** 1.0 is the whole number 1: a column that passed through floating point has such names. */
function nodeName(text) {
  return text.includes(".") && /^-?\d+\.0*$/.test(text) ? text.slice(0, text.indexOf(".")) : text;
}

/**
 * Columns i, j, angle[, weight], separated by commas, semicolons, tabs or blanks, with a header or, where the third field
 * of the first line is a number, without one. Lines that begin with # are comments, but for a header.
 */
function parseEdges(text, unit = "rad") {
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/), factor = { rad: 1, deg: Math.PI / 180, turn: 2 * Math.PI }[unit];
  let separator = null, places = null, width = Infinity;
  const first = [], second = [], angle = [], weight = [];
  const fail = (k, words) => { throw new EdgeListError(`Line ${k + 1}: ${words}`); };
  for (let k = 0; k < lines.length; k++) {
    let line = lines[k].trim();
    if (line === "") continue;
    const comment = line.charCodeAt(0) === 35; // #
    if (comment && places) continue;
    if (comment) line = line.replace(/^#+/, "");
    const own = separator ?? [",", ";", "\t"].find((mark) => line.includes(mark)) ?? " ";
    const fields = fieldsOf(line, own);
    if (!places) {
      const names = fields.map((name) => name.toLowerCase()), found = COLUMN_NAMES.map((name) => names.indexOf(name));
      const header = found[0] >= 0 && found[1] >= 0 && found[2] >= 0;
      if (comment && !header) continue;
      separator = own;
      if (header) { places = found; width = fields.length; continue; }
      if (!Number.isFinite(numberOf(fields[2]))) {
        fail(k, `a header needs the columns i, j and angle, but it is "${line.trim().slice(0, 60)}". Rename the columns, or leave the header out.`);
      }
      places = [0, 1, 2, fields.length > 3 ? 3 : -1];
    }
    if (fields.length > width && fields.slice(width).some((field) => field !== "")) {
      fail(k, `${fields.length} fields, but the header has ${width}. Are decimals written with a comma, or does a name hold one? Write decimals with a point.`);
    }
    const a = nodeName(fields[places[0]] ?? ""), b = nodeName(fields[places[1]] ?? "");
    const value = numberOf(fields[places[2]]), w = places[3] >= 0 ? numberOf(fields[places[3]]) : 1;
    if (a === "" || b === "") fail(k, "a node has no name.");
    if (a === b) fail(k, `node ${a} is joined to itself, which says nothing about phases. Leave the line out.`);
    if (!Number.isFinite(value)) fail(k, `the angle "${fields[places[2]] ?? ""}" is not a finite number.`);
    if (!(Number.isFinite(w) && w >= 0)) fail(k, `the weight "${fields[places[3]] ?? ""}" is not a finite number of at least 0.`);
    first.push(a); second.push(b); angle.push(value * factor); weight.push(w);
  }
  if (first.length === 0) throw new EdgeListError("There is no measurement in it. Lines have to read i,j,angle or i,j,angle,weight.");
  const heaviest = weight.reduce((most, w) => Math.max(most, w), 0);
  if (heaviest === 0) throw new EdgeListError("All weights are 0: nothing is measured.");
  if (!(heaviest < 1e100) || weight.some((w) => w > 0 && w < 1e-50 * heaviest)) {
    throw new EdgeListError("Weights span more than 50 orders of magnitude, or exceed 1e100: rescale them.");
  }
  const sorted = angle.map(Math.abs).sort((a, b) => a - b);
  const looksLikeDegrees = unit === "rad" && sorted[sorted.length >> 1] > 2 * Math.PI;
  return { ...numbered(first, second), angle: Float64Array.from(angle), weight: Float64Array.from(weight), looksLikeDegrees };
}

/** Nodes by number: in ascending order where all names are whole numbers, otherwise as they appear. */
function numbered(first, second) {
  const place = new Map();
  for (let k = 0; k < first.length; k++) {
    if (!place.has(first[k])) place.set(first[k], place.size);
    if (!place.has(second[k])) place.set(second[k], place.size);
  }
  const names = [...place.keys()];
  if (names.every((name) => /^-?(0|[1-9]\d{0,14})$/.test(name))) {
    names.sort((a, b) => Number(a) - Number(b));
    names.forEach((name, k) => place.set(name, k));
  }
  return {
    names,
    i: Int32Array.from(first, (name) => place.get(name)),
    j: Int32Array.from(second, (name) => place.get(name)),
  };
}

/** Connected components (edges of weight 0 join nothing), a breadth-first order of each, and who was reached from whom. */
function componentsOf(C) {
  const n = C.n, label = new Int32Array(n).fill(-1), parent = new Int32Array(n).fill(-1), through = new Int32Array(n), orders = [];
  for (let root = 0; root < n; root++) {
    if (label[root] >= 0) continue;
    const order = [root];
    label[root] = orders.length;
    for (let at = 0; at < order.length; at++) {
      const j = order[at];
      for (let k = C.first[j]; k < C.first[j + 1]; k++) {
        const l = C.column[k];
        if (label[l] < 0 && (C.re[k] !== 0 || C.im[k] !== 0)) {
          label[l] = orders.length;
          parent[l] = j;
          through[l] = k;
          order.push(l);
        }
      }
    }
    orders.push(order);
  }
  return { label, orders, parent, through };
}

/** Phases along the breadth-first tree: exact where the measurements agree. */
function treeStart(C, { orders, parent, through }) {
  const z = vector(C.n);
  for (const order of orders) {
    for (const l of order) {
      if (parent[l] < 0) { z.re[l] = 1; continue; }
      const p = parent[l], k = through[l]; // C_pl = w exp(i (theta_p - theta_l)), so z_l = conj(C_pl) z_p / |C_pl|
      z.re[l] = C.re[k] * z.re[p] + C.im[k] * z.im[p];
      z.im[l] = C.re[k] * z.im[p] - C.im[k] * z.re[p];
      const size = Math.hypot(z.re[l], z.im[l]);
      z.re[l] /= size;
      z.im[l] /= size;
    }
  }
  return z;
}

/** Two rounds of inverse iteration with D - C, D the row sums of |C|: the smooth part of where `z` points. */
function* smoothedStart(C, z, sums) {
  const n = C.n;
  for (let round = 0; round < 2; round++) {
    const x = copied(z), r = vector(n), p = vector(n), y = vector(n);
    const apply = (v, into) => {
      C.apply(v, into);
      for (let j = 0; j < n; j++) {
        const d = sums[j] * (1 + 1e-6);
        into.re[j] = d * v.re[j] - into.re[j];
        into.im[j] = d * v.im[j] - into.im[j];
      }
      return into;
    };
    const mean = sums.reduce((sum, value) => sum + value, 0) / n;
    apply(x, r);
    let rho = 0;
    for (let j = 0; j < n; j++) { // right-hand side: z, on the scale of a small eigenvalue
      r.re[j] = 1e-3 * mean * z.re[j] - r.re[j];
      r.im[j] = 1e-3 * mean * z.im[j] - r.im[j];
      p.re[j] = r.re[j] / sums[j];
      p.im[j] = r.im[j] / sums[j];
      rho += r.re[j] * p.re[j] + r.im[j] * p.im[j];
    }
    const target = 1e-4 * rho;
    for (let step = 0; step < 30 && rho > target && rho > 0; step++) {
      apply(p, y);
      const length = rho / inner(p, y).re;
      let next = 0;
      for (let j = 0; j < n; j++) {
        x.re[j] += length * p.re[j];
        x.im[j] += length * p.im[j];
        r.re[j] -= length * y.re[j];
        r.im[j] -= length * y.im[j];
        next += (r.re[j] * r.re[j] + r.im[j] * r.im[j]) / sums[j];
      }
      const share = next / rho;
      rho = next;
      for (let j = 0; j < n; j++) {
        p.re[j] = r.re[j] / sums[j] + share * p.re[j];
        p.im[j] = r.im[j] / sums[j] + share * p.im[j];
      }
      yield;
    }
    z = normalize(x, z);
  }
  return z;
}

/** Power iterations with D^-1 C + I from a random start: near the leading eigenvector where the graph mixes fast. */
function* powerStart(C, sums, steps = 60) {
  const n = C.n, y = vector(n);
  let x = randomVector(n, generator(n, 41));
  for (let k = 0; k < steps; k++) {
    C.apply(x, y);
    let largest = 0;
    for (let j = 0; j < n; j++) {
      x.re[j] = x.re[j] + 2 * y.re[j] / sums[j];
      x.im[j] = x.im[j] + 2 * y.im[j] / sums[j];
      largest = Math.max(largest, Math.abs(x.re[j]), Math.abs(x.im[j]));
    }
    if (largest > 1e100) for (let j = 0; j < n; j++) { x.re[j] /= largest; x.im[j] /= largest; }
    yield;
  }
  return normalize(x, x);
}

/** Ten steps of the plain power method, each block on its own circle: takes the worst off a start. */
function settled(C, z, steps = 10) {
  const n = C.n, y = vector(n);
  for (let k = 0; k < steps; k++) { C.apply(z, y); z = gpmStep(z, y, 1e3, vector(n)); }
  return z;
}

/** The part of C on one component, its nodes numbered in the order of `order`; columns ascend, repeated pairs are one. */
function restricted(C, order, place) {
  const size = order.length, first = new Int32Array(size + 1);
  let most = 0;
  for (let at = 0; at < size; at++) { place[order[at]] = at; most += C.first[order[at] + 1] - C.first[order[at]]; }
  const column = new Int32Array(most), re = new Float64Array(most), im = new Float64Array(most);
  const seen = new Int32Array(size).fill(-1);
  let end = 0;
  for (let at = 0; at < size; at++) {
    const j = order[at], begin = end;
    for (let k = C.first[j]; k < C.first[j + 1]; k++) {
      if (C.re[k] === 0 && C.im[k] === 0) continue; // a pair of weight 0 may join two components
      const l = place[C.column[k]];
      let to = seen[l] >= begin ? seen[l] : -1;
      if (to < 0) {
        to = end++;
        while (to > begin && column[to - 1] > l) { // insertion: rows are short, or nearly sorted
          column[to] = column[to - 1]; re[to] = re[to - 1]; im[to] = im[to - 1];
          seen[column[to]] = to;
          to--;
        }
        column[to] = l; re[to] = 0; im[to] = 0;
        seen[l] = to;
      }
      re[to] += C.re[k];
      im[to] += C.im[k];
    }
    first[at + 1] = end;
  }
  return sparseOperator(size, first, column.subarray(0, end), re.subarray(0, end), im.subarray(0, end));
}

/** The best of a few starts, then Newton's method. */
function* solveComponent(C, tree) {
  if (C.n === 1) return { z: tree, f: 0, residual: 0, steps: 0 };
  const sums = absoluteRowSums(C);
  const starts = [tree, settled(C, yield* smoothedStart(C, tree, sums)), settled(C, yield* powerStart(C, sums))];
  let best = null, most = -Infinity;
  for (const z of starts) {
    const { f } = alongAndAcross(z, C.apply(z, vector(C.n)));
    if (f > most) { most = f; best = z; }
  }
  return yield* newton(C, best);
}

const LIFTS = 3, LIFT_STEPS = 300;

/** The certificate of a component; where S curves down, up to LIFTS ways out over the lift to rank two first. */
function* certifyOrLeave(C, found) {
  let verdict = yield* certify(C, found.z), lifts = 0;
  for (; verdict.direction && lifts < LIFTS; lifts++) {
    const step = 1 / absoluteRowSums(C).reduce((most, sum) => Math.max(most, sum), 1e-300);
    const other = yield* overTheLift(C, found.z, verdict.direction, 4 * step, LIFT_STEPS);
    if (!(other.f > found.f + 1e-9 * Math.abs(found.f))) break;
    found = other;
    verdict = yield* certify(C, found.z);
  }
  return { found, verdict, lifts };
}

/**
 * The whole list. Yields nothing but time; calls `solved` with the phases as soon as they are known, before anything is
 * proved about them, and returns the answer with its verdict.
 */
function* solveEdges(list, solved = () => {}) {
  const { names, i, j, angle, weight } = list, n = names.length, edges = i.length;
  const re = new Float64Array(edges), im = new Float64Array(edges);
  for (let k = 0; k < edges; k++) { re[k] = weight[k] * Math.cos(angle[k]); im[k] = weight[k] * Math.sin(angle[k]); }
  const C = operatorOfEdges(n, i, j, re, im), parts = componentsOf(C), tree = treeStart(C, parts);
  const place = new Int32Array(n), operators = [], found = [];
  for (const order of parts.orders) {
    const part = restricted(C, order, place), start = vector(order.length);
    order.forEach((node, at) => { start.re[at] = tree.re[node]; start.im[at] = tree.im[node]; });
    operators.push(part);
    found.push(yield* solveComponent(part, start));
  }
  solved(answerOf(list, parts, found, null));
  const verdicts = [];
  let lifts = 0;
  for (let c = 0; c < operators.length; c++) {
    const judged = yield* certifyOrLeave(operators[c], found[c]);
    found[c] = judged.found;
    lifts += judged.lifts;
    verdicts.push(judged.verdict);
  }
  return { ...answerOf(list, parts, found, verdicts), lifts };
}

/** Angles (the first node of every component at 0), misfits in radians, objective, and the weakest of the verdicts. */
function answerOf(list, { orders, label }, found, verdicts) {
  const n = list.names.length, angles = new Float64Array(n), { i, j, angle, weight } = list;
  orders.forEach((order, c) => {
    const { z } = found[c], a = z.re[0], b = z.im[0];
    order.forEach((node, at) => {
      angles[node] = Math.atan2(z.im[at] * a - z.re[at] * b, z.re[at] * a + z.im[at] * b);
    });
  });
  const misfit = new Float64Array(i.length);
  let squares = 0, measured = 0;
  for (let k = 0; k < i.length; k++) {
    const turn = angle[k] - (angles[i[k]] - angles[j[k]]);
    misfit[k] = Math.atan2(Math.sin(turn), Math.cos(turn));
    if (weight[k] > 0) { squares += misfit[k] ** 2; measured++; }
  }
  const order = [OPEN, NUMERICALLY, PROVED];
  const worst = verdicts && verdicts.reduce((low, v) => Math.min(low, order.indexOf(v.verdict)), order.length - 1);
  return {
    n, edges: i.length, components: orders.length, label, angles, misfit, rms: Math.sqrt(squares / measured),
    f: found.reduce((sum, part) => sum + part.f, 0),
    residual: found.reduce((most, part) => Math.max(most, part.residual), 0),
    newtonSteps: found.reduce((most, part) => Math.max(most, part.steps), 0),
    verdict: verdicts && order[worst],
    open: verdicts ? verdicts.filter((v) => v.verdict === OPEN).length : 0,
    gap: verdicts && verdicts.reduce((sum, v) => sum + v.gap, 0),
    relativeGap: verdicts && verdicts.reduce((most, v) => Math.max(most, v.relativeGap), 0),
    curvature: verdicts && verdicts.reduce((low, v) => Math.min(low, v.curvature), Infinity),
  };
}
