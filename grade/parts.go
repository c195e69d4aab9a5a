package grade

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// A trial over several servers has a recording a server (grading.md 0.1 "Several
// servers"). Which recordings are one trial is known when all are there, so Add keeps
// of one that may be a part its id, path and labels, and Verdict reads it again, one
// trial a processor at a time: see [Recording.Again].

const (
	// maxParts bounds the recordings of one trial, which are open at once. What is
	// beyond counts as not readable, so that it wins nothing.
	maxParts = 64
	// baseStep is the distance of the bases of two recordings (see predicate.Part); a
	// recording whose records are numbered beyond it, which takes a forged gap, counts
	// as not readable.
	baseStep = 1 << 48
)

// trialKey is by what recordings are one trial: recordings with an equal key are.
// Without a key each session of the recording is a trial of its own.
func trialKey(r *Recording) (key string, ok bool) {
	if r.Group != "" {
		return "\x00" + r.Group, true // no label is like that
	}
	key = r.Labels[LabelTrial]
	return key, key != ""
}

// joint is what may be one trial.
type joint struct {
	members []*graded
	// doubt says why something that nobody can name may be missing from it.
	doubt []string
}

// joints puts the recordings that Add kept together, in the order of done. What the
// labels leave open is told of the recording itself.
func (g *Grader) joints() []*joint {
	var doubt []string
	byKey := map[string][]*graded{}
	var keys []string
	for i := range g.done {
		d := &g.done[i]
		if d.unreadable != "" && d.labels == nil {
			doubt = append(doubt, fmt.Sprintf("recording %s cannot be read, and may be a part of this trial", cmp.Or(d.id, "without an id")))
		}
		if d.held == nil {
			continue
		}
		key, _ := trialKey(d.held)
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], d)
	}
	var out []*joint
	for _, key := range keys {
		// Trials are counted within a case: the label trial=1 may be there once a case.
		byCase := map[string]*joint{}
		var cases []string
		var open []*graded
		for _, d := range byKey[key] {
			id := d.held.Labels[LabelCase]
			switch j := byCase[id]; {
			case id == "":
				open = append(open, d)
			case j == nil:
				byCase[id] = &joint{members: []*graded{d}, doubt: doubt}
				cases = append(cases, id)
				out = append(out, byCase[id])
			default:
				j.members = append(j.members, d)
			}
		}
		switch {
		case len(open) == 0:
		case len(cases) == 0:
			out = append(out, &joint{members: open, doubt: doubt})
		case len(cases) == 1:
			j := byCase[cases[0]]
			j.members = append(j.members, open...)
			slices.SortStableFunc(j.members, compareDone)
		default:
			for _, d := range open {
				d.unclear = true
				d.skipped = append(d.skipped, Skipped{d.id, "", d.path, WhyAmbiguous,
					fmt.Sprintf("label trial=%s is that of trials of the cases %s: give the recording a label case", key, strings.Join(cases, ", "))})
				for _, id := range cases {
					j := byCase[id]
					j.doubt = append(slices.Clone(j.doubt), fmt.Sprintf("recording %s has the trial's label, and does not say of which case", d.id))
				}
			}
		}
	}
	return out
}

// gradeJoints grades what Add kept.
func (g *Grader) gradeJoints() {
	list := g.joints()
	next := make(chan *joint)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for j := range next {
				g.gradeJoint(j)
			}
		})
	}
	for _, j := range list {
		next <- j
	}
	close(next)
	wg.Wait()
	for i := range g.done {
		g.done[i].held = nil
	}
}

func (g *Grader) gradeJoint(j *joint) {
	t := &merger{Grader: g, doubt: j.doubt}
	t.cache = g.takeCache()
	defer g.giveCache(t.cache)
	for i, d := range j.members {
		r := d.held
		if r.Again != nil && r.Unreadable == "" && i < maxParts {
			now, done := again(r)
			defer done()
			r = now
		}
		d.read(r)
		t.members = append(t.members, &work{Grader: g, r: r, d: d, cache: t.cache})
	}
	if t.members[0].r.Group != "" {
		t.conversations()
	} else {
		t.grade()
	}
	if g.shelf != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, d := range j.members {
			for i := range d.trials {
				g.shelf.put(&d.trials[i])
			}
		}
	}
}

// again reads a recording a second time.
func again(r *Recording) (*Recording, func()) {
	now, done, err := r.Again()
	if err == nil && now.ID != r.ID {
		done()
		err = fmt.Errorf("another recording is in its place: %s", now.ID)
	}
	if err != nil {
		return &Recording{ID: r.ID, Path: r.Path, Labels: r.Labels, Unreadable: err.Error()}, func() {}
	}
	now.Labels, now.Joined, now.Group = r.Labels, r.Joined, r.Group
	return now, done
}

// merger is a trial over several sessions while it is graded.
type merger struct {
	*Grader
	cache   *predicate.Schemas
	members []*work // a recording each
	doubt   []string
	parts   []*jointPart
	lost    []*predicate.Part
	joined  *Talk // the one transcript of the parts; nil: none
}

// jointPart is one session of it.
type jointPart struct {
	*work
	s    *session.Session
	of   *predicate.Part
	talk *predicate.Conversation
	wire int // its place in joined.Wires; -1: the transcript is not joined to it
	ev   *predicate.Evidence
}

func (t *merger) grade() {
	if len(t.members) == 1 && len(t.doubt) == 0 {
		if r := t.members[0].r; r.Unreadable != "" || len(r.Sessions) < 2 {
			t.members[0].recording() // as without the label
			return
		}
	}
	for i, w := range t.members {
		t.sessions(w, i)
	}
	if len(t.parts) == 0 {
		return
	}
	t.join()
	c, ok := t.claim()
	if !ok {
		return
	}
	t.narrow(c)
	switch {
	case len(t.parts) == 0:
	case len(t.parts) == 1 && len(t.lost)+len(t.doubt) == 0:
		p := t.parts[0]
		p.alone(p.s, c, p.talk)
	default:
		t.together(c)
	}
}

// sessions takes the sessions of one recording, or notes what of it is lost.
func (t *merger) sessions(w *work, number int) {
	r := w.r
	lose := func(session, server, why string) {
		if server == "" || t.suite.takesServer(server) {
			t.lost = append(t.lost, &predicate.Part{Recording: r.ID, Session: session, Server: server, Lost: why})
		}
	}
	label := r.Labels[LabelServer]
	if number >= maxParts && r.Unreadable == "" {
		w.d.unfit = true
		why := fmt.Sprintf("more than %d recordings have the trial's label", maxParts)
		w.skip("", WhyLimit, why)
		lose("", label, why)
		return
	}
	if !w.usable() {
		if x := w.d.skipped[len(w.d.skipped)-1]; x.Why != WhyNoSession || r.Torn || r.Gaps > 0 || r.Midway {
			lose("", label, fmt.Sprintf("recording %s of this trial cannot be used: %s", r.ID, x.Detail))
		}
		return
	}
	base := int64(number) * baseStep
	for _, s := range r.Sessions {
		name := serverKey(r, s)
		switch {
		case max(s.LastSeq, s.End.ExitSeq, s.End.FirstSeq) >= baseStep:
			w.d.unfit = true
			w.skip(s.ID, WhyUnreadable, "its records have numbers that are too large")
			lose(s.ID, name, "the records of a session have numbers that are too large")
		case !t.suite.takesServer(name):
			w.skipServer(s.ID, name)
			if name == "" {
				lose(s.ID, "", fmt.Sprintf("session %s of recording %s does not say whose it is", s.ID, r.ID))
			}
		default:
			t.parts = append(t.parts, &jointPart{work: w, s: s, talk: r.Talks[s.ID],
				of: &predicate.Part{Recording: r.ID, Session: s.ID, Server: name, Base: base}})
		}
	}
}

// claim finds the case of the trial: what any of its recordings says counts, also of
// one that cannot be read.
func (t *merger) claim() (c *CaseSpec, ok bool) {
	var labels []map[string]string
	for _, w := range t.members {
		labels = append(labels, w.r.Labels)
	}
	a := t.suite.claims(t.o.Case, labels, t.talk())
	for _, p := range t.parts {
		ok = p.claimed(p.s, a) // of all or of none
	}
	return a.c, ok
}

// talk is the host's transcript of the trial; nil: none is joined, or the parts are
// joined to different ones.
func (t *merger) talk() (talk *predicate.Conversation) {
	for _, p := range t.parts {
		switch {
		case p.talk == nil:
		case talk == nil:
			talk = p.talk
		case talk != p.talk:
			return nil
		}
	}
	return talk
}

// narrow leaves the servers out that the case does not grade.
func (t *merger) narrow(c *CaseSpec) {
	if c == nil || len(c.Servers) == 0 {
		return
	}
	t.parts = slices.DeleteFunc(t.parts, func(p *jointPart) bool {
		if slices.Contains(c.Servers, p.of.Server) {
			return false
		}
		p.skipServer(p.s.ID, p.of.Server)
		if p.of.Server == "" {
			t.lost = append(t.lost, &predicate.Part{Recording: p.of.Recording, Session: p.s.ID,
				Lost: fmt.Sprintf("session %s of recording %s does not say whose it is", p.s.ID, p.of.Recording)})
		}
		return true
	})
	t.lost = slices.DeleteFunc(t.lost, func(p *predicate.Part) bool {
		return p.Server != "" && !slices.Contains(c.Servers, p.Server)
	})
}

// together grades the parts as one trial.
func (t *merger) together(c *CaseSpec) {
	in := chain.Input{Session: t.parts[0].s}
	if len(t.parts)+len(t.lost) == 1 {
		t.parts[0].of.Base = 0 // its records go by their seq
	}
	calls, wanted, broken := 0, t.o.Case != "" || t.talk() != nil || len(t.lost) > 0, ""
	t.joined = t.joined.over(t.parts)
	for _, p := range t.parts {
		p.s = t.joined.own(p.s, p.wire)
		p.ev = Evidence(p.s, p.r.Sessions, t.cache)
		p.ev.NameServer(p.of.Server)
		if p.wire >= 0 {
			t.joined.endTold(p.ev, p.s, p.wire, t.o.TranscriptEnd)
		}
		calls += len(p.s.Calls)
		in.Parts = append(in.Parts, chain.Part{Session: p.s, Of: p.of, Evidence: p.ev})
	}
	unreached := calls == 0
	if calls == 0 {
		for _, p := range t.parts {
			bare := p.bare(p.s, p.ev)
			unreached = unreached && bare.Links[0].State == chain.NotMeasured
			if why := brokenBy(bare); why != "" && broken == "" {
				broken = fmt.Sprintf("%s at server %s", why, predicate.Quoted(p.of.Server))
			}
		}
	}
	if calls == 0 && !wanted && broken == "" {
		for _, p := range t.parts {
			p.skipProbe(p.s, p.bare(p.s, p.ev))
		}
		return
	}
	for _, p := range t.lost {
		in.Parts = append(in.Parts, chain.Part{Of: p})
	}
	for _, why := range t.doubt {
		in.Parts = append(in.Parts, chain.Part{Of: &predicate.Part{Lost: why}})
	}
	ev := t.evidence()
	ev.NoCallBecause = broken
	in.Evidence = ev
	w := t.parts[0].work
	t.joined.join(ev, t.suite)
	trial := &Trial{Recording: w.r.ID, Session: t.parts[0].s.ID, Labels: t.labels(), Calls: calls, Talk: noteOf(t.joined), unreached: unreached}
	if len(t.parts)+len(t.lost) > 1 {
		for _, p := range ev.Parts {
			trial.Parts = append(trial.Parts, *p)
		}
		for _, p := range t.lost {
			trial.Parts = append(trial.Parts, *p)
		}
	}
	trial.Facts = t.facts(ev)
	w.grade(trial, c, in)
	first := t.members[0].d // where Verdict looks for it
	first.trials = append(first.trials, briefOf(c, trial))
}

// facts are those of the parts together; ev is their evidence.
func (t *merger) facts(ev *predicate.Evidence) Facts {
	var out Facts
	for i, p := range t.parts {
		f := p.work.factsOf(p.s, p.of.Server, p.ev, nil)
		if i == 0 {
			out = f
			continue
		}
		out.add(&f)
	}
	ns := make([]int64, len(ev.Timings))
	for i := range ev.Timings {
		ns[i] = ev.Timings[i].Ns
	}
	out.Latency = latencyOf(ns)
	out.talk(ev.Conversation, t.joined)
	return out
}

// labels are those on which the recordings agree that have them.
func (t *merger) labels() map[string]string {
	out := map[string]string{}
	differ := map[string]bool{}
	for _, w := range t.members {
		for k, v := range w.r.Labels {
			if was, has := out[k]; has && was != v {
				differ[k] = true
			}
			out[k] = v
		}
	}
	maps.DeleteFunc(out, func(k, _ string) bool { return differ[k] })
	return out
}

// evidence merges that of the parts, which must be there.
func (t *merger) evidence() *predicate.Evidence {
	out := &predicate.Evidence{Schemas: t.cache, Turn: -1, Conversation: t.talk()}
	for _, p := range t.parts {
		out.Parts = append(out.Parts, p.of)
		out.Lists = append(out.Lists, p.ev.Lists...)
	}
	t.calls(out)
	t.declarations(out)
	t.capture(&out.Capture)
	return out
}

// placed is a call on its way into the order of all.
type placed struct {
	p                *jointPart
	i                int // in p.ev.Calls
	earliest, latest int64
}

// calls merges the calls by wall clock, with all that hangs on them. Within one
// recording their order is exact, so that neither bound falls along it.
func (t *merger) calls(out *predicate.Evidence) {
	var all []placed
	for _, w := range t.members {
		from := len(all)
		certain := w.ordered()
		for _, p := range t.parts {
			if p.work != w {
				continue
			}
			for i := range p.ev.Calls {
				at := placed{p: p, i: i, earliest: math.MinInt64, latest: math.MaxInt64}
				if certain {
					if earliest, latest, ok := w.r.Clock.Between(p.s.Calls[i].At); ok {
						at.earliest, at.latest = earliest, latest
					}
				}
				all = append(all, at)
			}
		}
		mine := all[from:]
		slices.SortStableFunc(mine, func(a, b placed) int {
			x, y := &a.p.ev.Calls[a.i], &b.p.ev.Calls[b.i]
			return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Index, y.Index))
		})
		for i := 1; i < len(mine); i++ {
			mine[i].earliest = max(mine[i].earliest, mine[i-1].earliest)
		}
		for i := len(mine) - 2; i >= 0; i-- {
			mine[i].latest = min(mine[i].latest, mine[i+1].latest)
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.earliest, b.earliest) })
	next := map[*jointPart]*queues{}
	for _, p := range t.parts {
		next[p] = &queues{}
	}
	out.Calls = make([]predicate.CallEvidence, 0, len(all))
	for _, at := range all {
		c := at.p.ev.Calls[at.i]
		next[at.p].move(out, at.p, c.Seq, c.Index)
		c.Seq, c.Of, c.Earliest, c.Latest = at.p.of.Handle(c.Seq), at.p.of, at.earliest, at.latest
		out.Calls = append(out.Calls, c)
	}
}

// ordered tells whether the place of the recording's calls among those of others can
// be told: not where a record was lost, which may have told of the clock.
func (w *work) ordered() bool {
	if w.r.Torn || w.r.Gaps > 0 || w.r.Midway {
		return false
	}
	return !slices.ContainsFunc(w.r.Sessions, func(s *session.Session) bool {
		return s.Torn || len(s.Gaps) > 0 || s.Capture.ToolCalls != session.Complete
	})
}

// queues are how much of a part's evidence has been moved.
type queues struct{ errors, timings, results, undecided int }

// move moves what belongs to a call: each list is in the order of the calls.
func (q *queues) move(out *predicate.Evidence, p *jointPart, seq int64, index int) {
	ev, of := p.ev, p.of
	for ; q.errors < len(ev.Errors) && ev.Errors[q.errors].Seq == seq && ev.Errors[q.errors].Index == index; q.errors++ {
		e := ev.Errors[q.errors]
		e.Seq, e.Record, e.Of = of.Handle(e.Seq), of.Handle(e.Record), of
		out.Errors = append(out.Errors, e)
	}
	for ; q.timings < len(ev.Timings) && ev.Timings[q.timings].Seq == seq && ev.Timings[q.timings].Index == index; q.timings++ {
		e := ev.Timings[q.timings]
		e.Seq, e.Of = of.Handle(e.Seq), of
		out.Timings = append(out.Timings, e)
	}
	for ; q.results < len(ev.Results) && ev.Results[q.results].Seq == seq && ev.Results[q.results].Index == index; q.results++ {
		e := ev.Results[q.results]
		e.Seq, e.Record, e.Of = of.Handle(e.Seq), of.Handle(e.Record), of
		out.Results = append(out.Results, e)
	}
	for ; q.undecided < len(ev.Undecided) && ev.Undecided[q.undecided].Seq == seq && ev.Undecided[q.undecided].Index == index; q.undecided++ {
		e := ev.Undecided[q.undecided]
		e.Seq, e.Of = of.Handle(e.Seq), of
		out.Undecided = append(out.Undecided, e)
	}
}

// servers are the parts by server, in the order of the first of each.
func (t *merger) servers() (out [][]*jointPart) {
	at := map[string]int{}
	for _, p := range t.parts {
		i, known := at[p.of.Server]
		if !known {
			i = len(out)
			at[p.of.Server] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

// declaring is the session whose list stands for what a server declares: of those
// with a list the one in which the server's first call was made, else the last; nil:
// none has a list. sure is false where clocks do not tell which that is.
func (t *merger) declaring(list []*jointPart, calls []predicate.CallEvidence) (found *jointPart, sure bool) {
	listing := slices.DeleteFunc(slices.Clone(list), func(p *jointPart) bool { return len(p.s.Lists) == 0 })
	if len(listing) < 2 {
		for _, p := range listing {
			found = p
		}
		return found, true
	}
	sure = true
	first := map[*predicate.Part]*predicate.CallEvidence{}
	for i := range calls {
		if c := &calls[i]; first[c.Of] == nil {
			first[c.Of] = c
		}
	}
	for _, p := range listing {
		c := first[p.of]
		switch {
		case c == nil:
		case found == nil:
			found = p
		case p.work == found.work:
			if c.Seq < first[found.of].Seq {
				found = p
			}
		case c.Latest < first[found.of].Earliest:
			found = p
		default:
			sure = sure && first[found.of].Latest < c.Earliest
		}
	}
	if found != nil {
		return found, sure
	}
	for _, p := range listing {
		if found == nil || p.work == found.work {
			found = p // of one recording they are in order
			continue
		}
		begin, _, ok1 := p.r.Clock.Between(p.s.FirstAt)
		_, end, ok2 := found.r.Clock.Between(found.s.LastAt)
		if sure = sure && ok1 && ok2; begin > end {
			found = p
			continue
		}
		_, end, _ = p.r.Clock.Between(p.s.LastAt)
		begin, _, _ = found.r.Clock.Between(found.s.FirstAt)
		sure = sure && begin > end
	}
	return found, sure
}

func (t *merger) declarations(out *predicate.Evidence) {
	state := session.Complete
	for _, list := range t.servers() {
		p, sure := t.declaring(list, out.Calls)
		if p == nil {
			state = session.Absent
			continue
		}
		for _, d := range p.ev.Declarations {
			d.Of = p.of
			out.Declarations = append(out.Declarations, d)
		}
		if out.Declarations == nil {
			out.Declarations = p.ev.Declarations // whole and empty
		}
		state = worst(state, p.ev.State(predicate.ToolDeclarations))
		for _, o := range list {
			// What was lost of any may have been another list, or the first call, or have
			// told of the clock.
			whole := o.ordered() && o.ev.State(predicate.ToolCalls) == session.Complete
			if sure = sure && (whole || len(list) == 1); len(o.s.Lists) > 0 {
				state = worst(state, o.ev.State(predicate.ToolDeclarations))
			}
		}
		if !sure {
			state = worst(state, session.Partial)
			out.Capture.Why = append(out.Capture.Why, fmt.Sprintf("which list server %s declared is not certain", predicate.Quoted(p.of.Server)))
		}
	}
	out.Capture.ToolDeclarations = state
}

// capture is the worst of the parts, channel by channel; ToolDeclarations is there
// already. A session without a call has no need of an inventory, where it is whole.
func (t *merger) capture(out *session.Capture) {
	calls, errors, results, timings, inventory := session.Complete, session.Complete, session.Complete, session.Complete, session.CaptureState("")
	for _, p := range t.parts {
		ev := p.ev
		calls = worst(calls, ev.State(predicate.ToolCalls))
		errors = worst(errors, ev.State(predicate.ToolErrors))
		results = worst(results, ev.State(predicate.ToolResults))
		timings = worst(timings, ev.State(predicate.ToolCallTimings))
		if len(p.s.Calls) > 0 || ev.State(predicate.ToolCalls) != session.Complete {
			if inventory == "" {
				inventory = session.Complete
			}
			inventory = worst(inventory, ev.State(predicate.ToolInventory))
		}
		for _, why := range ev.Capture.Why {
			out.Why = append(out.Why, fmt.Sprintf("at server %s: %s", predicate.Quoted(p.of.Server), why))
		}
	}
	if inventory == "" {
		inventory = out.ToolDeclarations
	}
	out.ToolCalls, out.ToolErrors, out.ToolResults, out.ToolCallTimings, out.ToolInventory = calls, errors, results, timings, inventory
	var missing []string
	for _, p := range t.lost {
		missing = append(missing, p.Lost)
	}
	if missing = append(missing, t.doubt...); len(missing) > 0 {
		for _, s := range []*session.CaptureState{&out.ToolCalls, &out.ToolErrors, &out.ToolResults, &out.ToolCallTimings, &out.ToolInventory, &out.ToolDeclarations} {
			*s = worst(*s, session.Partial)
		}
		out.Why = append(missing, out.Why...)
	}
}

// worst is the worse of two states.
func worst(a, b session.CaptureState) session.CaptureState {
	rank := func(s session.CaptureState) int {
		return slices.Index([]session.CaptureState{session.Complete, session.Partial, session.Absent}, s)
	}
	if rank(a) < 0 || rank(b) >= 0 && rank(a) >= rank(b) {
		return a
	}
	return b
}
