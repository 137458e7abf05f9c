// Random numbers that depend on a seed alone, so that a page, and a link to it, shows the same to everybody.

/** Mixes whole numbers into one of 32 bits (the finalizer of MurmurHash3, chained). */
function mixed(...parts) {
  let state = 0x9e3779b9;
  for (const part of parts) {
    state = Math.imul(state ^ (part | 0), 0x85ebca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state = (state ^ (state >>> 16)) + 0x6d2b79f5 | 0;
  }
  return state >>> 0;
}

/** A generator (sfc32, by Chris Doty-Humphrey): uniform() in (0, 1), and normal() of variance 1. */
function generator(...seed) {
  let a = mixed(...seed, 1), b = mixed(...seed, 2), c = mixed(...seed, 3), counter = 1;
  function whole() {
    const sum = (a + b | 0) + counter | 0;
    counter = counter + 1 | 0;
    a = b ^ (b >>> 9);
    b = c + (c << 3) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return sum >>> 0;
  }
  for (let k = 0; k < 12; k++) whole();
  const uniform = () => (whole() + 0.5) / 4294967296;
  let kept = null;
  function normal() { // Box and Muller: two at a time
    if (kept !== null) { const value = kept; kept = null; return value; }
    const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
    kept = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
  return { uniform, normal };
}
