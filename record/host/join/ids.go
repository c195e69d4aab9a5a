package join

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sixlink/sixlink/record/host"
)

// byID pairs calls by the exact ids that a host puts on the wire (tier 0). Several
// calls on the wire with one id are attempts of one call.
func (j *joiner) byID() {
	for _, w := range j.wireOrder {
		for _, c := range w.calls {
			if h := j.ofID(c); h != nil {
				h.tier, h.certainty = TierID, Sure
				h.wires = append(h.wires, c)
				c.of = h
			}
		}
	}
	for _, t := range j.talks {
		t.unprefixed()
		for _, h := range t.calls {
			if h.tier != TierID {
				continue
			}
			sortAttempts(h.wires)
			h.why = "the host's id " + h.wires[0].meta.use + " is on the wire"
			for _, c := range h.wires {
				t.part(c.w, TierID, "the host's ids are on the wire")
				if t.keys[c.w] == nil {
					t.keys[c.w] = map[string]bool{}
				}
				t.keys[c.w][h.c.Server] = true
			}
		}
	}
}

// unprefixed takes the calls that only looked like the host's own: a host that was
// told to leave its prefix out (CLAUDE_AGENT_SDK_MCP_NO_PREFIX) names servers' tools
// as it does its own, and the ids tell. Where one was, so is each other call of a tool
// of that session.
func (t *talk) unprefixed() {
	in := map[*wire]bool{}
	for _, h := range t.own {
		for _, c := range h.wires {
			in[c.w] = true
		}
	}
	if len(in) == 0 {
		return
	}
	for _, h := range t.own {
		mine := len(h.wires) > 0
		for w := range in {
			mine = mine || len(t.shownAs(w)[h.c.Name]) > 0
		}
		if mine {
			h.args, h.known = hostArgs(h.c)
			t.calls = append(t.calls, h)
		}
	}
	slices.SortFunc(t.calls, func(a, b *hostCall) int { return cmp.Compare(a.n, b.n) })
}

// ofID finds the call whose id the wire call carries, in the conversation that the
// other ids on the wire do not deny.
func (j *joiner) ofID(c *wireCall) *hostCall {
	var found *hostCall
	best := noScope
	for _, t := range j.order {
		if !c.meta.family.fits(t.c.Host.Name) {
			continue
		}
		h := t.byID[c.meta.use]
		if c.meta.use == "" || h == nil {
			h = t.byID[c.meta.item]
		}
		if c.meta.use == "" && c.meta.item == "" || h == nil {
			continue
		}
		// Ids such as call_1 repeat over conversations: the wire's own ids of the
		// conversation decide, where it has them.
		if s := t.scope(c); s != denied && s > best || s != denied && found == nil {
			found, best = h, s
		}
	}
	return found
}

// sortAttempts orders by (start of the recording, seq).
func sortAttempts(cs []*wireCall) {
	slices.SortStableFunc(cs, func(a, b *wireCall) int {
		return cmp.Or(cmp.Compare(a.w.rank, b.w.rank), cmp.Compare(a.n, b.n))
	})
}

// effective is the attempt that counts: the last with a response (hosts.md 5).
func effective(cs []*wireCall) int {
	for i := len(cs) - 1; i >= 0; i-- {
		if cs[i].c.AnswerSeq != 0 && !cs[i].c.Late {
			return i
		}
	}
	return len(cs) - 1
}

// scopeOf says what the ids on the wire say of a call and a conversation.
type scopeOf int

const (
	denied  scopeOf = iota - 1 // of another conversation
	noScope                    // nothing
	wide                       // the conversation's root, or its server's process
	narrow                     // the conversation
)

// scope is what the wire call's ids, and its server's environment, say of the
// conversation (tier 1).
func (t *talk) scope(c *wireCall) scopeOf {
	m := &c.meta
	if !m.family.fits(t.c.Host.Name) {
		return denied
	}
	if len(m.threads) > 0 && len(t.ids) > 0 {
		if t.ids[m.threads[0]] {
			return narrow
		}
		for _, id := range m.threads[1:] {
			if t.ids[id] {
				return wide
			}
		}
		return denied
	}
	// The environment is that of the process's start: /clear begins another session
	// beside the same server, so it affirms and never denies.
	if id := c.w.HostSession; id != "" && t.ids[id] {
		return wide
	}
	return noScope
}

// part makes a session one of the conversation's.
func (t *talk) part(w *wire, tier Tier, why string) {
	p := t.parts[w]
	if p == nil {
		t.parts[w] = &Part{Wire: w.index, Tier: tier, Why: why}
	} else if tier < p.Tier {
		p.Tier, p.Why, p.Chosen = tier, why, false
	}
}

// maxSpread is how much the exact pairs may differ for their shift to be used.
const maxSpread = time.Second

// clock measures the host's clock against the recorder's by exact pairs. The
// median stands: a call that waited for a permission is minutes late (hosts.md 5).
func (t *talk) clock() {
	var d []time.Duration
	for _, h := range t.calls {
		if h.tier == TierID && !h.c.At.IsZero() && !h.wires[0].at.IsZero() {
			d = append(d, h.wires[0].at.Sub(h.c.At))
		}
	}
	if len(d) == 0 {
		return
	}
	c := Clock{Pairs: len(d), Shift: median(d)}
	for i := range d {
		d[i] = (d[i] - c.Shift).Abs()
	}
	c.Spread = median(d)
	c.Used = c.Spread <= maxSpread
	t.out.Clock = c
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// shift is what is added to host times.
func (t *talk) shift() time.Duration {
	if t.out.Clock.Used {
		return t.out.Clock.Shift
	}
	return 0
}

// verify looks at what pairs say differently on both sides. A mismatch is told and
// never mended by another pair (hosts.md 5, tier 0).
func (j *joiner) verify() {
	for _, t := range j.talks {
		for _, h := range t.calls {
			if len(h.wires) == 0 {
				continue
			}
			c := h.wires[effective(h.wires)]
			if h.tier == TierID {
				h.compare(c)
			}
			if h.clash == "" && h.certainty == Sure {
				h.outcome(c)
			}
		}
	}
}

func (h *hostCall) compare(c *wireCall) {
	names := h.t.resolve(h.c, c.w)
	if !slices.Contains(names, c.c.Tool) && !slices.Contains(h.t.resolveAnywhere(h.c, c.w), c.c.Tool) {
		h.clash, h.clashes = OtherTool, fmt.Sprintf("the host called %q and the wire %q", h.c.Name, c.c.Tool)
		return
	}
	args, known := c.arguments()
	switch {
	case !known || !h.known || args == h.args:
	case h.c.Args == nil, h.c.ArgsSource == "modelWritten":
		// Not on record, or what the model wrote before the host made it ready.
	case sameBehindMask(h.c, c):
		h.why += "; the arguments agree as far as they are not hidden"
	default:
		h.clash, h.clashes = OtherArguments, "the arguments on the wire are not those of the host"
	}
}

// resolveAnywhere is resolve without the recording's label: an exact id says more
// than a label that a person wrote.
func (t *talk) resolveAnywhere(c *host.Call, w *wire) []string {
	free := *w.Wire
	free.Server = ""
	return t.resolve(c, &wire{Wire: &free, tools: w.tools})
}

// outcome compares whether the call ended well. What neither side says for sure is
// no contradiction.
func (h *hostCall) outcome(c *wireCall) {
	failed, said := failedOnWire(c.c)
	if h.c.NotSent() {
		if failed && c.c.AnswerSeq != 0 {
			return // in words that a server may use as well: see byContent
		}
		h.clash, h.clashes = OtherOutcome, "the host says that it was never sent"
		return
	}
	if h.c.HostError == nil || c.c.AnswerSeq == 0 || c.c.Late {
		return
	}
	if !said || failed == *h.c.HostError {
		return
	}
	h.clash = OtherOutcome
	if failed {
		h.clashes = "the wire has an error and the host none"
	} else {
		h.clashes = "the host has an error and the wire none"
	}
}
