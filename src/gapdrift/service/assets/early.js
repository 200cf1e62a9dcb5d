(() => {
  "use strict";
  const root = document.documentElement;

  // The theme that the reader chose lasts from page to page.
  try {
    const chosen = localStorage.getItem("gapdrift-theme");
    if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
    new MutationObserver(() => localStorage.setItem("gapdrift-theme", root.dataset.theme || ""))
      .observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  } catch { /* no storage: the theme is the system's on every page */ }

  // A page that asks for it is fetched again from time to time; what has changed is put in its place.
  const refresh = async (main, seconds) => {
    const busy = document.activeElement && main.contains(document.activeElement) && document.activeElement !== main;
    if (!document.hidden && !busy && !location.hash) {
      try {
        const answer = await fetch(location.href, { headers: { "accept": "text/html" } });
        if (answer.ok && !answer.redirected) {
          const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
          if (next && next.dataset.state !== main.dataset.state) { location.reload(); return; }
        }
      } catch { /* the server is away: try again later */ }
    }
    setTimeout(refresh, 1000 * seconds, main, seconds);
  };
  document.addEventListener("DOMContentLoaded", () => {
    const main = document.getElementById("main");
    const seconds = Number(main && main.dataset.refresh);
    if (seconds > 0) setTimeout(refresh, 1000 * seconds, main, seconds);
    for (const plate of document.querySelectorAll(".plate:not(.still)")) plate.scrollLeft = plate.scrollWidth;
    for (const form of document.querySelectorAll("form[data-confirm]")) {
      form.addEventListener("submit", (event) => { if (!window.confirm(form.dataset.confirm)) event.preventDefault(); });
    }
  });
})();
