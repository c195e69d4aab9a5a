// The timeline as a waterfall: a strip with calls in parallel lanes, and below it a row a
// call. Long times in which nothing was open are folded, else calls of milliseconds
// between turns of minutes could not be seen.

const MAX_BARS = 1500; // bars drawn in the strip
const MAX_LANES = 12;

// axis maps a time to a share of the width, idle times folded.
function axis(list, first, last) {
  const busy = [];
  for (const c of list.slice().sort((a, b) => a.from - b.from)) {
    const end = busy.length ? busy[busy.length - 1] : null;
    if (end && c.from <= end[1]) end[1] = Math.max(end[1], c.to);
    else busy.push([c.from, c.to]);
  }
  const work = busy.reduce((n, b) => n + b[1] - b[0], 0);
  const limit = Math.max(1, work * 0.5);
  const folds = [];
  let at = first;
  for (const [from, to] of busy.concat([[last, last]])) {
    if (from - at > limit) folds.push([at, from]);
    at = Math.max(at, to);
  }
  const folded = folds.reduce((n, f) => n + f[1] - f[0], 0);
  const width = folds.length ? Math.min(0.04, 0.36 / folds.length) : 0;
  const scale = (1 - width * folds.length) / Math.max(0.001, last - first - folded);
  const place = (t) => {
    let x = 0, from = first;
    for (const f of folds) {
      if (t <= f[0]) break;
      x += (f[0] - from) * scale;
      if (t < f[1]) return x + width * (t - f[0]) / (f[1] - f[0]);
      x += width;
      from = f[1];
    }
    return Math.min(1, Math.max(0, x + (t - from) * scale));
  };
  return { place, folds, scale, first, last };
}

// timeline makes the part of a trial with its calls; null when no session is at hand.
function timeline(sessions, t) {
  const here = sessions.filter((s) => s.data);
  if (!here.length) return null;
  const calls = [];
  let first = Infinity, last = -Infinity, more = 0;
  sessions.forEach((s, at) => {
    if (!s.data) return;
    first = Math.min(first, s.data.start + s.data.first);
    last = Math.max(last, s.data.start + s.data.last);
    more += s.data.moreCalls || 0;
    s.data.calls.forEach((c, k) => {
      const from = s.data.start + c.at;
      const to = c.took !== undefined ? from + c.took + (c.waited || 0) : c.open ? s.data.start + s.data.last : from;
      calls.push({ c, at, k, from, to: Math.max(from, to), s });
      last = Math.max(last, to);
    });
  });
  if (here.length > 1) calls.sort((a, b) => a.from - b.from || a.at - b.at || a.k - b.k);
  const x = axis(calls, first, last);
  const several = sessions.length > 1;
  const tbody = h("tbody");
  const buttons = new Map();
  const items = [];
  let turn = -1;
  calls.forEach((call, i) => {
    if (call.c.turn && call.c.turn !== turn) { turn = call.c.turn; items.push({ turn, s: call.s }); }
    call.row = items.length;
    items.push({ call, i });
  });
  const columns = several ? 6 : 5;
  const rows = rowsOf(tbody, (item) => item.call ? callRow(item.call, item.i) : h("tr", { class: "turnrow" }, h("td", { colspan: String(columns) }, "Turn " + item.turn, promptOf(item.s, item.turn))), "call");

  function callRow(call, i) {
    const c = call.c;
    const detail = h("tr", { class: "detail", hidden: true });
    const button = h("button", { type: "button", class: "call", "aria-expanded": "false", onclick: () => toggle() }, h("span", { class: "mono" }, bdi(c.tool || "(no name)")));
    const row = h("tr", null,
      h("td", { class: "wide" }, button, c.schema && c.schema.length ? [" ", badge("schema", "warn", "its arguments do not fit the tool's own schema")] : null),
      several ? h("td", null, bdi(call.s.data.server || "")) : null,
      h("td", { class: "num" }, "+" + fine(call.from - first, last - first)),
      h("td", null, h("span", { class: "pill " + (c.bad ? "bad" : c.state === "result" ? "result" : "inconclusive") }, h("span", { class: "mark", "aria-hidden": "true" }, c.bad ? "✕" : c.state === "result" ? "✓" : "?"), CALL_WORD[c.state] || c.state)),
      h("td", { class: "num" }, c.took !== undefined ? duration(c.took) : "no answer"),
      h("td", { class: "wide" }, track(call, x)));
    function toggle(on) {
      const show = on === undefined ? detail.hidden : on;
      if (show && !detail.firstChild) detail.append(h("td", { colspan: String(columns) }, callDetail(call)));
      detail.hidden = !show;
      row.classList.toggle("open", show);
      button.setAttribute("aria-expanded", String(show));
    }
    buttons.set(i, { button, toggle });
    return [row, detail];
  }

  const part = h("section", { class: "part", "aria-labelledby": "calls" }, h("h2", { id: "calls" }, "Timeline: " + plural(t.n, "call")));
  if (!calls.length) put(part, [h("p", { class: "soft" }, "No tool was called.")]);
  else {
    const api = { open };
    put(part, [strip(calls, x, here, api),
      callFilter(items, rows),
      h("div", { class: "tablebox" }, h("table", { class: "fall cards" }, head(["tool", several ? "server" : null, "#at", "outcome", "#took", "waterfall"].filter((n) => n)), tbody), rows.box),
      more ? h("p", { class: "lead" }, plural(more, "call") + " more are in the recording.") : null,
      x.folds.length ? h("p", { class: "lead" }, "Folded: " + duration(x.folds.reduce((n, f) => n + f[1] - f[0], 0)) + " in which nothing was open" + (x.folds.length > 1 ? ", " + x.folds.length + " times" : "") + ".") : null]);
    rowKeys(tbody, "button.call");
  }

  // open shows a call in full, whatever the list was filtered to.
  function open(i) {
    if (!calls[i]) return;
    if (!buttons.has(i) || !buttons.get(i).button.isConnected) { rows.show(items); rows.upTo(calls[i].row); }
    const b = buttons.get(i);
    b.toggle(true);
    b.button.focus();
    b.button.scrollIntoView({ block: "center" });
  }
  return {
    el: part, open,
    // find is the place of the call of a session that a record belongs to.
    find: (of, seq) => calls.findIndex((k) => k.s.index.r === of && k.c.records.some((r) => +r.k === seq)),
    at: (at, k) => calls.findIndex((c) => c.at === at && c.k === k),
  };
}

function promptOf(s, turn) {
  const talk = s.data.talk, t = talk && talk.turns[turn - 1];
  return t && t.prompts.length ? [": ", bdi(t.prompts[0].text.slice(0, 160))] : null;
}

function callFilter(items, rows) {
  const calls = items.filter((i) => i.call);
  const isBad = (i) => i.call.c.bad, isOdd = (i) => !i.call.c.bad && i.call.c.state !== "result";
  const counts = { all: calls.length, errors: calls.filter(isBad).length, unanswered: calls.filter(isOdd).length };
  const bar = filterBar(["all", "errors", "unanswered"], counts, "Search tools, arguments, results", null, (w, text) => {
    if (w === "all" && !text) { rows.show(items); return; }
    const some = calls.filter((i) => (w === "all" || (w === "errors" ? isBad(i) : isOdd(i))) && (!text || (i.call.c.tool + " " + (i.call.c.args ? i.call.c.args.text : "") + " " + (i.call.c.result ? i.call.c.result.text : "") + " " + (i.call.c.error || "")).toLowerCase().includes(text)));
    rows.show(some);
    say(plural(some.length, "call"));
  });
  bar.apply();
  return bar.el;
}

function span(from, to) { return { left: from * 100 + "%", width: Math.max(0, to - from) * 100 + "%" }; }

// fine is a time on an axis of so many milliseconds: two ticks must not read the same.
function fine(ms, all) { return all < 200 ? ms.toFixed(all < 20 ? 2 : 1) + " ms" : duration(ms); }

function track(call, x) {
  const c = call.c, cls = c.bad ? "bad" : c.state === "result" ? "" : "open";
  return h("span", { class: "track", "aria-hidden": "true" }, h("i", { class: cls, css: span(x.place(call.from), x.place(call.to)) }));
}

// strip draws all calls in parallel lanes. It is a picture for the pointer; the rows
// below say the same to everybody.
function strip(calls, x, sessions, api) {
  const ends = [];
  let over = 0;
  for (const call of calls.slice().sort((a, b) => a.from - b.from)) {
    let lane = ends.findIndex((e) => e <= call.from);
    if (lane < 0) lane = ends.length < MAX_LANES ? ends.length : (over++, MAX_LANES - 1);
    ends[lane] = Math.max(ends[lane] || 0, call.to);
    call.lane = lane;
  }
  let drawn = calls.map((call, i) => i);
  if (drawn.length > MAX_BARS) {
    const step = Math.ceil(drawn.length / MAX_BARS);
    drawn = drawn.filter((i) => calls[i].c.bad || i % step === 0).slice(0, 2 * MAX_BARS);
  }
  const ticks = [];
  for (let i = 0; i < 5; i++) {
    const at = i / 5;
    // A tick stands at a share of the width; its text is the time there.
    let low = x.first, high = x.last;
    for (let k = 0; k < 40; k++) { const mid = (low + high) / 2; if (x.place(mid) < at) low = mid; else high = mid; }
    ticks.push(h("span", { class: "tick", css: { left: at * 100 + "%" } }, "+" + fine(Math.max(0, high - x.first), x.last - x.first)));
  }
  const turns = [];
  let turn = 0;
  calls.forEach((call) => { if (call.c.turn && call.c.turn !== turn) { turn = call.c.turn; turns.push(h("span", { class: "turn", title: "turn " + turn, css: { left: x.place(call.from) * 100 + "%" } })); } });
  const stderr = sessions.flatMap((s) => (s.data.stderr || []).slice(0, 300).map((l) => h("span", { class: "err", title: "stderr: " + l.text.slice(0, 200), css: { left: x.place(s.data.start + l.at) * 100 + "%" } })));
  return h("figure", { class: "lanes", "aria-hidden": "true" },
    h("div", { class: "plot", css: { height: ends.length * 16 + 12 + "px" } }, ticks,
      x.folds.map((f) => h("span", { class: "idle", title: duration(f[1] - f[0]) + " in which nothing was open", css: span(x.place(f[0]), x.place(f[1])) })),
      turns, drawn.map((i) => {
        const call = calls[i], c = call.c;
        const css = span(x.place(call.from), x.place(call.to));
        css.top = call.lane * 16 + "px";
        return h("button", { type: "button", tabindex: "-1", class: c.bad ? "bad" : c.state === "result" ? "" : "open", title: c.tool + ", " + (CALL_WORD[c.state] || c.state) + (c.took !== undefined ? ", " + duration(c.took) : ""), css, onclick: () => api.open(i) });
      }), stderr),
    drawn.length < calls.length || over ? h("figcaption", { class: "soft" }, drawn.length < calls.length ? count(drawn.length) + " of " + count(calls.length) + " calls are drawn; the rows have all. " : "", over ? "More than " + MAX_LANES + " were open at once." : "") : null);
}
