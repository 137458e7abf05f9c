// The second part: a ring of arrows, twisted, nudged, lifted. Small enough to be worked out here, all frames at once.

const ringForm = { n: byId("ring-n"), twist: byId("ring-twist"), time: byId("ring-time") };
const ring = { n: 24, twist: 1, frames: [], kind: "twisted", began: null, nudges: 0, returned: 0, moving: false, drawn: -1 };

function ringOperator(n) {
  const i = Int32Array.from({ length: n }, (_, k) => k), j = i.map((k) => (k + 1) % n);
  return operatorOfEdges(n, i, j, new Float64Array(n).fill(1), new Float64Array(n));
}

function twistedState(n, twist) {
  const z = vector(n);
  for (let k = 0; k < n; k++) { z.re[k] = Math.cos(2 * Math.PI * twist * k / n); z.im[k] = Math.sin(2 * Math.PI * twist * k / n); }
  return z;
}

/** How often the phases turn all the way round along the ring. */
function windingOf(z) {
  let turn = 0;
  const n = z.re.length;
  for (let k = 0; k < n; k++) {
    const l = (k + 1) % n;
    turn += Math.atan2(z.im[l] * z.re[k] - z.re[l] * z.im[k], z.re[l] * z.re[k] + z.im[l] * z.im[k]);
  }
  return Math.round(turn / (2 * Math.PI));
}

const flat = (z) => [z, vector(z.re.length)];
const frameOf = (C, V) => ({ V, f: liftedObjective(C, V) / (2 * C.n) });

/** The largest move of a row between two lifted points. */
function moved(V, W) {
  let most = 0;
  for (let j = 0; j < V[0].re.length; j++) {
    let sum = 0;
    for (let c = 0; c < 2; c++) sum += (V[c].re[j] - W[c].re[j]) ** 2 + (V[c].im[j] - W[c].im[j]) ** 2;
    most = Math.max(most, sum);
  }
  return Math.sqrt(most);
}

/** Steps until nothing moves, with a frame wherever the picture has changed enough. */
function framesAlong(C, V, { most = 60000, apart = 0.02 } = {}) {
  const frames = [frameOf(C, V)];
  let shown = V;
  for (let k = 0; k < most; k++) {
    const next = liftedStep(C, V, 0.25); // 1 / (2 |C|): f cannot fall
    const still = moved(next, V) < 1e-9;
    V = next;
    if (moved(V, shown) > apart || still) { frames.push(frameOf(C, V)); shown = V; }
    if (still) break;
  }
  return frames;
}

/** Off the plane, up, and down again along the common direction. */
function liftFrames(C, z) {
  const { direction } = finished(certify(C, z, { tolerance: 1e-9 }));
  if (!direction) return [frameOf(C, flat(z))];
  const { re, im } = direction.re.reduce((sum, _, k) => ({ re: sum.re + direction.re[k], im: sum.im + direction.im[k] }), { re: 0, im: 0 });
  const size = Math.hypot(re, im) || 1, turned = vector(C.n); // any phase of it will do: one that stands upright
  for (let k = 0; k < C.n; k++) {
    turned.re[k] = (direction.re[k] * re + direction.im[k] * im) / size;
    turned.im[k] = (direction.im[k] * re - direction.re[k] * im) / size;
  }
  const before = [];
  for (let a = 0; a <= 8; a++) before.push(frameOf(C, lifted(z, turned, 0.03 * a / 8)));
  const frames = [...before, ...framesAlong(C, lifted(z, turned, 0.03))], top = frames.at(-1).V, [c, d] = commonDirection(top);
  for (let a = 1; a <= 40; a++) {
    const angle = a / 40 * Math.PI / 2, cosine = Math.cos(angle), sine = Math.sin(angle), V = flat(vector(C.n));
    for (let k = 0; k < C.n; k++) {
      const xr = top[0].re[k] * c.re - top[0].im[k] * c.im + top[1].re[k] * d.re - top[1].im[k] * d.im;
      const xi = top[0].re[k] * c.im + top[0].im[k] * c.re + top[1].re[k] * d.im + top[1].im[k] * d.re;
      V[0].re[k] = sine * xr; V[0].im[k] = sine * xi;
      V[1].re[k] = cosine * xr; V[1].im[k] = cosine * xi;
    }
    frames.push(frameOf(C, V));
  }
  frames.end = rounded(top, z);
  return frames;
}

function nudgeFrames(C, z, attempt) {
  const random = generator(C.n, ring.twist, attempt, 3), from = vector(C.n), frames = [];
  const angles = Float64Array.from({ length: C.n }, () => 0.35 * random.normal());
  for (let a = 0; a <= 12; a++) {
    const at = vector(C.n);
    for (let k = 0; k < C.n; k++) {
      const c = Math.cos(angles[k] * a / 12), s = Math.sin(angles[k] * a / 12);
      at.re[k] = z.re[k] * c - z.im[k] * s;
      at.im[k] = z.re[k] * s + z.im[k] * c;
    }
    frames.push(frameOf(C, flat(at)));
    from.re.set(at.re);
    from.im.set(at.im);
  }
  const back = framesAlong(C, flat(from));
  back.slice(1).forEach((frame) => frames.push(frame));
  frames.end = normalize(copied(frames.at(-1).V[0]), z);
  return frames;
}

function resetRing() {
  ring.n = Number(ringForm.n.value);
  const most = Math.max(1, Math.ceil(ring.n / 4) - 1); // beyond a quarter turn between neighbors it is no maximum
  ringForm.twist.max = String(most);
  ring.twist = Math.min(most, Number(ringForm.twist.value));
  ring.C = ringOperator(ring.n);
  ring.z = twistedState(ring.n, ring.twist);
  ring.nudges = ring.returned = 0;
  show([frameOf(ring.C, flat(ring.z))], "twisted");
}

function show(frames, kind) {
  ring.frames = frames;
  ring.kind = kind;
  ring.drawn = -1;
  ring.began = kind === "twisted" || stillness.matches ? null : performance.now();
  ringForm.time.value = ring.began === null && kind !== "twisted" ? 1000 : 0;
  ringForm.time.disabled = kind === "twisted";
  ring.moving = ring.began !== null;
  ringWords();
}

const NUDGED_WORDS = "Random turns of about 20°, then uphill. On the circles the twist cannot come undone without a pair of neighbors pointing apart.";
const LIFTED_WORDS = "The negative eigenvector of S says which way is up. The arrows rise out of the plane together, stand upright, agree, and lie down again: untwisted.";

function ringWords() {
  const { n, twist, kind } = ring;
  const step = 360 * twist / n, low = Math.cos(2 * Math.PI * twist / n), eigenvalue = 2 * low - 2;
  const slope = alongAndAcross(ring.z, ring.C.apply(ring.z, vector(n))).residual;
  say("ring-n-value", String(n));
  say("ring-twist-value", `${twist} (${step.toFixed(0)}° a step)`);
  const facts = [
    ["agreement, twisted", low.toFixed(4)],
    ["slope there", slope < 1e-12 ? "0" : inWords(slope, 2)],
    ["curvature on the circles", `≤ ${inWords(-2 * low * (1 - Math.cos(2 * Math.PI / n)), 2)}`],
    ["smallest eigenvalue of S", inWords(eigenvalue, 2)],
    ["nudges that came back", ring.nudges ? `${ring.returned} of ${ring.nudges}` : "–"],
  ];
  byId("ring-facts").replaceChildren(...facts.flatMap(([name, value]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    return [dt, dd];
  }));
  if (kind === "twisted") {
    verdictBox("ring-verdict", "bad", "stuck", "The slope is zero and every small turn makes it worse: a local maximum. But S has a negative eigenvalue, so nothing is proved.");
    say("ring-caption", "An arrow a phase, in the color of its angle. All measured differences are zero, so all arrows should be parallel.");
  } else if (ring.moving) {
    say("ring-caption", kind === "lifted" ? LIFTED_WORDS : NUDGED_WORDS);
    verdictBox("ring-verdict", "none", "on the way …", kind === "lifted" ? "Above the plane, agreement only rises." : "Disturbed, and uphill again.");
  } else if (kind === "nudged") {
    const back = windingOf(ring.frames.end) === twist;
    verdictBox("ring-verdict", back ? "bad" : "open", back ? "back again" : "it left", back
      ? "Disturbed at random, the arrows climb back to the twisted state. Nudge again, or lift."
      : "This nudge was large enough to break the twist. Do not count on it.");
    say("ring-caption", NUDGED_WORDS);
  } else {
    const certificate = finished(certify(ring.C, ring.frames.end, { tolerance: 1e-9 }));
    const good = certificate.verdict === PROVED;
    verdictBox("ring-verdict", good ? "good" : "open", good ? "✓ proved optimal" : "? not proved", good
      ? `Every arrow agrees. The smallest eigenvalue of S is now ${inWords(certificate.curvature, 2)} > 0: nothing fits better.`
      : "The lift ended at another point that is not proved.");
    say("ring-caption", LIFTED_WORDS);
  }
}

function ringPosition(now) {
  if (ring.began === null) return Number(ringForm.time.value) / 1000;
  const seconds = Math.max(0, now - ring.began) / 1000, // a frame may have begun before the click
     length = ring.kind === "lifted" ? 5 : 2.6, share = Math.min(1, seconds / length);
  ringForm.time.value = String(Math.round(1000 * share));
  if (share >= 1) ring.began = null;
  return share;
}

function drawArrows(frame) {
  const canvas = byId("ring-picture"), { g, width, height } = prepared(canvas), { n } = ring, tilt = 0.5;
  const R = width * 0.37, cx = width / 2, cy = height * 0.6, length = Math.min(R * 0.34, 9 * R / n + 14);
  g.beginPath();
  g.ellipse(cx, cy, R, R * tilt, 0, 0, 2 * Math.PI);
  g.strokeStyle = ink.rule;
  g.lineWidth = 1.5;
  g.stroke();
  const arrows = [];
  for (let k = 0; k < n; k++) {
    const turn = 2 * Math.PI * k / n, x = cx + R * Math.cos(turn), y = cy - R * tilt * Math.sin(turn);
    const a = frame.V[0].re[k], b = frame.V[0].im[k], up = Math.hypot(frame.V[1].re[k], frame.V[1].im[k]);
    arrows.push({ x, y, a, b, up, size: Math.hypot(a, b) });
  }
  arrows.sort((p, q) => p.y - q.y);
  for (const { x, y, a, b, up, size } of arrows) {
    const groundX = x + length * a, groundY = y - length * tilt * b, tipX = groundX, tipY = groundY - 1.15 * length * up;
    if (up > 0.05) line(g, ink.rule, [[x, y], [groundX, groundY], [tipX, tipY]], 1, [2, 3]);
    const color = size > 0.06 ? cyclicStyle(Math.atan2(b, a)) : ink.gpm;
    dot(g, ink.quiet, x, y, 3.2);
    const direction = Math.atan2(tipY - y, tipX - x), span = Math.hypot(tipX - x, tipY - y), head = Math.min(8, 0.5 * span);
    const left = [tipX - head * Math.cos(direction - 0.5), tipY - head * Math.sin(direction - 0.5)];
    const right = [tipX - head * Math.cos(direction + 0.5), tipY - head * Math.sin(direction + 0.5)];
    line(g, ink.quiet, [[x, y], [tipX, tipY]], 5.2);
    line(g, ink.quiet, [left, [tipX, tipY], right], 5.2);
    line(g, color, [[x, y], [tipX, tipY]], 3);
    line(g, color, [left, [tipX, tipY], right], 3);
  }
  text(g, `agreement ${frame.f.toFixed(3)}`, cx, cy, { color: ink.ink, bold: true });
  describe(canvas, `${n} arrows along a ring, agreement ${frame.f.toFixed(3)}.`);
}

function drawClimb(share) {
  const canvas = byId("ring-chart"), at = prepared(canvas), { g } = at, values = ring.frames.map(({ f }) => f);
  const level = Math.cos(2 * Math.PI * ring.twist / ring.n), low = Math.max(-1, Math.min(level, ...values) - 0.15 * (1.05 - level));
  const high = 1 + 0.12 * (1 - low);
  const { X, Y, frame } = axes(at, { low: 0, high: 1, label: "way traveled", ticks: [] }, { low, high, label: "agreement of neighbors", ticks: niceTicks(low, 1, 5) });
  line(g, ink.good, [[frame.left, Y(1)], [frame.right, Y(1)]], 1.6, [6, 5]);
  line(g, ink["bad-edge"], [[frame.left, Y(level)], [frame.right, Y(level)]], 1.6, [6, 5]);
  text(g, "all agree", frame.right - 6, Y(1) - 11, { align: "right", color: ink.good, halo: true, bold: true });
  text(g, "twisted", frame.right - 6, Y(level) + 12, { align: "right", color: ink["bad-edge"], halo: true, bold: true });
  const last = Math.max(1, values.length - 1), until = Math.round(share * (values.length - 1));
  const color = ring.kind === "lifted" ? ink.gpm : ink.eigen;
  line(g, ink.grid, values.map((f, k) => [X(k / last), Y(f)]), 2.2);
  line(g, color, values.slice(0, until + 1).map((f, k) => [X(k / last), Y(f)]), 2.6);
  dot(g, color, X(until / last), Y(values[until]), 6);
  describe(canvas, `Agreement of neighbors: now ${values[until].toFixed(3)}, twisted ${level.toFixed(3)}, best 1.`);
}

function paintRing(now) {
  requestAnimationFrame(paintRing);
  if (document.hidden || byId("ring-picture").clientWidth < 100) return;
  const share = ringPosition(now), index = Math.round(share * (ring.frames.length - 1));
  const key = `${index} ${byId("ring-picture").clientWidth} ${ink.paper} ${ring.kind} ${devicePixelRatio}`;
  if (key === ring.drawn) return;
  ring.drawn = key;
  const moving = ring.kind !== "twisted" && share < 1;
  if (moving !== ring.moving) { ring.moving = moving; ringWords(); }
  say("ring-time-value", ring.kind === "twisted" ? "" : `${Math.round(100 * share)} %`);
  drawArrows(ring.frames[index]);
  drawClimb(share);
}

ringForm.n.addEventListener("input", resetRing);
ringForm.twist.addEventListener("input", resetRing);
ringForm.time.addEventListener("input", () => { ring.began = null; });
byId("ring-controls").addEventListener("submit", (event) => event.preventDefault());
byId("ring-reset").addEventListener("click", resetRing);
byId("ring-lift").addEventListener("click", () => show(liftFrames(ring.C, ring.z), "lifted"));
byId("ring-nudge").addEventListener("click", () => {
  const frames = nudgeFrames(ring.C, ring.z, ring.nudges++);
  if (windingOf(frames.end) === ring.twist) ring.returned++;
  show(frames, "nudged");
});
resetRing();
requestAnimationFrame(paintRing);
