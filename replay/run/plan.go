package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// Recording is what is driven against the new server.
type Recording struct {
	ID       string
	Sessions []*session.Session
	// Masked says which messages hold replaced credentials.
	Masked *Masks
}

// Plan is what would be sent: the requests of all sessions in recorded order.
type Plan struct {
	Recording string
	Steps     []*Step
	// Progress is told, before each step, how many of how many are behind us. nil: nobody is.
	Progress func(done, total int)
	opts     Options
	sessions []*session.Session
	replies  map[*session.Session][]*reply
}

// kind is what a step sends.
type kind uint8

const (
	request kind = iota
	initialized
)

// Step is one thing that the client sent.
type Step = step

type step struct {
	kind    kind
	session *session.Session
	seq     int64
	ex      *session.Exchange // nil: notifications/initialized
	call    *session.Call     // of tools/call and of the tasks/* requests about one
	tool    string            // that permission is asked for; empty: the method's own
	alone   bool              // it was sent when an answer had come since the step before it
	masked  bool
	// lost: what the client sent before it is not all on record.
	lost bool
	// unclear: its params name the tool, or the task, in a way that servers read differently.
	unclear bool
	// round is the request that this one resumes: it answers the input that was asked for.
	round *step
	// resumed and paged: a later step is the next round of this one, or its next page.
	resumed, paged bool
	// made: it is none of the recording's, but needed in the new session.
	made bool

	uses  []use
	mints []*handle
	needs origins

	// Of the new session.
	done    outcome
	skip    Skip
	sent    string // the permission
	id      int    // of the latest request
	again   bool   // a task was asked for once more
	taint   bool
	result  []byte // while an input round may need it
	isError bool
}

// outcome is what became of a step.
type outcome uint8

const (
	waiting outcome = iota
	skipped
	inFlight
	answered
	noAnswer // in time
	gone     // the server left
	stopped  // we were told to end before it came
)

func (st *step) method() string {
	if st.ex == nil {
		return noteInitialized
	}
	return st.ex.Method
}

// expected tells whether the recorded client waited for an answer and got it.
func (st *step) expected() bool {
	ex := st.ex
	return ex != nil && ex.AnswerSeq != 0 && (ex.CancelledSeq == 0 || ex.CancelledSeq > ex.AnswerSeq)
}

// name is what the step is called in a report.
func (st *step) name() string {
	if st.ex != nil && st.ex.Method == methodCall && st.call != nil {
		return st.call.Tool
	}
	return st.method()
}

// ref names the step as sixlink show does: seq, or seq.index in a batch.
func (st *step) ref() string {
	if st.ex != nil && st.ex.Index >= 0 {
		return fmt.Sprintf("%d.%d", st.seq, st.ex.Index)
	}
	return fmt.Sprint(st.seq)
}

const (
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodPing       = "ping"
	methodTools      = "tools/list"
	methodCall       = "tools/call"
	methodTaskGet    = "tasks/get"
	noteInitialized  = "notifications/initialized"
	noteCancelled    = "notifications/cancelled"
	noteChanged      = "notifications/tools/list_changed"
)

// NewPlan reads the recording's requests. Its error says that the options name what
// is not there, or that the recording cannot be read.
func NewPlan(rec *Recording, opts Options) (*Plan, error) {
	p := &Plan{Recording: rec.ID, opts: opts, replies: map[*session.Session][]*reply{}}
	asked := opts.Session == ""
	for _, s := range rec.Sessions {
		if opts.Session == "" || s.ID == opts.Session {
			asked = true
			p.session(s, rec.Masked)
		}
	}
	if !asked {
		return nil, fmt.Errorf("--session %s: the recording has %d sessions, s1 to s%[2]d", opts.Session, len(rec.Sessions))
	}
	if err := p.carry(); err != nil {
		return nil, err
	}
	p.rounds()
	return p, nil
}

// Tools are the names of the tools that are called, each once.
func (p *Plan) Tools() []string {
	var all []string
	for _, st := range p.Steps {
		if st.ex != nil && st.ex.Method == methodCall && st.tool != "" && !slices.Contains(all, st.tool) {
			all = append(all, st.tool)
		}
	}
	return all
}

// session makes the steps of a session.
func (p *Plan) session(s *session.Session, masked *Masks) {
	calls := map[*session.Exchange]*session.Call{}
	tasks := map[string]*session.Call{}
	for _, c := range s.Calls {
		for _, ex := range c.Attempts {
			calls[ex] = c
		}
		if c.Task != nil {
			tasks[c.Task.ID] = c
		}
	}
	first := len(p.Steps)
	for _, ex := range s.Requests {
		exchange := int64(0)
		if ex.From != record.Client {
			if r := newReply(s, ex, masked); r != nil {
				p.replies[s] = append(p.replies[s], r)
			}
			continue
		}
		if ex.HTTP != nil {
			exchange = ex.HTTP.Exchange
		}
		st := &step{session: s, seq: ex.Seq, ex: ex, call: calls[ex]}
		if n := masked.in(ex.Seq, exchange); n > 0 {
			// The state of an input round is replaced anyway.
			st.masked = !(n == 1 && onlyStateIsMasked(ex))
		}
		if st.call != nil {
			st.tool = st.call.Tool
			st.unclear = ex.Method == methodCall && !says(ex, "name", st.tool)
		} else if strings.HasPrefix(ex.Method, "tasks/") {
			if params, err := ex.Params.Bytes(); err == nil {
				if id, ok := getText(params, "taskId"); ok && tasks[id] != nil {
					st.call, st.tool = tasks[id], tasks[id].Tool
					st.unclear = !says(ex, "taskId", id)
				}
			}
		}
		p.Steps = append(p.Steps, st)
	}
	if len(p.Steps) == first {
		return
	}
	if seq := s.Connection.InitializedSeq; seq != 0 {
		p.Steps = append(p.Steps, &step{kind: initialized, session: s, seq: seq})
	}
	steps := p.Steps[first:]
	slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(a.seq, b.seq) })
	for _, g := range s.Gaps {
		if g.Streams[record.Client].Bytes == 0 && g.HTTP[record.Client] == (record.GapHTTP{}) {
			continue
		}
		for _, st := range steps {
			st.lost = st.lost || st.seq > g.FirstSeq
		}
	}
	// Answers in order, to tell which requests went out together.
	var answers []int64
	for _, st := range steps {
		if st.ex != nil && st.ex.AnswerSeq != 0 {
			answers = append(answers, st.ex.AnswerSeq)
		}
	}
	slices.Sort(answers)
	for i, st := range steps {
		k, _ := slices.BinarySearch(answers, st.seq)
		st.alone = i == 0 || k > 0 && answers[k-1] > steps[i-1].seq
	}
	p.sessions = append(p.sessions, s)
}

// says tells whether every server reads this text in the member of that name: parsers
// differ in which of two members holds, and some take "Name" for "name".
func says(ex *session.Exchange, name, text string) bool {
	if ex.Params.IsZero() {
		return false
	}
	params, err := ex.Params.Bytes()
	if err != nil {
		return false
	}
	all, _ := members(params)
	n := 0
	for _, m := range all {
		if strings.EqualFold(m.name, name) {
			n++
		}
	}
	is, ok := getText(params, name)
	return ok && n == 1 && is == text
}

// onlyStateIsMasked tells whether the request's requestState is filler: the recorder
// keeps it by its hash alone (recorder.md 2.15).
func onlyStateIsMasked(ex *session.Exchange) bool {
	if ex.Params.IsZero() {
		return false
	}
	params, err := ex.Params.Bytes()
	if err != nil {
		return false
	}
	state, ok := getText(params, "requestState")
	return ok && state != "" && strings.Trim(state, "*") == ""
}

// lastRound is the latest request before st, of the same tool or method, that was
// answered by an input round: what is left to go by where the state is masked.
func (p *Plan) lastRound(st *step) *step {
	var last *step
	for _, o := range p.Steps {
		if o.session != st.session {
			continue
		}
		if o.seq >= st.seq {
			break
		}
		if o.ex == nil || o.ex.Method != st.ex.Method || o.tool != st.tool || o.ex.AnswerSeq > st.seq || o.ex.Result.IsZero() {
			continue
		}
		if result, err := o.ex.Result.Bytes(); err == nil {
			if word, _ := getText(result, "resultType"); word == "input_required" {
				last = o
			}
		}
	}
	return last
}

// rounds finds the requests that answer the input that an earlier one's answer asked
// for (wire.md 2.5).
func (p *Plan) rounds() {
	byExchange := map[*session.Exchange]*step{}
	for _, st := range p.Steps {
		if st.ex != nil {
			byExchange[st.ex] = st
		}
	}
	for _, st := range p.Steps {
		if st.ex == nil || st.ex.Params.IsZero() || st.ex.Method != methodCall && st.ex.Method != "prompts/get" && st.ex.Method != "resources/read" {
			continue
		}
		params, err := st.ex.Params.Bytes()
		if err != nil || get(params, "inputResponses") == nil && get(params, "requestState") == nil {
			continue
		}
		if st.call != nil && st.ex.Method == methodCall {
			if i := slices.Index(st.call.Attempts, st.ex); i > 0 {
				st.round = byExchange[st.call.Attempts[i-1]]
			}
		}
		for _, u := range st.uses {
			if st.round == nil && lastName(u.pointer) == "requestState" {
				st.round = u.from
			}
		}
		if st.round == nil {
			st.round = p.lastRound(st)
		}
		if st.round != nil && get(params, "requestState") != nil && !slices.ContainsFunc(st.uses, func(u use) bool { return lastName(u.pointer) == "requestState" }) {
			// Masked in the request, or in the answer: its place is known all the same.
			h := &handle{from: st.round, at: []string{"/requestState"}}
			st.round.wanted(h)
			all, _ := members(params)
			for _, m := range all {
				if m.name == "requestState" {
					st.uses = append(st.uses, use{m.start, m.end, "/requestState", h})
				}
			}
		}
	}
	for _, st := range p.Steps {
		if st.round != nil {
			st.round.resumed = true
		}
		for _, u := range st.uses {
			u.from.paged = u.from.paged || lastName(u.pointer) == "cursor"
		}
	}
}
