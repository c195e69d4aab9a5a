// The matrix: cases against hosts, models, servers or any label, both ways round.

const matrixState = { by: run.by || "", turned: false };

function viewMatrix(view) {
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "Matrix"), h("p", { class: "lead" }, "Each mark is a trial; below them the pass rate, the median latency of calls, and tokens a trial.")]);
  const ways = run.matrices || [];
  if (!ways.length) { put(view, [h("p", { class: "soft" }, "No trial says of which host, server or label it is.")]); return; }
  if (!ways.some((m) => m.by === matrixState.by)) matrixState.by = ways[0].by;
  const box = h("div", { class: "tablebox" });
  const select = chosen("Group trials", ways.map((m) => [m.by, "by " + m.by.replace(/^label:/, "label ")]), (v) => { matrixState.by = v; draw(); });
  select.value = matrixState.by;
  const turn = h("button", { type: "button", class: "act", "aria-pressed": String(matrixState.turned), onclick: () => { matrixState.turned = !matrixState.turned; turn.setAttribute("aria-pressed", String(matrixState.turned)); draw(); } }, "Swap rows and columns");
  const told = h("p", { class: "lead" });
  put(view, [h("section", { class: "part" }, h("div", { class: "tools" }, select, turn), box, told)]);
  draw();

  function draw() {
    const m = ways.find((w) => w.by === matrixState.by);
    const caseName = (row) => h("a", { href: caseHref(row.case) }, bdi(run.cases[row.case].id));
    const groupName = (g) => [bdi(g.name), g.old ? [" ", badge("historical", "over", "no newer run has it")] : null];
    const tbody = h("tbody");
    const line = (name, cells, last) => h("tr", null, h("th", { scope: "row" }, name), cells.map((c) => cell(c)), last);
    let columns, rows;
    if (matrixState.turned) {
      columns = m.rows.map(caseName).concat(["together"]);
      rows = rowsOf(tbody, (g, i) => line(groupName(g), m.rows.map((r) => r.cells[i]), cell(g.all, true)), "group");
      rows.show(m.groups);
    } else {
      columns = m.groups.map(groupName);
      rows = rowsOf(tbody, (r) => line(caseName(r), r.cells, null), "case");
      rows.show(m.rows);
    }
    const foot = matrixState.turned ? null : h("tfoot", null, h("tr", null, h("th", { scope: "row" }, "together"), m.groups.map((g) => cell(g.all, true))));
    clear(box).append(h("table", { class: "matrix" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, matrixState.turned ? m.by : "case"), columns.map((c) => h("th", { scope: "col" }, c)))), tbody, foot), rows.box);
    told.textContent = m.mean !== null && m.groups.length > 1 ? "Mean of the groups' pass rates, each counting once: " + percent(m.mean) + "." : "";
  }
}

function cell(c, sum) {
  if (!c) return h("td", { class: "cell hatch", title: "no trial" }, h("span", { class: "unseen" }, "no trial"));
  const says = c.p + " passed, " + (c.e - c.p) + " failed, " + (c.n - c.e) + " undecided";
  const figures = [c.ms === undefined ? "" : duration(c.ms), c.u === undefined ? "" : count(Math.round(c.u)) + " tokens", sum && c.long ? "longest " + duration(c.long) : ""].filter((f) => f);
  return h("td", { class: "cell", title: says },
    sum ? null : h("span", { class: "dots", "aria-hidden": "true" }, Array.from(c.d).map((d) => h("span", { class: d }, d === "p" ? "●" : d === "f" ? "✕" : "?")), c.n > c.d.length ? "…" : null),
    h("span", { class: "sub" }, c.e ? percent(c.p / c.e) + " " : "", h("span", { class: "soft" }, c.p + " of " + c.e)),
    figures.length ? h("span", { class: "sub soft" }, figures.join(" · ")) : null, h("span", { class: "unseen" }, says));
}
