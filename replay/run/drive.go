package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// driver sends a plan, session after session. All of it but the reading and writing
// of lines happens on one goroutine.
type driver struct {
	plan   *Plan
	opts   *Options
	report *Report

	// Of the session at hand.
	session *session.Session
	lines   *lines
	nextID  int
	byID    map[string]*step
	flight  []*flight
	// over says why nothing more is sent.
	over   Skip
	silent int // answers that did not come in time, one after the other
	asked  int // requests of the server's
	began  bool

	// The new server's catalog.
	lists *catalog.Builder
	clock int64
	pages map[*step]*catalog.Request
	more  []byte // the request for a page that the recording does not have

	paid  time.Time // until then the requests so far are paid for (Options.Rate)
	taint bool
}

// flight is a request on its way.
type flight struct {
	*step
	deadline time.Time
	cancel   time.Time // zero: it is not to be cancelled
	poll     time.Time // when the task is asked for again; zero: it is not
	params   []byte
	dropped  bool // it was cancelled
}

const (
	// maxSilent is after how many requests in a row without an answer in time
	// the server counts as hung, whatever else it says.
	maxSilent = 3
	// maxAsked bounds how many requests of the new server's are answered in a session.
	maxAsked = 10000
	// maxPages bounds the pages of tools/list beyond the recorded ones.
	maxPages = 100
	// pollEvery is how often a task that is not done yet is asked for, where the
	// server does not say.
	pollEvery    = 500 * time.Millisecond
	maxPollEvery = 5 * time.Second
)

// Run sends the plan over connections of open. The error says that no connection
// could be made at all; what else went wrong is in the report. A plan runs once.
func (p *Plan) Run(ctx context.Context, open Opener) (*Report, error) {
	d := &driver{plan: p, opts: &p.opts, report: p.report()}
	var first error
	opened := 0
	for _, s := range p.sessions {
		var steps []*step
		for _, st := range p.Steps {
			if st.session == s {
				steps = append(steps, st)
			}
		}
		if err := d.run(ctx, s, steps, open); err != nil {
			first = cmp.Or(first, err)
		} else {
			opened++
		}
	}
	r := d.report
	for _, st := range p.Steps {
		l := st.line()
		r.Steps = append(r.Steps, l)
		r.Partial = r.Partial || l.State == StateSkipped || l.State == StateUnanswered
	}
	for _, a := range r.Answers {
		r.Partial = r.Partial || a.Partial
	}
	r.Interrupt = ctx.Err() != nil
	r.Partial = r.Partial || r.Interrupt
	if opened == 0 {
		return r, first
	}
	return r, nil
}

// run sends one session's steps.
func (d *driver) run(ctx context.Context, s *session.Session, steps []*step, open Opener) error {
	d.session = s
	link, err := open(ctx, s.ID)
	if err != nil {
		for _, st := range steps {
			st.done, st.skip = skipped, Skip{SkipGone, err.Error()}
		}
		d.ended(err.Error())
		return err
	}
	d.lines = newLines(link)
	// Ids go on over the sessions, so that each names one request of the new recording.
	d.byID, d.flight, d.over, d.silent, d.asked, d.began = map[string]*step{}, nil, Skip{}, 0, 0, false
	d.lists, d.pages, d.more = catalog.NewBuilder(), map[*step]*catalog.Request{}, nil
	if s.Era != session.EraStateless && s.Connection.Initialize == nil {
		d.handshake(ctx)
	}
	for _, st := range steps {
		d.step(ctx, st)
	}
	d.settle(ctx, func(*flight) bool { return true })
	how := d.lines.close()
	for _, f := range d.flight {
		d.unanswered(f)
	}
	switch {
	case d.over.Rule != "" && how != "":
		d.ended(d.over.Why + ": " + how)
	case d.over.Rule != "":
		d.ended(d.over.Why)
	case how != "":
		d.note("%s: %s", s.ID, how)
	}
	return nil
}

func (d *driver) ended(why string) {
	d.report.Ends = append(d.report.Ends, ServerEnd{Session: d.session.ID, Why: why})
}

func (d *driver) note(format string, args ...any) {
	d.report.Notes = append(d.report.Notes, fmt.Sprintf(format, args...))
}

// step sends one step, or says why not.
func (d *driver) step(ctx context.Context, st *step) {
	// Recorded order: what had been answered, or cancelled, before this was sent
	// (recorder.md 5.5).
	d.settle(ctx, func(f *flight) bool { return d.opts.Sequential && f.expected() || f.before(st.seq) })
	if st.tool != "" && !d.opts.named(st.tool) {
		// A host that pipes a file in sends its calls before it has seen the list. We
		// have to know what the new server says of the tool.
		d.settle(ctx, func(f *flight) bool { return f.ex.Method == methodTools })
	}
	by, skip, params := d.decide(ctx, st)
	if skip.Rule != "" {
		st.done, st.skip = skipped, skip
		d.taint = d.taint || d.opts.taints(st)
		return
	}
	st.sent = by
	if st.kind == initialized {
		st.done = answered
		d.lines.out.put([]byte(`{"jsonrpc":"2.0","method":"` + noteInitialized + `"}` + "\n"))
		return
	}
	if !d.pay(ctx, st) {
		st.done, st.skip = skipped, d.over
		return
	}
	st.taint = d.taint && st.ex.Method == methodCall
	d.send(st, params)
}

// before tells whether the recorded client waited for f before it sent what has seq.
func (f *flight) before(seq int64) bool {
	if f.expected() {
		return f.ex.AnswerSeq < seq
	}
	return f.ex.CancelledSeq != 0 && f.ex.CancelledSeq < seq && !f.dropped
}

// decide tells whether the step may be sent, and with which params.
func (d *driver) decide(ctx context.Context, st *step) (by string, skip Skip, params []byte) {
	none := func(rule, format string, args ...any) (string, Skip, []byte) {
		return "", Skip{rule, fmt.Sprintf(format, args...)}, nil
	}
	if d.over.Rule != "" {
		return "", d.over, nil
	}
	if ctx.Err() != nil {
		return none(SkipStopped, "sixlink was told to end")
	}
	now, _ := d.lists.Held(d.clock)
	if by, skip = d.opts.permit(st, now, true); skip.Rule != "" {
		return "", skip, nil
	}
	if st.kind == initialized {
		return by, skip, nil
	}
	if st.round != nil {
		if st.round.done == skipped {
			return "", fromSkipped(st.round), nil
		}
		if word, _ := getText(st.round.result, "resultType"); word != "input_required" {
			return none(LeftNotNeeded, "the new server asked for no input here")
		}
	}
	for _, from := range st.origins() {
		if from.done == skipped && from.skip.Rule == LeftNotNeeded && st.ex.Method == from.ex.Method {
			return none(LeftNotNeeded, "the new server's list ended before")
		}
		if from.done == skipped {
			return "", fromSkipped(from), nil
		}
	}
	if !st.ex.Params.IsZero() {
		var err error
		if params, err = st.ex.Params.Bytes(); err != nil {
			return none(SkipUnread, "%v", err)
		}
	}
	var patches []patch
	for _, u := range st.uses {
		switch {
		case u.known && u.value != "":
			patches = append(patches, patch{u.start, u.end, u.value})
			continue
		case u.from.done == answered && !u.from.isError && lastName(u.pointer) == "cursor":
			return none(LeftNotNeeded, "the new server's list ended before")
		}
		return none(SkipLost, "%s came from the answer to %s (%s), and the new one has no value there", u.pointer, u.from.ref(), u.from.name())
	}
	params = patched(params, patches)
	for _, u := range st.uses {
		if u.value != spelt(orFiller(u.key)) {
			d.report.Carried = append(d.report.Carried, Carried{Session: st.session.ID, ID: st.ref(), At: u.pointer, From: u.from.ref(), FromAt: u.where, Was: spelt(orFiller(u.key)), Is: u.value})
		}
	}
	if st.round != nil {
		if params, skip = d.resume(st, params); skip.Rule != "" {
			return "", skip, nil
		}
	}
	return by, Skip{}, params
}

// orFiller is a handle's recorded value; of a masked one there is only filler.
func orFiller(key string) string {
	if key == "" {
		return "s***"
	}
	return key
}

// resume fits the answers of an input round to what the new server asked for.
func (d *driver) resume(st *step, params []byte) ([]byte, Skip) {
	responses := get(params, "inputResponses")
	if responses == nil {
		return params, Skip{}
	}
	then, _ := members(responses)
	now, _ := members(get(st.round.result, "inputRequests"))
	has := func(name string) bool {
		return slices.ContainsFunc(now, func(m member) bool { return m.name == name })
	}
	missing := slices.ContainsFunc(then, func(m member) bool { return !has(m.name) })
	if missing && len(then) != len(now) {
		return nil, Skip{SkipLost, "the new server asks for other input than the recorded one"}
	}
	if missing {
		// Keys that the server makes up anew: they stand in the same order.
		out := []byte{'{'}
		for i, m := range then {
			if i > 0 {
				out = append(out, ',')
			}
			out, _ = jsontext.AppendQuote(out, now[i].name)
			out = append(append(out, ':'), responses[m.start:m.end]...)
			if m.name != now[i].name {
				d.report.Carried = append(d.report.Carried, Carried{Session: st.session.ID, ID: st.ref(), At: "/inputResponses/" + m.name, From: st.round.ref(),
					FromAt: "/inputRequests", Was: spelt("s" + m.name), Is: spelt("s" + now[i].name)})
			}
		}
		responses = append(out, '}')
	}
	responses, refused := d.consent(st.tool, responses)
	if refused > 0 {
		d.report.Answers = append(d.report.Answers, Answered{Session: st.session.ID, Method: methodElicit, How: Rewrote, Partial: true,
			Why: "a consent is replayed only for a tool that is allowed by name; --allow " + cmp.Or(st.tool, st.ex.Method)})
		d.taint = true
	}
	return with(params, "inputResponses", string(responses)), Skip{}
}

// pay waits until the next request is due (Options.Rate). What was sent together goes
// together; false: there is no need to send any more.
func (d *driver) pay(ctx context.Context, st *step) bool {
	if d.opts.Rate > 0 && st.ex.Method != methodInitialize {
		if st.alone && !d.paid.IsZero() {
			d.wait(ctx, d.paid, func() bool { return false })
		}
		now := time.Now()
		if d.paid.Before(now) {
			d.paid = now
		}
		d.paid = d.paid.Add(time.Duration(float64(time.Second) / d.opts.Rate))
	}
	if ctx.Err() != nil && d.over.Rule == "" {
		d.over = Skip{SkipStopped, "sixlink was told to end"}
	}
	return d.over.Rule == ""
}

// send sends a request under a new id.
func (d *driver) send(st *step, params []byte) {
	now := time.Now()
	limit := d.opts.timeout()
	if !st.expected() {
		limit = min(limit, max(leaveAfter, time.Duration(d.session.LastAt-st.ex.At)))
	} else if recorded := 10 * time.Duration(st.ex.AnswerAt-st.ex.At); recorded > limit {
		limit = min(recorded, maxTimeout)
	}
	f := &flight{step: st, deadline: now.Add(limit), params: params}
	if st.ex.CancelledSeq != 0 && !st.expected() {
		f.cancel = now.Add(max(0, time.Duration(st.ex.CancelledAt-st.ex.At)))
		if f.deadline.Before(f.cancel) {
			f.deadline = f.cancel
		}
	}
	d.flight = append(d.flight, f)
	st.done = inFlight
	d.count(&d.report.Sent, st)
	if st.ex.Method == methodTools {
		d.clock++
		cursor, has := getText(params, "cursor")
		d.pages[st] = d.lists.Request(d.clock, cursor, has)
	}
	st.id = d.write(st, st.ex.Method, params)
}

// count counts requests of the recording's.
func (d *driver) count(n *int, st *step) {
	if !st.made {
		*n++
	}
}

// write writes a request and returns its id.
func (d *driver) write(st *step, method string, params []byte) int {
	id := d.nextID
	d.nextID++
	d.byID[strconv.Itoa(id)] = st
	if meta := get(params, "_meta"); get(meta, "progressToken") != nil {
		// Progress is told by this, and the id is unique (wire.md 2.3).
		params = with(params, "_meta", string(with(meta, "progressToken", strconv.Itoa(id))))
	}
	line := []byte(`{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":`)
	line, _ = jsontext.AppendQuote(line, method)
	if params != nil {
		line = append(append(line, `,"params":`...), oneLine(params)...)
	}
	d.lines.out.put(append(line, "}\n"...))
	return id
}

// oneLine is JSON text without the line breaks that stdio has no room for: over HTTP
// a body may have some.
func oneLine(text []byte) []byte {
	out := slices.Clone(text)
	for i, c := range out {
		if c == '\n' || c == '\r' { // none stands in a string: it would be escaped
			out[i] = ' '
		}
	}
	return out
}

// handshake opens a session whose own handshake is not on record, as the official
// client does.
func (d *driver) handshake(ctx context.Context) {
	version := cmp.Or(d.session.ProtocolVersion, "2025-06-18")
	client := cmp.Or(d.opts.Client, "sixlink")
	params := []byte(`{"capabilities":{},"clientInfo":{}}`)
	quoted := func(s string) string { return spelt("s" + s) }
	params = with(params, "protocolVersion", quoted(version))
	params = with(params, "clientInfo", `{"name":`+quoted(client)+`,"version":`+quoted(cmp.Or(d.opts.Version, "0"))+`}`)
	st := &step{session: d.session, ex: &session.Exchange{Method: methodInitialize, AnswerSeq: 1}, sent: "named", made: true}
	d.note("%s: the recording does not have the handshake; the session was opened with %s", d.session.ID, version)
	d.send(st, params)
	d.settle(ctx, func(*flight) bool { return true })
	if st.done == answered && d.over.Rule == "" {
		d.lines.out.put([]byte(`{"jsonrpc":"2.0","method":"` + noteInitialized + `"}` + "\n"))
	}
}

// settle takes what the server sends until none of the open requests holds us up.
func (d *driver) settle(ctx context.Context, holds func(*flight) bool) {
	d.wait(ctx, time.Time{}, func() bool {
		if d.more != nil {
			return false // the catalog is not whole
		}
		return !slices.ContainsFunc(d.flight, holds)
	})
}

// wait takes what the server sends until done, or a moment (zero: none), has come.
func (d *driver) wait(ctx context.Context, until time.Time, done func() bool) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due := d.due()
		now := time.Now()
		if d.over.Rule != "" || done() || !until.IsZero() && !now.Before(until) {
			return
		}
		if !until.IsZero() && (due.IsZero() || until.Before(due)) {
			due = until
		}
		if due.IsZero() {
			due = now.Add(time.Hour) // not reached: whatever holds us up has a deadline
		}
		timer.Reset(due.Sub(now))
		select {
		case m, ok := <-d.lines.in:
			if !ok {
				d.gone()
				return
			}
			d.take(m)
		case <-timer.C:
		case <-ctx.Done():
			d.over = Skip{SkipStopped, "sixlink was told to end"}
			return
		}
	}
}

// due does what is due, and returns when the next thing will be.
func (d *driver) due() (next time.Time) {
	now := time.Now()
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := 0; i < len(d.flight); i++ {
		f := d.flight[i]
		if !f.cancel.IsZero() && !now.Before(f.cancel) {
			f.cancel, f.dropped = time.Time{}, true
			f.deadline = now.Add(leaveAfter) // some servers answer all the same
			d.cancelled(f)
		}
		if !f.poll.IsZero() && !now.Before(f.poll) && now.Before(f.deadline) {
			f.poll = time.Time{}
			f.again = true
			f.id = d.write(f.step, f.ex.Method, f.params)
		}
		if !now.Before(f.deadline) {
			d.flight = slices.Delete(d.flight, i, i+1)
			i--
			d.unanswered(f)
			continue
		}
		at(f.cancel)
		at(f.poll)
		at(f.deadline)
	}
	return next
}

// cancelled sends what the recorded client sent, in its own words.
func (d *driver) cancelled(f *flight) {
	reason := ""
	if f.ex.CancelReason != "" {
		reason = `,"reason":` + spelt("s"+f.ex.CancelReason)
	}
	d.lines.out.put([]byte(`{"jsonrpc":"2.0","method":"` + noteCancelled + `","params":{"requestId":` + strconv.Itoa(f.id) + reason + "}}\n"))
}

// unanswered ends a request that was not answered in time.
func (d *driver) unanswered(f *flight) {
	if f.again {
		f.done = answered // the task just is not done yet
		d.count(&d.report.Answered, f.step)
		return
	}
	f.done = noAnswer
	if d.over.Rule == SkipGone {
		f.done = gone
	}
	if p := d.pages[f.step]; p != nil {
		d.lists.Unanswered(p, true, "no answer in time")
		d.more = nil
	}
	if !f.expected() {
		return // as recorded
	}
	if d.silent++; d.silent == maxSilent && d.over.Rule == "" {
		d.over = Skip{SkipGone, fmt.Sprintf("the new server did not answer %d requests in a row in time", maxSilent)}
	}
	if f.ex.Method == methodInitialize && d.over.Rule == "" && !d.began {
		d.over = Skip{SkipGone, "the new server did not answer initialize in time"}
	}
}

// gone is called when the server has ended, or cannot be heard any more.
func (d *driver) gone() {
	if d.over.Rule == "" {
		d.over = Skip{SkipGone, "the new server ended"}
	}
}

// take takes a message of the server's.
func (d *driver) take(m message) {
	switch {
	case m.isRequest:
		d.ask(m)
	case m.isReply:
		id := strings.TrimSuffix(string(m.id), ".0")
		st := d.byID[id]
		if st == nil {
			return // nothing of ours: it is in the recording
		}
		delete(d.byID, id)
		d.silent = 0
		d.answered(st, m)
	}
}

// ask answers a request of the server's.
func (d *driver) ask(m message) {
	if d.asked++; d.asked > maxAsked {
		if d.asked == maxAsked+1 {
			d.note("%s: the new server sent over %d requests; the others are not answered", d.session.ID, maxAsked)
		}
		return
	}
	var open []string
	for _, f := range d.flight {
		if f.call != nil {
			open = append(open, f.tool)
		}
	}
	a := d.reply(m.method, m.params, open)
	if a.said.How != "" {
		d.report.Answers = append(d.report.Answers, a.said)
		if a.said.Partial {
			d.taint = true
			for _, f := range d.flight {
				f.taint = f.taint || f.call != nil
			}
		}
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), oneLine(m.id)...)
	if a.result != "" {
		line = append(append(line, `,"result":`...), oneLine([]byte(a.result))...)
	} else {
		line = append(line, `,"error":{"code":`+strconv.FormatInt(a.code, 10)+`,"message":`+spelt("s"+a.text)+"}"...)
	}
	d.lines.out.put(append(line, "}\n"...))
}

// answered takes the answer to a request.
func (d *driver) answered(st *step, m message) {
	i := slices.IndexFunc(d.flight, func(f *flight) bool { return f.step == st })
	if i < 0 {
		// Too late: nobody waits for it any more, but what it minted is known now.
		if st.done == noAnswer && m.err == nil && m.result != nil {
			resolve(st.mints, m.result)
			d.note("%s: the answer to %s (%s) came after its time was up", d.session.ID, st.ref(), st.name())
		}
		return
	}
	f := d.flight[i]
	if st.ex.Method == methodTaskGet && m.err == nil && d.pollAgain(f, m.result) {
		return
	}
	d.flight = slices.Delete(d.flight, i, i+1)
	st.done, st.isError = answered, m.err != nil
	if madeBy, _ := getText(get(m.err, "data"), "madeBy"); madeBy == "sixlink" {
		st.done = noAnswer // there was none: the bridge says so
		d.note("%s: %s (%s): %s", d.session.ID, st.ref(), st.name(), errorText(m.err))
	} else {
		d.count(&d.report.Answered, st)
	}
	if m.err == nil {
		resolve(st.mints, m.result)
		if st.resumed {
			st.result = slices.Clone(m.result)
		}
		if word, _ := getText(m.result, "resultType"); word == "input_required" && !st.resumed {
			d.note("%s: %s (%s): the new server asks for input that the recording has no answer to", d.session.ID, st.ref(), st.name())
		}
	}
	switch st.ex.Method {
	case methodInitialize, methodDiscover:
		d.opened(st, m)
	case methodTools:
		d.listed(f, m)
	}
}

func errorText(err []byte) string {
	text, _ := getText(err, "message")
	return text
}

// opened looks at the answer to the handshake.
func (d *driver) opened(st *step, m message) {
	if st.ex.Method != methodInitialize {
		return
	}
	if m.err != nil {
		if st.ex.Error == nil && !d.began {
			d.over = Skip{SkipGone, "the new server refused initialize: " + errorText(m.err)}
		}
		return
	}
	d.began = true
	version, _ := getText(m.result, "protocolVersion")
	if d.session.ProtocolVersion != "" && version != d.session.ProtocolVersion {
		d.note("%s: the new server speaks %s, the recorded one %s", d.session.ID, version, d.session.ProtocolVersion)
	}
}

// listed keeps a page of the new server's catalog. Pages beyond the recorded ones are
// asked for, since permission depends on the whole list.
func (d *driver) listed(f *flight, m message) {
	page := d.pages[f.step]
	delete(d.pages, f.step)
	d.more = nil
	if page == nil {
		return
	}
	d.clock++
	if m.err != nil {
		d.lists.Fail(page, d.clock, 0, errorText(m.err))
		return
	}
	next, has := getText(m.result, "nextCursor")
	d.lists.Answer(page, d.clock, get(m.result, "tools"), next, has)
	l, _ := d.lists.Held(d.clock)
	if !has || l == nil || l.Stuck || len(l.Pages) > maxPages || f.paged {
		return
	}
	d.more = get(m.result, "nextCursor")
	st := &step{session: d.session, ex: &session.Exchange{Method: methodTools, AnswerSeq: 1}, sent: "named", made: true}
	if !f.made {
		d.note("%s: the new server's tools/list has more pages than the recorded one; they were asked for", d.session.ID)
	}
	d.send(st, with(f.params, "cursor", string(d.more)))
}

// pollAgain asks for a task again that the recorded server had done by then.
func (d *driver) pollAgain(f *flight, result []byte) bool {
	if f.ex.Result.IsZero() || !f.deadline.After(time.Now()) {
		return false
	}
	then, err := f.ex.Result.Bytes()
	if err != nil || !taskDone(then) || taskDone(result) {
		return false
	}
	every := pollEvery
	if ms, err := strconv.Atoi(string(get(result, "pollInterval"))); err == nil && ms > 0 {
		every = min(time.Duration(ms)*time.Millisecond, maxPollEvery)
	}
	f.poll = time.Now().Add(every)
	return true
}

func taskDone(result []byte) bool {
	word, _ := getText(result, "status")
	return word == "completed" || word == "failed" || word == "cancelled"
}
