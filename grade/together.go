package grade

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sixlink/sixlink/grade/predicate"
	hostjoin "github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/session"
)

// Groups says which recordings have to be graded together, since one conversation is
// joined to several of them: the group of each by its id. Recordings that stand alone
// are not in it.
func Groups(r *hostjoin.Result) map[string]string {
	parent := map[string]string{}
	root := func(x string) string {
		for parent[x] != x {
			x = parent[x]
		}
		return x
	}
	for i := range r.Conversations {
		first := ""
		for _, p := range r.Conversations[i].Sessions {
			id := r.Wires[p.Wire].Recording
			if parent[id] == "" {
				parent[id] = id
			}
			if first == "" {
				first = id
			}
			// The least id of a group is its name, whatever came first.
			a, b := root(id), root(first)
			parent[max(a, b)] = min(a, b)
		}
	}
	size := map[string]int{}
	for id := range parent {
		size[root(id)]++
	}
	out := map[string]string{}
	for id := range parent {
		if name := root(id); size[name] > 1 {
			out[id] = name
		}
	}
	return out
}

// joinedTo is the one transcript of a session; nil: none, or several.
func (w *work) joinedTo(s *session.Session) *Talk {
	if of := w.r.Joined[s.ID]; len(of) == 1 {
		return of[0]
	}
	return nil
}

// join gives the parts of a trial their transcript, when they have one between them.
func (t *merger) join() {
	var one *Talk
	for _, p := range t.parts {
		p.wire = -1
		j := p.joinedTo(p.s)
		switch {
		case j == nil || !j.right():
			continue
		case one == nil:
			one = j
		case one.Join != j.Join:
			return // of two conversations none is the trial's
		}
		p.wire = j.Of[0]
	}
	if one == nil {
		return
	}
	t.joined = one
	talk := conversationOf(one.Join, t.suite.Usage)
	for _, p := range t.parts {
		if p.wire >= 0 {
			p.talk = talk
		}
	}
}

// over is the transcript over the parts that are left.
func (t *Talk) over(parts []*jointPart) *Talk {
	if t == nil {
		return nil
	}
	out := &Talk{Join: t.Join, Wires: t.Wires, Parts: []*predicate.Part{}}
	for _, p := range parts {
		if p.wire >= 0 {
			out.Of, out.Parts = append(out.Of, p.wire), append(out.Parts, p.of)
		}
	}
	if len(out.Of) == 0 {
		return nil
	}
	return out
}

// conversations grades recordings that conversations hold together: the sessions of
// one conversation are one trial, each other session is one of its own.
func (t *merger) conversations() {
	byTalk := map[*hostjoin.Conversation][]*jointPart{}
	var order []*hostjoin.Conversation
	for number, w := range t.members {
		if number >= maxParts && w.r.Unreadable == "" {
			w.d.unfit = true
			w.skip("", WhyLimit, fmt.Sprintf("the conversation is joined to more than %d recordings", maxParts))
			continue
		}
		if !w.usable() {
			continue
		}
		for _, s := range w.r.Sessions {
			j, name := w.joinedTo(s), serverKey(w.r, s)
			if j == nil || !j.right() || !t.suite.takesServer(name) || max(s.LastSeq, s.End.ExitSeq, s.End.FirstSeq) >= baseStep {
				w.session(s)
				continue
			}
			if byTalk[j.Join] == nil {
				order = append(order, j.Join)
			}
			byTalk[j.Join] = append(byTalk[j.Join], &jointPart{work: w, s: s,
				of: &predicate.Part{Recording: w.r.ID, Session: s.ID, Server: name, Base: int64(number) * baseStep}})
		}
	}
	for _, j := range order {
		parts := byTalk[j]
		if len(parts) == 1 {
			parts[0].session(parts[0].s)
			continue
		}
		slices.SortStableFunc(parts, func(a, b *jointPart) int {
			return cmp.Or(a.begin().Compare(b.begin()), cmp.Compare(a.r.ID, b.r.ID), cmp.Compare(a.s.FirstSeq, b.s.FirstSeq))
		})
		m := &merger{Grader: t.Grader, cache: t.cache, parts: parts}
		for _, p := range parts {
			if !slices.Contains(m.members, p.work) {
				m.members = append(m.members, p.work)
			}
		}
		m.join()
		c, ok := m.claim()
		if !ok {
			continue
		}
		if m.narrow(c); len(m.parts) > 0 {
			m.together(c)
		}
	}
}

// begin is when the part's session began, by the wall clock of its recording.
func (p *jointPart) begin() time.Time {
	j := p.joinedTo(p.s)
	w := &j.Wires[j.Of[0]]
	return w.Start.Add(time.Duration(p.s.FirstAt))
}
