(() => {
  "use strict";
  const root = document.documentElement;

  // Theme: the system's until the reader chooses.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { toggle.textContent = isDark() ? "Light theme" : "Dark theme"; };
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  toggle.hidden = false;
  name();

  // Sorting: a cell without a key stays last, whatever the direction.
  const status = document.getElementById("status");
  const compare = (kind) => kind === "text" ? (a, b) => a.localeCompare(b) : (a, b) => Number(a) - Number(b);
  const sort = (head, button) => {
    // What is large is looked for first, except p-values.
    const first = head.dataset.sort === "falling" ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? second : first;
    const sign = order === "ascending" ? 1 : -1;
    const by = compare(head.dataset.sort);
    const body = head.closest("table").tBodies[0];
    const keyOf = (cell) => head.dataset.sort === "text" ? (cell.querySelector(".name") || cell).textContent : cell.dataset.key;
    const keyed = Array.from(body.rows, (row) => [keyOf(row.cells[head.cellIndex]), row]);
    keyed.sort(([a], [b]) => a === undefined || b === undefined
      ? Number(a === undefined) - Number(b === undefined) : sign * by(a, b));
    body.append(...keyed.map(([, row]) => row));
    for (const other of head.parentNode.cells) { if (other.dataset.sort) other.setAttribute("aria-sort", "none"); }
    head.setAttribute("aria-sort", order);
    status.textContent = `Sorted by ${button.textContent}, ${order}.`;
  };
  for (const head of document.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    head.dataset.label = head.textContent;
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(head, button));
  }

  // Search and filter, for tables of many columns.
  for (const finder of document.querySelectorAll(".finder")) {
    const rows = Array.from(document.querySelector(`#${finder.dataset.for} tbody`).rows);
    const words = finder.querySelector("input");
    const only = finder.querySelector("select");
    const marks = { values: "mark:not(.missing)", missing: "mark.missing" };
    const apply = () => {
      const wanted = words.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = row.cells[0].textContent.toLowerCase().includes(wanted)
          && (!only.value || row.querySelector(marks[only.value]) !== null);
        row.hidden = !fits;
        shown += Number(fits);
      }
      finder.querySelector("[role=status]").textContent = `${shown} of ${rows.length}`;
    };
    words.addEventListener("input", apply);
    only.addEventListener("change", apply);
    finder.hidden = false;
    apply();
  }

  // A box that scrolls says so.
  const boxes = Array.from(document.querySelectorAll(".scroll"), (box) => {
    const hint = document.createElement("p");
    hint.className = "fine hint";
    box.after(hint);
    return [box, hint];
  });
  const hint = () => {
    for (const [box, words] of boxes) {
      const wide = box.scrollWidth > box.clientWidth + 1;
      const tall = box.scrollHeight > box.clientHeight + 1;
      words.hidden = !wide && !tall;
      words.textContent = `Scroll ${[wide ? "sideways" : "", tall ? "down" : ""].filter(Boolean).join(" and ")} for more.`;
    }
  };
  window.addEventListener("resize", hint);
  document.addEventListener("toggle", hint, true);
  hint();

  // Tips: the titles of the charts' parts, shown at once and on touch.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const hit = event.target.closest ? event.target.closest(".hit") : null;
    if (!hit) { hide(); return; }
    const title = hit.querySelector("title");
    if (title) { hit.dataset.tip = title.textContent; title.remove(); }
    tip.textContent = hit.dataset.tip;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, root.clientWidth - tip.offsetWidth - 8);
    const above = event.clientY - tip.offsetHeight - 12;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : event.clientY + 20}px`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", hide, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
