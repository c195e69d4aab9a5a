package grade

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	hostjoin "github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Groups are the recordings that have to be graded together, since one conversation
// is joined to several of them; each group sorted, in the order of their first.
// Recordings that stand alone are in none.
func Groups(r *hostjoin.Result) [][]string {
	parent := map[string]string{}
	root := func(x string) string {
		for parent[x] != x {
			x = parent[x]
		}
		return x
	}
	for i := range r.Conversations {
		c := &r.Conversations[i]
		first := ""
		for _, p := range c.Sessions {
			id := r.Wires[p.Wire].Recording
			if parent[id] == "" {
				parent[id] = id
			}
			if first == "" {
				first = id
			}
			parent[root(id)] = root(first)
		}
	}
	members := map[string][]string{}
	for id := range parent {
		members[root(id)] = append(members[root(id)], id)
	}
	var out [][]string
	for _, m := range members {
		if len(m) > 1 {
			slices.Sort(m)
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// AddTogether grades recordings of which some are joined to one conversation: those
// sessions are one trial (grading.md 0.1 "Several servers"). Nothing of them is kept.
func (g *Grader) AddTogether(recs []*Recording) {
	works := make([]*work, len(recs))
	for i, r := range recs {
		works[i] = g.begin(r)
	}
	groups := together(works)
	for _, w := range works {
		w.recording()
	}
	for _, parts := range groups {
		parts[0].w.together(parts)
	}
	for _, w := range works {
		g.end(w)
	}
}

// part is one session of a trial that has several.
type part struct {
	w      *work
	s      *session.Session // with the seqs of its part
	own    *session.Session // as it was decoded
	talk   *Talk
	server string
}

// together finds the sessions that belong together and takes them out of what each
// recording grades by itself.
func together(works []*work) [][]*part {
	byTalk := map[*hostjoin.Conversation][]*part{}
	var order []*hostjoin.Conversation
	for _, w := range works {
		if w.unfit() {
			continue
		}
		for _, s := range w.r.Sessions {
			of := w.r.Joined[s.ID]
			if len(of) != 1 || !of[0].right() {
				continue // none, or told as ambiguous
			}
			j := of[0].Join
			if byTalk[j] == nil {
				order = append(order, j)
			}
			byTalk[j] = append(byTalk[j], &part{w: w, own: s, talk: of[0], server: serverKey(w.r, s)})
		}
	}
	var out [][]*part
	for _, j := range order {
		parts := byTalk[j]
		if len(parts) < 2 {
			continue
		}
		slices.SortStableFunc(parts, func(a, b *part) int {
			return cmp.Or(a.begin().Compare(b.begin()), cmp.Compare(a.w.r.ID, b.w.r.ID), cmp.Compare(a.own.FirstSeq, b.own.FirstSeq))
		})
		for _, p := range parts {
			if p.w.apart == nil {
				p.w.apart = map[string]bool{}
			}
			p.w.apart[p.own.ID] = true
		}
		out = append(out, parts)
	}
	return out
}

func (p *part) begin() time.Time {
	w := &p.talk.Wires[p.talk.Of[0]]
	return w.Start.Add(time.Duration(p.own.FirstAt))
}

// together grades the sessions of one conversation as one trial.
func (w *work) together(parts []*part) {
	whole := &Talk{Join: parts[0].talk.Join, Wires: parts[0].talk.Wires}
	talk := conversationOf(whole.Join.Talk, w.suite.Usage)
	c, ok := w.claim(parts[0].own, talk)
	if !ok {
		return
	}
	var kept []*part
	for _, p := range parts {
		if !w.suite.takesServer(p.server) || c != nil && len(c.Servers) > 0 && !slices.Contains(c.Servers, p.server) {
			p.w.skip(p.own.ID, WhyServer, fmt.Sprintf("server %q is not graded by the suite", p.server))
			continue
		}
		p.s = shifted(p.own, predicate.PartSeq(len(kept)))
		whole.Of = append(whole.Of, p.talk.Of[0])
		kept = append(kept, p)
	}
	if len(kept) == 0 {
		return
	}
	ev, bare := w.merged(kept)
	s := whole.join(ev, pseudo(kept, bare), w.suite)
	first := kept[0]
	t := &Trial{Recording: first.w.r.ID, Session: first.own.ID, Labels: first.w.r.Labels, Calls: len(s.Calls), Talk: noteOf(whole)}
	for _, p := range kept {
		t.Parts = append(t.Parts, Part{p.w.r.ID, p.own.ID, p.server})
	}
	w.grade(t, c, s, ev)
	tellParts(&t.Chain, kept, bare)
	first.w.d.trials = append(first.w.d.trials, briefOf(c, t))
}

// merged is the evidence of all parts.
func (w *work) merged(parts []*part) (*predicate.Evidence, []chain.Result) {
	var bare []chain.Result
	out := &predicate.Evidence{Turn: -1, Schemas: w.cache}
	siblings := make([]*session.Session, len(parts))
	for i, p := range parts {
		siblings[i] = p.s
	}
	declared := map[string]bool{}
	for i, p := range parts {
		ev := Evidence(p.s, siblings, w.cache)
		ev.NameServer(p.server)
		bare = append(bare, chain.Analyze(chain.Input{Session: p.own, Evidence: ev}))
		out.Calls = append(out.Calls, ev.Calls...)
		out.Errors = append(out.Errors, ev.Errors...)
		out.Undecided = append(out.Undecided, ev.Undecided...)
		out.Results = append(out.Results, ev.Results...)
		out.Timings = append(out.Timings, ev.Timings...)
		out.Lists = append(out.Lists, ev.Lists...)
		// Of a server that several parts have, the first list that was whole stands.
		if !declared[p.server] && len(ev.Declarations) > 0 {
			declared[p.server] = true
			out.Declarations = append(out.Declarations, ev.Declarations...)
		}
		out.Capture = worse(out.Capture, p.s.Capture, i)
	}
	for _, p := range parts {
		if !declared[p.server] { // no part of this server declares anything
			out.Capture.ToolDeclarations = least(out.Capture.ToolDeclarations, session.Absent)
		}
	}
	if len(declared) > 0 && out.Capture.ToolDeclarations != session.Complete && wholeDeclared(parts) {
		out.Capture.ToolDeclarations = session.Complete
	}
	return out, bare
}

// wholeDeclared says that each server's first declared list is whole.
func wholeDeclared(parts []*part) bool {
	seen := map[string]bool{}
	for _, p := range parts {
		if seen[p.server] || p.s.DeclaredCatalog() == nil {
			continue
		}
		seen[p.server] = true
		if p.s.Capture.ToolDeclarations != session.Complete {
			return false
		}
	}
	for _, p := range parts {
		if !seen[p.server] {
			return false
		}
	}
	return true
}

// worse is what two captures come to together.
func worse(a, b session.Capture, n int) session.Capture {
	if n == 0 {
		a = session.Capture{ToolCalls: b.ToolCalls, ToolErrors: b.ToolErrors, ToolResults: b.ToolResults, ToolCallTimings: b.ToolCallTimings,
			ToolInventory: b.ToolInventory, ToolDeclarations: b.ToolDeclarations}
	} else {
		a.ToolCalls, a.ToolErrors = least(a.ToolCalls, b.ToolCalls), least(a.ToolErrors, b.ToolErrors)
		a.ToolResults, a.ToolCallTimings = least(a.ToolResults, b.ToolResults), least(a.ToolCallTimings, b.ToolCallTimings)
		a.ToolInventory, a.ToolDeclarations = least(a.ToolInventory, b.ToolInventory), least(a.ToolDeclarations, b.ToolDeclarations)
	}
	for _, why := range b.Why {
		a.Why = append(a.Why, fmt.Sprintf("part %d: %s", n+1, why))
	}
	return a
}

// least is complete where both are, absent where both are, else partial.
func least(a, b session.CaptureState) session.CaptureState {
	if a == b {
		return a
	}
	return session.Partial
}

// shifted is a session with the seqs of its part in its calls and lists.
func shifted(s *session.Session, by int64) *session.Session {
	if by == 0 {
		return s
	}
	move := func(seq int64) int64 {
		if seq == 0 {
			return 0
		}
		return seq + by
	}
	out := *s
	lists := map[*catalog.List]*catalog.List{}
	out.Lists = nil
	for _, l := range s.Lists {
		own := *l
		own.ChangedSeq = move(l.ChangedSeq)
		own.Pages, own.Tools = slices.Clone(l.Pages), slices.Clone(l.Tools)
		for i := range own.Pages {
			own.Pages[i].RequestSeq, own.Pages[i].AnswerSeq = move(own.Pages[i].RequestSeq), move(own.Pages[i].AnswerSeq)
		}
		for i := range own.Tools {
			own.Tools[i].Seq = move(own.Tools[i].Seq)
		}
		lists[l] = &own
		out.Lists = append(out.Lists, &own)
	}
	out.Calls = nil
	for _, c := range s.Calls {
		own := *c
		own.Seq, own.AnswerSeq, own.CancelledSeq = move(c.Seq), move(c.AnswerSeq), move(c.CancelledSeq)
		own.RepliesWithoutRequest = slices.Clone(c.RepliesWithoutRequest)
		for i := range own.RepliesWithoutRequest {
			own.RepliesWithoutRequest[i] = move(own.RepliesWithoutRequest[i])
		}
		if l := lists[c.Catalog]; l != nil {
			own.Catalog = l
		}
		out.Calls = append(out.Calls, &own)
	}
	out.End.FirstSeq, out.End.ExitSeq = move(s.End.FirstSeq), move(s.End.ExitSeq)
	return &out
}

// badness orders the states of a link: what is worse counts for all parts.
func badness(s chain.State) int {
	switch s {
	case chain.Failed:
		return 3
	case chain.NotMeasured, chain.NotReached:
		return 2
	case chain.NotApplicable:
		return 1
	}
	return 0
}

// worst is the first part whose link is worst.
func worst(bare []chain.Result, link int) int {
	at := 0
	for i := range bare {
		if badness(bare[i].Links[link].State) > badness(bare[at].Links[link].State) {
			at = i
		}
	}
	return at
}

// pseudo is a session for the analyzer: the calls of all parts, the connection and
// the lists of those parts where they went worst.
func pseudo(parts []*part, bare []chain.Result) *session.Session {
	out := *parts[worst(bare, 0)].s
	lists := parts[worst(bare, 1)].s
	out.Lists, out.ToolsCapability = lists.Lists, lists.ToolsCapability
	out.Calls = nil
	for _, p := range parts {
		out.Calls = append(out.Calls, p.s.Calls...)
	}
	return &out
}

// tellParts says of the connection and discovery which server they speak of.
func tellParts(r *chain.Result, parts []*part, bare []chain.Result) {
	if len(parts) < 2 {
		return
	}
	for link := range 2 {
		at := worst(bare, link)
		l, own := &r.Links[link], &bare[at].Links[link]
		if l.State != own.State || l.Reason != own.Reason {
			continue // a check decided
		}
		l.Evidence.Records = slices.Clone(own.Evidence.Records)
		for i := range l.Evidence.Records {
			l.Evidence.Records[i] += predicate.PartSeq(at)
		}
		l.Evidence.Text = own.Evidence.Text
		if badness(l.State) > 0 {
			l.Evidence.Text = predicate.Sentence(fmt.Sprintf("server %s, part %d: %s", predicate.Quoted(parts[at].server), at+1, own.Evidence.Text))
		}
	}
}
