package run

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// handle is a value that the server minted in one answer and the client used later:
// in the new session the new answer's value takes its place (recorder.md 5.4).
type handle struct {
	key   string // the recorded value
	from  *step  // the request whose answer minted it
	at    []string
	where string // of the value that was taken, in the new answer

	// Of the new session.
	known bool
	value string // the new one's JSON text; empty with known: the answer had none
}

// maxPlaces is how many of the places at which one answer has a value are kept.
const maxPlaces = 8

// use is a place in a request's params where a handle stands.
type use struct {
	start, end int
	pointer    string
	*handle
}

// candidate is a value that the client used, and where it was seen before that.
type candidate struct {
	first   int64 // seq of the client's first use
	catalog int64 // seq of the first catalog that has it; 0: none
	answers int   // that have it, of those before first
	handle  *handle
	origin  *step // the request whose answer had it first, before client and catalogs
}

// origins are the values in a request that first appeared in one answer, and that are
// not carried: without that answer the request makes no sense (recorder.md 5.3).
type origins []*step

// minted are the members whose values belong to the protocol: they are carried
// whatever their length, and however many answers have them.
var minted = map[string]string{"cursor": "nextCursor", "taskId": "taskId", "requestState": "requestState"}

// token is a value of such a member: the answers that gave it, in order.
type token struct {
	at   []string
	from []*step
}

// carry finds the handles in the steps' requests and in which answers they were minted.
func (p *Plan) carry() error {
	seen := map[string]*candidate{}
	tokens := map[string]*token{}
	texts := p.clientTexts()
	// What the client wrote, in order: only that may turn out to be a handle.
	for _, t := range texts {
		b, err := t.value.Bytes()
		if err != nil {
			return err
		}
		leaves(b, func(l leaf) {
			pointer := ""
			if t.step != nil {
				pointer = l.at()
				if name := minted[lastName(pointer)]; name != "" && len(l.key) <= maxHandle {
					tokens[name+string(l.key)] = &token{}
				}
			}
			if !handleLike(l.key) {
				return
			}
			if c := seen[string(l.key)]; c == nil {
				seen[string(l.key)] = &candidate{first: t.seq}
			}
		})
	}
	if err := p.answersWith(seen, tokens); err != nil {
		return err
	}
	// Then, what of that stands where in the requests.
	for _, t := range texts {
		if t.step == nil {
			continue
		}
		b, err := t.value.Bytes()
		if err != nil {
			return err
		}
		leaves(b, func(l leaf) {
			if len(l.key) > maxHandle {
				return
			}
			pointer := l.at()
			if name := minted[lastName(pointer)]; name != "" {
				if h := tokens[name+string(l.key)].of(t.step, name, string(l.key)); h != nil {
					t.step.uses = append(t.step.uses, use{l.start, l.end, pointer, h})
					return
				}
			}
			c := seen[string(l.key)]
			if c == nil || c.origin == nil || strings.HasPrefix(pointer, "/_meta") || pointer == "/name" || t.step.ex.Method == methodInitialize {
				return
			}
			if c.answers == 1 {
				t.step.uses = append(t.step.uses, use{l.start, l.end, pointer, c.handle})
				c.handle.from.wanted(c.handle)
			} else if !slices.Contains(t.step.needs, c.origin) {
				t.step.needs = append(t.step.needs, c.origin)
			}
		})
	}
	return nil
}

// answersWith looks through what the server answered for what the client used later.
func (p *Plan) answersWith(seen map[string]*candidate, tokens map[string]*token) error {
	var answered []*step
	for _, st := range p.Steps {
		if st.kind == request && st.ex.AnswerSeq != 0 && !st.ex.Result.IsZero() {
			answered = append(answered, st)
		}
	}
	slices.SortStableFunc(answered, func(a, b *step) int { return cmp.Compare(a.ex.AnswerSeq, b.ex.AnswerSeq) })
	for _, st := range answered {
		b, err := st.ex.Result.Bytes()
		if err != nil {
			return err
		}
		seq, list := st.ex.AnswerSeq, st.ex.Method == methodTools
		deepLeaves(b, func(l leaf) {
			if len(l.key) > maxHandle {
				return
			}
			for _, name := range minted {
				if t := tokens[name+string(l.key)]; t != nil && lastName(l.at()) == name {
					t.at, t.from = append(t.at, l.at()), append(t.from, st)
				}
			}
			c := seen[string(l.key)]
			switch {
			case c == nil || seq > c.first:
			case list:
				if c.catalog == 0 {
					c.catalog = seq
				}
			case c.catalog != 0: // seen before: it is no handle
			case c.handle == nil:
				c.answers, c.origin = 1, st
				c.handle = &handle{key: string(l.key), from: st, at: []string{l.at()}}
			case c.handle.from != st:
				c.answers++
			case len(c.handle.at) < maxPlaces:
				c.handle.at = append(c.handle.at, l.at())
			}
		})
	}
	for _, c := range seen {
		if c.catalog != 0 && c.catalog < c.first && c.handle != nil {
			// In an answer first and then in a catalog: two have it.
			c.answers++
		}
	}
	return nil
}

// of is the handle for a value of the protocol's in a request: a task is named by the
// answer that made it, a cursor or a state by the latest answer of its method.
func (t *token) of(st *step, name, key string) *handle {
	best := -1
	for i, from := range t.from {
		if from.session != st.session || from.ex.AnswerSeq > st.seq || name != "taskId" && from.ex.Method != st.ex.Method {
			continue
		}
		if best = i; name == "taskId" {
			break
		}
	}
	if best < 0 {
		return nil
	}
	h := &handle{key: key, from: t.from[best], at: []string{t.at[best]}}
	h.from.wanted(h)
	return h
}

func (st *step) wanted(h *handle) {
	if !slices.Contains(st.mints, h) {
		st.mints = append(st.mints, h)
	}
}

// resolve takes the handles' new values from the new answer to the request that
// minted them. A list may have moved: a text that stands elsewhere in the same list
// still is what it was.
func resolve(mints []*handle, result []byte) {
	type places struct {
		values []string
		same   bool // the recorded value is still there, in the same list
	}
	found := make([]places, len(mints))
	for i, h := range mints {
		found[i].values = make([]string, len(h.at))
	}
	deepLeaves(result, func(l leaf) {
		pointer := l.at()
		for i, h := range mints {
			for k, at := range h.at {
				if at == pointer {
					found[i].values[k] = spelt(string(l.key))
				}
				if l.key[0] == 's' && string(l.key) == h.key && !found[i].same {
					was, list := generic(at)
					is, _ := generic(pointer)
					found[i].same = list && was == is
				}
			}
		}
	})
	for i, h := range mints {
		h.known = true
		if found[i].same {
			h.value, h.where = spelt(h.key), h.at[0]
			continue
		}
		for k, v := range found[i].values {
			if v != "" {
				h.value, h.where = v, h.at[k]
				break
			}
		}
	}
}

// clientText is a JSON text of the client's: the params of a step, or an answer to
// the server (step is nil).
type clientText struct {
	seq   int64
	value valuer
	step  *step
}

type valuer interface{ Bytes() ([]byte, error) }

func (p *Plan) clientTexts() []clientText {
	var all []clientText
	for _, st := range p.Steps {
		if st.kind == request && !st.ex.Params.IsZero() {
			all = append(all, clientText{st.seq, st.ex.Params, st})
		}
	}
	for _, s := range p.sessions {
		for _, ex := range s.Requests {
			if ex.From == record.Server && ex.AnswerSeq != 0 && !ex.Result.IsZero() {
				all = append(all, clientText{ex.AnswerSeq, ex.Result, nil})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b clientText) int { return cmp.Compare(a.seq, b.seq) })
	return all
}
