// The conversation beside the calls.

function talkView(s, at, line) {
  const talk = s.data.talk;
  const list = h("div");
  const rows = rowsOf(list, (t, i) => h("div", { class: "turn", id: "turn" + at + "-" + i },
    h("span", { class: "who" }, "Turn " + (i + 1) + (t.status && t.status !== "complete" ? ", " + t.status : "") + (t.tokens ? " · tokens: " + t.tokens : "")),
    t.prompts.length ? t.prompts.map((p) => said("user", p)) : h("p", { class: "soft" }, "the prompt is not on record"),
    t.calls.length ? h("ul", null, t.calls.map((c) => h("li", { class: "called" }, "→ ", c.call >= 0 && line ? h("a", { href: "#call", onclick: (e) => { e.preventDefault(); line.open(line.at(at, c.call)); } }, h("code", null, bdi(c.tool))) : h("code", null, bdi(c.tool)), c.note ? h("span", { class: "soft" }, " ", bdi(c.note)) : null))) : null,
    t.error ? h("p", { class: "breaktext inconclusive" }, bdi(t.error)) : null,
    t.final ? [h("span", { class: "who" }, "answer"), said("", t.final)] : h("p", { class: "soft" }, t.state === "empty" ? "the last answer was empty" : t.state === "widget" ? "a widget showed the answer" : "no answer is on record")), "turn");
  rows.show(talk.turns);
  return h("section", { class: "part" }, h("h2", null, "Conversation"), h("div", { class: "talk" },
    h("header", null, bdi(talk.host || "a host"), talk.state ? [" · ", badge(talk.state)] : null, facts(talk.facts)), list, rows.box,
    talk.more ? h("p", { class: "empty" }, plural(talk.more, "turn") + " more") : null));
}

function said(cls, text) {
  return h("p", { class: "text " + cls }, bdi(text.text || ""), text.size ? h("span", { class: "soft" }, " … " + bytes(text.size) + " in all") : null);
}
