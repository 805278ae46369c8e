/* fleet_page.js: filters the tables of a fleet by words. */
"use strict";

(() => {
  const filter = byId("filter"), shown = byId("shown");
  const rows = all("table.sortable tbody tr").map((row) =>
    [row, [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase()]);

  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    shown.textContent = words.length ? `${left} of ${rows.length} rows` : "";
  }

  startPage();
  filter.addEventListener("input", apply);
})();
