// The matrix: cases against hosts, models, servers or any label, both ways round.

function groupings() {
  const labels = new Set();
  for (const t of run.trials) for (const k of Object.keys(t.l || {})) if (k !== "case" && k !== "trial") labels.add(k);
  const out = [];
  if (run.hosts.length) out.push(["host", "by host"]);
  if (run.trials.some((t) => t.m)) out.push(["model", "by model"]);
  if (run.trials.some((t) => t.v)) out.push(["server", "by server"]);
  for (const k of Array.from(labels).sort()) out.push(["label:" + k, "by label " + k]);
  return out;
}

function groupOf(t, by) {
  if (by === "host") return t.h >= 0 ? run.hosts[t.h] : "(not known)";
  if (by === "model") return t.m || "(not known)";
  if (by === "server") return (t.v || []).join(" + ") || "(not known)";
  return (t.l || {})[by.slice(6)] || "(none)";
}

const matrixState = { by: "", turned: false };

function viewMatrix(view) {
  const ways = groupings();
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "Matrix"), h("p", { class: "lead" }, "Each trial is a mark; below it how many passed, and the median of duration and tokens.")]);
  if (!ways.length) { put(view, [h("p", { class: "soft" }, "No trial says of which host, server or label it is: give the recordings, or record with --label.")]); return; }
  if (!ways.some((w) => w[0] === matrixState.by)) matrixState.by = ways[0][0];
  const box = h("div", { class: "tablebox" });
  const select = chosen("Group trials", ways, (v) => { matrixState.by = v; draw(); });
  select.value = matrixState.by;
  const turn = h("button", { type: "button", class: "act", "aria-pressed": String(matrixState.turned), onclick: () => { matrixState.turned = !matrixState.turned; turn.setAttribute("aria-pressed", String(matrixState.turned)); draw(); } }, "Swap rows and columns");
  put(view, [h("section", { class: "part" }, h("div", { class: "tools" }, select, turn), box)]);
  draw();

  function draw() {
    const groups = [], cells = new Map();
    run.trials.forEach((t, i) => {
      const g = groupOf(t, matrixState.by);
      if (!groups.includes(g) && groups.length < 60) groups.push(g);
      const key = t.c + " " + groups.indexOf(g);
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(i);
    });
    const cases = run.cases.map((c, i) => i).filter((i) => run.cases[i].stats.trials);
    const order = groups.map((g, i) => i).sort((a, b) => groups[a] < groups[b] ? -1 : groups[a] > groups[b] ? 1 : 0);
    const turned = matrixState.turned;
    const rowsList = turned ? order : cases, colsList = turned ? cases : order;
    const name = (isCase, i) => isCase ? h("a", { href: caseHref(i) }, bdi(run.cases[i].id)) : bdi(groups[i]);
    const tbody = h("tbody");
    const rows = rowsOf(tbody, (r) => h("tr", null, h("th", { scope: "row" }, name(!turned, r)), colsList.map((c) => cell(cells.get(turned ? c + " " + r : r + " " + c))), totals(r)), turned ? "group" : "case");
    const totals = (r) => cell([].concat(...colsList.map((c) => cells.get(turned ? c + " " + r : r + " " + c) || [])), true);
    clear(box).append(h("table", { class: "matrix" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, turned ? matrixState.by : "case"), colsList.slice(0, 60).map((c) => h("th", { scope: "col" }, name(turned, c))), h("th", { scope: "col" }, "together"))), tbody,
      h("tfoot", null, h("tr", null, h("th", { scope: "row" }, "together"), colsList.map((c) => cell([].concat(...rowsList.map((r) => cells.get(turned ? c + " " + r : r + " " + c) || [])), true)), h("td", null)))), rows.box);
    rows.show(rowsList);
  }
}

function cell(list, sum) {
  if (!list || !list.length) return h("td", { class: "cell hatch", title: "no trial" }, h("span", { class: "unseen" }, "no trial"));
  const words = list.map((i) => trialWord(run.trials[i]));
  const passed = words.filter((w) => w === "passed").length, failed = words.filter((w) => w === "failed").length;
  const took = median(list.map((i) => run.trials[i].ms).filter((ms) => ms));
  const tokens = median(list.map((i) => run.trials[i].u).filter((u) => u));
  const says = passed + " passed, " + failed + " failed, " + (list.length - passed - failed) + " undecided";
  return h("td", { class: "cell", title: says },
    sum ? null : h("span", { class: "dots", "aria-hidden": "true" }, list.slice(0, 40).map((i, k) => h("span", { class: words[k] === "passed" ? "p" : words[k] === "failed" ? "f" : "i" }, words[k] === "passed" ? "●" : words[k] === "failed" ? "✕" : "?")), list.length > 40 ? "…" : null),
    h("span", { class: "sub" }, passed + failed ? percent(passed / (passed + failed)) + " " : "", h("span", { class: "soft" }, passed + " of " + (passed + failed)), took ? " · " + duration(took) : "", tokens ? " · " + count(Math.round(tokens)) + " tokens" : "", h("span", { class: "unseen" }, says)));
}
