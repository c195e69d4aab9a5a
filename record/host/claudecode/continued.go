package claudecode

import (
	"cmp"
	"slices"

	"github.com/sixlink/sixlink/record/host"
)

// continued makes one conversation of a session and the one that went on from it. Up
// to 1.0.x a resume begins a new file and copies the history into it, re-dated and
// without the subagents' work (hosts.md 3.1): the file whose prompts another one has
// all gives way to that, which takes over its turns as they first were. Where two
// files went on from it, neither is its end, and all stay apart with the copies marked
// (Turn.CopiedFrom).
func continued(cs []*host.Conversation) []*host.Conversation {
	has := make([]map[string]int, len(cs)) // turns by their prompt's record
	for i, c := range cs {
		has[i] = prompted(c)
	}
	holds := func(whole, part int) bool {
		if len(has[part]) == 0 || len(has[whole]) <= len(has[part]) {
			return false
		}
		for id := range has[part] {
			if _, ok := has[whole][id]; !ok {
				return false
			}
		}
		return true
	}
	parts := map[int][]int{} // by the one that they give way to
	gone := map[int]bool{}
	for i := range cs {
		if into, ok := last(len(cs), func(k int) bool { return holds(k, i) }, holds); ok {
			parts[into], gone[i] = append(parts[into], i), true
		}
	}
	var out []*host.Conversation
	for i, c := range cs {
		if gone[i] {
			continue
		}
		if list := parts[i]; len(list) > 0 {
			slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(len(has[a]), len(has[b])) })
			whole := &joined{out: *c, of: has[i]}
			for _, k := range list {
				whole.olds = append(whole.olds, old{cs[k], has[k]})
			}
			c = whole.join()
		}
		out = append(out, c)
	}
	return out
}

// last is the one of n that holds all others that are among; false: there is no such.
func last(n int, among func(int) bool, holds func(whole, part int) bool) (at int, ok bool) {
	at = -1
	for i := range n {
		if among(i) && (at < 0 || holds(i, at)) {
			at = i
		}
	}
	for i := range n {
		if among(i) && i != at && !holds(at, i) {
			return 0, false
		}
	}
	return at, at >= 0
}

// prompted are a conversation's turns by their prompt's record; nil where one has
// none, or figures of tokens that belong to no turn: such a file stays as it is.
func prompted(c *host.Conversation) map[string]int {
	if len(c.Usage) > 0 {
		return nil
	}
	out := map[string]int{}
	for i := range c.Turns {
		if len(c.Turns[i].Prompts) == 0 || c.Turns[i].Prompts[0].Message == "" {
			return nil
		}
		out[c.Turns[i].Prompts[0].Message] = i
	}
	if len(out) != len(c.Turns) {
		return nil
	}
	return out
}

// joined puts a session together from the file that has all its turns and those that
// had them first.
type joined struct {
	out  host.Conversation
	of   map[string]int
	olds []old // by number of turns
}

type old struct {
	c  *host.Conversation
	of map[string]int
}

// from is where a turn is taken from: the file that has it first hand, as far as it
// was answered there.
func (j *joined) from(t *host.Turn) (from int, turn int) {
	id := t.Prompts[0].Message
	for i, o := range j.olds {
		k, ok := o.of[id]
		if ok && o.c.Turns[k].CopiedFrom == "" && (o.c.Turns[k].Status == host.Complete || o.c.Turns[k].Status == t.Status) {
			return i, k
		}
	}
	return -1, t.Index
}

func (j *joined) join() *host.Conversation {
	c := j.out // the newest file's
	out := &j.out
	out.Sources, out.SessionIDs, out.Models, out.Servers, out.Notes, out.Branches = nil, nil, nil, nil, nil, nil
	out.Turns, out.Messages, out.Calls = nil, nil, nil
	all := append(slices.Clone(j.olds), old{&c, j.of})
	base := make([]int, len(all))
	for i, o := range all {
		base[i] = len(out.Sources)
		j.heads(o.c, base[i])
	}
	type place struct{ from, turn int }
	turns := map[place]int{} // of the whole
	for i := range c.Turns {
		from, turn := j.from(&c.Turns[i])
		if from < 0 {
			from = len(all) - 1
		}
		turns[place{from, turn}] = i
		t := movedTurn(all[from].c.Turns[turn], base[from])
		t.Index = i
		if from < len(all)-1 || slices.Contains(out.SessionIDs, t.CopiedFrom) {
			t.CopiedFrom = "" // it is that conversation's no less than this one's
		}
		out.Turns = append(out.Turns, t)
	}
	// Messages and calls come turn by turn; what is of no turn is the newest file's.
	for i, o := range all {
		for k := range o.c.Messages {
			m := o.c.Messages[k]
			at, ok := turns[place{i, m.Turn}]
			if !ok && (m.Turn >= 0 || i < len(all)-1) {
				continue
			}
			if ok {
				m.Turn = at
			}
			m.Src.Source += base[i]
			out.Messages = append(out.Messages, m)
		}
		for k := range o.c.Calls {
			call := o.c.Calls[k]
			at, ok := turns[place{i, call.Turn}]
			if !ok && (call.Turn >= 0 || i < len(all)-1) {
				continue
			}
			if ok {
				call.Turn = at
			}
			call.Src.Source += base[i]
			call.ResultSrc.Source += base[i]
			out.Calls = append(out.Calls, call)
		}
	}
	slices.SortStableFunc(out.Messages, func(a, b host.Message) int { return cmp.Compare(a.Turn, b.Turn) })
	slices.SortStableFunc(out.Calls, func(a, b host.Call) int { return cmp.Compare(a.Turn, b.Turn) })
	return out
}

// heads adds what a file says of the whole session.
func (j *joined) heads(c *host.Conversation, base int) {
	out := &j.out
	out.Sources = append(out.Sources, c.Sources...)
	for _, id := range c.SessionIDs {
		if !slices.Contains(out.SessionIDs, id) {
			out.SessionIDs = append(out.SessionIDs, id)
		}
	}
	for _, m := range c.Models {
		if !slices.Contains(out.Models, m) {
			out.Models = append(out.Models, m)
		}
	}
	for _, s := range c.Servers {
		if !slices.ContainsFunc(out.Servers, func(o host.Server) bool { return o.Name == s.Name }) {
			out.Servers = append(out.Servers, s)
		}
	}
	for _, n := range c.Notes {
		n.Src.Source += base
		out.Notes = append(out.Notes, n)
	}
	for _, b := range c.Branches {
		b.Src.Source += base
		out.Branches = append(out.Branches, b)
	}
	x, y := &out.Caps, &c.Caps
	for _, p := range [][2]*host.Cap{{&x.Turns, &y.Turns}, {&x.Prompts, &y.Prompts}, {&x.FinalText, &y.FinalText}, {&x.Tokens, &y.Tokens},
		{&x.Times, &y.Times}, {&x.Calls, &y.Calls}, {&x.CallIDs, &y.CallIDs}, {&x.Model, &y.Model}} {
		*p[0] = least(*p[0], *p[1])
	}
}

// least is what two files together can answer: what one of them lacks is partial.
func least(a, b host.Cap) host.Cap {
	if a == b {
		return a
	}
	return host.Partial
}

// movedTurn is a turn whose sources are counted from base on.
func movedTurn(t host.Turn, base int) host.Turn {
	t.Src.Source += base
	t.FinalText.Src.Source += base
	t.Prompts, t.Earlier = slices.Clone(t.Prompts), slices.Clone(t.Earlier)
	for i := range t.Prompts {
		t.Prompts[i].Src.Source += base
	}
	for i := range t.Earlier {
		t.Earlier[i].Src.Source += base
	}
	return t
}
