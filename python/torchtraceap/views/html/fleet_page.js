/* fleet_page.js: filters the tables of a fleet by words, in one column or any. */
"use strict";

(() => {
  const filter = byId("filter"), column = byId("column"), shown = byId("shown");
  const rows = [], titles = new Set();
  for (const table of all("table.sortable")) {
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    names.forEach((name) => titles.add(name));
    for (const row of table.tBodies[0].rows) {
      const texts = [...row.cells].map((cell) => cell.textContent.toLowerCase());
      rows.push([row, texts.join(" "), names, texts]);
    }
  }
  titles.forEach((name) => column.add(new Option(name)));

  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const [row, all, names, texts] of rows) {
      const text = column.value ? texts[names.indexOf(column.value)] ?? "" : all;
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    shown.textContent = words.length ? `${left} of ${rows.length} rows` : "";
  }

  startPage();
  filter.addEventListener("input", apply);
  column.addEventListener("change", apply);
})();
