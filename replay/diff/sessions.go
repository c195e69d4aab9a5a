package diff

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/replay/key"
)

// sess is a session with the requests of its client that are paired one by one.
type sess struct {
	*session.Session
	rec   *Recording
	asked []asked
}

// asked is a call, or another request of the client's.
type asked struct {
	id   string
	key  key.Key
	call *session.Call     // nil: another request
	ex   *session.Exchange // the request; of a call its first attempt
}

// what is the tool, or the method of another request.
func (a *asked) what() (tool, method string) {
	if a.call != nil {
		return a.call.Tool, ""
	}
	return "", a.ex.Method
}

// used tells whether the server was asked to do anything.
func (s *sess) used() bool { return len(s.asked) > 0 }

// skipped counts the requests that were not sent again.
func (s *sess) skipped(list map[string]string) int {
	n := 0
	for i := range s.asked {
		if _, ok := list[s.asked[i].id]; ok {
			n++
		}
	}
	return n
}

// apart are methods that are not compared request by request: the handshake and the
// tools have rules of their own, the others depend on the clock (polls of a task), say
// nothing (ping), or have no answer while they last (subscriptions/listen).
func apart(method string) bool {
	switch method {
	case "initialize", "server/discover", "ping", "tools/list", "tools/call", "subscriptions/listen",
		"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update":
		return true
	}
	return false
}

func (d *differ) load(r *Recording) []*sess {
	var out []*sess
	for _, s := range r.Sessions {
		n := &sess{Session: s, rec: r}
		for _, c := range s.Calls {
			a := asked{id: CallID(c.Seq, c.Index), call: c}
			if len(c.Attempts) > 0 {
				a.ex = c.Attempts[0]
			}
			a.key = d.key("tools/call", a.ex)
			n.asked = append(n.asked, a)
		}
		for _, ex := range s.Requests {
			if ex.From == record.Client && !apart(ex.Method) {
				n.asked = append(n.asked, asked{id: CallID(ex.Seq, ex.Index), key: d.key(ex.Method, ex), ex: ex})
			}
		}
		slices.SortStableFunc(n.asked, func(a, b asked) int {
			return cmp.Or(cmp.Compare(a.seq(), b.seq()), cmp.Compare(a.index(), b.index()))
		})
		out = append(out, n)
	}
	return out
}

func (a *asked) seq() int64 {
	if a.call != nil {
		return a.call.Seq
	}
	return a.ex.Seq
}

func (a *asked) index() int {
	if a.call != nil {
		return a.call.Index
	}
	return a.ex.Index
}

func (d *differ) key(method string, ex *session.Exchange) key.Key {
	return d.opts.Args.Of(method, d.params(ex))
}

// params are a request's params; nil without any, or when they cannot be read.
func (d *differ) params(ex *session.Exchange) []byte {
	if ex == nil {
		return nil
	}
	return d.bytes(ex.Params)
}

// bytes fetches a value. A recording that cannot be read any more ends the comparison.
func (d *differ) bytes(v session.Value) []byte {
	if v.IsZero() || v.TooDeep() {
		return nil
	}
	b, err := v.Bytes()
	if err != nil && d.err == nil {
		d.err = err
	}
	return b
}

// pair is two sessions that are compared.
type pair struct {
	a, b  *sess
	basis string
}

func (p *pair) where() Where { return Where{SessionA: p.a.ID, SessionB: p.b.ID} }

// maxScored is how many sessions of one side are compared with how many of the other
// to find the likeliest; beyond, what is left is paired in order.
const maxScored = 24

// pairSessions pairs sessions: those with the same requests first, then those with
// the most in common, then those in which the server was not used, in order. A session
// with nothing in common with any is left.
func (d *differ) pairSessions() (pairs []*pair, restA, restB []*sess) {
	restA, restB = d.load(d.a), d.load(d.b)
	take := func(i, j int, basis string) {
		pairs = append(pairs, &pair{restA[i], restB[j], basis})
		restA, restB = slices.Delete(restA, i, i+1), slices.Delete(restB, j, j+1)
	}
	if len(restA) == 1 && len(restB) == 1 {
		take(0, 0, "the only sessions")
		return pairs, nil, nil
	}
	// The same requests in the same order.
	byPrint := map[[16]byte][]*sess{}
	for _, s := range restB {
		if s.used() {
			byPrint[s.print()] = append(byPrint[s.print()], s)
		}
	}
	gone := map[*sess]bool{}
	for _, s := range restA {
		if same := byPrint[s.print()]; s.used() && len(same) > 0 {
			pairs = append(pairs, &pair{s, same[0], "the same requests"})
			byPrint[s.print()] = same[1:]
			gone[s], gone[same[0]] = true, true
		}
	}
	left := func(list []*sess) []*sess {
		return slices.DeleteFunc(list, func(s *sess) bool { return gone[s] })
	}
	restA, restB = left(restA), left(restB)
	// The most requests in common.
	type scored struct{ i, j, n int }
	var likely []scored
	for i := range restA[:min(len(restA), maxScored)] {
		for j := range restB[:min(len(restB), maxScored)] {
			if n := score(restA[i], restB[j]); n > 0 {
				likely = append(likely, scored{i, j, n})
			}
		}
	}
	slices.SortStableFunc(likely, func(a, b scored) int { return cmp.Compare(b.n, a.n) })
	for _, l := range likely {
		if a, b := restA[l.i], restB[l.j]; !gone[a] && !gone[b] {
			pairs = append(pairs, &pair{a, b, "the most requests in common"})
			gone[a], gone[b] = true, true
		}
	}
	restA, restB = left(restA), left(restB)
	// What was only looked at: the first with the first.
	for _, only := range []bool{false, true} {
		for i := 0; i < len(restA); i++ {
			j := slices.IndexFunc(restB, func(s *sess) bool { return s.used() == restA[i].used() })
			if restA[i].used() == only && j >= 0 {
				basis := "in order: no request in either"
				if only {
					basis = "in order: no request in common"
				}
				take(i, j, basis)
				i--
			}
		}
	}
	slices.SortFunc(pairs, func(a, b *pair) int { return cmp.Compare(a.a.FirstSeq, b.a.FirstSeq) })
	return pairs, restA, restB
}

// print is equal for sessions with equal requests.
func (s *sess) print() [16]byte {
	h := sha256.New()
	for i := range s.asked {
		h.Write(s.asked[i].key[:])
	}
	return [16]byte(h.Sum(nil)[:16])
}

// score is how much two sessions have in common: 4 for an equal request, 1 for the
// same tool or method.
func score(a, b *sess) int {
	if !a.used() || !b.used() {
		return 0
	}
	type name struct{ tool, method string }
	keys, names := map[key.Key]int{}, map[name]int{}
	for i := range b.asked {
		tool, method := b.asked[i].what()
		keys[b.asked[i].key]++
		names[name{tool, method}]++
	}
	n := 0
	for i := range a.asked {
		tool, method := a.asked[i].what()
		if k := a.asked[i].key; keys[k] > 0 {
			keys[k]--
			n += 3
		}
		if names[name{tool, method}] > 0 {
			names[name{tool, method}]--
			n++
		}
	}
	return n
}

// distinct are the whole lists of a session that differ from the one before.
func distinct(s *session.Session) []*catalog.List {
	var out []*catalog.List
	for _, l := range s.Lists {
		if l.State != catalog.Complete && l.State != catalog.Racy {
			continue
		}
		if n := len(out); n > 0 && equalLists(out[n-1], l) {
			continue
		}
		out = append(out, l)
	}
	return out
}

func equalLists(a, b *catalog.List) bool {
	return slices.EqualFunc(a.Tools, b.Tools, func(x, y catalog.Tool) bool { return string(x.Raw) == string(y.Raw) })
}

func declared(s *session.Session) []*catalog.List {
	if l := s.DeclaredCatalog(); l != nil {
		return []*catalog.List{l}
	}
	return nil
}

func failed(l *catalog.List) bool { return l.State == catalog.Failed }
