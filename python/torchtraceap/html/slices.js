/* slices.js: reads slices from columns, finds them by time, writes times. */
"use strict";

/** Writes a time of the axis, with as many digits as its steps need. */
function axisText(us, step) {
  const [unit, size] = us >= 1e6 ? ["s", 1e6] : us >= 1e3 ? ["ms", 1e3] : ["µs", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `+${(us / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/** As time_text in units.py: three digits. */
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

/** Turns a lane's columns into slices by row, each row in order of time. */
function readRows(lane, names) {
  const rows = Array.from({ length: lane.rows }, () => []);
  let begin = 0;
  lane.start.forEach((step, i) => {
    begin += step;
    const [count, busy] = lane.merged[i] || [1, lane.length[i]];
    rows[lane.row[i]].push({
      begin, end: begin + lane.length[i], name: names[lane.name[i]],
      color: names[lane.color[i]], event: lane.event[i], count, busy,
    });
  });
  return rows;
}

/** The first slice of a row that ends after a time. Slices of a row do not overlap. */
function firstAfter(row, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].end <= time) low = middle + 1; else high = middle;
  }
  return low;
}
