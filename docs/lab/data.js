// The third part: an edge list of the user's own, read, solved and judged in a worker.

const MOST_ROWS = 1000; // of the table of phases; the file has all
const MOST_WORST = 12;
const FAR = 5; // times the typical misfit: far more than noise allows, if it is normal
const HARDLY = 50 * Math.PI / 180; // root mean square from which a fit means little; angles at random have 104 degrees
let answer = null, lastText = null;

const solver = startWorker((data) => {
  if (data.request !== solver.latest) return;
  if (data.kind === "refused") { refuse(data.words); return; }
  if (data.kind === "solved") { solver.solved?.(data); return; }
  answer = data;
  showAnswer();
});

/** A matrix, row after row, solved and judged: a promise of {z, eigen, f, certificate}. */
window.angsyncLab = {
  solveMatrix(n, re, im) {
    return new Promise((done) => { solver.solved = done; solver.ask({ kind: "matrix", n, re, im }); });
  },
  statistics,
};

function solveText(words) {
  lastText = words;
  byId("answer").hidden = false;
  verdictBox("data-verdict", "none", "solving …", "");
  solver.ask({ kind: "edges", text: words, unit: byId("unit").value });
}

async function solveFile(file) {
  try { solveText(await file.text()); } catch { refuse(`${file.name} could not be read: is it a folder?`); }
}

function refuse(words) {
  answer = null;
  byId("answer").hidden = false;
  verdictBox("data-verdict", "bad", "✗ not read", words);
  for (const part of document.querySelectorAll("#answer .figures, #answer .phases, #data-tiles, #data-note")) part.hidden = true;
}

/** The typical misfit of the good measurements, 1.4826 times the median of their moduli, and how many are far from it. */
function spreadOf({ misfit, weight }) {
  const sizes = Float64Array.from(misfit.filter((_, k) => weight[k] > 0), Math.abs).sort();
  const typical = 1.4826 * sizes[sizes.length >> 1];
  return { typical, far: typical > 1e-9 ? sizes.filter((size) => size > FAR * typical).length : 0, count: sizes.length };
}

function judgment({ verdict, n, open, components, relativeGap }) {
  if (!verdict) return ["none", "solved, not judged yet", "looking for a proof …"];
  if (verdict === PROVED) return ["good", "✓ proved optimal", `No other phases fit better: gap ≤ ${inWords(Math.max(relativeGap, 1e-16), 2)} of the misfit, rounding accounted for. Optimal is not accurate: bad measurements have a best fit, too.`];
  if (verdict === NUMERICALLY) return ["good", "✓ optimal, numerically", `Too large to be factorized here (n = ${n}). A Lanczos run found all curvatures positive; its chance of missing one is below 10⁻¹⁰, rounding not accounted for. angsync solve FILE proves larger ones.`];
  const where = components > 1 ? ` (${open} of ${components} components)` : "";
  return ["open", "? not proved", `These phases are the best that were found${where}. Nothing was proved about better ones: there may be some. angsync solve looks further.`];
}

function row(values) {
  const line = document.createElement("tr");
  line.append(...values.map((value) => {
    const cell = document.createElement("td");
    cell.textContent = value;
    return cell;
  }));
  return line;
}

function showAnswer() {
  for (const part of document.querySelectorAll("#answer .figures, #answer .phases, #data-tiles, #data-note")) part.hidden = false;
  verdictBox("data-verdict", ...judgment(answer));
  const { typical, far, count } = spreadOf(answer), notes = [];
  if (answer.looksLikeDegrees) notes.push("Most of these angles are larger than a full turn of 2π: are they degrees? Choose the unit above.");
  if (answer.rms > HARDLY) notes.push(`Measurements are off by ${inDegrees(answer.rms)}: they hardly agree with each other, and the phases mean little.`);
  if (far > 0) notes.push(`${far} of ${count} measurements are off by more than ${FAR} times the typical misfit of ${inDegrees(typical)}: more than normal noise allows. angsync solve FILE --solver robust takes less notice of them.`);
  if (answer.components > 1) notes.push(`The graph falls into ${answer.components} parts that no measurement joins: phases of different parts cannot be compared.`);
  if (answer.lifts) notes.push("A local maximum was left by the lift, as with the ring above.");
  say("data-note", notes.join(" "));
  const tiles = [
    ["nodes", answer.n.toLocaleString("en")], ["measurements", answer.edges.toLocaleString("en")],
    ["off by (root mean square)", inDegrees(answer.rms)], ["read and solved in", `${answer.milliseconds.toFixed(0)} ms`],
  ];
  if (answer.kind === "phases" || !byId("data-tiles").children.length) {
    byId("data-tiles").replaceChildren(...tiles.map(([name, value]) => {
      const box = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      box.append(dt, dd);
      return box;
    }));
  }
  const worst = Array.from(answer.misfit.keys()).filter((k) => answer.weight[k] > 0);
  worst.sort((a, b) => Math.abs(answer.misfit[b]) - Math.abs(answer.misfit[a]));
  byId("worst").tBodies[0].replaceChildren(...worst.slice(0, MOST_WORST).map((k) => row([
    answer.names[answer.i[k]], answer.names[answer.j[k]], signed(wrapped(answer.angle[k])), signed(answer.misfit[k]),
  ])));
  byId("phases").tBodies[0].replaceChildren(...answer.names.slice(0, MOST_ROWS).map((name, k) => row([
    name, answer.angles[k].toFixed(6).replace("-", "−"), signed(answer.angles[k]), String(answer.label[k]),
  ])));
  say("phases-caption", (answer.n > MOST_ROWS ? `The first ${MOST_ROWS} of ${answer.n} nodes; the file has all. ` : "") + "The first node of each component has phase 0.");
  drawMisfits();
}

const wrapped = (angle) => Math.atan2(Math.sin(angle), Math.cos(angle));
const signed = (radians) => `${degrees(radians).toFixed(2).replace("-", "−")}°`;

function drawMisfits() {
  if (!answer || byId("answer").hidden) return;
  const canvas = byId("misfits"), at = prepared(canvas), { g } = at, { typical } = spreadOf(answer), bins = 41;
  const values = Array.from(answer.misfit).filter((_, k) => answer.weight[k] > 0).map(degrees);
  const most = values.reduce((high, value) => Math.max(high, Math.abs(value)), 1e-9), reach = Math.min(180, most * 1.02);
  const counts = new Array(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor((value / reach + 1) / 2 * bins))]++;
  const top = Math.max(...counts), format = (v) => `${plain(v)}°`;
  const { X, Y, frame } = axes(at, { low: -reach, high: reach, label: "measured less fitted", format }, { low: 0, high: top * 1.08, label: "measurements" });
  const width = (frame.right - frame.left) / bins;
  counts.forEach((count, k) => {
    const middle = (2 * (k + 0.5) / bins - 1) * reach, far = typical > 1e-9 && Math.abs(middle) > FAR * degrees(typical);
    g.fillStyle = far ? ink["bad-edge"] : ink.gpm;
    const height = count ? Math.max(2, frame.bottom - Y(count)) : 0; // a single one is to be seen, too
    g.fillRect(frame.left + k * width + 0.5, frame.bottom - height, width - 1, height);
  });
  line(g, ink.quiet, [[X(0), frame.top], [X(0), frame.bottom]], 1);
  say("misfits-caption", `Blue: as noise would have it. Orange: more than ${FAR} times the typical misfit of ${inDegrees(typical)}.`);
  describe(canvas, `Histogram of ${values.length} misfits, typical size ${inDegrees(typical)}, the largest ${format(most)}.`);
}

/** Fifteen clocks, 42 links with noise of 2 degrees, three of them broken: the same every time. */
function exampleText() {
  const names = ["Bern", "Oslo", "Rome", "Wien", "Bonn", "Lyon", "Kyiv", "Riga", "Cork", "Graz", "Brno", "Nice", "Turin", "Ghent", "Porto"];
  const random = generator(2024), phase = names.map(() => 2 * Math.PI * random.uniform()), rows = ["i,j,angle"], broken = [8, 19, 33];
  for (let k = 0; k < 42; k++) {
    const a = k % names.length, b = (a + 1 + Math.floor(k / names.length) * 2) % names.length;
    const angle = phase[a] - phase[b] + 0.035 * random.normal() + (broken.includes(k) ? 1 + random.uniform() : 0);
    rows.push(`${names[a]},${names[b]},${wrapped(angle).toFixed(4)}`);
  }
  return rows.join("\n") + "\n";
}

const csvField = (name) => /[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;

const dropZone = byId("drop");
for (const kind of ["dragover", "dragenter"]) {
  dropZone.addEventListener(kind, (event) => { event.preventDefault(); dropZone.classList.add("over"); });
}
dropZone.addEventListener("dragleave", () => dropZone.classList.remove("over"));
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault()); // a miss shall not leave the page
dropZone.addEventListener("drop", (event) => {
  event.preventDefault();
  dropZone.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) solveFile(file);
});
byId("file").addEventListener("change", async ({ target }) => {
  if (target.files[0]) await solveFile(target.files[0]);
  target.value = "";
});
byId("example").addEventListener("click", () => {
  byId("unit").value = "rad";
  byId("paste").value = exampleText();
  solveText(byId("paste").value);
});
byId("solve").addEventListener("click", () => solveText(byId("paste").value));
byId("unit").addEventListener("change", () => { if (lastText !== null) solveText(lastText); });
byId("save-phases").addEventListener("click", () => {
  if (!answer) return;
  const rows = answer.names.map((name, k) => `${csvField(name)},${answer.angles[k]},${answer.label[k]}`);
  download("phases.csv", `node,angle,component\n${rows.join("\n")}\n`);
});
new ResizeObserver(drawMisfits).observe(byId("answer"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawMisfits);
