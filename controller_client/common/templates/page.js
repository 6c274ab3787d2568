"use strict";
(() => {
  // Tables are sorted by the buttons that this makes of their heads. Without it they are as they were written.
  const collator = new Intl.Collator("en", { numeric: true });
  const keyOf = (cell, isNumber) => {
    const text = cell.dataset.sort ?? cell.textContent.trim();
    if (!isNumber) return text === "" ? null : text;
    const number = Number(text.replaceAll(",", ""));
    return text === "" || Number.isNaN(number) ? null : number;
  };
  const sort = (table, column, descending) => {
    const heads = [...table.tHead.rows[0].cells];
    const isNumber = heads[column].classList.contains("number");
    const compare = (a, b) => (isNumber ? a - b : collator.compare(a, b)) * (descending ? -1 : 1);
    const keyed = [...table.tBodies[0].rows].map((row) => [keyOf(row.cells[column], isNumber), row]);
    // What has no value is last in both directions.
    keyed.sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : compare(a, b)));
    table.tBodies[0].append(...keyed.map(([, row]) => row));
    for (const [index, head] of heads.entries()) {
      if (index === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  };
  // A page that is written again and again is reloaded by itself, and keeps its order.
  const remember = (key, value) => {
    try {
      if (value === undefined) return JSON.parse(sessionStorage.getItem(key));
      sessionStorage.setItem(key, JSON.stringify(value));
    } catch {}
    return null;
  };
  document.querySelectorAll("table").forEach((table, number) => {
    if (table.tBodies[0].rows.length < 2) return;
    const key = `${location.pathname} ${number}`;
    const heads = [...table.tHead.rows[0].cells];
    table.classList.add("sortable");
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const descending = now === null ? head.classList.contains("number") : now === "ascending";
        sort(table, column, descending);
        remember(key, [column, descending]);
      });
      head.replaceChildren(button);
    });
    const [column, descending] = remember(key) ?? [];
    if (column in heads) sort(table, column, descending);
  });
})();
