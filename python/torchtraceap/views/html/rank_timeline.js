/* rank_timeline.js: a row for each rank, with its collectives on one clock. */
"use strict";

const ROW_HEIGHTS = [[24, 20], [80, 12], [200, 8], [Infinity, 5]]; // Up to so many ranks.
const LABEL = 13; // Pixels of a row's name.
const MOST_MARKS = 300; // Of the collectives with the most waiting.
const THIN = 8; // Rows up to here have no room for a frame.

/**
 * Draws each rank's time: work, waits in collectives, transfers, and where it was late.
 * Hits are {rank, slice}, {rank} or {mark}; `selected` is a collective, -1: none.
 */
class RankTimeline extends TimeView {
  constructor(canvas, data, changed, picked) {
    super(canvas, data, changed, picked);
    this.selected = -1;
    this.row = ROW_HEIGHTS.find(([most]) => data.ranks.length <= most)[1];
    this.heads = (2 + (data.steps.length > 0)) * ROW + GAP / 2;
    this.height = this.heads + data.ranks.length * this.row + GAP;
    this.late = data.ranks.map(() => []); // By rank: where it was last, and late.
    const byWait = data.collectives.map((m, i) => ({ ...m, i }))
      .filter((m) => m.late > 0).sort((a, b) => b.wait - a.wait);
    const span = (m) => (
      { collective: m.i, own: m.own, begin: m.arrived - m.late, end: m.arrived });
    this.rows = data.ranks.map((rank) => this.read(rank));
    for (const m of byWait) this.late[m.last].push(this.afterOthers(m.last, span(m)));
    for (const row of this.late) this.order(row);
    this.marks = byWait.slice(0, MOST_MARKS).map(span);
    this.marked = new Set(this.marks.map((mark) => mark.collective));
    canvas.parentElement.addEventListener("scroll", () => this.redraw());
    this.sortRows(false);
    this.readColors();
  }

  /** Puts the ranks in order of their numbers, or of what others waited for them. */
  sortRows(byLateness) {
    const { ranks } = this.data;
    this.shown = [...ranks.keys()]; // The rank of each row.
    if (byLateness) this.shown.sort((a, b) => ranks[b].caused - ranks[a].caused);
    this.place = []; // The row of each rank.
    this.shown.forEach((rank, place) => { this.place[rank] = place; });
    this.redraw();
  }

  read({ start, length, wait, collective }) {
    let begin = 0, place = 0;
    return this.order(start.map((step, i) => {
      begin += step;
      place += collective[i];
      return { begin, end: begin + length[i], wait: wait[i], collective: place };
    }));
  }

  /** Sorts a row by begin; `reach` is how far it is taken up to and with a slice. */
  order(row) {
    let reach = -Infinity;
    row.sort((a, b) => a.begin - b.begin);
    for (const slice of row) slice.reach = reach = Math.max(reach, slice.end);
    return row;
  }

  /** Cuts off a stretch what its rank was still in another collective. */
  afterOthers(rank, stretch) {
    const row = this.rows[rank];
    for (let i = firstAfter(row, stretch.begin); i < row.length; i++) {
      if (row[i].begin >= stretch.end) break;
      const end = Math.min(row[i].end, stretch.end);
      stretch.begin = Math.max(stretch.begin, end);
    }
    return stretch;
  }

  topOf(rank) { return this.heads + this.place[rank] * this.row; }

  draw() {
    const box = this.canvas.parentElement;
    this.startDrawing();
    this.top = box.scrollTop;
    this.drawAxis();
    const seen = (y) => Math.floor((y - this.heads) / this.row);
    const first = Math.max(0, seen(this.top));
    const last = Math.min(this.rows.length, seen(this.top + box.clientHeight) + 1);
    const inView = this.shown.slice(first, last);
    for (const rank of inView) this.drawRank(rank);
    this.drawSelection(inView);
    this.pen.restore();
    this.drawNames(inView);
    this.drawTop();
  }

  /** The axis, the marks and the steps stay in view over rows that are scrolled. */
  drawTop() {
    const pen = this.pen;
    pen.fillStyle = this.color("page");
    pen.fillRect(0, this.top, this.gutter + this.width, this.heads);
    pen.save();
    pen.beginPath();
    pen.rect(this.gutter, this.top, this.width, this.heads);
    pen.clip();
    this.drawAxis();
    this.drawSteps();
    for (const mark of [...this.marks].reverse()) {
      pen.globalAlpha = this.selected < 0 || mark.collective === this.selected ? 1 : 0.35;
      this.drawMark(mark, mark.own ? "c-wait" : "s-delayed", 3);
    }
    this.drawHeads("late ranks");
  }

  drawRank(rank) {
    const { pen, row } = this, top = this.topOf(rank), { begin, end } = this.data.ranks[rank];
    const height = row > THIN ? row - 2 : row - 1;
    const right = this.gutter + this.width;
    const fill = (from, to, least) => {
      const left = Math.max(this.x(from), this.gutter);
      const width = Math.min(this.x(to), right) - left;
      if (width > 0 || least) pen.fillRect(left, top, Math.max(least, width), height);
    };
    const apart = row > THIN ? 1 : 3;
    const slices = this.visible(this.rows[rank], apart);
    const late = this.visible(this.late[rank], apart);
    // One color after the other: changing it takes longer than drawing.
    pen.fillStyle = this.color("c-busy");
    fill(begin, end, 0);
    pen.fillStyle = this.color("page");
    for (const at of this.data.ranks[rank].steps) pen.fillRect(this.x(at), top, 1, height);
    pen.fillStyle = this.color("c-communication");
    for (const slice of slices) fill(slice.begin + slice.wait, slice.end, 0.5);
    pen.fillStyle = this.color("s-waiting");
    for (const { begin, wait } of slices) if (wait) fill(begin, begin + wait, 0.5);
    for (const slice of late) {
      const least = slice.own && this.marked.has(slice.collective) ? 2 : 0.5;
      pen.fillStyle = this.color(slice.own ? "c-wait" : "s-delayed");
      fill(slice.begin, slice.end, least);
    }
    if (row < ROW_HEIGHTS[0][1]) return;
    pen.fillStyle = this.color("page");
    for (const slice of slices) {
      const x = Math.max(this.x(slice.begin + slice.wait), this.gutter);
      const room = this.x(slice.end) - x;
      if (room > 40) this.write(this.title(slice.collective), x + 4, top + height / 2, room - 8);
    }
  }

  title(place) { return this.data.names[this.data.collectives[place].name]; }

  /** Frames all ranks of the selected collective, and says when they were there. */
  drawSelection(inView) {
    const { pen, selected } = this, collective = this.data.collectives[selected];
    if (!collective) return;
    pen.fillStyle = this.color("text");
    pen.globalAlpha = 0.7;
    pen.fillRect(Math.round(this.x(collective.arrived)), 0, 1, this.height);
    pen.globalAlpha = 1;
    pen.strokeStyle = this.color("text");
    pen.lineWidth = 2;
    for (const rank of inView) {
      const row = this.rows[rank], top = this.topOf(rank);
      for (let i = firstAfter(row, this.begin); i < row.length; i++) {
        if (row[i].begin > this.end) break;
        if (row[i].collective !== selected) continue;
        const left = this.x(row[i].begin), width = Math.max(3, this.x(row[i].end) - left);
        if (this.row > THIN) pen.strokeRect(left, top, width, this.row - 1);
        else for (const x of [left, left + width]) pen.fillRect(x - 1, top, 2, this.row - 1);
      }
    }
  }

  /** Names those waited for most, then others where there is room; a bar each. */
  drawNames(inView) {
    const { ranks } = this.data, pen = this.pen, bar = 26;
    const most = Math.max(...ranks.map((rank) => rank.caused), 1);
    const named = [];
    const name = (rank) => {
      const y = Math.max(this.topOf(rank) + this.row / 2, this.top + this.heads + LABEL / 2);
      if (named.some((other) => Math.abs(other - y) < LABEL)) return;
      named.push(y);
      pen.fillStyle = this.color("text");
      this.write(ranks[rank].label, NAMES, y, this.gutter - bar - 12);
    };
    inView.filter((rank) => ranks[rank].caused > most / 4)
      .sort((a, b) => ranks[b].caused - ranks[a].caused).forEach(name);
    inView.forEach(name);
    pen.fillStyle = this.color("c-wait");
    for (const rank of inView) {
      const width = bar * ranks[rank].caused / most, height = Math.min(8, this.row - 1);
      const y = this.topOf(rank) + Math.max(0, (this.row - 2 - height) / 2);
      if (width >= 0.5) pen.fillRect(this.gutter - bar - 6, y, width, height);
    }
  }

  /** What is drawn at a point of the canvas. */
  hit(x, y) {
    if (x < this.gutter) return null;
    const time = this.time(x), pixel = (this.end - this.begin) / this.width;
    const near = (slice) => slice.begin - 2 * pixel <= time && time <= slice.end + 2 * pixel;
    if (y < this.top + this.heads) {
      const mark = y >= this.top + ROW && y < this.top + 2 * ROW && this.marks.find(near);
      return mark ? { mark } : null;
    }
    const rank = this.shown[Math.floor((y - this.heads) / this.row)];
    if (rank === undefined) return null;
    const slice = sliceAt(this.rows[rank], time, pixel, new Set());
    const late = this.late[rank].find((one) => one.begin <= time && time <= one.end);
    return slice && !late ? { rank, slice } : { rank, late };
  }
}
