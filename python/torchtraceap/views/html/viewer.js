/* viewer.js: what is around a timeline, and the tables, on each page. */
"use strict";

const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Scrolls an element into view, at once for those who want no motion. */
function bringIntoView(element, block) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block, behavior: reduced ? "auto" : "smooth" });
}

/** Says which part of the time is shown; returns whether that is all of it. */
function sayRange(begin, end, span) {
  const whole = begin <= 0 && end >= span;
  const at = `+${timeText(begin / 1000)} to +${timeText(end / 1000)}`;
  byId("range").textContent = whole ? `All ${timeText(span / 1000)}`
    : `${at} (${timeText((end - begin) / 1000)})`;
  return whole;
}

/**
 * Shows a view with its buttons. `describe(hit)` is what is said of what the pointer is
 * on, `leads(hit)` whether a click there leads somewhere.
 */
function startViewer(view, describe, leads) {
  byId("viewer").hidden = false;
  byId("zoom-in").addEventListener("click", () => view.zoom(0.5));
  byId("zoom-out").addEventListener("click", () => view.zoom(2));
  byId("zoom-all").addEventListener("click", () => view.show(0, view.data.span));
  new ResizeObserver(() => view.redraw()).observe(byId("lanes"));
  matchMedia("(prefers-color-scheme: dark)")
    .addEventListener("change", () => view.readColors());
  startTooltip(view, describe, leads);
  view.changed(view.begin, view.end);
}

function startTooltip(view, describe, leads) {
  const tooltip = byId("tooltip"), canvas = byId("canvas");
  canvas.addEventListener("pointermove", (event) => {
    const hit = view.hit(event.offsetX, event.offsetY);
    tooltip.hidden = !hit;
    canvas.classList.toggle("over", Boolean(hit && leads(hit)));
    if (!hit) return;
    tooltip.textContent = describe(hit);
    const x = Math.min(event.clientX + 14, innerWidth - tooltip.offsetWidth - 8);
    tooltip.style.left = `${Math.max(8, x)}px`;
    tooltip.style.top = `${event.clientY + 18}px`;
  });
  canvas.addEventListener("pointerleave", () => { tooltip.hidden = true; });
}

function startTable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const key = (row) => row.cells[column].dataset.v;
      const text = (row) => row.cells[column].textContent;
      // What there is most of comes first; names go from A to Z.
      const was = head.getAttribute("aria-sort");
      const numeric = body.rows[0].cells[column].hasAttribute("data-v");
      const up = was ? was === "descending" : !numeric;
      const rows = [...body.rows].sort((a, b) =>
        (up ? 1 : -1) * (numeric ? key(a) - key(b) : text(a).localeCompare(text(b))));
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
    });
  });
}

/** Makes tables sortable, and shows what only a script can do. */
function startPage() {
  for (const table of all("table.sortable")) startTable(table);
  for (const element of all(".scripted")) element.hidden = false;
}
