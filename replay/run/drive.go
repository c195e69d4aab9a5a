package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	passed int // steps, of all sessions

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
	// What of a batch is to be sent, while it is put together.
	batch   [][]byte
	gathers bool
	version string // that the new server chose
	first   []byte // the params of the latest request for a first page
	lost    bool   // what the recording lost was said
	told    bool   // that tools were listed again

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
	d.lost, d.first, d.told, d.batch, d.gathers, d.version = false, nil, false, nil, false, ""
	if s.Era != session.EraStateless && s.Connection.Initialize == nil {
		d.handshake(ctx)
	}
	for i, st := range steps {
		if d.plan.Progress != nil {
			d.plan.Progress(d.passed, len(d.plan.Steps))
		}
		d.step(ctx, st)
		d.passed++
		if i+1 == len(steps) || steps[i+1].seq != st.seq {
			d.flush()
		}
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
	if st.lost && !d.lost {
		// The same as after a skipped call (recorder.md 5.3): it may have been a write.
		d.taint, d.lost = true, true
		d.note("%s: before %s (%s) the recording lost some of what the host sent: that is not sent again", d.session.ID, st.ref(), st.name())
	}
	// Recorded order: what had been answered, or cancelled, before this was sent
	// (recorder.md 5.5).
	d.settle(ctx, func(f *flight) bool { return d.opts.Sequential && f.expected() || f.before(st.seq) })
	if st.tool != "" && !d.opts.named(st.tool) {
		// A host that pipes a file in sends its calls before it has seen the list. We
		// have to know what the new server says of the tool.
		d.settle(ctx, func(f *flight) bool { return f.ex.Method == methodTools })
		d.relist(ctx)
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
	if by != "named" && by != "allowed" {
		// What it says of its tools may have changed while we waited.
		d.relist(ctx)
		if st.sent, skip = d.permitted(st); skip.Rule != "" {
			st.done, st.skip = skipped, skip
			d.taint = d.taint || d.opts.taints(st)
			return
		}
	}
	st.taint = d.taint && st.ex.Method == methodCall
	d.gathers = d.batched(st)
	d.send(st, params)
	d.gathers = false
}

// permitted decides by the new server's catalog as of now.
func (d *driver) permitted(st *step) (by string, skip Skip) {
	if d.over.Rule != "" {
		return "", d.over
	}
	now, old := d.held()
	if by, skip = d.opts.permit(st, now, true); old && (by == "read-only" || by == "idempotent") {
		return "", Skip{SkipUnlisted, "the new server's tools have changed since it listed them; --allow " + st.tool}
	}
	return by, skip
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
	if by, skip = d.permitted(st); skip.Rule != "" {
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

// resume fits the answers of an input round to what the new server asked for. What a
// person accepted becomes a decline where the tool is not allowed by name, or where the
// question is another one (recorder.md 5.2).
func (d *driver) resume(st *step, params []byte) ([]byte, Skip) {
	responses := get(params, "inputResponses")
	if responses == nil {
		return params, Skip{}
	}
	var questions []byte
	if v := st.round.ex.Result; !v.IsZero() {
		if b, err := v.Bytes(); err == nil {
			questions = get(b, "inputRequests")
		}
	}
	asks := get(st.round.result, "inputRequests")
	then, ok := members(responses)
	if !ok {
		return params, Skip{}
	}
	now, _ := members(asks)
	missing := slices.ContainsFunc(then, func(m member) bool {
		return !slices.ContainsFunc(now, func(n member) bool { return n.name == m.name })
	})
	if missing && len(then) != len(now) {
		return nil, Skip{SkipLost, "the new server asks for other input than the recorded one"}
	}
	same, out := true, []byte{'{'}
	for i, m := range then {
		name := m.name
		if missing {
			name = now[i].name // keys that the server makes up anew stand in the same order
		}
		if name != m.name {
			same = false
			d.report.Carried = append(d.report.Carried, Carried{Session: st.session.ID, ID: st.ref(), At: "/inputResponses/" + m.name, From: st.round.ref(),
				FromAt: "/inputRequests", Was: spelt("s" + m.name), Is: spelt("s" + name)})
		}
		response := responses[m.start:m.end]
		if accepts(response) {
			why := ""
			switch then, now := get(questions, m.name), get(asks, name); {
			case !d.opts.consents(st.tool):
				why = "a consent is replayed only for a tool that is allowed by name; --allow " + cmp.Or(st.tool, st.ex.Method)
			case then == nil, now == nil, questionOf(then) != questionOf(now):
				why = anotherQuestion
			}
			if why != "" {
				same, response = false, []byte(`{"action":"decline"}`)
				d.report.Answers = append(d.report.Answers, Answered{Session: st.session.ID, Method: methodElicit, How: Rewrote, Partial: why != anotherQuestion, Why: why})
				d.taint = d.taint || why != anotherQuestion
			}
		}
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), response...)
	}
	if same {
		return params, Skip{} // as recorded, byte for byte
	}
	return with(params, "inputResponses", string(append(out, '}'))), Skip{}
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
