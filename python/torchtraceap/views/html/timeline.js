/* timeline.js: lanes of slices on a canvas, which can be moved and zoomed. */
"use strict";

const ROW = 16; // Pixels of a row of slices, of the axis, of the steps.
const GAP = 8; // Between lanes.
const LEAST_NS = 200; // The shortest time that fills the canvas.
const MOST_PIXELS = 32_000; // Browsers draw nothing on a canvas that is higher.

/**
 * Draws data on a canvas. `changed(begin, end)` is told what is shown, `picked(hit)`
 * what was clicked: {finding, event}, {slice} or null.
 */
class Timeline {
  constructor(canvas, data, changed, picked) {
    Object.assign(this, { canvas, data, changed, picked });
    const read = (lane) => (lane ? readRows(lane, data.names) : []);
    this.evidence = new Set(data.findings.flatMap((f) => f.events.map(([row]) => row)));
    this.whole = { lanes: data.lanes.map(read) };
    // Parts of the time that are known more closely, the shortest first.
    this.details = data.details.map(({ begin, end, lanes }) => (
      { begin, end, lanes: data.lanes.map((_, i) => read(lanes[i])) }));
    this.details.sort((a, b) => (a.end - a.begin) - (b.end - b.begin));
    this.lanes = this.whole.lanes; // What is drawn: rows by lane.
    this.begin = 0;
    this.end = Math.max(data.span, LEAST_NS);
    this.selected = this.chosen = -1; // A finding, and an event of its evidence.
    this.tops = []; // Of each lane, in pixels.
    const heads = 2 + (data.steps.length > 0);
    let top = heads * ROW + GAP;
    data.lanes.forEach((_, i) => {
      this.tops.push(top);
      const rows = [this.whole, ...this.details].map((part) => part.lanes[i].length);
      top += Math.max(...rows) * ROW + GAP;
    });
    this.height = top;
    // Those that cost least are drawn first, below the others.
    this.marks = data.findings.flatMap((finding, f) =>
      finding.events.map(([row, begin, length], e) => (
        { finding: f, event: e, row, begin, end: begin + length }))).reverse();
    this.readColors();
    canvas.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
    canvas.addEventListener("keydown", (e) => this.onKey(e));
    canvas.addEventListener("pointerdown", (e) => this.onDown(e));
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const cache = {};
    this.color = (name) => cache[name] ||= style.getPropertyValue(`--${name}`).trim();
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  show(begin, end) {
    const whole = Math.max(this.data.span, LEAST_NS);
    const length = Math.min(whole, Math.max(LEAST_NS, end - begin));
    this.begin = Math.min(Math.max(0, begin + (end - begin - length) / 2), whole - length);
    this.end = this.begin + length;
    const part = this.details.find((d) => d.begin <= this.begin && this.end <= d.end);
    this.lanes = (part || this.whole).lanes;
    this.changed(this.begin, this.end);
    this.redraw();
  }

  zoom(factor, at = (this.begin + this.end) / 2) {
    this.show(at - (at - this.begin) * factor, at + (this.end - at) * factor);
  }

  move(share) {
    const by = (this.end - this.begin) * share;
    this.show(this.begin + by, this.end + by);
  }

  x(time) {
    return this.gutter + (time - this.begin) / (this.end - this.begin) * this.width;
  }

  time(x) {
    return this.begin + (x - this.gutter) / this.width * (this.end - this.begin);
  }

  draw() {
    const style = getComputedStyle(this.canvas);
    const whole = this.canvas.parentElement.clientWidth;
    const ratio = Math.min(window.devicePixelRatio || 1, MOST_PIXELS / this.height);
    this.gutter = parseFloat(style.getPropertyValue("--gutter")) || 0;
    this.width = Math.max(1, whole - this.gutter);
    this.canvas.width = whole * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    const pen = this.pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `11px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    pen.save();
    pen.beginPath();
    pen.rect(this.gutter, 0, this.width, this.height);
    pen.clip();
    this.drawSelection();
    this.drawAxis();
    this.drawSteps();
    this.lanes.forEach((rows, i) => rows.forEach((row, depth) =>
      this.drawRow(row, this.tops[i] + depth * ROW)));
    this.drawMarks();
    pen.restore();
    pen.fillStyle = this.color("text");
    this.write("findings", 0, ROW * 1.5, this.gutter - 8);
    if (this.data.steps.length) this.write("steps", 0, ROW * 2.5, this.gutter - 8);
    this.data.lanes.forEach((lane, i) =>
      this.write(lane.label, 0, this.tops[i] + ROW / 2, this.gutter - 8));
  }

  /** Writes as much of a text as fits. */
  write(text, x, y, room) {
    if (room < 14) return;
    const most = Math.floor(room / 5.2);
    let shown = text.length > most ? `${text.slice(0, most - 1)}…` : text;
    while (shown.length > 1 && this.pen.measureText(shown).width > room) {
      shown = `${shown.slice(0, -2)}…`;
    }
    if (shown !== "…") this.pen.fillText(shown, x, y);
  }

  drawAxis() {
    const pen = this.pen, length = this.end - this.begin;
    const least = length / Math.max(2, this.width / 110);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
    for (let t = Math.ceil(this.begin / step) * step; t <= this.end; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      pen.fillStyle = this.color("c-rest");
      pen.fillRect(x, 0, 1, this.height);
      pen.fillStyle = this.color("text");
      this.write(axisText(t / 1000, step / 1000), x + 4, ROW / 2, 104);
    }
  }

  drawSteps() {
    for (const [number, begin, end] of this.data.steps) {
      if (end >= this.begin && begin <= this.end) {
        this.box(begin, end, ROW * 2, this.color("s-annotation"), `step ${number}`);
      }
    }
  }

  drawRow(row, top) {
    let taken = -1; // Pixels up to here are drawn: thousands of slices may share one.
    for (let i = firstAfter(row, this.begin); i < row.length; i++) {
      const slice = row[i];
      if (slice.begin > this.end) break;
      const right = Math.round(this.x(slice.end));
      if (right <= taken || slice.end < this.begin) continue;
      taken = Math.max(right, Math.round(this.x(slice.begin)) + 1);
      this.drawSlice(slice, top);
    }
    // In a row of slices that overlap, evidence must not be below the others.
    for (const slice of row) if (this.shows(slice)) this.drawSlice(slice, top);
  }

  /** Whether a slice is evidence within the time that is shown. */
  shows(slice) {
    return this.evidence.has(slice.event) &&
      slice.end >= this.begin && slice.begin <= this.end;
  }

  /** How far from above an event is drawn, in pixels; undefined if it is not. */
  topOf(event) {
    for (const [i, lane] of this.lanes.entries()) {
      const depth = lane.findIndex((row) => row.some((slice) => slice.event === event));
      if (depth >= 0) return this.tops[i] + depth * ROW;
    }
  }

  drawSlice(slice, top) {
    const several = slice.count > 1;
    // Several events are as pale as the share of the time in which none ran.
    const share = several ? slice.busy / (slice.end - slice.begin || 1) : 1;
    this.pen.globalAlpha = 0.5 + 0.5 * Math.min(1, share);
    const text = several ? `${slice.count} events` : slice.name;
    this.box(slice.begin, slice.end, top, this.color(`s-${slice.color}`), text);
    this.pen.globalAlpha = 1;
  }

  box(begin, end, top, color, text) {
    const left = Math.max(this.x(begin), this.gutter);
    const width = Math.min(this.x(end), this.gutter + this.width) - left;
    this.pen.fillStyle = color;
    this.pen.fillRect(left, top, Math.max(1, width - (width > 3)), ROW - 1);
    if (width > 18) {
      this.pen.globalAlpha = 1;
      this.pen.fillStyle = this.color("text");
      this.write(text, left + 4, top + ROW / 2, width - 8);
    }
  }

  drawMarks() {
    for (const mark of this.marks) {
      const chosen = mark.finding === this.selected;
      if (this.selected >= 0 && !chosen) this.pen.globalAlpha = 0.3;
      this.pen.fillStyle = this.color(`c-${this.data.findings[mark.finding].color}`);
      const left = this.x(mark.begin), width = Math.max(4, this.x(mark.end) - left);
      this.pen.fillRect(left, ROW + 2, width, ROW - 5);
      this.pen.globalAlpha = 1;
    }
    this.drawFrames();
  }

  /** Frames the evidence of the selected finding; the chosen event stands out. */
  drawFrames() {
    const finding = this.data.findings[this.selected];
    if (!finding) return;
    const chosen = finding.events[this.chosen]?.[0];
    const rows = new Set(finding.events.map(([row]) => row)), last = [];
    const frame = (slice, top, color, width) => {
      this.pen.strokeStyle = this.color(color);
      this.pen.lineWidth = width;
      const left = this.x(slice.begin), length = Math.max(3, this.x(slice.end) - left);
      this.pen.strokeRect(left, top, length, ROW - 1);
    };
    this.lanes.forEach((lane, i) => lane.forEach((row, depth) => {
      const top = this.tops[i] + depth * ROW;
      for (const slice of row) {
        if (!this.shows(slice) || !rows.has(slice.event)) continue;
        if (slice.event === chosen) last.push([slice, top]);
        else frame(slice, top, `c-${finding.color}`, 1);
      }
    }));
    for (const [slice, top] of last) frame(slice, top, "text", 3);
  }

  /** Shades the windows of the selected finding, and the times of its evidence. */
  drawSelection() {
    if (this.selected < 0) return;
    const finding = this.data.findings[this.selected], pen = this.pen;
    pen.fillStyle = this.color(`c-${finding.color}`);
    const shade = (begin, end, alpha) => {
      pen.globalAlpha = alpha;
      const left = this.x(begin);
      pen.fillRect(left, 0, Math.max(1, this.x(end) - left), this.height);
    };
    // A window has a cell in the row of rules and one in the model's.
    const times = new Map(finding.cells.map((i) => [`${this.data.cells[i]}`, i]));
    for (const cell of times.values()) shade(...this.data.cells[cell], 0.1);
    for (const [, begin, length] of finding.events) shade(begin, begin + length, 0.16);
    pen.globalAlpha = 1;
  }

  /** What is drawn at a point of the canvas. */
  hit(x, y) {
    if (x < this.gutter) return null;
    if (y >= ROW && y < 2 * ROW) {
      const near = this.marks.filter((mark) => x >= this.x(mark.begin) - 1 &&
        x <= Math.max(this.x(mark.end), this.x(mark.begin) + 4) + 1);
      return near.pop() || null;
    }
    const time = this.time(x), pixel = (this.end - this.begin) / this.width;
    const i = this.tops.findLastIndex((top) => top <= y);
    const row = i < 0 ? undefined : this.lanes[i][Math.floor((y - this.tops[i]) / ROW)];
    const slice = row && sliceAt(row, time, pixel, this.evidence);
    if (!slice) return null;
    const mark = this.marks.find((m) => slice.event >= 0 && m.row === slice.event);
    return { ...mark, slice };
  }

  onWheel(event) {
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      this.zoom(1.002 ** event.deltaY, this.time(event.offsetX));
    } else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      this.move(across / this.width);
    } else {
      return; // The page scrolls.
    }
    event.preventDefault();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      w: () => this.zoom(0.6), "+": () => this.zoom(0.6), "=": () => this.zoom(0.6),
      ArrowUp: () => this.zoom(0.6), ArrowDown: () => this.zoom(1 / 0.6),
      s: () => this.zoom(1 / 0.6), "-": () => this.zoom(1 / 0.6),
      a: () => this.move(-0.2), ArrowLeft: () => this.move(-0.2),
      d: () => this.move(0.2), ArrowRight: () => this.move(0.2),
      Home: () => this.show(0, this.data.span),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }

  onDown(event) {
    if (event.button !== 0) return;
    let last = event.offsetX, moved = 0;
    const drag = (e) => {
      moved += Math.abs(e.offsetX - last);
      if (moved > 3) this.move((last - e.offsetX) / this.width);
      last = e.offsetX;
    };
    const stop = (e) => {
      this.canvas.removeEventListener("pointermove", drag);
      if (e.type === "pointerup" && moved <= 3) this.picked(this.hit(e.offsetX, e.offsetY));
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener("pointermove", drag);
    this.canvas.addEventListener("pointerup", stop, { once: true });
    this.canvas.addEventListener("pointercancel", stop, { once: true });
  }
}
