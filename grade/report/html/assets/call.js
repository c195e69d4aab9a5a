// One call in full.

function callDetail(call) {
  const c = call.c, d = call.s.data;
  // What the server wrote to stderr while the call was open, or shortly before and after.
  const around = (d.stderr || []).filter((l) => d.start + l.at >= call.from - 50 && d.start + l.at <= call.to + 50);
  return [
    c.schema && c.schema.length ? h("div", { class: "code bad" }, h("h4", null, "The arguments do not fit the tool's own schema"), h("ul", { class: "lint" }, c.schema.map((v) => h("li", null, bdi(v))))) : null,
    c.error ? h("div", { class: "code bad" }, h("h4", null, CALL_WORD[c.state] || c.state), h("pre", { tabindex: "0", "aria-label": "Error" }, c.error)) : null,
    h("div", { class: "grid" },
      code("Arguments", c.args || { text: "none were sent" }),
      code("Result", c.result || { text: c.open ? "no answer" : "no result" }, c.bad ? "bad" : "")),
    around.length ? code("stderr while it was open, and 50 ms around", { text: around.slice(0, 40).map((l) => offset(d.start + l.at - call.from) + "  " + l.text).join("\n") }) : null,
    h("dl", { class: "rest" },
      h("dt", null, "records"), h("dd", { class: "rec" }, c.records.map((r, i) => [i ? ", " : "", r.k + " (" + r.v + ")"])),
      c.waited ? [h("dt", null, "waited"), h("dd", null, duration(c.waited) + " for the host, not counted in what it took")] : null,
      (c.notes || []).map((n) => [h("dt", null, "note"), h("dd", null, bdi(n))])),
  ];
}

function offset(ms) { return (ms < 0 ? "−" : "+") + duration(Math.abs(ms)); }
