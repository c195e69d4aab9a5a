// One case with its trials; and the sessions of a recording without a suite.

function viewCase(view, n) {
  const c = run.cases[n];
  if (!c) { lost(view); return; }
  const at = breakMode(c);
  put(view, [
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Run"), "/", h("span", null, "case"),
      h("span", { class: "right" }, n > 0 ? h("a", { href: caseHref(n - 1) }, "← previous") : null, n + 1 < run.cases.length ? h("a", { href: caseHref(n + 1) }, "next →") : null)),
    h("h1", { class: "page", tabindex: "-1" }, pill(c.word), " ", bdi(c.title || c.id), " ", caseBadges(c)),
    h("p", { class: "lead" }, c.title ? [bdi(c.id), " · "] : null, reasonText(c.reason), c.where ? [" · ", h("span", { class: "mono" }, bdi(c.where))] : null),
    h("div", { class: "stats" },
      h("div", null, h("b", null, percent(c.stats.rate)), "pass rate, " + rateText(c.stats)),
      c.stats.rate !== null && c.stats.trials > 1 ? h("div", null, h("b", null, Math.round(c.stats.low * 100) + "–" + Math.round(c.stats.high * 100) + " %"), "95 % interval") : null,
      c.stats.stability !== null && c.stats.trials > 1 ? h("div", null, h("b", null, percent(c.stats.stability)), "stability: share of the more frequent verdict") : null,
      at >= 0 ? h("div", null, h("b", null, LINK_TITLE[LINKS[at]]), "where trials broke first, in " + c.breaks[at] + " of " + c.stats.trials) : null),
    h("section", { class: "part" }, h("h2", null, "What looks at each link"), cover(c.coverage),
      (c.notMeasurable || []).map((m) => h("p", { class: "lead" }, "Not measurable from a recording: ", bdi(m)))),
  ]);
  const list = [];
  for (let i = 0; i < c.stats.trials && c.first + i < run.trials.length; i++) list.push(c.first + i);
  if (list.length) trialTable(view, "Trials", list, false);
}

// cover says which links a check decides: what none decides is hatched, not green.
function cover(list) {
  const words = { decided: "decided", observed: "observed only", runnerOnly: "built-in check only", none: "not measured" };
  return h("ol", { class: "links" }, list.map((l) => h("li", { class: "link" },
    h("span", { class: "name" }, LINK_TITLE[l.link]),
    h("span", { class: "cover " + l.state, title: l.by.join(", ") }, words[l.state], l.by.length ? [": ", bdi(l.by.join(", "))] : null))));
}

function viewSessions(view) {
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (t, i) => {
    const x = run.sessions[t.x[0]];
    return h("tr", { class: "go" }, h("td", null, mini(t.s, t.b)),
      h("td", { class: "wide" }, h("a", { class: "row", href: trialHref(i) }, "session ", x.id), h("span", { class: "sub" }, bdi(t.h >= 0 ? run.hosts[t.h] : "a host that does not name itself"), " and ", bdi((t.v || [])[0] || "a server that does not name itself"))),
      h("td", { "data-h": "first break" }, t.b >= 0 ? LINK_TITLE[LINKS[t.b]] + ": " + reasonText(t.y) : ""),
      h("td", { class: "num", "data-h": "calls" }, count(t.n)), h("td", { class: "num", "data-h": "took" }, duration(t.ms)), h("td", { class: "num", "data-h": "at" }, when(t.t)));
  }, "session");
  rows.show(run.trials);
  rowKeys(tbody, "a.row");
  put(view, [
    h("section", { class: "part" }, h("h2", null, "Sessions"), run.trials.length ? h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["links", "session", "first break", "#calls", "#took", "#started (UTC)"]), tbody), rows.box) : h("p", { class: "soft" }, "The recording holds no message.")),
    h("section", { class: "part" }, h("h2", null, "Recording"), rest() ? rest().recordings.map((r) => facts(r.facts || [])) : h("p", { class: "soft" }, "…")),
  ]);
}

// reading stands where a view needs a part of the file that is not there yet.
function reading(view) { view.setAttribute("data-waits", ""); put(view, [h("p", { class: "soft" }, "Reading the rest of the file …")]); }

function lost(view) {
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "This report has no such page"), h("p", null, h("a", { href: "#/" }, "To the beginning"))]);
}
