// The run: its cases, its executions, what was skipped, and runs before it.

function caseHref(i) { return "#/case/" + i; }
function trialHref(i) { return "#/trial/" + i; }

function caseBadges(c) {
  const out = [];
  if (c.overridden && c.overridden.length) {
    out.push(badge("override", "over", "set for this run alone, over the suite: " + c.overridden.map((o) => OVERRIDE_WORD[o] || o).join(", ")));
  }
  if (!c.counted) out.push(badge("not counted", "", "not part of the run's verdict"));
  if (c.canFail === "vacuous") out.push(badge("idle host passes", "over", "a host that calls nothing and says nothing passes this case"));
  return out;
}

function breakMode(c) {
  let at = -1;
  c.breaks.forEach((n, i) => { if (n > 0 && (at < 0 || n > c.breaks[at])) at = i; });
  return at;
}

// worstStates are the worst state of each link over a case's trials.
function worstStates(c) {
  const order = "frmpa";
  const worst = ["", "", "", "", "", ""];
  for (let n = 0; n < c.stats.trials; n++) {
    const t = run.trials[c.first + n];
    if (!t) break;
    for (let i = 0; i < 6; i++) if (worst[i] === "" || order.indexOf(t.s[i]) < order.indexOf(worst[i])) worst[i] = t.s[i];
  }
  return worst.join("");
}

function viewRun(view) {
  if (run.mode === "recording") { viewSessions(view); return; }
  const counts = { all: run.cases.length };
  for (const c of run.cases) counts[c.word] = (counts[c.word] || 0) + 1;
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (i) => {
    const c = run.cases[i], at = breakMode(c);
    return h("tr", { class: "go" },
      h("td", null, pill(c.word)),
      h("td", { class: "wide" }, h("a", { class: "row", href: caseHref(i) }, bdi(c.id)), " ", caseBadges(c), c.title ? h("span", { class: "sub" }, bdi(c.title)) : null),
      h("td", null, c.stats.trials ? mini(worstStates(c), at) : h("span", { class: "soft" }, "no trial")),
      h("td", { "data-h": "first break" }, at < 0 ? "" : [LINK_TITLE[LINKS[at]], c.stats.trials > 1 ? h("span", { class: "soft" }, " in " + c.breaks[at] + " of " + c.stats.trials) : null]),
      h("td", { class: "num", "data-h": "passed" }, rateBar(c.stats), rateText(c.stats)),
      h("td", { class: "num", "data-h": "95 %" }, c.stats.rate === null || c.stats.trials < 2 ? "" : Math.round(c.stats.low * 100) + "–" + Math.round(c.stats.high * 100) + " %"));
  }, "case");
  // What failed is what one came for; within a verdict the suite's order holds.
  const failedFirst = ["failed", "inconclusive", "passed"].flatMap((w) => run.cases.map((c, i) => i).filter((i) => run.cases[i].word === w));
  let link = "";
  const bar = filterBar(["all", "failed", "inconclusive", "passed"], counts, "Search cases", chosen("First break at", [["", "first break: any"]].concat(LINKS.map((l, i) => [String(i), "first break: " + LINK_TITLE[l]])), (v) => { link = v; bar.apply(); }), (word, text) => {
    const list = failedFirst.filter((i) => {
      const c = run.cases[i];
      return (word === "all" || c.word === word) && (link === "" || c.breaks[+link] > 0) && (!text || (c.id + " " + (c.title || "")).toLowerCase().includes(text));
    });
    rows.show(list);
    bar.told.textContent = list.length === run.cases.length ? plural(list.length, "case") : plural(list.length, "case") + " of " + run.cases.length;
    say(bar.told.textContent);
  });
  bar.apply();
  rowKeys(tbody, "a.row");
  put(view, [
    h("section", { class: "part", "aria-labelledby": "cases" }, h("h2", { id: "cases" }, "Cases"), bar.el,
      h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["verdict", "case", "links, worst of all trials", "first break", "#passed", "#95 %"]), tbody), rows.box)),
    earlier(), skipped(),
  ]);
}

// earlier shows the accuracy of the runs before this one beside it.
function earlier() {
  if (!run.earlier.length) return null;
  let passed = 0, failed = 0, erred = 0;
  for (const c of run.cases) if (c.counted) { passed += c.stats.passed; failed += c.stats.failed; erred += c.stats.errored; }
  const all = run.earlier.concat([{ name: "this run", passed, eligible: passed + failed, trials: passed + failed + erred, same: true }]);
  return h("section", { class: "part" }, h("h2", null, "Accuracy, with the runs before"),
    h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["run", "accuracy", "#passed", "#failed", "#undecided"]), h("tbody", null, all.map((r) => {
      const share = r.eligible ? r.passed / r.eligible : null;
      return h("tr", null, h("td", { class: "wide" }, bdi(r.name), r.same ? null : [" ", badge("other suite", "over", "its suite was another one: compare with care")]),
        h("td", null, share === null ? "–" : [h("span", { class: "bar-rate", "aria-hidden": "true" }, h("i", { css: { width: share * 100 + "%" } })), percent(share)]),
        h("td", { class: "num", "data-h": "passed" }, count(r.passed)), h("td", { class: "num", "data-h": "failed" }, count(r.eligible - r.passed)), h("td", { class: "num", "data-h": "undecided" }, count(r.trials - r.eligible)));
    })))));
}

function skipped() {
  if (!run.skipped.length) return null;
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (s) => h("tr", null, h("td", { class: "wide" }, bdi(s.recording), " ", s.session || ""), h("td", null, s.why), h("td", { class: "wide soft" }, bdi(s.detail || ""))), "session");
  rows.show(run.skipped);
  return h("section", { class: "part" }, h("h2", null, "Skipped: no trial"), h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["recording, session", "why", "detail"]), tbody), rows.box));
}

// trialCells are the cells of a trial in any list.
function trialCells(i, withCase) {
  const t = run.trials[i];
  return [
    h("td", null, pill(trialWord(t))),
    h("td", { class: "wide" }, h("a", { class: "row", href: trialHref(i) }, bdi(t.k)), withCase && run.cases[t.c] ? h("span", { class: "sub" }, bdi(run.cases[t.c].id)) : null),
    h("td", null, mini(t.s, t.b)),
    h("td", { "data-h": "why" }, t.b >= 0 ? LINK_TITLE[LINKS[t.b]] + ": " + reasonText(t.y) : reasonText(t.y || "")),
    h("td", { "data-h": "host" }, t.h >= 0 ? bdi(run.hosts[t.h]) : "", t.m ? h("span", { class: "sub" }, bdi(t.m)) : null),
    h("td", { class: "num", "data-h": "calls" }, count(t.n)),
    h("td", { class: "num", "data-h": "took" }, t.ms ? duration(t.ms) : ""),
    h("td", { class: "num", "data-h": "at" }, when(t.t)),
    h("td", null, run.trials.length > 1 ? abBox(i) : ""),
  ];
}

const TRIAL_HEAD = ["verdict", "trial", "links", "first break, or why", "host", "#calls", "#took", "#started (UTC)", "A/B"];

function trialTable(view, title, list, withCase) {
  const counts = { all: list.length };
  for (const i of list) { const w = trialWord(run.trials[i]); counts[w] = (counts[w] || 0) + 1; }
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (i) => h("tr", { class: "go" }, trialCells(i, withCase)), "trial");
  let link = "";
  const extra = chosen("First break at", [["", "first break: any"]].concat(LINKS.map((l, i) => [String(i), "first break: " + LINK_TITLE[l]])), (v) => { link = v; bar.apply(); });
  const bar = filterBar(["all", "failed", "inconclusive", "cancelled", "passed"], counts, "Search trials", extra, (word, text) => {
    const some = list.filter((i) => {
      const t = run.trials[i];
      if (word !== "all" && trialWord(t) !== word || link !== "" && t.b !== +link) return false;
      return !text || (t.k + " " + (run.cases[t.c] ? run.cases[t.c].id : "") + " " + (t.h >= 0 ? run.hosts[t.h] : "") + " " + (t.m || "") + " " + (t.v || []).join(" ") + " " + (t.y || "") + " " + Object.entries(t.l || {}).map((e) => e.join("=")).join(" ")).toLowerCase().includes(text);
    });
    rows.show(some);
    bar.told.textContent = some.length === list.length ? plural(some.length, "trial") : plural(some.length, "trial") + " of " + count(list.length);
    say(bar.told.textContent);
  });
  bar.apply();
  rowKeys(tbody, "a.row");
  put(view, [h("section", { class: "part" }, h("h2", null, title), bar.el, h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(TRIAL_HEAD), tbody), rows.box))]);
}

function viewExecutions(view) {
  const timed = run.trials.some((t) => t.t);
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "Executions"),
    h("p", { class: "lead" }, timed ? "Every trial, the newest first." : "Every trial, in the order of the verdict: the verdict does not say when they ran.")]);
  const list = run.trials.map((t, i) => i);
  if (timed) list.sort((a, b) => (run.trials[b].t || "").localeCompare(run.trials[a].t || "") || a - b);
  trialTable(view, "All trials", list, true);
}
