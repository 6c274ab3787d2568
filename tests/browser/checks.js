// What is wrong with a page as it is shown now: a list of sentences, empty where all is well.
() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const told = (element) => {
    const text = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
    return `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ${text}`;
  };
  const shown = (element) => element.checkVisibility() && !element.closest("script, style, title, head");
  if (document.documentElement.scrollWidth > width) faults.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const elements = [...document.body.querySelectorAll("*")].filter(shown);
  for (const element of elements) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > width + 0.5 || box.left < -0.5)) faults.push(`outside of the screen: ${told(element)}`);
    if (element instanceof HTMLElement && element.scrollWidth > element.clientWidth + 1 && element.clientWidth)
      if (getComputedStyle(element).overflowX !== "visible") faults.push(`cut: ${told(element)}`);
  }

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (walker.currentNode.textContent.trim() && shown(parent)) texts.push(walker.currentNode);
  }
  const rectsOf = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()];
  };
  for (const text of texts) {
    const holder = text.parentElement.closest("td, th, li, p, h1, h2, h3, dd, dt, code, summary, footer, .tiles div, .key, svg");
    if (!holder) { faults.push(`in no block: ${told(text.parentElement)}`); continue; }
    const box = holder.getBoundingClientRect();
    // A blank at the end of a line hangs over it.
    for (const rect of rectsOf(text))
      if (rect.right > box.right + 6 || rect.left < box.left - 1 || rect.bottom > box.bottom + 2)
        faults.push(`text outside of its place: ${told(text.parentElement)}`);
  }
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!svg.checkVisibility()) continue;
    const labels = [...svg.querySelectorAll("text")].map((each) => [each, each.getBoundingClientRect()]);
    labels.forEach(([a, one], index) => {
      for (const [b, other] of labels.slice(index + 1)) {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (across > 1 && down > 3) faults.push(`texts over each other: ${told(a)} and ${told(b)}`);
      }
    });
  }

  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => value / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  for (const { parentElement } of texts) {
    const style = getComputedStyle(parentElement);
    const isDrawn = parentElement instanceof SVGElement;
    const ratio = contrast(channels(isDrawn ? style.fill : style.color), behind(parentElement));
    const size = parseFloat(style.fontSize);
    const wanted = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const fault = `contrast ${ratio.toFixed(2)} of ${parentElement.tagName} .${parentElement.getAttribute("class")}`;
    if (ratio < wanted && !seen.has(fault)) { seen.add(fault); faults.push(fault); }
  }
  for (const line of document.querySelectorAll("svg .curve, svg .staged, svg .failed, svg .bar, .status i, .meter i")) {
    if (!line.checkVisibility()) continue;
    const style = getComputedStyle(line);
    const color = line instanceof SVGElement ? (style.stroke === "none" ? style.fill : style.stroke) : style.backgroundColor;
    const ratio = contrast(channels(color), behind(document.body));
    const fault = `contrast ${ratio.toFixed(2)} of what is drawn as .${line.getAttribute("class")}`;
    if (ratio < 3 && !seen.has(fault)) { seen.add(fault); faults.push(fault); }
  }
  return faults;
}
