/* time_view.js: a canvas with time from left to right, which can be moved and zoomed. */
"use strict";

const ROW = 16; // Pixels of a row of slices, of the axis, of the steps.
const GAP = 8; // Between lanes.
const NAMES = 3; // Left of the names of rows, which the frame of the focus would cover.
const LEAST_NS = 200; // The shortest time that fills the canvas.
const MOST_PIXELS = 32_000; // Browsers draw nothing on a canvas that is higher.

/**
 * Draws `data.span` nanoseconds and `data.steps`. `changed(begin, end)` is told what is
 * shown, `picked(hit)` what was clicked, or null. Who extends it sets `height`, draws
 * (`draw`, which begins with `startDrawing`) and tells what is where (`hit`).
 */
class TimeView {
  constructor(canvas, data, changed, picked) {
    Object.assign(this, { canvas, data, changed, picked });
    this.begin = 0;
    this.end = Math.max(data.span, LEAST_NS);
    this.top = 0; // Of the axis, in pixels.
    canvas.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
    canvas.addEventListener("keydown", (e) => this.onKey(e));
    canvas.addEventListener("pointerdown", (e) => this.onDown(e));
  }

  show(begin, end) {
    const whole = Math.max(this.data.span, LEAST_NS);
    const length = Math.min(whole, Math.max(LEAST_NS, end - begin));
    this.begin = Math.min(Math.max(0, begin + (end - begin - length) / 2), whole - length);
    this.end = this.begin + length;
    this.changed(this.begin, this.end);
    this.redraw();
  }

  /** Makes the canvas as large as its box; what is drawn next stays off the names. */
  startDrawing() {
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
  }

  /** Names the rows at the top; from now on may be drawn beside the time. */
  drawHeads(name) {
    this.pen.restore();
    this.pen.fillStyle = this.color("text");
    this.write(name, NAMES, this.top + ROW * 1.5, this.gutter - 8);
    if (!this.data.steps.length) return;
    this.write("steps", NAMES, this.top + ROW * 2.5, this.gutter - 8);
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
      this.write(axisText(t / 1000, step / 1000), x + 4, this.top + ROW / 2, 104);
    }
  }

  drawSteps() {
    for (const [number, begin, end] of this.data.steps) {
      if (end >= this.begin && begin <= this.end) {
        this.box(begin, end, this.top + ROW * 2, this.color("s-annotation"), `step ${number}`);
      }
    }
  }

  /** The slices of a row that are in view; of thousands in `apart` pixels, one. */
  visible(row, apart) {
    const out = [];
    let taken = -1; // Pixels up to here are drawn.
    for (let i = firstAfter(row, this.begin); i < row.length; i++) {
      const slice = row[i];
      if (slice.begin > this.end) break;
      const right = Math.round(this.x(slice.end));
      if (right <= taken || slice.end < this.begin) continue;
      taken = Math.max(right, Math.round(this.x(slice.begin)) + apart);
      out.push(slice);
    }
    return out;
  }

  /** Draws a mark in the row below the axis. */
  drawMark(mark, color, least) {
    const left = this.x(mark.begin), width = Math.max(least, this.x(mark.end) - left);
    this.pen.fillStyle = this.color(color);
    this.pen.fillRect(left, this.top + ROW + 2, width, ROW - 5);
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
