// One trial: its chain, its rows, what was expected beside what happened, its timeline.

// sessionsOf are a trial's sessions with their blocks, where they are in this file.
function sessionsOf(t) {
  return t.x.map((n) => ({ n, index: run.sessions[n], data: block("s" + n) }));
}

function trialName(t) { return t.k; }

// headline says in one sentence how a trial went, and where it stopped being good.
function headline(t, data) {
  if (t.b >= 0) {
    const l = data.links[t.b];
    return ["Broke first at ", h("b", null, LINK_TITLE[l.link]), ": " + reasonText(l.reason)];
  }
  const measured = data.links.filter((l) => l.state === "passed").length;
  if (run.mode === "recording") return measured === 6 ? "All six links passed" : "Nothing broke; " + measured + " of 6 links were measured and passed";
  if (t.w === "passed") return measured === 6 ? "All six links passed" : "Passed; " + measured + " of 6 links were measured";
  if (t.w === "failed") return "Failed, and no link is to blame" + (t.y ? ": " + reasonText(t.y) : "");
  return "Could not be decided" + (data.why ? ": " + data.why : "");
}

function viewTrial(view, n) {
  const t = run.trials[n], data = t && block("t" + n);
  if (t && !whole()) { reading(view); return; }
  if (!data) { lost(view); return; }
  const sessions = sessionsOf(t);
  const line = timeline(sessions, t);
  const open = {
    several: sessions.length > 1,
    has: (of, seq) => line && line.find(of, seq) >= 0,
    go: (of, seq) => line.open(line.find(of, seq)),
    name: (of) => ((data.parts || []).find((p) => p.x >= 0 && run.sessions[p.x].r === of) || { server: run.recordings[of].id }).server,
  };
  const c = run.cases[t.c];
  const talks = sessions.filter((s) => s.data && s.data.talk);
  const body = [
    breakText(t, data, open),
    c || data.rows.length || data.runner.length ? rowsPart(data, open, c) : null,
    line ? line.el : h("section", { class: "part" }, h("h2", null, "Timeline"), noRecording(sessions)),
  ];
  put(view, [
    run.mode === "recording" && run.trials.length === 1 ? null : h("p", { class: "crumbs" }, h("a", { href: "#/" }, run.mode === "recording" ? "Recording" : "Run"), "/",
      c ? [h("a", { href: caseHref(t.c) }, bdi(c.id)), "/"] : null, h("span", null, run.mode === "recording" ? "session " + sessions[0].index.id : "trial"),
      h("span", { class: "right" }, run.trials.length > 1 ? abButton(n) : null, n > 0 ? h("a", { href: trialHref(n - 1) }, "← previous") : null, n + 1 < run.trials.length ? h("a", { href: trialHref(n + 1) }, "next →") : null)),
    h("h1", { class: "page", tabindex: "-1" }, run.mode === "recording" ? null : [pill(trialWord(t)), " "], headline(t, data), " ", c ? caseBadges(c).slice(0, (c.overridden || []).length ? 1 : 0) : null),
    h("p", { class: "lead" }, bdi(trialName(t)), t.h >= 0 ? [" · ", bdi(run.hosts[t.h])] : null, t.t ? " · " + when(t.t) + " UTC · " + duration(t.ms) : null, " · " + plural(t.n, "call"), t.m ? [" · ", bdi(t.m)] : null, t.u ? " · " + count(t.u) + " tokens" : null,
      data.category ? [" · kind of defect: " + (CATEGORY_WORD[data.category] || data.category)] : null, Object.keys(t.l || {}).map((k) => [" ", badge(k + "=" + t.l[k])])),
    chain(data.links, t.b),
    talks.length ? h("div", { class: "cols two" }, h("div", null, body), h("aside", { "aria-label": "Conversation" }, talks.map((s) => talkView(s, sessions.indexOf(s), line)))) : body,
    sessions.map((s) => sessionPart(s, open.several ? open.name(s.index.r) : "")),
    rest().cut ? h("p", { class: "foot" }, "Some arguments, results and texts were left out to keep this file small; their sizes are shown. The recordings have them.") : null,
    (data.parts || []).filter((p) => p.lost).map((p) => h("p", { class: "lead" }, "Server ", bdi(p.server), ": ", bdi(p.lost))),
  ]);
}

function noRecording(sessions) {
  const why = sessions.map((s) => rest().recordings[s.index.r].error).find((e) => e);
  return h("p", { class: "soft" }, why ? ["The recording could not be read: ", bdi(why)] : "This report was made without the recording: calls, arguments and results are not in it.");
}

// breakText is the first break in full, and below it what each link rests on.
function breakText(t, data, open) {
  const out = [];
  if (t.b >= 0) {
    const l = data.links[t.b];
    out.push(h("p", { class: "breaktext" }, bdi(l.text || reasonText(l.reason)), l.same ? " (the same call as record " + l.same + ")" : null, l.records ? [" · ", records(l.records, open)] : null));
  } else if (data.why) out.push(h("p", { class: "breaktext inconclusive" }, bdi(data.why)));
  out.push(h("details", { class: "fold" }, h("summary", null, "What each link rests on"), h("div", null, h("dl", { class: "rest" }, data.links.map((l, i) => [
    h("dt", null, LINK_TITLE[l.link]),
    h("dd", null, h("b", null, STATE_WORD[l.state]), i === t.b ? [" ", badge("first break", "warn")] : null, " – " + reasonText(l.reason), l.text ? [". ", bdi(l.text)] : null, l.same ? " (the same call as record " + l.same + ")" : null, l.records ? [" · ", records(l.records, open)] : null)])))));
  return out;
}

// rowsPart lists the checks: those that did not pass first to be seen, the built-in ones
// below, which gate nothing.
function rowsPart(data, open, c) {
  const odd = (r) => r.result !== "pass";
  const all = data.rows.filter(odd).concat(data.rows.filter((r) => !odd(r))).map((r) => ({ r })).concat(data.runner.map((b) => ({ b })));
  const word = (x) => x.r ? x.r.result : { passed: "pass", failed: "fail", undecided: "undecided" }[x.b.state];
  const counts = { all: all.length };
  for (const x of all) counts[word(x)] = (counts[word(x)] || 0) + 1;
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (x) => x.r ? checkRow(x.r, open) : builtInRow(x.b), "row");
  const bar = filterBar(["all", "fail", "error", "undecided", "pass"], counts, "Search checks", null, (w, text) => {
    rows.show(all.filter((x) => (w === "all" || word(x) === w) && (!text || JSON.stringify(x).toLowerCase().includes(text))));
  });
  bar.apply();
  const diffs = data.rows.filter((r) => r.diff && r.diff.length);
  return [
    diffs.length ? h("section", { class: "part" }, h("h2", null, "Calls, expected and made"), diffs.map((r) => differences(r, open))) : null,
    h("section", { class: "part" }, h("h2", null, run.mode === "recording" ? "What the wire decides by itself" : "Checks"), bar.el,
      h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["outcome", "check", "link", "expected", "actual", "why"]), tbody), rows.box),
      data.moreRows ? h("p", { class: "lead" }, plural(data.moreRows, "row") + " more are in the JSON verdict.") : null,
      c && c.overridden && c.overridden.length ? h("p", { class: "lead" }, badge("override", "over"), " Set for this run alone: " + c.overridden.map((o) => OVERRIDE_WORD[o] || o).join(", ") + ".") : null),
  ];
}

function checkRow(r, open) {
  return h("tr", null, h("td", null, pill(r.result)),
    h("td", { class: "nw" }, h("span", { class: "mono" }, bdi(r.name)), " ", r.role === "gating" ? null : badge(r.role, "", "gates nothing"), r.warn ? [" ", badge("warn", "over", "a failure is told and gates nothing")] : null, r.scorer ? [" ", badge("scorer", "", "compares the case's expected calls with those that were made")] : null, r.turn >= 0 ? h("span", { class: "sub" }, "turn " + (r.turn + 1)) : null),
    h("td", { class: "nw" }, LINK_TITLE[r.link]), h("td", { class: "text", "data-h": "expected" }, bdi(r.expected || "")), h("td", { class: "text", "data-h": "actual" }, bdi(r.actual || ""), r.actual && r.records ? " " : null, records(r.records, open)),
    h("td", { class: "wide text" }, r.result === "pass" ? h("span", { class: "soft" }, bdi(r.reason || "")) : bdi(r.reason || "")));
}

function builtInRow(b) {
  const word = { passed: "pass", failed: "fail", undecided: "undecided" }[b.state];
  return h("tr", null, h("td", null, pill(word)), h("td", { class: "nw" }, h("span", { class: "mono" }, b.id), " ", badge("built-in", "", "the analyzer's own: it restates a link, gates nothing and covers nothing")),
    h("td", { class: "nw" }, LINK_TITLE[b.link]), h("td", { class: "text", "data-h": "expected" }, bdi(b.expected || "")), h("td", { class: "text", "data-h": "actual", colspan: "2" }, bdi(b.actual || "")));
}

// differences are the categorized difference of one scorer, expected beside actual.
function differences(r, open) {
  const order = ["missing", "outOfOrder", "arguments", "extra"];
  const cell = (text, none) => h("div", null, text ? bdi(text) : h("span", { class: "none" }, none));
  return h("div", { class: "pair", role: "group", "aria-label": r.name }, h("div", { class: "h" }, "Expected"), h("div", { class: "h" }, "Actual"),
    order.map((cls) => {
      const list = r.diff.filter((d) => d.class === cls);
      if (!list.length) return null;
      return [h("div", { class: "cls" }, CLASS_WORD[cls] + " (" + list.length + ")"), list.map((d) => {
        const name = h("code", null, bdi(d.tool)), at = [d.turn >= 0 ? " turn " + (d.turn + 1) : "", d.allowed ? [" ", badge("allowed")] : null];
        const wanted = h("div", null, cls === "extra" ? h("span", { class: "none" }, "no such call") : [name, at, d.expected ? [h("br"), bdi(d.expected)] : null]);
        const made = cls === "missing" ? cell("", "not called") : h("div", null, h("code", null, bdi(d.tool)), cls === "extra" ? at : null, d.records ? [" ", records(d.records, open)] : null, d.actual ? [h("br"), bdi(d.actual)] : null);
        return [wanted, made];
      })];
    }), r.moreDiff ? h("div", { class: "cls" }, count(r.moreDiff) + " more") : null);
}

// sessionPart is what is known of one session: who spoke, how completely it was captured,
// what is remarkable.
function sessionPart(s, name) {
  const d = s.data, r = rest().recordings[s.index.r];
  if (!d) return null;
  return h("section", { class: "part" }, h("h2", null, "Session ", s.index.id, name ? [" of ", bdi(name)] : null),
    h("div", { class: "cols" }, facts(d.facts)),
    d.cat ? h("p", { class: "lead" }, h("a", { href: "#/catalog/" + (d.cat - 1) }, "Its catalog: " + plural(rest().catalogs[d.cat - 1].tools, "tool"))) : null,
    h("details", { class: "fold" }, h("summary", null, "How completely it was captured"), h("div", null, facts(d.capture))),
    d.remarks && d.remarks.length ? h("details", { class: "fold" }, h("summary", null, plural(d.remarks.length + (d.moreRemarks || 0), "remark")), h("div", null, h("dl", { class: "rest" }, d.remarks.map((m) => [h("dt", null, m.seq ? "record " + m.seq : "session"), h("dd", null, h("code", null, m.flag), " ", bdi(m.text || ""))])), d.moreRemarks ? h("p", { class: "soft" }, count(d.moreRemarks) + " more") : null)) : null,
    d.stderr && d.stderr.length ? h("details", { class: "fold" }, h("summary", null, "stderr: " + plural(d.stderr.length, "line") + (d.stderrMore ? " and more" : "")), h("div", null, code("stderr", { text: d.stderr.map((l) => l.text).join("\n") }))) : null,
    r.facts ? h("details", { class: "fold" }, h("summary", null, "The recording"), h("div", null, facts(r.facts))) : null);
}
