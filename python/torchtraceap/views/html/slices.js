/* slices.js: reads slices from columns, finds them by time, writes times. */
"use strict";

/** Writes a time of the axis, with as many digits as its steps need. */
function axisText(us, step) {
  const [unit, size] = us >= 1e6 ? ["s", 1e6] : us >= 1e3 ? ["ms", 1e3] : ["µs", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `+${(us / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/** As duration_text in cpp/patterns/wording.cpp: three digits. */
function timeText(us) {
  for (const [unit, size] of [["s", 1e6], ["ms", 1e3]]) {
    if (Math.abs(us) >= size * 0.9995) return `${threeDigits(us / size)} ${unit}`;
  }
  return `${threeDigits(us)} µs`;
}

function threeDigits(value) {
  const whole = String(Math.trunc(Math.abs(value))).length;
  const text = value.toFixed(Math.max(0, 3 - whole));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Turns a lane's columns into slices by row, each row in order of its begins. Those of
 * the last row may overlap: `reach` is how far it is taken up to and with a slice.
 */
function readRows(lane, names) {
  const rows = Array.from({ length: lane.rows }, () => []);
  let begin = 0;
  lane.start.forEach((step, i) => {
    begin += step;
    const [count, busy] = lane.merged[i] || [1, lane.length[i]];
    const row = rows[lane.row[i]], end = begin + lane.length[i];
    row.push({
      begin, end, reach: Math.max(end, row.at(-1)?.reach ?? end), name: names[lane.name[i]],
      color: names[lane.color[i]], event: lane.event[i], count, busy,
    });
  });
  return rows;
}

/** The first slice of a row that ends after a time; later ones may end before it. */
function firstAfter(row, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].reach <= time) low = middle + 1; else high = middle;
  }
  return low;
}

/**
 * The slice that a row shows at a time: evidence lies above the others, and of two that
 * overlap the later one. Where there is none, one that is no farther than `near`.
 */
function sliceAt(row, time, near, evidence) {
  let best = null, most = -1;
  for (let i = firstAfter(row, time - near); i < row.length; i++) {
    const slice = row[i];
    if (slice.begin > time + near) break;
    if (slice.end < time - near) continue;
    const there = slice.begin <= time && time <= slice.end;
    const rank = 2 * evidence.has(slice.event) + there;
    if (rank > most || (rank === most && there)) [best, most] = [slice, rank];
  }
  return best;
}
