"use strict";
// Tables are sorted by a click on a column; what is folded opens for print, and closes again.
(() => {
  const value = cell => cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  const order = (a, b) => typeof a === "number" && typeof b === "number"
    ? (Number.isNaN(a) - Number.isNaN(b)) || a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0], rows = [...body.rows];
        const key = row => value(row.cells[column]);
        rows.sort((a, b) => {
          const x = key(a), y = key(b);
          return Number.isNaN(x) || Number.isNaN(y) ? order(x, y) : down ? order(y, x) : order(x, y);
        });
        body.append(...rows);
      });
    });
  }
  let opened = [];
  const open = () => {
    const closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach(one => { one.open = true; });
    opened.push(...closed);
  };
  const close = () => { opened.forEach(one => { one.open = false; }); opened = []; };
  addEventListener("beforeprint", open);
  addEventListener("afterprint", close);
  matchMedia("print").addEventListener("change", print => print.matches ? open() : close());
})();
