// Colors of angles: light at 0, dark at half a turn, blue on one side and red on the other. The same stops as in the
// reports; lightness says how far an angle is from 0, so the scale can be read without colors.

const CYCLIC = [[43, 20, 51], [39, 82, 158], [126, 174, 204], [236, 232, 230], [219, 148, 116], [160, 52, 66], [43, 20, 51]];
const CYCLIC_STEPS = 720;
const cyclicTable = Array.from({ length: CYCLIC_STEPS }, (_, k) => {
  const place = k / CYCLIC_STEPS * 6, low = Math.floor(place), share = place - low;
  return CYCLIC[low].map((value, c) => Math.round(value + share * (CYCLIC[low + 1][c] - value)));
});

/** Red, green and blue of an angle in radians. */
function cyclicColor(angle) {
  const turn = angle / (2 * Math.PI) + 0.5;
  return cyclicTable[Math.floor((turn - Math.floor(turn)) * CYCLIC_STEPS) % CYCLIC_STEPS];
}

function cyclicStyle(angle, alpha = 1) {
  const [r, g, b] = cyclicColor(angle);
  return `rgba(${r},${g},${b},${alpha})`;
}
