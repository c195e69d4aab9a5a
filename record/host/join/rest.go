package join

import (
	"fmt"
	"slices"
	"time"

	"github.com/sixlink/sixlink/record/host"
)

// rests makes the result: the rest lists, the sessions and the verdict.
func (j *joiner) rests() {
	for _, t := range j.talks {
		t.leaveIdle()
		t.pairKeys()
		t.hostSide(j)
		t.wireSide(j)
		t.judge()
		t.out.Hidden = t.hidden()
	}
}

// leaveIdle drops sessions that are the conversation's by scope alone where others
// share a call with it: a resumed session has a connection a process, and one whose
// calls are not in this transcript is another part of the story than it tells. Where
// no call is shared, a session without calls is all there is.
func (t *talk) leaveIdle() {
	shared := map[*wire]bool{}
	for _, h := range t.calls {
		for _, c := range h.wires {
			shared[c.w] = true
		}
	}
	for w := range t.parts {
		if !shared[w] && (len(shared) > 0 || len(w.calls) > 0) {
			delete(t.parts, w)
		}
	}
}

// concerns says that a call without a pair is of a server that the sessions are
// about, and which tool it names.
func (t *talk) concerns(h *hostCall, j *joiner) (tool string, ok bool) {
	var named []string
	for _, w := range j.wireOrder {
		p := t.parts[w]
		if h.c.Server != "" && w.Server != "" && serverFits(h.c.Server, w.Server) {
			ok = true
		}
		if p == nil {
			continue
		}
		if keys := t.paired[w]; h.c.Server != "" && keys[h.c.Server] {
			ok = true
		}
		found := t.resolve(h.c, w)
		if len(found) > 0 && t.keyOK(h, w) && (len(t.paired[w]) == 0 || h.c.Server == "" || t.paired[w][h.c.Server]) {
			ok = true
		}
		for _, f := range found {
			if !slices.Contains(named, f) {
				named = append(named, f)
			}
		}
	}
	if len(named) == 1 {
		tool = named[0]
	}
	return tool, ok
}

// pairKeys finds the server keys of the calls that are paired with each session's.
func (t *talk) pairKeys() {
	for w, keys := range t.keys {
		t.paired[w] = keys
	}
	for _, h := range t.calls {
		for _, c := range h.wires {
			if t.keys[c.w] != nil || h.certainty == Ambiguous {
				continue
			}
			if t.paired[c.w] == nil {
				t.paired[c.w] = map[string]bool{}
			}
			t.paired[c.w][h.c.Server] = true
		}
	}
}

func (t *talk) hostSide(j *joiner) {
	for _, h := range t.calls {
		out := Call{Host: h.n, Tier: h.tier, Certainty: h.certainty, Why: h.why, Session: -1, Contradiction: h.clash, Contradicts: h.clashes}
		if len(h.wires) == 0 {
			tool, ok := t.concerns(h, j)
			if !ok {
				t.out.Elsewhere++
				continue
			}
			out.Tool, out.Tier, out.Certainty = tool, NoTier, ""
			out.HostOnly, out.Why = t.hostOnly(h, j)
		} else {
			out.Effective = effective(h.wires)
			for _, c := range h.wires {
				out.Wires = append(out.Wires, c.ref())
			}
			out.Tool = out.Wires[out.Effective].Call.Tool
			out.Session = out.Wires[out.Effective].Wire
		}
		t.out.Calls = append(t.out.Calls, out)
	}
	// A call without a pair belongs to the session of the pair before it, else of
	// the one after it.
	last := -1
	for i := range t.out.Calls {
		if c := &t.out.Calls[i]; c.Paired() {
			last = c.Session
		} else {
			c.Session = last
		}
	}
	next := -1
	if len(t.parts) == 1 {
		for w := range t.parts {
			next = w.index
		}
	}
	for i := len(t.out.Calls) - 1; i >= 0; i-- {
		if c := &t.out.Calls[i]; c.Paired() {
			next = c.Session
		} else if c.Session < 0 {
			c.Session = next
		}
	}
	j.hints(t)
}

// hostOnly says why a call is not on the wire.
func (t *talk) hostOnly(h *hostCall, j *joiner) (HostOnly, string) {
	c := h.c
	switch {
	case c.Denied != "":
		return Denied, "denied: " + c.Denied
	case c.Refused != "":
		return Refused, "refused by the host: " + c.Refused
	case h.unclear:
		return Unclear, "another call may be the one on the wire"
	case c.Kind == host.HostedCall:
		return Hosted, "made by the model provider's own client"
	case c.Result == nil && c.Turn >= 0 && c.Turn < len(t.c.Turns) && t.c.Turns[c.Turn].Status == host.Interrupted:
		return Interrupted, "the turn was interrupted and the call has no result"
	case !h.known:
		return Unexplained, "its arguments cannot be read"
	}
	if !c.At.IsZero() {
		first, last := time.Time{}, time.Time{}
		for w := range t.parts {
			if w.Start.IsZero() {
				return Unexplained, "no call on the wire is it"
			}
			a, b := w.Start.Add(time.Duration(w.Session.FirstAt)), w.Start.Add(time.Duration(w.Session.LastAt))
			if first.IsZero() || a.Before(first) {
				first = a
			}
			if b.After(last) {
				last = b
			}
		}
		at := c.At.Add(t.shift())
		switch {
		case first.IsZero():
		case at.Before(first.Add(-j.o.Window)):
			return BeforeRecording, "made before the recording begins"
		case at.After(last.Add(j.o.Window)):
			return AfterRecording, "made after the recording ends"
		}
	}
	return Unexplained, "no call on the wire is it"
}

// hints names, for a call that is not on the wire, the one free call of the same
// tool with other arguments in its window: tier 3, shown and never used.
func (j *joiner) hints(t *talk) {
	open := map[*wireCall][]int{}
	only := map[int]*wireCall{}
	byN := map[int]*hostCall{}
	for _, h := range t.calls {
		byN[h.n] = h
	}
	looked := 0
	for i := range t.out.Calls {
		out := &t.out.Calls[i]
		h := byN[out.Host]
		if out.Paired() || out.HostOnly.Explained() || out.Session < 0 || out.Tool == "" {
			continue
		}
		var found []*wireCall
		for _, c := range j.wires[out.Session].calls {
			if looked++; looked > maxEdges {
				return
			}
			if c.of == nil && c.c.Tool == out.Tool && j.may(h, c) != NoTier {
				found = append(found, c)
			}
		}
		for _, c := range found {
			open[c] = append(open[c], i)
		}
		if len(found) == 1 {
			only[i] = found[0]
		}
	}
	for i, c := range only {
		if len(open[c]) == 1 {
			r := c.ref()
			t.out.Calls[i].Hint = &r
			t.out.Calls[i].Why += fmt.Sprintf("; record %d calls the same tool with other arguments", c.c.Seq)
		}
	}
}

func (t *talk) wireSide(j *joiner) {
	first, last := t.span()
	maybe := t.unsure(j)
	for _, w := range j.wireOrder {
		if t.parts[w] == nil {
			continue
		}
		for _, c := range w.calls {
			if c.of != nil && c.of.t == t {
				continue
			}
			out := WireOnly{Ref: c.ref()}
			switch {
			case c.of != nil:
				out.Kind, out.Why = OtherConversation, "a call of another conversation"
			case t.scope(c) == denied:
				out.Kind, out.Why = OtherConversation, "the ids on the wire are another conversation's"
			case c.meta.gated != "" && t.byID[c.meta.gated] != nil:
				out.Kind, out.Why = PermissionPrompt, "asks for leave to make the call "+c.meta.gated
			case maybe[c.key()]:
				out.Kind, out.Why = WireUnclear, "one of several calls that may be the host's"
			case !c.at.IsZero() && !first.IsZero() && (c.at.Before(first.Add(t.shift()-j.o.Window)) || c.at.After(last.Add(t.shift()+j.o.Window))):
				out.Kind, out.Why = OutsideTranscript, "sent outside the time that the transcript covers"
			default:
				out.Kind, out.Why = WireUnexplained, "the transcript has no such call"
			}
			t.out.WireOnly = append(t.out.WireOnly, out)
		}
	}
}

// unsure are the tools and arguments of calls that were left without a sure pair.
func (t *talk) unsure(j *joiner) map[contentKey]bool {
	out := map[contentKey]bool{}
	for _, h := range t.calls {
		if !h.tried || !h.known || !h.unclear && h.certainty != Ambiguous {
			continue
		}
		for _, w := range j.wireOrder {
			for _, tool := range t.resolve(h.c, w) {
				out[contentKey{tool, h.args}] = true
			}
		}
	}
	return out
}

// key is what the call has in common with others like it; one whose arguments cannot
// be read is like none.
func (c *wireCall) key() contentKey {
	args, ok := c.arguments()
	if !ok {
		return contentKey{}
	}
	return contentKey{c.c.Tool, args}
}

// span is the time that the transcript covers; zero: it has no times.
func (t *talk) span() (first, last time.Time) {
	take := func(at time.Time) {
		if at.IsZero() {
			return
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	for i := range t.c.Turns {
		take(t.c.Turns[i].StartedAt)
		take(t.c.Turns[i].EndedAt)
	}
	for i := range t.c.Messages {
		take(t.c.Messages[i].At)
	}
	for i := range t.c.Calls {
		take(t.c.Calls[i].At)
		take(t.c.Calls[i].EndedAt)
	}
	return first, last
}

// judge gives the verdict (hosts.md 5).
func (t *talk) judge() {
	o := &t.out
	pairs, unsure, clashes, hostRest, wireRest, explained := 0, 0, 0, 0, 0, 0
	for i := range o.Calls {
		c := &o.Calls[i]
		switch {
		case c.Paired():
			pairs++
			if c.Certainty == Ambiguous {
				unsure++
			}
		case c.HostOnly.Explained():
			explained++
		default:
			hostRest++
		}
		if c.Contradiction != "" {
			clashes++
		}
	}
	for i := range o.WireOnly {
		if !o.WireOnly[i].Kind.Explained() {
			wireRest++
		}
	}
	scoped := false
	for _, p := range t.parts {
		o.Sessions = append(o.Sessions, *p)
		scoped = scoped || p.Tier <= TierScope
	}
	slices.SortFunc(o.Sessions, func(a, b Part) int { return a.Wire - b.Wire })
	told := fmt.Sprintf("%d paired", pairs)
	if unsure > 0 {
		told += fmt.Sprintf(" (%d ambiguous)", unsure)
	}
	if explained > 0 {
		told += fmt.Sprintf(", %d never sent", explained)
	}
	if hostRest > 0 {
		told += fmt.Sprintf(", %d of the host alone", hostRest)
	}
	if wireRest > 0 {
		told += fmt.Sprintf(", %d of the wire alone", wireRest)
	}
	if clashes > 0 {
		told += fmt.Sprintf(", %d contradictory", clashes)
	}
	switch {
	case pairs == 0 && !scoped:
		o.Verdict = NotJoined
		told = "no call in common" + t.whyNot()
	case clashes > 0:
		o.Verdict = Contradictory
	case hostRest > 0 || wireRest > 0 || unsure > 0:
		o.Verdict = JoinedWithRest
	default:
		o.Verdict = Joined
	}
	o.Why = told
}

// whyNot says what keeps a conversation from being joined, where it can be seen.
func (t *talk) whyNot() string {
	var keys []string
	for _, h := range t.calls {
		if k := h.c.Server; k != "" && !slices.Contains(keys, k) && len(keys) < 8 {
			keys = append(keys, k)
		}
	}
	switch {
	case t.apart:
		return ", and the recording is of another time"
	case len(t.calls) == 0:
		return ": the transcript has no call of an MCP server"
	case len(keys) > 0:
		return fmt.Sprintf("; the transcript has calls of the servers %q", keys)
	}
	return ""
}
