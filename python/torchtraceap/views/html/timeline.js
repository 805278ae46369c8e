/* timeline.js: lanes of slices on a canvas, which can be moved and zoomed. */
"use strict";

/** Draws threads and streams. Hits are {finding, event} or {slice}. */
class Timeline extends TimeView {
  constructor(canvas, data, changed, picked) {
    super(canvas, data, changed, picked);
    const read = (lane) => (lane ? readRows(lane, data.names) : []);
    this.evidence = new Set(data.findings.flatMap((f) => f.events.map(([row]) => row)));
    this.whole = { lanes: data.lanes.map(read) };
    // Parts of the time that are known more closely, the shortest first.
    this.details = data.details.map(({ begin, end, lanes }) => (
      { begin, end, lanes: data.lanes.map((_, i) => read(lanes[i])) }));
    this.details.sort((a, b) => (a.end - a.begin) - (b.end - b.begin));
    this.lanes = this.whole.lanes; // What is drawn: rows by lane.
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
  }

  show(begin, end) {
    super.show(begin, end);
    const part = this.details.find((d) => d.begin <= this.begin && this.end <= d.end);
    this.lanes = (part || this.whole).lanes;
  }

  draw() {
    this.startDrawing();
    this.drawSelection();
    this.drawAxis();
    this.drawSteps();
    this.lanes.forEach((rows, i) => rows.forEach((row, depth) =>
      this.drawRow(row, this.tops[i] + depth * ROW)));
    this.drawMarks();
    this.drawHeads("findings");
    this.data.lanes.forEach((lane, i) =>
      this.write(lane.label, NAMES, this.tops[i] + ROW / 2, this.gutter - 8));
  }

  drawRow(row, top) {
    for (const slice of this.visible(row, 1)) this.drawSlice(slice, top);
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

  drawMarks() {
    for (const mark of this.marks) {
      const chosen = mark.finding === this.selected;
      if (this.selected >= 0 && !chosen) this.pen.globalAlpha = 0.3;
      this.drawMark(mark, `c-${this.data.findings[mark.finding].color}`, 4);
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
}
