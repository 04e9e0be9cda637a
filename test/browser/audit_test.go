package browser_test

// audit is what axe would be asked, for what a page of ours has: WCAG 2.1 AA contrast
// of each text against what is behind it, names of links, fields and images, the order
// of headings, heads of tables, unique ids, and values of aria attributes. It returns
// a JSON array of what is wrong.
const audit = `JSON.stringify((() => {
  const wrong = [];
  const say = (what, e) => wrong.push(what + (e ? ": " + e.outerHTML.slice(0, 120) : ""));
  if (!document.documentElement.lang) say("no language");
  if (!document.title.trim()) say("no title");
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith("color(srgb") ? [m[0]*255, m[1]*255, m[2]*255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(k => a[k] * a[3] + b[k] * (1 - a[3])).concat(1);
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, l) => over(l, below), dark ? [0, 0, 0, 1] : [255, 255, 255, 1]);
  };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const visible = e => { const s = getComputedStyle(e); return s.visibility != "hidden" && e.getClientRects().length > 0 && !e.closest(".sr"); };
  const seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = texts.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest("style") || !visible(e)) continue;
    const back = behind(e), fore = over(parse(getComputedStyle(e).color), back);
    const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const key = e.className + e.tagName + ratio.toFixed(2);
    if (ratio < 4.5 && !seen.has(key)) { seen.add(key); say("contrast " + ratio.toFixed(2), e); }
  }
  const name = e => (e.getAttribute("aria-label") || e.innerText || e.title || "").trim();
  document.querySelectorAll("a[href], button").forEach(e => { if (!name(e)) say("a link without a name", e); });
  document.querySelectorAll("input:not([type=hidden])").forEach(e => { if (!e.labels.length && !e.getAttribute("aria-label")) say("a field without a label", e); });
  document.querySelectorAll("svg, img").forEach(e => { if (e.getAttribute("aria-hidden") != "true" && !(e.getAttribute("role") == "img" && e.getAttribute("aria-label")) && !e.alt) say("an image without a name", e); });
  document.querySelectorAll("table").forEach(e => { if (!e.querySelector("th")) say("a table without heads", e); });
  document.querySelectorAll("section, nav, form, [role=region]").forEach(e => { if (e.getAttribute("role") == "region" && !e.getAttribute("aria-label")) say("a region without a name", e); });
  let level = 0;
  document.querySelectorAll("h1, h2, h3, h4").forEach(e => { const l = +e.tagName[1]; if (l > level + 1) say("from h" + level + " to h" + l, e); level = l; });
  const ids = {};
  document.querySelectorAll("[id]").forEach(e => { if (ids[e.id]) say("id " + e.id + " stands twice"); ids[e.id] = true; });
  document.querySelectorAll("[aria-expanded]").forEach(e => { if (!["true", "false"].includes(e.getAttribute("aria-expanded"))) say("aria-expanded", e); });
  document.querySelectorAll("a[href^='#']").forEach(e => { if (!document.getElementById(e.getAttribute("href").slice(1))) say("a link to nowhere", e); });
  const roles = { row: ["rowgroup", "table"], cell: ["row"], columnheader: ["row"], rowheader: ["row"] };
  document.querySelectorAll("[role]").forEach(e => { const up = roles[e.getAttribute("role")]; if (up && !up.includes(e.parentElement.getAttribute("role"))) say("role " + e.getAttribute("role") + " stands alone", e); });
  document.querySelectorAll("script, [onclick], [onload]").forEach(e => say("a script", e));
  return wrong;
})())`
