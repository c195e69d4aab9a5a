package codex

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// Names of figures (Usage.Source).
const (
	fromCounts = "token_count"      // differences of total_token_usage
	fromTurn   = "turn_token_usage" // the host's own sum of a turn
	fromThread = "thread_token_usage"
	fromTotals = "total_token_usage"
)

// tokens are the thread's totals so far.
type tokens struct {
	total  story.Counts // of the last token_count
	counts bool
	thread *host.Usage // of the last token_usage_record
	turn   *host.Usage // the same of the turn,
	turnAt int         // which is this one
}

type usage struct {
	Input     jsontext.Value `json:"input_tokens"`
	Cached    jsontext.Value `json:"cached_input_tokens"`
	Written   jsontext.Value `json:"cache_write_input_tokens"`
	Output    jsontext.Value `json:"output_tokens"`
	Reasoning jsontext.Value `json:"reasoning_output_tokens"`
	Total     jsontext.Value `json:"total_tokens"`
}

func countsOf(v jsontext.Value) (story.Counts, bool) {
	var u usage
	if !lenient.Into(v, &u) {
		return story.Counts{}, false
	}
	c := story.Counts{Input: host.ParseCount(u.Input), Cached: host.ParseCount(u.Cached), Written: host.ParseCount(u.Written),
		Output: host.ParseCount(u.Output), Reasoning: host.ParseCount(u.Reasoning), Total: host.ParseCount(u.Total)}
	return c, c.Input.Known && c.Output.Known
}

// tokenCount takes totals of the thread. They are told more than once, and go on
// over resumes: a turn's figure is their difference (hosts.md 3.4 and 6).
func (r *reader) tokenCount(p jsontext.Value, e *story.Event) bool {
	var x struct {
		Total jsontext.Value `json:"total_token_usage"`
		Last  jsontext.Value `json:"last_token_usage"`
	}
	lenient.Into(lenient.Member(p, "info"), &x)
	total, ok := countsOf(x.Total)
	if !ok {
		return false
	}
	t := &r.tokens
	diff, grew := less(total, t.total)
	if !t.counts || !grew {
		// A thread that was forked starts with its parent's total, and one that was
		// rolled back may start anew: only the last response is sure.
		last, ok := countsOf(x.Last)
		if t.counts && ok {
			r.b.NoteOnce("usage-reset", "the thread's token totals went back; the response's own count was taken there", e.Src)
		}
		if diff = last; !ok {
			diff = total
		}
	}
	t.total, t.counts = total, true
	r.addTo(diff.OpenAI(), fromCounts, e)
	return true
}

// less is a - b; false when some count would be below 0.
func less(a, b story.Counts) (story.Counts, bool) {
	ok := true
	sub := func(x, y host.Count) host.Count {
		if x.Known && y.Known {
			x.N -= y.N
			ok = ok && x.N >= 0
		}
		return x
	}
	return story.Counts{Input: sub(a.Input, b.Input), Cached: sub(a.Cached, b.Cached), Written: sub(a.Written, b.Written),
		Output: sub(a.Output, b.Output), Reasoning: sub(a.Reasoning, b.Reasoning), Total: sub(a.Total, b.Total)}, ok
}

// addTo adds to the figure of the turn that the record belongs to.
func (r *reader) addTo(u *host.Usage, source string, e *story.Event) {
	t, agents := r.b.Turn(), host.MainAgent
	if r.agent != nil {
		t, agents = nil, host.SubAgents
		if i := r.turn; i >= 0 && i < len(r.b.C.Turns) {
			t = &r.b.C.Turns[i]
		}
	}
	if t == nil || u == nil {
		return
	}
	for i := range t.Usage {
		if f := &t.Usage[i]; f.Source == source && f.Agents == agents {
			f.Add(u)
			return
		}
	}
	u.Source, u.Scope, u.Agents = source, host.OfTurn, agents
	if r.agent == nil {
		u.Excludes = []string{host.ExcludesSubagents}
	}
	t.Usage = append(t.Usage, *u)
}

// usageRecord takes the usage of one response (0.163 and later), and the host's
// sums of the turn and the thread.
func (r *reader) usageRecord(p jsontext.Value, e *story.Event) bool {
	var x struct {
		Response lenient.Word   `json:"response_id"`
		Usage    jsontext.Value `json:"usage"`
		Turn     jsontext.Value `json:"turn_token_usage"`
		Thread   jsontext.Value `json:"thread_token_usage"`
	}
	if !lenient.Into(p, &x) {
		return false
	}
	if c, ok := countsOf(x.Usage); ok && r.b.Once("usage "+string(x.Response)) {
		// The sum is made of records, since a response without an item has tokens too.
		if r.msg != nil {
			r.msg.Usage(c.OpenAI())
		}
		r.addTo(c.OpenAI(), story.FromResponses, e)
	}
	r.msg = nil
	if c, ok := countsOf(x.Turn); ok && r.agent == nil {
		at := -1
		if t := r.b.Turn(); t != nil {
			at = t.Index
		}
		if r.tokens.turn != nil && r.tokens.turnAt != at {
			r.turnFigure()
		}
		r.tokens.turn, r.tokens.turnAt = c.OpenAI(), at
	}
	if c, ok := countsOf(x.Thread); ok {
		r.tokens.thread = c.OpenAI()
	}
	return true
}

// turnFigure gives a turn the host's own sum.
func (r *reader) turnFigure() {
	u, at := r.tokens.turn, r.tokens.turnAt
	r.tokens.turn = nil
	if u == nil || at < 0 || at >= len(r.b.C.Turns) {
		return
	}
	u.Source, u.Scope, u.Agents, u.Excludes = fromTurn, host.OfTurn, host.MainAgent, []string{host.ExcludesSubagents}
	t := &r.b.C.Turns[at]
	t.Usage = append(t.Usage, *u)
}

// finish gives the conversation the thread's last totals.
func (t *tokens) finish(r *reader) {
	r.turnFigure()
	if r.agent != nil {
		return
	}
	add := func(u *host.Usage, source string) {
		if u != nil {
			u.Source, u.Scope, u.Agents, u.Excludes = source, host.OfSession, host.MainAgent, []string{host.ExcludesSubagents}
			r.b.C.Usage = append(r.b.C.Usage, *u)
		}
	}
	if t.counts {
		add(t.total.OpenAI(), fromTotals)
	}
	add(t.thread, fromThread)
}
