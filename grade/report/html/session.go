package html

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// Bounds of what one session shows; what is over them is counted.
const (
	maxCalls   = 50_000
	maxRemarks = 200
	maxStderr  = 2000
	maxSchema  = 20
	// maxFetch is how large a line may be that is read for its beginning.
	maxFetch = 8 << 20
)

// recording writes the blocks of those sessions of a recording that trials name (nil:
// of all), and of their catalogs.
func (r *builder) recording(p *printer, id string, rec *report.Recording, wanted map[string]bool) {
	r.rest.Recordings[r.places[id]].Facts = recordingFacts(rec)
	schemas := &predicate.Schemas{}
	talks, err := joined(rec)
	if err != nil {
		r.rest.Recordings[r.places[id]].Facts = append(r.rest.Recordings[r.places[id]].Facts, fact{"conversation", "not readable: " + oneLine(err.Error())})
	}
	for i, s := range rec.Sessions {
		if wanted != nil && !wanted[s.ID] {
			continue
		}
		n := r.refs[sessionKey{id, s.ID}]
		cat := r.catalog(p, s)
		turns := map[*session.Call]int{}
		var talk *talkData
		if talks != nil {
			if c := conversationOf(talks, i); c != nil {
				talk = r.talk(c, i, s, turns)
			}
		}
		d := r.session(s, rec, schemas, turns)
		d.Talk = talk
		d.Catalog, d.Server = cat, peer(s.Server)
		p.block('s', n, d)
		if p.err != nil {
			return
		}
	}
}

func peer(p session.Peer) string { return oneLine(strings.TrimSpace(p.Name + " " + p.Version)) }

func recordingFacts(rec *report.Recording) []fact {
	h, e := rec.Header, &rec.End
	state := string(e.State)
	if e.Torn && state == "sealed" {
		state = "sealed by repair, torn"
	}
	facts := []fact{
		{"file", oneLine(rec.Path)},
		{"id", oneLine(h.ID)},
		{"state", fmt.Sprintf("%s, %d records, level %s", state, e.Records, oneLine(string(h.Level)))},
		{"recorded", h.Start.UTC().Format("2006-01-02 15:04:05 UTC") + " by " + oneLine(h.Recorder.Name+" "+h.Recorder.Version)},
	}
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, fact{name, text})
		}
	}
	add("command", oneLine(strings.Join(h.Command, " ")))
	add("upstream", oneLine(h.Upstream))
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
		labels = append(labels, k+"="+h.Labels[k])
	}
	add("labels", oneLine(strings.Join(labels, ", ")))
	if e.Damage != nil {
		add("damage", oneLine(e.Damage.Error()))
	}
	if e.Gaps > 0 {
		add("gaps", fmt.Sprintf("%d: %d records were not kept", e.Gaps, e.Lost))
	}
	return facts
}

func (r *builder) session(s *session.Session, rec *report.Recording, schemas *predicate.Schemas, turns map[*session.Call]int) *sessionData {
	d := &sessionData{StartMs: float64(rec.Header.Start.UnixMicro()) / 1e3, FirstMs: ms(s.FirstAt), LastMs: ms(s.LastAt),
		Facts: sessionFacts(s), Capture: captureFacts(s)}
	for i, m := range s.Remarks {
		if i == maxRemarks {
			d.More = len(s.Remarks) - i
			break
		}
		d.Remarks = append(d.Remarks, remark{m.Seq, m.Flag, words(m.Detail)})
	}
	ev := grade.Evidence(s, rec.Sessions, schemas)
	for i, c := range s.Calls {
		if i == maxCalls {
			d.MoreCalls = len(s.Calls) - i
			break
		}
		out := r.call(c)
		if out.Turn = turns[c]; out.Turn == 0 && ev.Calls[i].Turn >= 0 {
			out.Turn = ev.Calls[i].Turn + 1
		}
		if ev.Calls[i].Entry == nil && ev.Calls[i].EntryWhy != "" {
			out.Notes = append(out.Notes, "no schema to look at the arguments by: "+words(ev.Calls[i].EntryWhy))
		} else if list, err := ev.Violations(i); err == nil {
			for k := range list {
				if k == maxSchema {
					out.Schema = append(out.Schema, fmt.Sprintf("%d more", len(list)-k))
					break
				}
				at := list[k].Path
				if at == "" {
					at = "the arguments"
				}
				out.Schema = append(out.Schema, oneLine(at+": "+list[k].Message))
			}
		}
		d.Calls = append(d.Calls, out)
	}
	for _, l := range rec.Stderr {
		if l.At < s.FirstAt && len(rec.Sessions) > 1 || l.At > s.LastAt && len(rec.Sessions) > 1 {
			continue // of another session of the same process
		}
		if len(d.Stderr) == maxStderr || int64(len(l.Text)) > r.room {
			d.StderrMore = true
			break
		}
		r.room -= int64(len(l.Text))
		d.Stderr = append(d.Stderr, lineOut{l.Seq, ms(l.At), words(l.Text)})
	}
	d.StderrMore = d.StderrMore || rec.StderrCut
	return d
}

func sessionFacts(s *session.Session) []fact {
	named := func(p session.Peer) string {
		if t := peer(p); t != "" {
			return t
		}
		return "not named on the wire"
	}
	version := oneLine(s.ProtocolVersion)
	if version == "" {
		version = "no version agreed"
	}
	facts := []fact{{"host", named(s.Client)}, {"server", named(s.Server)},
		{"protocol", version + " over " + s.Transport}, {"basis", oneLine(s.Basis)}}
	if e := s.End.Exit; e != nil {
		how := "signal " + e.Signal
		if e.Code != nil {
			how = "code " + strconv.Itoa(*e.Code)
		}
		if s.End.PassedOn {
			how += ", passed on from outside"
		}
		facts = append(facts, fact{"server exit", oneLine(how)})
	}
	if s.Torn {
		facts = append(facts, fact{"torn", "the session may go on behind the end of the recording"})
	}
	if t := s.Connection.StderrTail; t != "" {
		facts = append(facts, fact{"end of stderr", visible.Text(t)})
	}
	return facts
}

func captureFacts(s *session.Session) []fact {
	c := &s.Capture
	facts := []fact{{"tool calls", string(c.ToolCalls)}, {"tool errors", string(c.ToolErrors)}, {"tool results", string(c.ToolResults)},
		{"call timings", string(c.ToolCallTimings)}, {"inventory", string(c.ToolInventory)}, {"declarations", string(c.ToolDeclarations)}}
	for i, why := range c.Why {
		if i == 20 {
			break
		}
		facts = append(facts, fact{"why", words(why)})
	}
	return facts
}

// badStates are the states of calls that went wrong.
var badStates = map[session.CallState]bool{
	session.CallToolError: true, session.CallProtocolError: true, session.CallMalformed: true, session.CallNeverAnswered: true,
	session.CallConnectionDrop: true, session.CallUndelivered: true, session.CallClientTimeout: true, session.CallNoID: true,
}

func (r *builder) call(c *session.Call) callData {
	d := callData{ID: strconv.FormatInt(c.Seq, 10), Tool: oneLine(c.Tool), State: string(c.State), Bad: badStates[c.State],
		Open: c.AnswerSeq == 0, At: ms(c.At), Waited: ms(c.WaitedNs)}
	if c.Index >= 0 {
		d.ID += "." + strconv.Itoa(c.Index)
	}
	if ns, ok := c.DurationNs(); ok {
		took := ms(ns)
		d.Took = &took
	} else if c.CancelledAt > c.At {
		took := ms(c.CancelledAt - c.At)
		d.Took = &took
	}
	d.Args, d.Result = r.value(c.Arguments), r.value(c.Result)
	switch {
	case c.Error != nil:
		code := c.Error.RawCode
		if code == "" {
			code = strconv.FormatInt(c.Error.Code, 10)
		}
		d.Error = words(strings.TrimSpace(code + " " + c.Error.Message))
	case c.ErrorText != "":
		d.Error = words(c.ErrorText)
	case c.Ended != "":
		d.Error = words(c.Ended)
	}
	at := func(seq int64, what string) {
		if seq > 0 {
			d.Records = append(d.Records, fact{strconv.FormatInt(seq, 10), what})
		}
	}
	for i, x := range c.Attempts {
		if i == 8 {
			break
		}
		what := "request"
		if i > 0 {
			what = "request " + strconv.Itoa(i+1)
		}
		if h := x.HTTP; h != nil {
			what += fmt.Sprintf(", HTTP exchange %d, status %d", h.Exchange, h.Status)
		}
		at(x.Seq, what)
	}
	if len(c.Attempts) == 0 {
		at(c.Seq, "request")
	}
	answer := "answer"
	if c.Late {
		answer = "answer, after the call was cancelled"
	}
	at(c.AnswerSeq, answer)
	at(c.CancelledSeq, "cancelled by the host")
	at(c.EndedSeq, "end of its HTTP exchange")
	if c.ToolUseID != "" {
		d.Notes = append(d.Notes, "the host's id of it: "+oneLine(c.ToolUseID))
	}
	if c.SentAgain {
		d.Notes = append(d.Notes, "a later call may be this one, sent again")
	}
	if c.Stale {
		d.Notes = append(d.Notes, "the catalog had been announced as changed and was not fetched again")
	}
	for i, m := range c.Remarks {
		if i == 8 {
			break
		}
		d.Notes = append(d.Notes, words(m.Flag+" "+m.Detail))
	}
	return d
}

// value is a JSON value of a recording, as it stood on the wire.
func (r *builder) value(v session.Value) *shown {
	switch {
	case v.IsZero():
		return nil
	case v.Len() > maxFetch || r.room <= 0:
		r.rest.Cut = r.rest.Cut || r.room <= 0
		return &shown{Size: v.Len()}
	}
	b, err := v.Bytes()
	if err != nil {
		return &shown{Text: "(not readable: " + oneLine(err.Error()) + ")"}
	}
	return r.detail(string(b[:min(len(b), maxValue+4)])).sized(v.Len())
}

// sized sets the length of the whole where only a part is shown.
func (d *shown) sized(n int64) *shown {
	if d.Size > 0 || n > maxValue {
		d.Size = n
	}
	return d
}
