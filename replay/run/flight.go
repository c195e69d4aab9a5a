package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session"
)

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
		if !has {
			d.first = params
		}
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
	line = append(line, '}')
	if d.gathers {
		d.batch = append(d.batch, line)
	} else {
		d.lines.out.put(append(line, '\n'))
	}
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
		d.flush() // what is waited for may be in it
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
	switch d.over.Rule {
	case SkipGone:
		f.done = gone
	case SkipStopped:
		f.done = stopped
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
