// What a page must hold for readers of every kind; returns what is wrong.
() => {
  const problems = [];
  for (const details of document.querySelectorAll("details")) details.open = true;
  const visible = (e) => e.getClientRects().length && getComputedStyle(e).visibility === "visible";
  const channels = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let node = e; node; node = node.parentElement) {
      const c = channels(getComputedStyle(node).backgroundColor);
      if (c[3] > 0.99) return c;
    }
    return [255, 255, 255, 1];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || parent.closest("svg, script, title") || !visible(parent)) continue;
    if (parent.closest(".quiet, .skip")) continue;
    const style = getComputedStyle(parent);
    const [one, two] = [luminance(channels(style.color)), luminance(ground(parent))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < needed) problems.push(`contrast ${ratio.toFixed(2)}: ${walker.currentNode.textContent.trim().slice(0, 40)}`);
  }
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!field.labels || !field.labels.length) problems.push(`no label: ${field.name}`);
  for (const button of document.querySelectorAll("button, a[href]"))
    if (!(button.getAttribute("aria-label") || button.textContent.trim())) problems.push(`no name: ${button.outerHTML.slice(0, 80)}`);
  for (const image of document.querySelectorAll("svg"))
    if (image.getAttribute("aria-hidden") !== "true" && !image.getAttribute("aria-label")) problems.push("picture without words");
  for (const box of document.querySelectorAll(".scroll, .plate"))
    if (box.scrollWidth > box.clientWidth && box.tabIndex !== 0) problems.push("a box that scrolls and takes no focus");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size !== ids.length) problems.push(`ids twice: ${ids.filter((id, i) => ids.indexOf(id) !== i)}`);
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1");
  if (document.querySelector("[tabindex]:not([tabindex='0']):not([tabindex='-1'])")) problems.push("a tabindex above 0");
  // Who moves by keyboard goes through the head of the page as one reads it.
  const boxes = [...document.querySelectorAll("header a[href], header button")].filter(visible).map((e) => e.getBoundingClientRect());
  boxes.forEach((box, i) => {
    const last = boxes[i - 1];
    if (last && (box.bottom <= last.top || (box.top < last.bottom && box.left < last.left))) problems.push(`keyboard order: entry ${i} of the head`);
  });
  if (document.documentElement.scrollWidth > window.innerWidth) problems.push("wider than the screen");
  return problems;
}
