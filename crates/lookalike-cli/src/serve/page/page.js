// The page of lookalike. No framework and no build step. Whatever comes from data is put in as text, never as HTML.
"use strict";

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const percent = (share) => {
  const rounded = (100 * share).toFixed(share > 0.1 && share < 0.999 ? 1 : 2);
  if (share < 1 && Number(rounded) === 100) return "> 99.9 %";
  if (share > 0 && Number(rounded) === 0) return "< 0.01 %";
  return `${Number(rounded)} %`;
};
const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

// Asking the service

let token = "";

class Refusal extends Error {}

async function ask(path, body, signal) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The service does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401) byId("token-form").hidden = false;
  const refusal = new Refusal(answer.detail || `The service answered with status ${response.status}.`);
  refusal.status = response.status;
  throw refusal;
}

function say(place, text, isBad = false) {
  place.textContent = text;
  place.classList.toggle("bad", isBad);
}

/** Runs what a form asks for, its button resting meanwhile, and says what went wrong. */
function onSubmit(form, status, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button[type=submit]");
    button.disabled = true;
    say(status, "Working …");
    try {
      await work();
    } catch (error) {
      say(status, error instanceof Refusal ? error.message : `The page failed: ${error.message}`, true);
    } finally {
      button.disabled = false;
    }
  });
  // In a text, Enter is a new line; with Ctrl or Cmd it sends.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

// Texts with what they share

/** A text whose spans stand out. Spans count characters, which JavaScript's strings do not. */
function highlighted(text, spans) {
  const characters = Array.from(text);
  const box = element("p", { class: "text" });
  let at = 0;
  const ordered = spans.map((span, passage) => ({ start: span[0], end: span[1], passage }));
  ordered.sort((a, b) => a.start - b.start || a.end - b.end);
  for (const { start, end, passage } of ordered) {
    if (end <= at) continue;
    const from = Math.max(start, at);
    box.append(characters.slice(at, from).join(""));
    const mark = element("mark", { tabindex: "0", "data-passage": String(passage) });
    mark.textContent = characters.slice(from, end).join("");
    box.append(mark);
    at = end;
  }
  box.append(characters.slice(at).join(""));
  return box;
}

/** Two texts side by side. A passage that is pointed at or focused stands out on both sides. */
function sideBySide(place, left, right, passages) {
  const boxes = [left, right].map(({ title, text }, side) => {
    const box = highlighted(text, passages.map((passage) => (side === 0 ? passage.left : passage.right)));
    place.append(element("div", {}, element("p", { class: "side-title" }, title), box));
    return box;
  });
  const marksOf = (passage) => boxes.flatMap((box) => [...box.querySelectorAll(`mark[data-passage="${passage}"]`)]);
  const passageOf = (event) => event.target.closest("mark")?.dataset.passage;
  const point = (isOn) => (event) => {
    const passage = passageOf(event);
    if (passage !== undefined) for (const mark of marksOf(passage)) mark.classList.toggle("same", isOn);
  };
  const show = (event) => {
    const passage = passageOf(event);
    if (passage === undefined) return;
    for (const mark of marksOf(passage)) reveal(mark);
  };
  for (const [kind, handler] of [
    ["mouseover", point(true)], ["mouseout", point(false)], ["focusin", point(true)], ["focusout", point(false)], ["click", show],
  ]) place.addEventListener(kind, handler);
  place.addEventListener("keydown", (event) => { if (event.key === "Enter") show(event); });
  for (const box of boxes) {
    const first = box.querySelector("mark");
    if (first) reveal(first);
  }
}

/** Scrolls a mark's own box, and nothing else, until the mark is in it. */
function reveal(mark) {
  const box = mark.parentElement;
  const [inside, outside] = [mark.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inside.top < outside.top || inside.bottom > outside.bottom) box.scrollTop += inside.top - outside.top - 16;
}

// Search

let storesText = false;
let findsContained = false;

async function aboutIndex() {
  const place = byId("about-index");
  try {
    const index = await ask("/v1/index");
    storesText = index.stores_text;
    findsContained = index.settings.measure === "containment";
    byId("search-threshold").value = index.settings.threshold;
    const texts = storesText ? "Texts are stored, so shared passages can be shown." : "Texts are not stored: matches are listed by id.";
    place.textContent = `${count(index.items, "item", "items")} in the index, made for a similarity of ${index.settings.threshold} or more. ${texts}`;
  } catch (error) {
    if (error.status === 409) {
      place.textContent = "This service has no index to search. Comparing and the S-curve work; to search, start it with one: ";
      place.append(element("code", {}, "lookalike serve INDEX"));
      for (const control of byId("search-form").elements) control.disabled = true;
    } else {
      place.textContent = error.message;
    }
  }
}

function resultOf(match, asked) {
  const when = new Date(match.time);
  const facts = [`added ${Number.isNaN(when.getTime()) ? match.time : when.toLocaleString()}`];
  if (match.passages) facts.push(count(match.passages.length, "shared passage", "shared passages"));
  const item = element("li", { class: "card result" },
    element("div", { class: "result-head" },
      element("h2", {}, match.id),
      element("span", { class: "percent" }, `${percent(match.similarity)} alike`)),
    element("meter", { min: "0", max: "1", value: String(match.similarity), "aria-label": "similarity" }),
    element("p", { class: "about" }, facts.join(" · ")));
  if (match.text !== undefined) {
    const texts = element("div", { class: "sides texts" });
    sideBySide(texts, { title: "Your text", text: asked }, { title: match.id, text: match.text }, match.passages ?? []);
    item.append(texts);
  }
  return item;
}

async function search() {
  const text = byId("search-text").value;
  const status = byId("search-status");
  const results = byId("search-results");
  if (!text.trim()) {
    byId("search-text").focus();
    return say(status, "Paste a text first.", true);
  }
  const isNearest = byId("search-mode").value === "nearest";
  const threshold = Number(byId("search-threshold").value);
  const query = { text, limit: Number(byId("search-limit").value), passages: true };
  if (!isNearest) query.threshold = threshold;
  results.replaceChildren();
  const answer = await ask("/v1/query", query);
  const found = answer.matches.length;
  let words = found ? `${count(found, "look-alike", "look-alikes")}, best first.` : "Nothing in the index is that much like it.";
  if (answer.promise !== null) words += ` An item at exactly ${threshold} is found with a probability of ${percent(answer.promise)}.`;
  else if (findsContained) words += " Items that share a long run of words are found for sure, others mostly.";
  else words += " Below the similarity that the index was made for, some may be missed.";
  if (answer.bounded) words += " Some keys are shared by very many items, of which the newest were looked at.";
  say(status, words);
  for (const match of answer.matches) results.append(resultOf(match, text));
}

// Compare

function figure(title, number, about) {
  return element("div", {}, element("dt", {}, title),
    element("dd", {}, element("span", { class: "number" }, number), element("span", { class: "about" }, about)));
}

async function compare() {
  const [left, right] = [byId("compare-left").value, byId("compare-right").value];
  const status = byId("compare-status");
  const result = byId("compare-result");
  const shingles = byId("compare-shingles").value;
  const answer = await ask("/v1/compare", shingles ? { left, right, shingles } : { left, right });
  const all = answer.left_shingles + answer.right_shingles - answer.shared;
  byId("compare-figures").replaceChildren(
    figure("Jaccard similarity", answer.jaccard.toFixed(3), `${answer.shared} of ${all} shingles shared`),
    figure("Left in right", answer.left_in_right.toFixed(3), `${answer.shared} of ${answer.left_shingles} shingles`),
    figure("Right in left", answer.right_in_left.toFixed(3), `${answer.shared} of ${answer.right_shingles} shingles`));
  if (answer.estimate !== null) {
    byId("compare-figures").append(
      figure("Estimate from sketches", answer.estimate.toFixed(3), `± ${answer.standard_error.toFixed(3)}`));
  }
  // Listeners of the last comparison go with their element.
  const texts = element("div", { class: "sides texts card", id: "compare-texts" });
  byId("compare-texts").replaceWith(texts);
  result.hidden = false;
  sideBySide(texts, { title: "Left", text: left }, { title: "Right", text: right }, answer.passages);
  const passages = answer.passages.length;
  say(status, passages ? `${count(passages, "shared passage", "shared passages")}.` : "They share no passage.");
}

// The S-curve

const RECALLS = [0.5, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999];
const PLOT = { left: 66, top: 34, wide: 474, high: 290 };
const across = (similarity) => PLOT.left + similarity * PLOT.wide;
const up = (share) => PLOT.top + (1 - share) * PLOT.high;

function drawn(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const pathOf = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function drawCurve(plan) {
  const drawing = byId("curve-drawing");
  const threshold = plan.settings.threshold;
  const curve = [{ similarity: 0, compared: 0, found: 0 }, ...plan.curve];
  const alike = [{ similarity: threshold, found: plan.finds_at_threshold }, ...curve.filter((point) => point.similarity > threshold)];
  const foundLine = alike.map((point) => [across(point.similarity), up(point.found)]);
  const grid = [];
  for (let fifth = 0; fifth <= 5; fifth += 1) {
    const value = fifth / 5;
    grid.push(
      drawn("path", { class: "grid", d: `M${across(value)} ${up(0)}V${up(1)}M${across(0)} ${up(value)}H${across(1)}` }),
      drawn("text", { x: across(value), y: up(0) + 24, "text-anchor": "middle" }, value.toFixed(1)),
      drawn("text", { x: PLOT.left - 8, y: up(value) + 5, "text-anchor": "end" }, `${100 * value}%`));
  }
  const isRight = threshold > 0.65;
  drawing.replaceChildren(
    drawn("path", { class: "found-area", d: `${pathOf([...foundLine, [across(1), up(0)], [across(threshold), up(0)]])}Z` }),
    drawn("path", { class: "missed-area", id: "curve-missed", d: `${pathOf([...foundLine, [across(1), up(1)], [across(threshold), up(1)]])}Z` }),
    ...grid,
    drawn("path", { class: "threshold", d: `M${across(threshold)} ${up(0)}V${up(1) - 6}` }),
    drawn("path", { class: "line", id: "curve-line", d: pathOf(curve.map((point) => [across(point.similarity), up(point.compared)])) }),
    drawn("circle", { class: "dot", cx: across(threshold), cy: up(plan.finds_at_threshold), r: 6 }),
    drawn("text", { class: "strong", x: across(threshold) + (isRight ? 4 : -4), y: up(1) - 11, "text-anchor": isRight ? "end" : "start" },
      `threshold ${threshold.toFixed(2)}: ${percent(plan.finds_at_threshold)} found`),
    drawn("text", { x: across(0.5), y: up(0) + 48, "text-anchor": "middle" }, "similarity of a pair"));
}

function explainCurve(plan) {
  const [bands, rows] = plan.scheme.bands.split("x").map(Number);
  const threshold = plan.settings.threshold;
  const at = (similarity) => plan.curve.reduce((best, point) =>
    Math.abs(point.similarity - similarity) < Math.abs(best.similarity - similarity) ? point : best);
  const found = plan.finds_at_threshold;
  const far = at(Math.max(threshold - 0.3, 0.1));
  byId("curve-caption").textContent =
    `${count(bands, "band", "bands")} of ${count(rows, "row", "rows")}, ${count(plan.scheme.hashes, "hash", "hashes")}: ` +
    `of the pairs at ${threshold.toFixed(2)}, ${percent(found)} are found and ${percent(1 - found)} missed. ` +
    `Of those at ${far.similarity.toFixed(2)}, ${percent(far.compared)} are compared in vain: they are checked, and not reported.`;
  const line = (similarity, compared, share) => {
    const isAlike = similarity >= threshold;
    const cells = [similarity.toFixed(2), percent(compared), isAlike ? percent(share) : "–", isAlike ? percent(1 - share) : "–"];
    return element("tr", similarity === threshold ? { class: "at-threshold" } : {}, ...cells.map((cell) => element("td", {}, cell)));
  };
  const tenths = plan.curve.filter((point, index) => (index + 1) % 10 === 0 && Math.abs(point.similarity - threshold) > 1e-9);
  const lines = [...tenths.map((point) => [point.similarity, point.compared, point.found]), [threshold, at(threshold).compared, found]];
  lines.sort((a, b) => a[0] - b[0]);
  document.querySelector("#curve-table tbody").replaceChildren(...lines.map((cells) => line(...cells)));
}

function showSliders() {
  const isOwn = byId("curve-own").checked;
  byId("curve-recall").disabled = isOwn;
  byId("curve-threshold-shown").textContent = Number(byId("curve-threshold").value).toFixed(2);
  byId("curve-recall-shown").textContent = isOwn ? "–" : `${Number((100 * RECALLS[byId("curve-recall").value]).toFixed(2))} %`;
  byId("curve-bands-shown").textContent = byId("curve-bands").value;
  byId("curve-rows-shown").textContent = byId("curve-rows").value;
}

let asking = null;

async function updateCurve() {
  showSliders();
  asking?.abort();
  asking = new AbortController();
  const isOwn = byId("curve-own").checked;
  const settings = new URLSearchParams({ threshold: byId("curve-threshold").value, points: "100" });
  if (isOwn) settings.set("bands", `${byId("curve-bands").value}x${byId("curve-rows").value}`);
  else settings.set("recall", RECALLS[byId("curve-recall").value]);
  try {
    const plan = await ask(`/v1/plan?${settings}`, undefined, asking.signal);
    if (!isOwn) {
      const [bands, rows] = plan.scheme.bands.split("x").map(Number);
      byId("curve-bands").max = Math.max(100, bands);
      byId("curve-bands").value = bands;
      byId("curve-rows").value = rows;
      showSliders();
    }
    drawCurve(plan);
    explainCurve(plan);
    say(byId("curve-status"), "");
  } catch (error) {
    if (error.name !== "AbortError") say(byId("curve-status"), error.message, true);
  }
}

// The parts of the page

const PARTS = ["search", "compare", "curve"];
let isCurveDrawn = false;

function showPart() {
  const wanted = location.hash.slice(1);
  const part = PARTS.includes(wanted) ? wanted : PARTS[0];
  for (const name of PARTS) byId(name).hidden = name !== part;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${part}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (part === "curve" && !isCurveDrawn) {
    isCurveDrawn = true;
    updateCurve();
  }
}

onSubmit(byId("search-form"), byId("search-status"), search);
onSubmit(byId("compare-form"), byId("compare-status"), compare);
byId("search-mode").addEventListener("change", () => {
  const isNearest = byId("search-mode").value === "nearest";
  byId("search-threshold-field").hidden = isNearest;
  byId("search-threshold").disabled = isNearest;
});
for (const id of ["curve-bands", "curve-rows"]) {
  byId(id).addEventListener("input", () => { byId("curve-own").checked = true; });
}
byId("curve-form").addEventListener("input", updateCurve);
byId("curve-form").addEventListener("submit", (event) => event.preventDefault());
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("token-form").hidden = true;
  aboutIndex();
  isCurveDrawn = false;
  showPart();
});
window.addEventListener("hashchange", () => {
  showPart();
  window.scrollTo(0, 0);
});
showPart();
aboutIndex();
