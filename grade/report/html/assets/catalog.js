// What servers listed, with advice on descriptions and schemas.

function viewCatalogs(view) {
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "Catalogs"), h("p", { class: "lead" }, "What servers listed, each catalog once. Advice gates nothing: checks of a suite do.")]);
  if (!whole()) { reading(view); return; }
  const catalogs = rest().catalogs;
  if (!catalogs.length) { put(view, [h("p", { class: "soft" }, rest().recordings.some((r) => r.facts) ? "No server listed its tools on the wire." : "This report was made without the recordings.")]); return; }
  const tbody = h("tbody");
  const rows = rowsOf(tbody, (c, i) => h("tr", { class: "go" }, h("td", { class: "wide" }, h("a", { class: "row", href: "#/catalog/" + i }, bdi(c.server))),
    h("td", { class: "rec" }, c.hash), h("td", null, c.state), h("td", { class: "num", "data-h": "tools" }, count(c.tools)), h("td", { class: "num", "data-h": "advice" }, count(c.lint)), h("td", { class: "num", "data-h": "sessions" }, count(c.uses))), "catalog");
  rows.show(catalogs);
  rowKeys(tbody, "a.row");
  put(view, [h("section", { class: "part" }, h("div", { class: "tablebox" }, h("table", { class: "cards" }, head(["server", "hash", "captured", "#tools", "#advice", "#sessions"]), tbody), rows.box))]);
}

function viewCatalog(view, n) {
  if (!whole()) { reading(view); return; }
  const index = rest().catalogs[n], data = index && block("c" + n);
  if (!data) { lost(view); return; }
  const list = h("div");
  const rows = rowsOf(list, (t) => h("article", { class: "tool" }, h("h3", null, bdi(t.name || "(no name)"), " ", (t.marks || []).map((m) => [badge(m), " "])),
    t.desc ? h("p", { class: "desc" }, bdi(t.desc)) : h("p", { class: "soft" }, "no description"),
    t.lint && t.lint.length ? h("ul", { class: "lint" }, t.lint.map((l) => h("li", null, bdi(l)))) : null,
    t.input || t.output ? h("details", { class: "fold" }, h("summary", null, t.output ? "Schemas" : "Input schema"), h("div", { class: "grid" }, code("Input schema", t.input), code("Output schema", t.output))) : null), "tool");
  const odd = data.tools.filter((t) => t.lint && t.lint.length).length;
  const bar = filterBar(["all", "with advice"], { all: data.tools.length, "with advice": odd }, "Search tools", null, (w, text) => {
    const some = data.tools.filter((t) => (w === "all" || t.lint && t.lint.length) && (!text || (t.name + " " + t.desc).toLowerCase().includes(text)));
    rows.show(some);
    bar.told.textContent = plural(some.length, "tool");
    say(bar.told.textContent);
  });
  bar.apply();
  put(view, [
    h("p", { class: "crumbs" }, h("a", { href: "#/catalog" }, "Catalogs"), "/", h("span", { class: "rec" }, index.hash)),
    h("h1", { class: "page", tabindex: "-1" }, bdi(index.server)),
    h("p", { class: "lead" }, plural(index.tools, "tool") + ", captured " + index.state + ", in " + plural(index.uses, "session") + (index.lint ? "; advice on " + count(index.lint) + (index.lint === 1 ? " point" : " points") : "")),
    data.lint && data.lint.length ? h("ul", { class: "lint" }, data.lint.map((l) => h("li", null, bdi(l)))) : null,
    h("section", { class: "part" }, bar.el, list, rows.box, data.more ? h("p", { class: "soft" }, plural(data.more, "tool") + " more are in the recording") : null),
  ]);
}
