package run

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixlink/sixlink/record/session"
)

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
	case m.method == noteChanged:
		d.clock++
		d.lists.Changed(d.clock)
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
	d.version = version
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
	l, _ := d.held()
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
