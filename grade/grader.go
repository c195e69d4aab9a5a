package grade

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// Recording is one recording with its decoded sessions.
type Recording struct {
	ID string
	// Path is where it was read, for people; it is in no verdict's JSON.
	Path     string
	Torn     bool
	Gaps     int
	Labels   map[string]string
	Sessions []*session.Session
	// Talks are the host's transcripts that are joined, by session id.
	Talks map[string]*predicate.Conversation
	// Joined are host transcripts with how they join, by session id (see [Talks]).
	Joined map[string][]*Talk
	// Unreadable says why the recording could not be read at all; the rest may
	// then be empty. ID is then "sha256:" and the beginning of the hash of the
	// file's content, or empty when not even that could be read.
	Unreadable string
}

// Options are those of one grading.
type Options struct {
	// StrictEvidence makes gating errors failures.
	StrictEvidence bool
	// RequireWhole refuses recordings that are torn or have gaps.
	RequireWhole bool
	// Case makes every session a trial of that case, also one without a call; empty:
	// the suite says (grading.md 0.2.17).
	Case string
	// Spool takes the trials until they are reported; nil: they stay in memory, and
	// are in Case.Trials.
	Spool Spool
}

// Grade grades recordings against a suite. The order of recs does not matter. An
// error means that the input itself is unusable (exit code 2).
func Grade(suite *Suite, recs []Recording, o Options) (*Verdict, error) {
	g, err := NewGrader(suite, o)
	if err != nil {
		return nil, err
	}
	for i := range recs {
		g.Add(&recs[i])
	}
	return g.Verdict()
}

// Grader grades recordings one by one, so that none but the one at hand has to be
// in memory. Add may be called from several goroutines.
type Grader struct {
	suite *Suite
	open  *CaseSpec // of sessions that no case claims
	o     Options
	mu    sync.Mutex
	done  []graded
	// caches of compiled schemas that nobody uses at the moment: one server's
	// sessions are often many.
	caches []*predicate.Schemas
	shelf  *shelf // nil: trials stay in memory
}

// graded is what one recording gave.
type graded struct {
	id, path, unreadable string
	skipped              []Skipped
	trials               []brief
	// unfit: it could not be used; unclear: a session is claimed by several cases.
	unfit, unclear bool
}

// NewGrader begins a grading. The error says what in o does not fit the suite.
func NewGrader(suite *Suite, o Options) (*Grader, error) {
	ids := make([]string, len(suite.Cases))
	for i, c := range suite.Cases {
		ids[i] = c.ID
	}
	if o.Case != "" && suite.caseByID(o.Case) == nil {
		return nil, fmt.Errorf("the suite has no case %s%s", predicate.Quoted(o.Case), didYouMean(o.Case, ids))
	}
	g := &Grader{suite: suite, open: suite.open(), o: o}
	if o.Spool != nil {
		g.shelf = &shelf{spool: o.Spool}
	}
	return g, nil
}

// Add grades the sessions of one recording. Nothing of r is kept.
func (g *Grader) Add(r *Recording) {
	w := g.begin(r)
	w.recording()
	g.end(w)
}

func (g *Grader) begin(r *Recording) *work {
	d := &graded{id: r.ID, path: r.Path, unreadable: r.Unreadable}
	// The reason is in the JSON, and a path of this machine must not be.
	if d.unreadable != "" && r.Path != "" {
		d.unreadable = strings.ReplaceAll(d.unreadable, r.Path, "the file")
		if dir := filepath.Dir(r.Path); dir != "." && dir != "/" { // of its other segments
			d.unreadable = strings.ReplaceAll(d.unreadable, dir+"/", "")
		}
	}
	return &work{Grader: g, r: r, d: d, cache: g.takeCache()}
}

func (g *Grader) end(w *work) {
	g.giveCache(w.cache)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shelf != nil {
		for i := range w.d.trials {
			g.shelf.put(&w.d.trials[i])
		}
	}
	g.done = append(g.done, *w.d)
}

func (g *Grader) takeCache() *predicate.Schemas {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.caches)
	if n == 0 {
		return &predicate.Schemas{}
	}
	c := g.caches[n-1]
	g.caches = g.caches[:n-1]
	return c
}

func (g *Grader) giveCache(c *predicate.Schemas) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.caches = append(g.caches, c)
}

// Verdict sums up. The order of Add makes no difference.
func (g *Grader) Verdict() (*Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.SortStableFunc(g.done, func(a, b graded) int {
		// The path comes last: it orders what reads the same in the JSON.
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.unreadable, b.unreadable), cmp.Compare(a.path, b.path))
	})
	for i := 1; i < len(g.done); i++ {
		if a, b := &g.done[i-1], &g.done[i]; b.id != "" && a.id == b.id {
			return nil, fmt.Errorf("recording %s is given twice: %s and %s: leave one out", b.id, a.path, b.path)
		}
	}
	return g.sum(), nil
}

// work grades one recording.
type work struct {
	*Grader
	r *Recording
	d *graded
	// cache is this work's alone while it lasts.
	cache *predicate.Schemas
	// apart are sessions that are parts of a trial of several (AddTogether).
	apart map[string]bool
}

// unfit says that nothing of the recording may be graded.
func (w *work) unfit() bool {
	return w.r.Unreadable != "" || w.o.RequireWhole && (w.r.Torn || w.r.Gaps > 0)
}

func (w *work) skip(session, why, detail string) {
	w.d.skipped = append(w.d.skipped, Skipped{w.r.ID, session, w.r.Path, why, detail})
}

func (w *work) recording() {
	r := w.r
	switch {
	case r.Unreadable != "":
		w.d.unfit = true
		w.skip("", WhyUnreadable, w.d.unreadable)
		return
	case w.o.RequireWhole && r.Torn:
		w.d.unfit = true
		w.skip("", WhyNotWhole, "the recording is torn")
		return
	case w.o.RequireWhole && r.Gaps > 0:
		w.d.unfit = true
		w.skip("", WhyNotWhole, fmt.Sprintf("the recording has %d gaps", r.Gaps))
		return
	case len(r.Sessions) == 0:
		w.skip("", WhyNoSession, "no message in it")
		return
	}
	for _, s := range r.Sessions {
		if !w.apart[s.ID] {
			w.session(s)
		}
	}
}

// session makes a trial of a session with a call, or whose connection or
// discovery failed, or that a conversation or the command line claims (grading.md
// 0.1 "Which sessions are trials").
func (w *work) session(s *session.Session) {
	r, talk := w.r, w.r.Talks[s.ID]
	var joined *Talk
	switch of := r.Joined[s.ID]; len(of) {
	case 0:
	case 1:
		joined = of[0]
		if joined.right() {
			talk = conversationOf(joined.Join.Talk, w.suite.Usage)
		}
	default:
		w.d.unclear = true
		w.skip(s.ID, WhyAmbiguous, fmt.Sprintf("%d conversations are joined to it: name one of them with --conversation", len(of)))
		return
	}
	c, ok := w.claim(s, talk)
	if !ok {
		return
	}
	if name := serverKey(r, s); !w.suite.takesServer(name) || c != nil && len(c.Servers) > 0 && !slices.Contains(c.Servers, name) {
		w.skip(s.ID, WhyServer, fmt.Sprintf("server %q is not graded by the suite", name))
		return
	}
	ev := Evidence(s, r.Sessions, w.cache)
	ev.NameServer(serverKey(r, s))
	ev.Conversation = talk
	if joined != nil {
		s = joined.join(ev, s, w.suite)
	} else if w.suite.ModelEvidence {
		noModelResults(ev)
	}
	var bare chain.Result // what is asked of it is asked of a session without calls alone
	if len(s.Calls) == 0 {
		bare = chain.Analyze(chain.Input{Session: s, Evidence: ev})
	}
	broken := bare.Links[0].State == chain.Failed || bare.Links[1].State == chain.Failed
	if len(s.Calls) == 0 && !broken && talk == nil && w.o.Case == "" {
		detail := "no call in it"
		if l := bare.Links[0]; l.State != chain.Passed {
			detail += "; connection " + string(l.State) + ": " + l.Evidence.Text
		}
		w.skip(s.ID, WhyProbe, detail)
		return
	}
	if len(s.Calls) == 0 && broken {
		for _, l := range bare.Links[:2] {
			if l.State == chain.Failed {
				ev.NoCallBecause = string(l.Link) + " failed"
				break
			}
		}
	}
	t := &Trial{Recording: r.ID, Session: s.ID, Labels: r.Labels, Calls: len(s.Calls), Talk: noteOf(joined)}
	w.grade(t, c, s, ev)
	w.d.trials = append(w.d.trials, briefOf(c, t))
}

// claim finds the session's case. ok is false when it is graded against none.
func (w *work) claim(s *session.Session, talk *predicate.Conversation) (c *CaseSpec, ok bool) {
	if w.o.Case != "" {
		c = w.suite.caseByID(w.o.Case)
	} else {
		prompt, has := "", false
		if talk != nil && len(talk.Turns) > 0 {
			prompt, has = talk.Turns[0].Prompt, true
		}
		a := w.suite.assign(w.r.Labels, prompt, has)
		if len(a.ambiguous) > 0 {
			w.d.unclear = true
			w.skip(s.ID, WhyAmbiguous, "claimed by the cases "+strings.Join(a.ambiguous, ", ")+": give one of them a match, or the session a label")
			return nil, false
		}
		c = a.c
	}
	switch {
	case c != nil && c.Disabled:
		w.skip(s.ID, WhyDisabled, "case "+c.ID+" is disabled")
	case c == nil && len(w.suite.Only) > 0 || c != nil && c.LeftOut:
		detail := "of no case"
		if c != nil {
			detail = "of case " + c.ID
		}
		w.skip(s.ID, WhyNotChosen, detail)
	default:
		return c, true
	}
	return nil, false
}

// grade gives a trial its rows, its links and its verdict.
func (w *work) grade(t *Trial, c *CaseSpec, s *session.Session, ev *predicate.Evidence) {
	if c == nil {
		c = w.open
	}
	in := chain.Input{Session: s, Evidence: ev, Negative: c.Negative, Expects: c.expectsCall()}
	hostEnd(&in)
	t.Rows, in.Prompts, in.Unmatched = expectedJoined(c, ev)
	for i := range c.Turns {
		t.Rows = append(t.Rows, turnRows(c, i, ev)...)
	}
	checks := make([]*predicate.Check, 0, len(c.Assertions))
	for _, k := range c.Assertions {
		if k.Info.Name == "toolCalledWith" && k.Role == predicate.Gating {
			continue // an expectation of the matcher (grading.md 0.2.13)
		}
		checks = append(checks, k)
	}
	t.Rows = slices.Grow(t.Rows, len(checks))
	for i, o := range predicate.EvaluateAll(checks, ev) {
		t.Rows = append(t.Rows, rowOf(checks[i], -1, o))
	}
	in.Rows = make([]chain.Row, 0, len(t.Rows))
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Check != nil {
			in.Rows = append(in.Rows, chain.Row{Check: r.Check, Outcome: r.Outcome})
		}
	}
	t.Chain = chain.Analyze(in)
	t.unfinished = t.Chain.Links[0].State == chain.Failed
	w.judge(t, ev)
	if what := w.suite.unknownLabel(t.Labels); c == w.open && what != "" {
		// It counts for no case, which its maker did not mean.
		t.Why = strings.TrimPrefix(t.Why+"; "+what, "; ")
	}
}

func rowOf(k *predicate.Check, turn int, o predicate.Outcome) Row {
	return Row{Name: k.Info.Name, Link: k.Info.Link, Role: k.Role, Warn: k.Warn, Turn: turn, Check: k, Outcome: o}
}

// judge gives a trial its verdict (grading.md 0.2.8). A trial in which nothing
// happened cannot pass: every check of the "never" kind would hold vacuously.
func (w *work) judge(t *Trial, ev *predicate.Evidence) {
	gating, failed, erred := 0, 0, 0
	for _, r := range t.Rows {
		if r.Role != predicate.Gating {
			continue
		}
		gating++
		switch r.Result {
		case predicate.Fail:
			failed++
		case predicate.Error:
			erred++
		}
	}
	idle := ""
	if t.Calls == 0 {
		idle = "no call on record, so nothing was measured"
		if b := t.Chain.FirstBreak; b != "" {
			idle = string(b) + " failed and no call was made, so nothing was measured"
		}
		if finished(ev) {
			// The transcript shows that the host finished without a call.
			idle = ""
		}
	}
	switch {
	case failed > 0:
		t.Word = Failed
	case gating == 0:
		t.Word, t.Why = Inconclusive, "no check gates"
	case (erred > 0 || idle != "") && w.o.StrictEvidence:
		t.Word, t.Why = Failed, "evidence is missing (--strict-evidence)"
	case erred > 0 || idle != "":
		t.Word, t.Why, t.erred = Inconclusive, idle, true
	default:
		t.Word = Passed
	}
}
