/* job_page.js: ties the ranks' timeline to who was late. */
"use strict";

(() => {
  const data = JSON.parse(byId("data").textContent);
  const text = (number) => data.names[number];
  const time = (ns) => timeText(ns / 1000);
  const chosen = byId("chosen");
  let timeline = null;

  /** Says what a collective is, and who was late in it. */
  function describeCollective(place) {
    const collective = data.collectives[place];
    const lines = [[text(collective.name), text(collective.of)].filter(Boolean).join(", ")];
    const last = data.ranks[collective.last].label;
    lines.push(`${last} came last, ${time(collective.late)} after the median of the others`);
    lines.push(`waited ${time(collective.wait)} by all ranks, then transfer ${time(collective.transfer)}`);
    for (const [why, waited] of collective.why) {
      lines.push(`${time(waited)} of it for ${text(why)}`);
    }
    return lines;
  }

  function describe({ rank, slice, late, mark }) {
    const place = (slice || late || mark)?.collective;
    const lines = place === undefined ? [] : describeCollective(place);
    if (rank === undefined) return [...lines, "click for more"].join("\n");
    const name = data.ranks[rank].label;
    if (slice) {
      const length = slice.end - slice.begin;
      lines.unshift(`${name}, +${time(slice.begin)}: waited ${time(slice.wait)}, then ` +
        `${time(length - slice.wait)} in transfer`);
    } else if (late) {
      lines.unshift(`${name}, +${time(late.begin)}: late by ${time(late.end - late.begin)}`);
    } else {
      lines.push(`${name}: work between collectives`);
    }
    return lines.join("\n");
  }

  function select(place) {
    timeline.selected = place;
    chosen.textContent = place < 0 ? "" : describeCollective(place).join("\n");
    timeline.redraw();
  }

  /** Shows a collective with some time around it, and the row of who was last. */
  function show(place) {
    const { begin, end, last } = data.collectives[place], around = 0.2 * (end - begin);
    select(place);
    timeline.show(begin - around, end + around);
    const box = byId("lanes"), top = timeline.topOf(last);
    if (top < box.scrollTop + timeline.heads || top > box.scrollTop + box.clientHeight - 32) {
      box.scrollTop = top - box.clientHeight / 2;
    }
  }

  /** Goes to the marked collective before or after the selected one. */
  function step(by) {
    const places = timeline.marks.map((mark) => mark.collective).sort((a, b) => a - b);
    const at = timeline.selected;
    const next = by > 0 ? places.find((place) => place > at)
      : places.findLast((place) => at < 0 || place < at);
    if (next !== undefined) show(next);
  }

  timeline = new RankTimeline(byId("canvas"), data,
    (begin, end) => sayRange(begin, end, data.span),
    (hit) => select((hit?.slice || hit?.late || hit?.mark)?.collective ?? -1));
  startViewer(timeline, describe, (hit) => hit.slice || hit.late || hit.mark);
  byId("timeline").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "escape") select(-1);
    else if (key === "n") step(1);
    else if (key === "p") step(-1);
  });
  byId("next-late").addEventListener("click", () => step(1));
  byId("by-lateness").addEventListener("click", ({ target }) => {
    const on = target.getAttribute("aria-pressed") !== "true";
    target.setAttribute("aria-pressed", on);
    timeline.sortRows(on);
    byId("lanes").scrollTop = 0;
  });
  for (const card of all("details.card")) {
    const button = card.querySelector(".show"), place = data.lates[card.dataset.late];
    if (place < 0) continue; // Its collective is left out.
    button.hidden = false;
    button.addEventListener("click", () => {
      show(place);
      bringIntoView(byId("timeline"), "start");
      byId("canvas").focus({ preventScroll: true });
    });
  }
  addEventListener("beforeprint", () => { for (const d of all("details")) d.open = true; });
  startPage();
})();
