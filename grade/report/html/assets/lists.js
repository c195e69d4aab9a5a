// Lists whose rows are made as they are looked at: a table with its first rows, and a
// button for the next ones that presses itself when it comes into view.

const STEP = 100;
const ON_PAPER = 2000; // rows of one list that are made for print

// papers are the lists of the view that can be made longer before they are printed.
let papers = [];

// rowsOf fills a table body from items by make(item, index), which returns one row or
// several. It returns the element with the button below the table, and show(items).
function rowsOf(tbody, make, what) {
  let items = [], shown = 0;
  const next = h("button", { type: "button", class: "act", onclick: () => more(STEP) });
  const all = h("button", { type: "button", class: "act", onclick: () => more(items.length) }, "Show all");
  const box = h("div", { class: "more", hidden: true }, next, " ", all);
  function more(n) {
    const end = Math.min(items.length, shown + n);
    const part = document.createDocumentFragment();
    for (; shown < end; shown++) put(part, [make(items[shown], shown)]);
    tbody.append(part);
    box.hidden = shown === items.length;
    next.textContent = "Show more (" + plural(items.length - shown, what) + " left)";
  }
  if ("IntersectionObserver" in window) {
    new IntersectionObserver((seen) => { if (seen.some((s) => s.isIntersecting) && !box.hidden) more(STEP); }, { rootMargin: "600px" }).observe(box);
  }
  papers.push({ make: () => {
    if (shown < items.length) more(ON_PAPER - shown);
    box.setAttribute("data-left", shown < items.length ? plural(items.length - shown, what) + " more are in the file" : "");
  } });
  return {
    box,
    show(list) { items = list; shown = 0; clear(tbody); more(STEP); },
    // upTo makes rows as far as the item at n, for who goes there from elsewhere.
    upTo(n) { if (n >= shown) more(n - shown + STEP); },
  };
}

// keys lets the arrow keys move along the rows' links or buttons.
function rowKeys(tbody, selector) {
  tbody.addEventListener("keydown", (e) => {
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp" && e.key !== "Home" && e.key !== "End") return;
    const list = Array.from(tbody.querySelectorAll(selector));
    const at = list.indexOf(document.activeElement);
    if (at < 0) return;
    const to = e.key === "Home" ? 0 : e.key === "End" ? list.length - 1 : at + (e.key === "ArrowDown" ? 1 : -1);
    if (list[to]) { list[to].focus(); e.preventDefault(); }
  });
}

// head makes the header row of a table; a name that begins with "#" is of numbers.
function head(names) {
  return h("thead", null, h("tr", null, names.map((n) => h("th", { scope: "col", class: n[0] === "#" ? "num" : null }, n.replace(/^#/, "")))));
}

// filterBar is words to choose from with their counts, a field to search, and what else
// is given. It calls change(word, text) at once and at each change.
function filterBar(words, counts, hint, extra, change) {
  let word = "all";
  const search = h("input", { type: "search", name: "search", placeholder: hint, "aria-label": hint, autocomplete: "off", spellcheck: "false", "data-search": true });
  const buttons = words.filter((w) => w === "all" || counts[w]).map((w) => h("button", { type: "button", "aria-pressed": String(w === "all"), onclick: () => {
    word = w;
    for (const b of buttons) b.setAttribute("aria-pressed", String(b === buttons.at(index(w))));
    apply();
  } }, (WORD_MARK[w] ? WORD_MARK[w] + " " : "") + w + " " + count(counts[w] || 0)));
  const shownWords = words.filter((w) => w === "all" || counts[w]);
  const index = (w) => shownWords.indexOf(w);
  const told = h("span", { class: "count" });
  function apply() { change(word, search.value.trim().toLowerCase()); }
  search.addEventListener("input", apply);
  search.addEventListener("keydown", (e) => { if (e.key === "Escape" && search.value) { search.value = ""; apply(); } });
  return { el: h("div", { class: "tools" }, h("div", { class: "seg", role: "group", "aria-label": "Verdict" }, buttons), search, extra, told), told, apply };
}

// chosen is a select with a label for who listens.
function chosen(label, options, change) {
  return h("select", { name: "choice", "aria-label": label, onchange: (e) => change(e.target.value) }, options.map(([value, text]) => h("option", { value }, text)));
}
