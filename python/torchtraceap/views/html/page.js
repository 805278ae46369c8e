/* page.js: ties the timeline to the windows, the findings and their evidence. */
"use strict";

(() => {
  const data = JSON.parse(byId("data").textContent);
  // By their place among the findings, not on the page.
  const cards = all("details.card").sort((a, b) => a.dataset.finding - b.dataset.finding);
  const cells = all(".cell");
  let timeline = null;

  function say(begin, end) {
    const whole = sayRange(begin, end, data.span);
    for (const view of all(".strip .view")) {
      view.setAttribute("x", `${100 * begin / data.span}%`);
      view.setAttribute("width", `${100 * (end - begin) / data.span}%`);
      view.toggleAttribute("hidden", whole);
    }
  }

  /**
   * Makes a finding the selected one, in the cards, the strip and the timeline, and one
   * event of its evidence the chosen one.
   */
  function select(index, event = -1) {
    timeline.selected = index;
    timeline.chosen = event;
    cards.forEach((card, i) => card.classList.toggle("selected", i === index));
    const lit = new Set(index < 0 ? [] : data.findings[index].cells);
    cells.forEach((cell, i) => cell.classList.toggle("lit", lit.has(i)));
    byId("strip")?.classList.toggle("choosing", index >= 0);
    timeline.redraw();
  }

  /** Shows an event of a finding with as much time around it again. */
  function showEvent(index, event) {
    select(index, event);
    const found = data.findings[index].events[event];
    if (found) {
      const around = Math.max(found[2], 1000);
      timeline.show(found[1] - around, found[1] + found[2] + around);
      const box = byId("lanes"), top = timeline.topOf(found[0]);
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 32) {
        box.scrollTop = top - box.clientHeight / 2;
      }
    }
    bringIntoView(byId("timeline"), "start");
    byId("canvas").focus({ preventScroll: true });
  }

  function showCard(index, event) {
    select(index, event);
    cards[index].open = true;
    bringIntoView(cards[index], "center");
    cards[index].querySelector("summary").focus({ preventScroll: true });
  }

  function startTimeline() {
    timeline = new Timeline(byId("canvas"), data, say, (hit) => {
      if (hit?.finding !== undefined) showCard(hit.finding, hit.event); else deselect();
    });
    byId("timeline").addEventListener("keydown", (event) => {
      if (event.key === "Escape") deselect();
    });
    startViewer(timeline, describe, (hit) => hit.finding !== undefined);
    const help = byId("timeline-help");
    if (data.hidden) help.append(` Not drawn: ${data.hidden} events nested deeply.`);
    if (data.left_out) help.append(` Left out: ${data.left_out} lanes.`);
  }

  function describe({ slice, finding, begin, end }) {
    const lines = [];
    const when = (from, to) =>
      `+${timeText(from / 1000)}, took ${timeText((to - from) / 1000)}`;
    if (slice && slice.count > 1) {
      const busy = timeText(slice.busy / 1000);
      lines.push(`${slice.count} events, busy for ${busy} together`);
    } else if (slice) {
      lines.push(slice.name);
    }
    lines.push(slice ? when(slice.begin, slice.end) : when(begin, end));
    if (finding !== undefined) lines.push(`${data.findings[finding].kind}: click for more`);
    return lines.join("\n");
  }

  /** Makes the windows buttons: one can be reached by Tab, the others by arrows. */
  function startStrip() {
    for (const svg of all(".strip")) {
      const view = document.createElementNS(svg.namespaceURI, "rect");
      view.setAttribute("class", "view");
      view.setAttribute("height", "100%");
      view.setAttribute("hidden", "");
      svg.append(view);
      svg.setAttribute("role", "group");
      all(".cell", svg).forEach((cell, i, row) => {
        cell.setAttribute("role", "button");
        cell.setAttribute("tabindex", i ? "-1" : "0");
        cell.setAttribute("aria-label", cell.querySelector("title").textContent);
        cell.addEventListener("click", () => showWindow(cell));
        cell.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (event.key === "Enter" || event.key === " ") showWindow(cell);
          else if (step && row[i + step]) {
            cell.setAttribute("tabindex", "-1");
            row[i + step].setAttribute("tabindex", "0");
            row[i + step].focus();
          } else return;
          event.preventDefault();
        });
      });
    }
  }

  function showWindow(cell) {
    const index = cells.indexOf(cell);
    choose(index);
    timeline.show(...data.cells[index]);
  }

  /** Marks a window, -1: none, and the findings in it. */
  function choose(index) {
    cells.forEach((cell, i) => {
      cell.classList.toggle("chosen", i === index);
      if (i === index) cell.setAttribute("aria-current", "true");
      else cell.removeAttribute("aria-current");
    });
    cards.forEach((card, i) =>
      card.classList.toggle("in-window", data.findings[i].cells.includes(index)));
  }

  /** Ends every selection: of a finding, of its evidence, of a window. */
  function deselect() {
    select(-1);
    choose(-1);
  }

  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; } // Such as "#%E0".
  }

  function startCards() {
    cards.forEach((card, index) => {
      const button = card.querySelector(".show");
      button.hidden = false;
      button.addEventListener("click", () => showEvent(index, 0));
      for (const row of all("tr[data-event]", card)) {
        const name = row.cells[0], link = document.createElement("button");
        link.type = "button";
        link.className = "link";
        link.append(...name.childNodes);
        name.append(link);
        link.addEventListener("click", () => showEvent(index, +row.dataset.event));
      }
      card.querySelector("summary").addEventListener("click", () => {
        if (!card.open) select(index); // It is about to open.
      });
    });
    const openTarget = (hash) => {
      const target = cards.find((card) => `#${card.id}` === decoded(hash));
      if (target) target.open = true;
    };
    openTarget(location.hash);
    for (const link of all(".answer a")) link.addEventListener("click", () => openTarget(link.hash));
    addEventListener("beforeprint", () => { for (const d of all("details")) d.open = true; });
  }

  startTimeline();
  startStrip();
  startCards();
  startPage();
})();
