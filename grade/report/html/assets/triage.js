// Likely causes of what failed or is weak, each with a prompt to copy (docs/triage.md).

function viewTriage(view) {
  put(view, [h("h1", { class: "page", tabindex: "-1" }, "Triage"),
    h("p", { class: "lead" }, "Likely causes of what failed or is weak, by fixed rules, the likeliest first. A cause shows at one link and often comes from another.")]);
  if (!whole()) { reading(view); return; }
  const data = block("triage");
  if (!data || !data.spots.length) put(view, [h("p", { class: "soft" }, "Nothing failed, and nothing weak was seen.")]);
  if (!data) return;
  const list = h("div");
  const rows = rowsOf(list, (s) => spotPart(s, data), "spot");
  rows.show(data.spots);
  put(view, [list, rows.box, data.more ? h("p", { class: "soft" }, plural(data.more, "spot") + " more are not looked at") : null,
    data.not.map((t) => h("p", { class: "soft" }, "Not looked at: ", bdi(t)))]);
}

function spotPart(s, data) {
  const at = run.cases.findIndex((c) => c.id === s.case);
  const where = s.case ? [at >= 0 ? h("a", { href: caseHref(at) }, bdi(s.case)) : bdi(s.case), s.link ? ": " + LINK_TITLE[s.link] : null]
    : [bdi(s.tool), " of ", bdi(s.server), ": " + LINK_TITLE[s.link]];
  return h("section", { class: "part" },
    h("h2", null, s.bad ? pill("failed") : badge("weak", "over", s.case ? "no gating check of a failed trial" : "no check looks at it"), " ", where),
    h("p", { class: "lead" }, s.case ? [reasonText(s.what), " · " + s.n + " of " + plural(s.of, "trial"), s.text ? [" · ", bdi(s.text)] : null] : "No check looks at it."),
    s.likely.map((l) => likelyPart(l, data)),
    s.more ? h("p", { class: "soft" }, plural(s.more, "more cause") + ": sixlink triage --top tells them") : null);
}

function likelyPart(l, data) {
  const c = data.causes[l.c];
  return h("article", { class: "tool" }, h("h3", null, c.title, " ", badge(l.l, l.l === "likely" ? "warn" : "")),
    h("p", { class: "soft" }, h("code", null, c.id), l.from ? " · comes from " + LINK_TITLE[l.from] : null, l.r ? " · record " + l.r : null),
    h("ul", { class: "lint" }, l.e.map((e) => h("li", null, bdi(e)))),
    (l.tools || []).map((t) => h("p", { class: "desc" }, h("code", null, bdi(t.name)), t.of ? [" of ", bdi(t.of)] : null, t.seen ? [": ", t.desc ? bdi(t.desc) : "no description"] : null)),
    h("p", null, c.fix),
    (l.tools || []).some((t) => t.in) ? h("details", { class: "fold" }, h("summary", null, "Input schemas"), h("div", { class: "grid" }, l.tools.filter((t) => t.in).map((t) => h("div", null, l.tools.length > 1 ? h("p", { class: "soft" }, bdi(t.name)) : null, code("Input schema", t.in))))) : null,
    l.p >= 0 ? promptPart(data.prompts[l.p]) : null);
}

function promptPart(text) {
  const pre = h("pre", { tabindex: "0", "aria-label": "Prompt for a coding agent" }, text);
  const button = h("button", { type: "button", class: "act", onclick: () => copy(pre, text, button) }, "Copy prompt");
  return [h("p", null, button), h("details", { class: "fold" }, h("summary", null, "Prompt for a coding agent"), h("div", { class: "code" }, pre))];
}

// copy puts a text where it can be pasted from. Where the browser does not let a file do
// that, the text is shown and marked, so that two keys are enough.
function copy(pre, text, button) {
  const done = (word) => { button.textContent = word; say(word); };
  const byHand = () => {
    const fold = pre.closest("details");
    if (fold) fold.open = true;
    getSelection().selectAllChildren(pre);
    let ok = false;
    try { ok = document.execCommand("copy"); } catch (e) { ok = false; }
    done(ok ? "Copied" : "Marked: copy it by the keyboard");
  };
  if (navigator.clipboard && navigator.clipboard.writeText) navigator.clipboard.writeText(text).then(() => done("Copied"), byHand);
  else byHand();
}
