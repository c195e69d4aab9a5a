// Two trials side by side.

let chosenTrials = [];

function abHref(a, b) { return "#/ab/" + a + "/" + b; }

// abBox is the mark in lists that chooses a trial; two make a comparison.
function abBox(i) {
  return h("input", { type: "checkbox", name: "compare", "aria-label": "Compare trial " + (i + 1), checked: chosenTrials.includes(i), onchange: (e) => {
    chosenTrials = chosenTrials.filter((k) => k !== i);
    if (e.target.checked) chosenTrials.push(i);
    if (chosenTrials.length === 2) { const [a, b] = chosenTrials; chosenTrials = []; location.hash = abHref(a, b).slice(1); }
    else say(chosenTrials.length ? "Choose a second trial to compare" : "");
  } });
}

// abButton compares a trial with the one chosen before, else with the trial of the same
// case that went differently.
function abButton(n) {
  const t = run.trials[n];
  let other = -1;
  run.trials.forEach((o, i) => { if (i !== n && o.c === t.c && other < 0 && trialWord(o) !== trialWord(t)) other = i; });
  if (other < 0) other = run.trials.findIndex((o, i) => i !== n && o.c === t.c);
  if (other < 0) other = n ? 0 : 1;
  return h("a", { href: abHref(n, other) }, "Compare A/B");
}

// align pairs two lists by their keys, in order: the longest common subsequence for
// lists that allow it, else one after the other.
function align(a, b, key) {
  const out = [];
  if (a.length * b.length > 400000) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) out.push([a[i] || null, b[i] || null]);
    return out;
  }
  const n = a.length, m = b.length, best = Array.from({ length: n + 1 }, () => new Uint32Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let k = m - 1; k >= 0; k--) best[i][k] = key(a[i]) === key(b[k]) ? best[i + 1][k + 1] + 1 : Math.max(best[i + 1][k], best[i][k + 1]);
  let i = 0, k = 0;
  while (i < n || k < m) {
    if (i < n && k < m && key(a[i]) === key(b[k])) out.push([a[i++], b[k++]]);
    else if (k >= m || i < n && best[i + 1][k] >= best[i][k + 1]) out.push([a[i++], null]);
    else out.push([null, b[k++]]);
  }
  return out;
}

function viewAB(view, a, b) {
  if (!whole()) { reading(view); return; }
  const pair = [a, b].map((n) => ({ n, t: run.trials[n], data: run.trials[n] && block("t" + n) }));
  if (!pair[0].data || !pair[1].data) { lost(view); return; }
  const pick = (side) => {
    const other = side === 0 ? pair[1].n : pair[0].n;
    const list = run.trials.map((t, i) => i).filter((i) => i !== other && (run.trials.length <= 400 || run.trials[i].c === pair[0].t.c)).slice(0, 400);
    const s = chosen("Trial " + "AB"[side], list.map((i) => [String(i), (run.cases[run.trials[i].c] ? run.cases[run.trials[i].c].id + ": " : "") + run.trials[i].k]), (v) => { location.hash = (side === 0 ? abHref(+v, pair[1].n) : abHref(pair[0].n, +v)).slice(1); });
    s.value = String(pair[side].n);
    return s;
  };
  const same = pair[0].t.s === pair[1].t.s;
  const moved = pair[0].t.b !== pair[1].t.b;
  put(view, [
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Run"), "/", h("span", null, "two trials"), h("span", { class: "right" }, h("a", { href: abHref(b, a) }, "Swap A and B"))),
    h("h1", { class: "page", tabindex: "-1" }, same ? "Both chains are the same" : moved ? "The first break differs: " + pair.map((p) => p.t.b >= 0 ? LINK_TITLE[LINKS[p.t.b]] : "none").join(" in A, ") + " in B" : "The chains differ, the first break does not"),
    h("div", { class: "ab" }, pair.map((p, side) => h("div", null, h("p", { class: "lead" }, h("b", null, "AB"[side] + " "), pill(trialWord(p.t)), " ", h("a", { href: trialHref(p.n) }, bdi(p.t.k))), h("div", { class: "tools" }, pick(side)), chain(p.data.links, p.t.b), p.t.b >= 0 || p.data.why ? breakText(p.t, p.data, null)[0] : null))),
    abRows(pair), abCalls(pair),
  ]);
}

function abRows(pair) {
  const [a, b] = pair.map((p) => p.data.rows);
  if (!a.length && !b.length) return null;
  const tbody = h("tbody");
  const rows = rowsOf(tbody, ([x, y]) => {
    const differs = !x || !y || x.result !== y.result;
    const side = (r, name) => h("td", { class: differs ? "differs" : null, "data-h": name }, r ? [pill(r.result), r.result === "pass" ? null : h("span", { class: "sub" }, bdi(r.actual || r.reason || ""))] : h("span", { class: "soft" }, "not asked"));
    return h("tr", null, h("td", { class: "mono wide" }, bdi((x || y).name), (x || y).turn >= 0 ? " turn " + ((x || y).turn + 1) : ""), h("td", null, LINK_TITLE[(x || y).link]), side(x, "A"), side(y, "B"), h("td", null, differs ? badge("differs", "over") : ""));
  }, "row");
  rows.show(align(a, b, (r) => r.name + " " + r.turn));
  return h("section", { class: "part" }, h("h2", null, "Checks"), h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["check", "link", "A", "B", ""]), tbody), rows.box));
}

function abCalls(pair) {
  const [a, b] = pair.map((p) => sessionsOf(p.t).flatMap((s) => s.data ? s.data.calls : []));
  if (!a.length && !b.length) return null;
  const tbody = h("tbody");
  const text = (v) => v ? v.text : "";
  const rows = rowsOf(tbody, ([x, y]) => {
    const what = [];
    if (!x || !y) what.push(x ? "in A alone" : "in B alone");
    else {
      if (text(x.args) !== text(y.args)) what.push("arguments");
      if (x.state !== y.state) what.push("outcome");
      else if (text(x.result) !== text(y.result)) what.push("result");
    }
    const side = (c, name) => h("td", { class: what.length ? "differs" : null, "data-h": name }, c ? [h("span", { class: "pill " + (c.bad ? "bad" : c.state === "result" ? "result" : "inconclusive") }, CALL_WORD[c.state] || c.state), " ", h("span", { class: "soft" }, c.took !== undefined ? duration(c.took) : ""), h("code", { class: "sub" }, bdi(text(c.args).slice(0, 300)))] : h("span", { class: "soft" }, "not called"));
    return h("tr", null, h("td", { class: "mono wide" }, bdi((x || y).tool)), side(x, "A"), side(y, "B"), h("td", null, what.map((w) => [badge(w, "over"), " "])));
  }, "call");
  rows.show(align(a, b, (c) => c.tool));
  return h("section", { class: "part" }, h("h2", null, "Calls"), h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["tool", "A", "B", "differs in"]), tbody), rows.box));
}
