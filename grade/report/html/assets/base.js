// What the other files stand on: elements, blocks of data, numbers. Texts are only ever
// set as text nodes: nothing here makes markup of a string.

// h makes an element. A key that begins with "on" is a listener, "css" are style
// properties (set one by one: the page's policy forbids style attributes), the others
// attributes; null and false leave one out. Children are elements, texts, or lists.
function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const key of Object.keys(attrs || {})) {
    const value = attrs[key];
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
    else if (key === "css") for (const p of Object.keys(value)) el.style.setProperty(p, value[p]);
    else el.setAttribute(key, value === true ? "" : String(value));
  }
  put(el, children);
  return el;
}

function put(el, children) {
  for (const c of children) {
    if (c === null || c === undefined || c === false || c === "") continue;
    if (Array.isArray(c)) put(el, c);
    else el.append(c);
  }
  return el;
}

// bdi keeps a stranger's text from reordering what stands beside it.
function bdi(text) { return h("bdi", null, text); }

function clear(el) { while (el.firstChild) el.removeChild(el.firstChild); return el; }

function byId(id) { return document.getElementById(id); }

// whole tells that all of the file is there; until then a block may still be to come.
function whole() { return document.readyState !== "loading"; }

// block reads a block of data when it is first asked for, and keeps the last few: a
// report may hold more than is good to have in memory twice. null: it is not there, or
// not yet, or not all of it (then nothing stands behind it).
const kept = new Map();
function block(id) {
  if (kept.has(id)) return kept.get(id);
  const el = byId(id);
  if (!el || !whole() && !el.nextSibling) return null;
  const data = JSON.parse(el.textContent);
  kept.set(id, data);
  if (kept.size > 24) kept.delete(kept.keys().next().value);
  return data;
}

// rest is what was found in the recordings; null until all of the file is there.
function rest() { return block("rest"); }

const run = JSON.parse(byId("run").textContent);

function say(text) { byId("said").textContent = text; }

function plural(n, what) { return count(n) + " " + what + (n === 1 ? "" : "s"); }

function count(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ","); }

function percent(share) { return share === null || share === undefined ? "–" : Math.round(share * 100) + " %"; }

function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 10) return ms.toFixed(1) + " ms";
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60000) return (ms / 1000).toFixed(2) + " s";
  const s = Math.round(ms / 1000);
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
}

function bytes(n) {
  if (n < 1024) return plural(n, "byte");
  if (n < 1048576) return (n / 1024).toFixed(1) + " KiB";
  return (n / 1048576).toFixed(1) + " MiB";
}

// when is a time of the report, in UTC, so that two readers read the same.
function when(iso) { return iso ? iso.slice(0, 10) + " " + iso.slice(11, 19) : ""; }
