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
	Path string
	Torn bool
	Gaps int
	// Midway says that its beginning is not there: an earlier segment is missing.
	Midway   bool
	Labels   map[string]string
	Sessions []*session.Session
	// Talks are the host's transcripts that are joined, by session id.
	Talks map[string]*predicate.Conversation
	// Joined are host transcripts with how they join, by session id (see [Talks]).
	// Recordings with an equal Group are graded together, since one conversation is
	// joined to several of them (see [Groups]); empty: it stands alone.
	Joined map[string][]*Talk
	Group  string
	// Clock tells when its records were read, for trials over several recordings.
	Clock session.Clock
	// Again reads the recording once more, and returns what lets go of it. Of a
	// recording that may be a part of a trial over several (label trial) Add then keeps
	// id, path and labels alone, and Verdict reads it again. Without it Add keeps the
	// sessions, which must stay as they are until then. It may be called from any
	// goroutine.
	Again func() (r *Recording, done func(), err error)
	// Unreadable says why the recording could not be read at all; the rest may
	// then be empty. ID is then "sha256:" and the beginning of the hash of the
	// file's content, or empty when not even that could be read. Labels is nil when
	// its labels could not be read either.
	Unreadable string
}

// Options are those of one grading.
type Options struct {
	// StrictEvidence makes gating errors failures.
	StrictEvidence bool
	// RequireWhole refuses recordings that are torn or have gaps.
	RequireWhole bool
	// TranscriptEnd takes a finished transcript's word that no call is missing at a torn
	// recording's end (docs/joining.md): more than grading.md 0.1 allows.
	TranscriptEnd bool
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

	catalogs catalogHashes
}

// graded is what one recording gave.
type graded struct {
	id, path, unreadable string
	labels               map[string]string
	held                 *Recording // kept for Verdict: it may be a part of a trial
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

// Add grades the sessions of one recording. Nothing of r is kept, but of one that may
// be a part of a trial over several: see [Recording.Again].
func (g *Grader) Add(r *Recording) {
	d := graded{id: r.ID, path: r.Path, labels: r.Labels}
	d.read(r)
	if _, is := trialKey(r); is {
		held := *r
		if held.Again != nil {
			held.Sessions, held.Talks, held.Clock = nil, nil, session.Clock{}
		}
		d.held = &held
		g.mu.Lock()
		defer g.mu.Unlock()
		g.done = append(g.done, d)
		return
	}
	w := &work{Grader: g, r: r, d: &d, cache: g.takeCache()}
	w.recording()
	g.giveCache(w.cache)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shelf != nil {
		for i := range d.trials {
			g.shelf.put(&d.trials[i])
		}
	}
	g.done = append(g.done, d)
}

// read notes what reading r gave.
func (d *graded) read(r *Recording) {
	d.unreadable = r.Unreadable
	// The reason is in the JSON, and a path of this machine must not be.
	if d.unreadable != "" && r.Path != "" {
		d.unreadable = strings.ReplaceAll(d.unreadable, r.Path, "the file")
		if dir := filepath.Dir(r.Path); dir != "." && dir != "/" { // of its other segments
			d.unreadable = strings.ReplaceAll(d.unreadable, dir+"/", "")
		}
	}
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

// Verdict sums up, when all are added. The order of Add makes no difference.
func (g *Grader) Verdict() (*Verdict, error) {
	slices.SortStableFunc(g.done, func(a, b graded) int { return compareDone(&a, &b) })
	for i := 1; i < len(g.done); i++ {
		if a, b := &g.done[i-1], &g.done[i]; b.id != "" && a.id == b.id {
			return nil, fmt.Errorf("recording %s is given twice: %s and %s: leave one out", b.id, a.path, b.path)
		}
	}
	g.gradeJoints()
	return g.sum(), nil
}

func compareDone(a, b *graded) int {
	// The path comes last: it orders what reads the same in the JSON.
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.unreadable, b.unreadable), cmp.Compare(a.path, b.path))
}

// work grades one recording.
type work struct {
	*Grader
	r *Recording
	d *graded
	// cache is this work's alone while it lasts.
	cache *predicate.Schemas
}

func (w *work) skip(session, why, detail string) {
	w.d.skipped = append(w.d.skipped, Skipped{w.r.ID, session, w.r.Path, why, detail})
}

func (w *work) recording() {
	if !w.usable() {
		return
	}
	for _, s := range w.r.Sessions {
		w.session(s)
	}
}

// usable tells whether there are sessions to grade; else the recording is skipped.
func (w *work) usable() bool {
	r := w.r
	switch {
	case r.Unreadable != "":
		w.d.unfit = true
		w.skip("", WhyUnreadable, w.d.unreadable)
	case w.o.RequireWhole && r.Torn:
		w.d.unfit = true
		w.skip("", WhyNotWhole, "the recording is torn")
	case w.o.RequireWhole && r.Gaps > 0:
		w.d.unfit = true
		w.skip("", WhyNotWhole, fmt.Sprintf("the recording has %d gaps", r.Gaps))
	case len(r.Sessions) == 0:
		w.skip("", WhyNoSession, "no message in it")
	default:
		return true
	}
	return false
}

// session makes a trial of a session with a call, or whose connection or
// discovery failed, or that a conversation or the command line claims (grading.md
// 0.1 "Which sessions are trials").
func (w *work) session(s *session.Session) {
	r := w.r
	if n := len(r.Joined[s.ID]); n > 1 {
		w.d.unclear = true
		w.skip(s.ID, WhyAmbiguous, fmt.Sprintf("%d conversations are joined to it: name one of them with --conversation", n))
		return
	}
	talk := r.Talks[s.ID]
	if j := w.joinedTo(s); j != nil && j.right() {
		talk = conversationOf(j.Join, w.suite.Usage)
	}
	a := w.suite.claims(w.o.Case, []map[string]string{r.Labels}, talk)
	if !w.claimed(s, a) {
		return
	}
	if name := serverKey(r, s); !w.suite.takesServer(name) || a.c != nil && len(a.c.Servers) > 0 && !slices.Contains(a.c.Servers, name) {
		w.skipServer(s.ID, name)
		return
	}
	w.alone(s, a.c, talk)
}

// alone grades a session that is a trial by itself, or none.
func (w *work) alone(s *session.Session, c *CaseSpec, talk *predicate.Conversation) {
	r := w.r
	joined := w.joinedTo(s)
	s = joined.own(s, 0)
	ev := Evidence(s, r.Sessions, w.cache)
	ev.NameServer(serverKey(r, s))
	ev.Conversation = talk
	joined.endTold(ev, s, joined.first(), w.o.TranscriptEnd)
	joined.join(ev, w.suite)
	unreached := false
	if len(s.Calls) == 0 { // what is asked of it is asked of such a session alone
		bare := w.bare(s, ev)
		unreached = bare.Links[0].State == chain.NotMeasured
		broken := brokenBy(bare)
		if broken == "" && talk == nil && w.o.Case == "" {
			w.skipProbe(s, bare)
			return
		}
		ev.NoCallBecause = broken
	}
	t := &Trial{Recording: r.ID, Session: s.ID, Labels: r.Labels, Calls: len(s.Calls), Talk: noteOf(joined)}
	t.unreached = unreached
	t.Facts = w.factsOf(s, serverKey(r, s), ev, joined)
	w.grade(t, c, chain.Input{Session: s, Evidence: ev})
	w.d.trials = append(w.d.trials, briefOf(c, t))
}

// bare analyzes a session without any check.
func (w *work) bare(s *session.Session, ev *predicate.Evidence) chain.Result {
	return chain.Analyze(chain.Input{Session: s, Evidence: ev})
}

// brokenBy says which link kept the host from making a call; empty: none failed.
func brokenBy(bare chain.Result) string {
	for _, l := range bare.Links[:2] {
		if l.State == chain.Failed {
			return string(l.Link) + " failed"
		}
	}
	return ""
}

func (w *work) skipServer(session, name string) {
	w.skip(session, WhyServer, fmt.Sprintf("server %q is not graded by the suite", name))
}

func (w *work) skipProbe(s *session.Session, bare chain.Result) {
	detail := "no call in it"
	if l := bare.Links[0]; l.State != chain.Passed {
		detail += "; connection " + string(l.State) + ": " + l.Evidence.Text
	}
	w.skip(s.ID, WhyProbe, detail)
}

// claims finds the case of a trial whose recordings have these labels; given is the
// one that the command line names.
func (s *Suite) claims(given string, labels []map[string]string, talk *predicate.Conversation) assignment {
	if given != "" {
		return assignment{c: s.caseByID(given)}
	}
	prompt, has := "", false
	if talk != nil && len(talk.Turns) > 0 {
		prompt, has = talk.Turns[0].Prompt, true
	}
	return s.assign(labels, prompt, has)
}

// claimed tells whether the session is graded, by its case or by the defaults; else
// it is skipped.
func (w *work) claimed(s *session.Session, a assignment) bool {
	c := a.c
	switch {
	case len(a.ambiguous) > 0:
		w.d.unclear = true
		w.skip(s.ID, WhyAmbiguous, "claimed by the "+several(a.ambiguous, "case", "cases")+": give one of them a match, or the session a label")
	case c != nil && c.Disabled:
		w.skip(s.ID, WhyDisabled, "case "+c.ID+" is disabled")
	case c == nil && len(w.suite.Only) > 0 || c != nil && c.LeftOut:
		detail := "of no case"
		if c != nil {
			detail = "of case " + c.ID
		}
		w.skip(s.ID, WhyNotChosen, detail)
	default:
		return true
	}
	return false
}

// grade gives a trial its rows, its links and its verdict.
func (w *work) grade(t *Trial, c *CaseSpec, in chain.Input) {
	if c == nil {
		c = w.open
	}
	ev := in.Evidence
	in.Negative, in.Expects = c.Negative, c.expectsCall()
	ev.Unreached = t.unreached && len(ev.Calls) == 0
	hostEnd(&in)
	t.Rows, in.Prompts, in.Unmatched = rowsOf(c, ev)
	if once := ev.SentOnce(); once != nil {
		rows, _, _ := rowsOf(c, once)
		in.Unmatched = unsure(t.Rows, rows) || in.Unmatched
	}
	in.Rows = make([]chain.Row, 0, len(t.Rows))
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Check != nil {
			in.Rows = append(in.Rows, chain.Row{Check: r.Check, Outcome: r.Outcome})
		}
	}
	t.Chain = chain.Analyze(in)
	t.unfinished = t.unreached || t.Chain.Links[0].State == chain.Failed
	w.judge(t, ev)
	if what := w.suite.unknownLabel(t.Labels); c == w.open && what != "" {
		// It counts for no case, which its maker did not mean.
		t.Why = strings.TrimPrefix(t.Why+"; "+what, "; ")
	}
}

// unsure takes back what passes in rows and not in once, the rows of the same checks
// on less evidence. It tells whether that was one of the matcher's.
func unsure(rows, once []Row) (matcher bool) {
	for i := range rows {
		r := &rows[i]
		if r.Result != predicate.Pass {
			continue
		}
		same := func(o Row) bool { return o.Name == r.Name && o.Turn == r.Turn && o.Check == r.Check }
		if j := slices.IndexFunc(once, same); j < 0 || once[j].Result != predicate.Pass {
			r.Outcome = r.Outcome.Unsure()
			matcher = matcher || r.Check == nil
		}
	}
	return matcher
}

// rowsOf gives a case's rows: the matcher's, those of its turns, and its checks'.
func rowsOf(c *CaseSpec, ev *predicate.Evidence) (rows []Row, prompts []chain.Prompt, unmatched bool) {
	rows, prompts, unmatched = expectedJoined(c, ev)
	for i := range c.Turns {
		rows = append(rows, turnRows(c, i, ev)...)
	}
	checks := make([]*predicate.Check, 0, len(c.Assertions))
	for _, k := range c.Assertions {
		if k.Info.Name == "toolCalledWith" && k.Role == predicate.Gating {
			continue // an expectation of the matcher (grading.md 0.2.13)
		}
		checks = append(checks, k)
	}
	rows = slices.Grow(rows, len(checks))
	for i, o := range predicate.EvaluateAll(checks, ev) {
		rows = append(rows, rowOf(checks[i], -1, o))
	}
	return rows, prompts, unmatched
}

func rowOf(k *predicate.Check, turn int, o predicate.Outcome) Row {
	return Row{Name: k.Info.Name, Link: k.Info.Link, Role: k.Role, Warn: k.Warn, Turn: turn, Check: k, Outcome: o}
}

// judge gives a trial its verdict (grading.md 0.2.8). A trial in which nothing
// happened cannot pass: every check of the "never" kind would hold vacuously. Nor can
// one of which no call had an outcome, by checks on outcomes alone.
func (w *work) judge(t *Trial, ev *predicate.Evidence) {
	gating, failed, erred := 0, 0, 0
	outcomes := true // all that gates is about what came of calls
	for _, r := range t.Rows {
		if r.Role != predicate.Gating {
			continue
		}
		gating++
		outcomes = outcomes && r.Link == predicate.Response
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
		switch b := t.Chain.FirstBreak; {
		case t.unreached:
			idle = predicate.NotReached + ", so nothing was measured"
		case finished(ev):
			// The transcript shows that the host finished without a call.
			idle = ""
		case b != "":
			idle = string(b) + " failed and no call was made, so nothing was measured"
		}
	}
	if t.Calls > 0 && outcomes && !slices.ContainsFunc(ev.Calls, func(c predicate.CallEvidence) bool { return !c.Cancelled }) {
		// Such a call is no error, and no good answer either: a server that hangs until
		// its host gives up must not pass.
		idle = "every call was cancelled by the client, so no outcome was measured"
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
