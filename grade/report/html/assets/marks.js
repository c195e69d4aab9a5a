// Small parts that stand everywhere: pills, the six links in a row, records.

function pill(word, title) {
  return h("span", { class: "pill " + word, title: title }, h("span", { class: "mark", "aria-hidden": "true" }, WORD_MARK[word] || "·"), word);
}

function badge(text, cls, title) { return h("span", { class: "badge " + (cls || ""), title: title }, text); }

// mini draws the six links small; for who listens it is one sentence.
function mini(states, broke) {
  const said = [];
  const marks = [];
  for (let i = 0; i < states.length; i++) {
    const state = LETTER_STATE[states[i]];
    said.push(LINK_TITLE[LINKS[i]] + " " + STATE_WORD[state]);
    marks.push(h("i", { class: states[i] + (i === broke ? " b" : ""), "aria-hidden": "true" }, STATE_MARK[state]));
  }
  return h("span", { class: "mini", title: said.join(", ") }, marks, h("span", { class: "unseen" }, said.join(", ")));
}

// chain draws the links of one trial, the first break marked.
function chain(links, broke) {
  return h("ol", { class: "chain", "aria-label": "The six links" }, links.map((l, i) => {
    const letter = STATE_LETTER[l.state];
    return h("li", { class: letter + (i === broke ? " brk" : "") },
      h("span", { class: "node", "aria-hidden": "true" }, STATE_MARK[l.state]),
      h("span", { class: "name" }, LINK_TITLE[l.link]),
      h("span", { class: "state" }, STATE_WORD[l.state]),
      i === broke ? h("span", { class: "flag" }, "first break") : null);
  }));
}

// records names records, each a way to the call that it belongs to, where that is here.
function records(list, open) {
  if (!list || !list.length) return null;
  return h("span", { class: "rec" }, (list.length === 1 ? "record " : "records "), list.map(([of, seq], i) => [
    i ? ", " : "",
    open && open.has(of, seq) ? h("a", { href: "#call", onclick: (e) => { e.preventDefault(); open.go(of, seq); } }, String(seq)) : String(seq),
    open && open.several && of >= 0 ? [" of ", bdi(open.name(of))] : "",
  ]));
}

// rateBar is a pass rate with its 95 % interval.
function rateBar(stats) {
  if (stats.rate === null) return null;
  return h("span", { class: "bar-rate", "aria-hidden": "true" },
    h("i", { css: { width: stats.rate * 100 + "%" } }),
    h("u", { css: { left: stats.low * 100 + "%", width: Math.max(1, (stats.high - stats.low) * 100) + "%" } }));
}

function rateText(stats) {
  const of = stats.passed + stats.failed;
  if (!of) return stats.trials ? "undecided" : "no trial";
  let text = stats.passed + " of " + of;
  if (stats.errored) text += " (+" + stats.errored + " undecided)";
  return text;
}

function facts(list) {
  return h("dl", { class: "rest" }, list.filter((f) => f.v).map((f) => [h("dt", null, f.k), h("dd", null, bdi(f.v))]));
}

// code is a text of a recording in a box. JSON is laid out; the text stays what it was.
function code(title, value, cls) {
  if (!value) return null;
  const pre = h("pre", { tabindex: "0", "aria-label": title });
  let raw = false;
  const cut = value.size ? bytes(value.size) + (value.text ? ", the beginning is shown" : ", left out of this file") : "";
  const draw = () => { pre.textContent = raw || cut ? value.text : layOut(value.text); };
  draw();
  const json = !cut && /^[[{]/.test(value.text);
  return h("div", { class: "code " + (cls || "") }, h("h4", null, title, cut ? h("span", null, cut) : null,
    json ? h("button", { type: "button", onclick: (e) => { raw = !raw; e.target.textContent = raw ? "laid out" : "as recorded"; draw(); } }, "as recorded") : null),
  value.text ? pre : null);
}

// layOut indents JSON text by its brackets and commas alone, so that numbers, order and
// doubled keys stay as they stand; other text is returned as it is.
function layOut(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  let out = "", depth = 0, inString = false;
  const line = () => "\n" + "  ".repeat(Math.min(depth, 40));
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (inString) {
      out += c;
      if (c === "\\") out += text[++i] || "";
      else if (c === "\"") inString = false;
    } else if (c === "\"") {
      inString = true;
      out += c;
    } else if (c === "{" || c === "[") {
      const close = text[i + 1];
      if (close === "}" || close === "]") { out += c + close; i++; continue; }
      depth++;
      out += c + line();
    } else if (c === "}" || c === "]") {
      depth = Math.max(0, depth - 1);
      out += line() + c;
    } else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}
