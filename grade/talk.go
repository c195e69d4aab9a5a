package grade

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/host"
	hostjoin "github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Talk is a host's transcript as it joins with one session, or with those of one
// trial.
type Talk struct {
	// Join is the conversation's; Wires are the sessions of the whole join.
	Join  *hostjoin.Conversation
	Wires []hostjoin.Wire
	// Of are the trial's own sessions, by their places in Wires; Parts says which part
	// of the trial each is, nil where the trial is one session.
	Of    []int
	Parts []*predicate.Part
	// EndTold says that a recording is torn, and the transcript tells that no call was
	// in the end that is missing (see endTold).
	EndTold bool
	// EndKnown says that it would be, had somebody asked for it.
	EndKnown bool
}

// of says whether a session is the trial's, by its place in Wires, and which part.
func (t *Talk) of(wire int) (part *predicate.Part, ok bool) {
	i := slices.Index(t.Of, wire)
	if i >= 0 && t.Parts != nil {
		part = t.Parts[i]
	}
	return part, i >= 0
}

// first is the trial's first session, by its place in Wires; -1: none.
func (t *Talk) first() int {
	if t == nil || len(t.Of) == 0 {
		return -1
	}
	return t.Of[0]
}

// ref names a call on the wire among those of the trial.
func (t *Talk) ref(w hostjoin.Ref) (predicate.CallRef, bool) {
	part, ok := t.of(w.Wire)
	return predicate.CallRef{Seq: part.Handle(w.Call.Seq), Index: w.Call.Index}, ok
}

// Talks are the conversations of a result that belong to each session, by recording
// and session. A session that none belongs to has none.
func Talks(r *hostjoin.Result) map[string]map[string][]*Talk {
	out := map[string]map[string][]*Talk{}
	for i := range r.Conversations {
		c := &r.Conversations[i]
		if c.Verdict == hostjoin.NotJoined {
			continue
		}
		for _, p := range c.Sessions {
			w := &r.Wires[p.Wire]
			if out[w.Recording] == nil {
				out[w.Recording] = map[string][]*Talk{}
			}
			out[w.Recording][w.Session.ID] = append(out[w.Recording][w.Session.ID], &Talk{Join: c, Wires: r.Wires, Of: []int{p.Wire}})
		}
	}
	return out
}

// right says that the conversation is the session's beyond doubt: by scope, or by a
// pair that is the only one possible (hosts.md 5 "Verdict").
func (t *Talk) right() bool {
	for _, p := range t.Join.Sessions {
		if _, ok := t.of(p.Wire); ok && p.Tier <= hostjoin.TierScope {
			return true
		}
	}
	for i := range t.Join.Calls {
		if c := &t.Join.Calls[i]; c.Paired() && t.has(c) && c.Certainty != hostjoin.Ambiguous {
			return true
		}
	}
	return false
}

// has says that a call of the host belongs to the trial's sessions.
func (t *Talk) has(c *hostjoin.Call) bool {
	_, ok := t.of(c.Session)
	return ok
}

// turnsOf maps the conversation's turns to those of the user: work that no prompt
// began is no turn of his (hosts.md 4, rule 1), nor is a turn that was copied from
// another conversation that is there, too. -1: none.
func turnsOf(j *hostjoin.Conversation) []int {
	c := j.Talk
	out := make([]int, len(c.Turns))
	n := 0
	for i := range c.Turns {
		out[i] = -1
		if t := &c.Turns[i]; t.Origin != host.System && (!j.Continues || t.CopiedFrom == "") {
			out[i] = n
			n++
		}
	}
	return out
}

// conversationOf is a transcript as checks read it (grading.md 0.1). Its channels are
// complete where the importer says that all is there.
func conversationOf(j *hostjoin.Conversation, u UsageRule) *predicate.Conversation {
	c := j.Talk
	out := &predicate.Conversation{TurnsState: stateOf(c.Caps.Turns), FinalTextState: session.Absent, RenderState: session.Absent,
		Why: map[predicate.Channel]string{}, Models: slices.Clone(c.Models)}
	of, subs := turnsOf(j), agentTurns(c)
	if out.TurnsState != session.Absent {
		out.TurnCountKnown = true
		for i := range c.Turns {
			if of[i] >= 0 {
				out.TurnCount += int64(max(1, len(c.Turns[i].Prompts)))
			}
		}
	}
	for i := range c.Turns {
		t := &c.Turns[i]
		if of[i] < 0 {
			continue
		}
		turn := predicate.Turn{Finished: t.Status == host.Complete}
		if len(t.Prompts) > 0 && !t.Prompts[0].Text.Cut {
			turn.Prompt = t.Prompts[0].Text.Text
		}
		var why string
		turn.FinalText, turn.HasFinalText, turn.FinalTextState, why = finalText(t)
		turn.Usage, _, _ = usageOf(c, subs, []*host.Turn{t}, false, u)
		out.Turns = append(out.Turns, turn)
		out.Interrupted = out.Interrupted || t.Status == host.Interrupted
		if i == len(c.Turns)-1 {
			out.FinalText, out.HasFinalText, out.FinalTextState = turn.FinalText, turn.HasFinalText, turn.FinalTextState
			out.ModelFailed = t.Status == host.Failed
			if why != "" {
				out.Why[predicate.FinalText] = why
			}
		}
	}
	if out.TurnsState == session.Partial && out.FinalTextState == session.Complete {
		// What is missing may be the last turn.
		out.FinalTextState = session.Partial
		out.Why[predicate.FinalText] = "a part of the transcript's turns is missing"
	}
	var why string
	out.Usage, out.UsageState, why = usageOf(c, subs, mine(c, of), true, u)
	if why != "" {
		out.Why[predicate.UsageCount] = why
	}
	return out
}

func mine(c *host.Conversation, of []int) (out []*host.Turn) {
	for i := range c.Turns {
		if of[i] >= 0 {
			out = append(out, &c.Turns[i])
		}
	}
	return out
}

func stateOf(c host.Cap) session.CaptureState {
	switch c {
	case host.Present:
		return session.Complete
	case host.Partial:
		return session.Partial
	}
	return session.Absent
}

// finalText is a turn's last answer. An answer that is empty is complete and empty;
// one that is not on record is absent (hosts.md 1).
func finalText(t *host.Turn) (text string, has bool, state session.CaptureState, why string) {
	f := &t.FinalText
	switch {
	case t.Status == host.Open:
		return f.Text.Text, f.State == host.HasText, session.Partial, "the transcript ends before the turn does"
	case f.State == host.AbsentText || f.State == "":
		return "", false, session.Absent, "the transcript does not hold the answer"
	case f.Text.Cut:
		return f.Text.Text, true, session.Partial, fmt.Sprintf("the answer of %d bytes was not kept whole", f.Text.Bytes)
	case f.State == host.HasText:
		return f.Text.Text, true, session.Complete, ""
	}
	return "", false, session.Complete, "" // empty, or a widget stands for it
}

// join adds what the transcript tells to the evidence of its sessions: the host's ids
// and turns of the calls, and the calls that never reached the wire (grading.md 0.1,
// row toolCalls).
func (t *Talk) join(ev *predicate.Evidence, suite *Suite) {
	if t == nil {
		if suite.ModelEvidence {
			noModelResults(ev)
		}
		return
	}
	ev.Join = &predicate.Join{Model: suite.ModelEvidence}
	if !t.right() {
		ev.Conversation, ev.Join.NotJoined = nil, "no call of it is this session's beyond doubt"
		return
	}
	ev.Conversation = conversationOf(t.Join, suite.Usage)
	t.mark(ev)
	places := t.place(ev)
	t.order(ev, places)
	if suite.ModelEvidence {
		t.modelResults(ev)
	}
	t.elsewhere(ev)
}

// own is a session without the calls that are known to be another conversation's, or
// nobody's. of is its place in Of's list of sessions where the trial has one alone.
func (t *Talk) own(s *session.Session, wire int) *session.Session {
	if t == nil || !t.right() || wire < 0 {
		return s
	}
	if t.Parts == nil {
		wire = t.Of[0]
	}
	gone := map[predicate.CallRef]bool{}
	for i := range t.Join.WireOnly {
		if w := &t.Join.WireOnly[i]; w.Wire == wire && w.Kind.Explained() {
			gone[predicate.CallRef{Seq: w.Call.Seq, Index: w.Call.Index}] = true
		}
	}
	if len(gone) == 0 {
		return s
	}
	narrowed := *s
	narrowed.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(c *session.Call) bool {
		return gone[predicate.CallRef{Seq: c.Seq, Index: c.Index}]
	})
	return &narrowed
}

// mark marks the calls that the transcript does not have.
func (t *Talk) mark(ev *predicate.Evidence) {
	left := map[predicate.CallRef]bool{}
	for i := range t.Join.WireOnly {
		w := &t.Join.WireOnly[i]
		if at, ok := t.ref(w.Ref); ok && !w.Kind.Explained() {
			left[at] = true
			ev.Join.WireOnly++
		}
	}
	for i := range ev.Calls {
		c := &ev.Calls[i]
		c.WireOnly = left[predicate.CallRef{Seq: c.Seq, Index: c.Index}]
	}
}

// place gives the session's calls their ids and turns, and adds the host-only ones.
// It returns each wire call's place in the conversation.
func (t *Talk) place(ev *predicate.Evidence) map[predicate.CallRef]int {
	c := t.Join.Talk
	of := turnsOf(t.Join)
	turn := func(k *host.Call) int {
		if k.Turn < 0 || k.Turn >= len(of) {
			return -1
		}
		return of[k.Turn]
	}
	places := map[predicate.CallRef]int{}
	at := map[predicate.CallRef]*predicate.CallEvidence{}
	for i := range ev.Calls {
		at[predicate.CallRef{Seq: ev.Calls[i].Seq, Index: ev.Calls[i].Index}] = &ev.Calls[i]
	}
	var added []predicate.CallEvidence
	for i := range t.Join.Calls {
		j := &t.Join.Calls[i]
		if !t.has(j) {
			continue
		}
		k := &c.Calls[j.Host]
		if !j.Paired() {
			if !j.HostOnly.Explained() {
				ev.Join.HostOnly++
			}
			added = append(added, t.hostOnly(j, k, turn(k), len(added), ev))
			continue
		}
		switch {
		case j.Certainty == hostjoin.Ambiguous:
			ev.Join.Ambiguous++
		case j.Contradiction == hostjoin.OtherOutcome:
			ev.Join.Outcomes++
		case j.Contradiction != "":
			ev.Join.Contradictory++
		}
		for n, w := range j.Wires {
			ref, ok := t.ref(w)
			e := at[ref]
			if !ok || e == nil {
				continue
			}
			places[ref] = j.Host
			if j.Certainty == hostjoin.Ambiguous {
				continue // which of them it is, and so whose turn, is not known
			}
			e.Turn = turn(k)
			if n == j.Effective && e.ToolUseID == "" {
				e.ToolUseID = k.HostCallID
			}
		}
	}
	ev.Calls = append(ev.Calls, added...)
	return places
}

// hostOnly is the evidence of a call that is not on the wire.
func (t *Talk) hostOnly(j *hostjoin.Call, k *host.Call, turn, n int, ev *predicate.Evidence) predicate.CallEvidence {
	// It has no record: its index tells it from the others.
	part, _ := t.of(j.Session)
	e := predicate.CallEvidence{Seq: 0, Index: n, Of: part, Tool: j.Tool, ToolUseID: k.HostCallID, Turn: turn, HostOnly: true, HostWhy: j.Why,
		ArgumentsRefused: k.Refused == host.RefusedSchema}
	if e.Tool == "" {
		if e.Tool = k.Tool.Raw; e.Tool == "" {
			e.Tool = k.Tool.Shown
		}
	}
	e.Arguments = func() ([]byte, error) {
		switch {
		case k.ArgsError != "":
			return nil, errors.New("the arguments on the host's record cannot be read: " + k.ArgsError)
		case k.Args == nil:
			return nil, errors.New("the host's transcript does not hold the arguments")
		case len(k.Args.JSON) == 0:
			return nil, fmt.Errorf("the arguments of %d bytes were not kept whole in the transcript", k.Args.Bytes)
		}
		return k.Args.JSON, nil
	}
	e.EntryWhy = "no list of tools is on record for it"
	for i := len(ev.Lists) - 1; i >= 0; i-- {
		l := ev.Lists[i]
		if entry, ok := l.Find(e.Tool); ok {
			e.Entry, e.EntryWhy = entry, ""
			break
		}
		if l.State == catalog.Complete {
			e.EntryWhy = "the list of tools does not have it"
		}
	}
	return e
}

// order puts the calls in the host's order; a call that the transcript does not have
// stays behind the one that was sent before it.
func (t *Talk) order(ev *predicate.Evidence, places map[predicate.CallRef]int) {
	type place struct{ host, seq, index int64 }
	key := map[predicate.CallRef]place{}
	last := int64(-1)
	hostOnly := map[int]int64{}
	n := 0
	for i := range t.Join.Calls {
		if j := &t.Join.Calls[i]; t.has(j) && !j.Paired() {
			hostOnly[n] = int64(j.Host)
			n++
		}
	}
	for i := range ev.Calls {
		c := &ev.Calls[i]
		ref := predicate.CallRef{Seq: c.Seq, Index: c.Index}
		if c.HostOnly {
			key[ref] = place{host: hostOnly[c.Index]}
			continue
		}
		if p, ok := places[ref]; ok {
			last = int64(p)
		}
		key[ref] = place{last, c.Seq, int64(c.Index)}
	}
	less := func(a, b predicate.CallRef) int {
		x, y := key[a], key[b]
		switch {
		case x.host != y.host:
			return int(x.host - y.host)
		case x.seq != y.seq:
			return int(x.seq - y.seq)
		}
		return int(x.index - y.index)
	}
	slices.SortStableFunc(ev.Calls, func(a, b predicate.CallEvidence) int {
		return less(predicate.CallRef{Seq: a.Seq, Index: a.Index}, predicate.CallRef{Seq: b.Seq, Index: b.Index})
	})
	slices.SortStableFunc(ev.Results, func(a, b predicate.ToolResult) int {
		return less(predicate.CallRef{Seq: a.Seq, Index: a.Index}, predicate.CallRef{Seq: b.Seq, Index: b.Index})
	})
	if len(ev.Parts) > 0 && len(places) == onWire(ev) {
		// The host's order is exact, and clocks have nothing to say.
		for i := range ev.Calls {
			ev.Calls[i].Earliest, ev.Calls[i].Latest = int64(i), int64(i)
		}
	}
}

func onWire(ev *predicate.Evidence) (n int) {
	for i := range ev.Calls {
		if !ev.Calls[i].HostOnly {
			n++
		}
	}
	return n
}

// modelSees is the basis of sizes of what the model saw (grading.md 0.1).
const modelSees = "model_visible_output"

// modelResults puts what the model saw in place of what the server sent (evidence:
// model). A call of which the transcript holds no result leaves the channel partial.
func (t *Talk) modelResults(ev *predicate.Evidence) {
	c := t.Join.Talk
	seen := map[predicate.CallRef]*host.Call{}
	for i := range t.Join.Calls {
		if j := &t.Join.Calls[i]; j.Paired() && t.has(j) && j.Certainty != hostjoin.Ambiguous {
			if ref, ok := t.ref(j.Wires[j.Effective]); ok {
				seen[ref] = &c.Calls[j.Host]
			}
		}
	}
	var out []predicate.ToolResult
	missing := 0
	for i := range ev.Results {
		r := ev.Results[i]
		k := seen[predicate.CallRef{Seq: r.Seq, Index: r.Index}]
		if k == nil || k.Result == nil {
			missing++
			continue
		}
		if k.HostError != nil {
			r.IsError = *k.HostError
		}
		res := k.Result
		r.Content = func() (*predicate.ResultContent, error) { return visibleContent(res) }
		r.Size = func() (predicate.ResultSize, error) {
			return predicate.ResultSize{Bytes: res.Bytes, Complete: true, Basis: modelSees}, nil
		}
		out = append(out, r)
	}
	ev.Results = out
	if missing > 0 && ev.Capture.ToolResults == session.Complete {
		ev.Capture.ToolResults = session.Partial
		ev.Capture.Why = append(slices.Clone(ev.Capture.Why), fmt.Sprintf("results that the transcript does not show as the model saw them: %d", missing))
	}
}

func visibleContent(r *host.CallResult) (*predicate.ResultContent, error) {
	out := &predicate.ResultContent{Text: r.Text.Text, HasText: r.HasText, Truncated: r.Text.Cut}
	if v := r.Structured; v != nil {
		if len(v.JSON) == 0 {
			out.Unread = fmt.Errorf("structured content of %d bytes was not kept whole in the transcript", v.Bytes)
			out.Structured = nil
			return out, nil
		}
		out.StructuredLen = len(v.JSON)
		out.Structured, out.Unread = predicate.ParseResult(v.JSON)
	}
	return out, nil
}

// server is what tells the server of a session from others.
func (t *Talk) server(wire int) string {
	w := &t.Wires[wire]
	if w.Server != "" {
		return w.Server
	}
	return w.Session.Server.Name
}

// elsewhere makes the evidence of calls partial where the conversation has calls of
// the same server in another session: this one is a part of what happened.
func (t *Talk) elsewhere(ev *predicate.Evidence) {
	n := 0
	for i := range t.Join.Calls {
		j := &t.Join.Calls[i]
		if !j.Paired() || t.has(j) {
			continue
		}
		if slices.ContainsFunc(t.Of, func(own int) bool { return t.server(own) == t.server(j.Session) }) {
			n++
		}
	}
	if n > 0 {
		partlyElsewhere(ev, fmt.Sprintf("calls of the conversation that are in another session: %d", n))
	}
	if c := t.Join.Talk; c.Host.Name != claudeCode && agentMissing(c) {
		partlyElsewhere(ev, "the transcript does not hold the work of a subagent, whose calls may be in another session")
	}
}

// claudeCode is a host whose subagents use the session's own servers, so that the wire
// has their calls; Codex starts servers for each.
const claudeCode = "claude-code"

// partlyElsewhere makes the evidence of calls partial: this session is a part of what
// happened.
func partlyElsewhere(ev *predicate.Evidence, why string) {
	c := &ev.Capture
	for _, s := range []*session.CaptureState{&c.ToolCalls, &c.ToolErrors, &c.ToolResults, &c.ToolCallTimings} {
		if *s == session.Complete {
			*s = session.Partial
		}
	}
	c.Why = append(slices.Clone(c.Why), why)
}

// hostStep and ended are what the analyzer reads of the host's own end (grading.md
// 0.1 "Inputs of 4.2").
func hostEnd(in *chain.Input) {
	if c := in.Evidence.Conversation; c != nil {
		if c.ModelFailed {
			in.HostStep = chain.ModelAPIFailed
		}
		if c.Interrupted {
			in.Ended = chain.Cancelled
		}
	}
}

// noModelResults leaves nothing to judge where the suite asks for what the model saw
// and no transcript tells it.
func noModelResults(ev *predicate.Evidence) {
	ev.Results, ev.Capture.ToolResults = nil, session.Absent
	ev.Capture.Why = append(slices.Clone(ev.Capture.Why), "no host transcript shows results as the model saw them (evidence: model)")
}

// expectedJoined is expected, with what a rest of the join does to the scorers' rows
// (predicate.JoinRules).
func expectedJoined(c *CaseSpec, ev *predicate.Evidence) (rows []Row, prompts []chain.Prompt, unmatched bool) {
	rows, prompts, unmatched = expected(c, ev)
	var without []Row
	for i := range rows {
		r := &rows[i]
		was := r.Result
		ev.Join.Judge(r.Name, &r.Outcome, func() predicate.Outcome {
			if without == nil {
				without, _, _ = expected(c, ev.WithoutRest())
			}
			if i >= len(without) {
				return predicate.Outcome{Result: predicate.Error, Reason: "nothing to match"}
			}
			return without[i].Outcome
		})
		if r.Result != was {
			r.Reason = predicate.Sentence(r.Reason)
			// What the matcher found may be otherwise: it decides no link.
			prompts, unmatched = nil, true
		}
	}
	return rows, prompts, unmatched
}

// TalkNote is what a report shows of a trial's transcript.
type TalkNote struct {
	// Host is the program, SessionID its own id of the session.
	Host, SessionID string
	Verdict         string
	// Why is the join in one line; HostOnly are the calls that never reached the wire,
	// with the reason, at most maxNoted; More counts the others.
	Why      string
	HostOnly []string
	More     int
}

const maxNoted = 20

func noteOf(t *Talk) *TalkNote {
	if t == nil {
		return nil
	}
	c := t.Join.Talk
	n := &TalkNote{Host: c.Host.Name, Verdict: string(t.Join.Verdict), Why: t.Join.Why}
	if t.EndTold {
		n.Why += "; a recording is torn, and the transcript tells that no call is missing"
	} else if t.EndKnown {
		n.Why += "; a recording is torn: --transcript-end takes the transcript's word that no call is missing"
	}
	if v := c.Host.Version; v != "" {
		n.Host += " " + v
	}
	if len(c.SessionIDs) > 0 {
		n.SessionID = c.SessionIDs[0]
	}
	for i := range t.Join.Calls {
		j := &t.Join.Calls[i]
		if j.Paired() || !t.has(j) {
			continue
		}
		if len(n.HostOnly) == maxNoted {
			n.More++
			continue
		}
		name := c.Calls[j.Host].Name
		if j.Tool != "" {
			name = j.Tool
		}
		n.HostOnly = append(n.HostOnly, predicate.Sentence(fmt.Sprintf("%s: %s", predicate.Quoted(name), j.Why)))
	}
	return n
}

// putTalk and talk keep a note in the spool.
func putTalk(b []byte, n *TalkNote) []byte {
	b = putFlag(b, n != nil)
	if n == nil {
		return b
	}
	for _, text := range []string{n.Host, n.SessionID, n.Verdict, n.Why} {
		b = putText(b, text)
	}
	b = putNums(b, []int64{int64(n.More), int64(len(n.HostOnly))})
	for _, text := range n.HostOnly {
		b = putText(b, text)
	}
	return b
}

func (r *reader) talk() *TalkNote {
	if !r.flag() {
		return nil
	}
	n := &TalkNote{Host: r.text(), SessionID: r.text(), Verdict: r.text(), Why: r.text()}
	nums := r.nums()
	if len(nums) != 2 || nums[1] < 0 || nums[1] > maxNoted {
		r.bad = true
		return n
	}
	n.More = int(nums[0])
	for range nums[1] {
		n.HostOnly = append(n.HostOnly, r.text())
	}
	return n
}
