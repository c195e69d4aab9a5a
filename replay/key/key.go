package key

import (
	"crypto/sha256"
	"sync"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Rules say what of a request counts. The zero value: all but _meta.
type Rules struct {
	// Ignore are arguments that do not count. Match, when some of it means the tool,
	// are the only ones that do.
	Ignore, Match []Pointer
	// Redact, when there is one, is put to the params of a live request before they
	// are looked at: what the recording's level did to those on record. It returns
	// JSON.
	Redact func(method string, params []byte) []byte
}

// Key is equal for equal requests, and for no others (SHA-256, cut to 16 bytes:
// an index has one for each request of a recording).
type Key [16]byte

// Of is the key of a request. params is the JSON text of its params; nil when it
// had none.
func (r *Rules) Of(method string, params []byte) Key {
	n, ok := r.counting(method, params)
	if !ok {
		return sum(method, append([]byte("spelt "), params...)) // no JSON, or deeper than is followed
	}
	return sumForm(method, n)
}

// forms are buffers of sumForm's: params can be long, and there are many.
var forms = sync.Pool{New: func() any { return new([]byte) }}

// maxForm is the capacity in bytes up to which such a buffer is kept.
const maxForm = 1 << 20

func sumForm(method string, n *node) Key {
	b := forms.Get().(*[]byte)
	*b = n.appendForm((*b)[:0])
	k := sum(method, *b)
	if cap(*b) <= maxForm {
		forms.Put(b)
	}
	return k
}

// OfLive is Of after Redact.
func (r *Rules) OfLive(method string, params []byte) Key {
	return r.Of(method, r.redacted(method, params))
}

func (r *Rules) redacted(method string, params []byte) []byte {
	if r.Redact == nil || params == nil {
		return params
	}
	return r.Redact(method, params)
}

func sum(method string, form []byte) Key {
	h := sha256.New()
	h.Write(append([]byte(method), 0))
	h.Write(form)
	return Key(h.Sum(nil)[:len(Key{})])
}

// ByMethod tells whether requests of the method are all the same request, whatever
// the params: what a client says of itself changes with its version (recorder.md 5.6).
func ByMethod(method string) bool {
	return method == "initialize" || method == "server/discover" || method == "ping"
}

// Name is params.name of a method that has arguments: the tool, or the prompt.
func Name(method string, params []byte) string {
	if !hasArguments(method) {
		return ""
	}
	var name string
	_, _ = jsonscan.Members(params, 0, func(member []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(params, at)
		if err == nil && string(member) == "name" {
			name, _ = jsonscan.String(params[s.Start:s.End])
		}
		return s, err
	})
	return name
}

func hasArguments(method string) bool { return method == "tools/call" || method == "prompts/get" }

// counting is what of the params counts; ok is false when they cannot be read.
func (r *Rules) counting(method string, params []byte) (n *node, ok bool) {
	if ByMethod(method) || len(params) == 0 {
		return emptyObject, true
	}
	if n = parse(params); n == nil {
		return nil, false
	}
	return r.prune(method, n), true
}

func (r *Rules) prune(method string, n *node) *node {
	if n.kind() != '{' {
		return n
	}
	n = n.with("_meta", nil)
	if !hasArguments(method) {
		return n
	}
	args := n.get("arguments")
	if args == nil {
		args = emptyObject
	}
	name := ""
	if v := n.get("name"); v != nil {
		name, _ = jsonscan.String(v.raw)
	}
	if match := of(r.Match, name); len(match) > 0 {
		args = args.only(match)
	}
	if args != nil {
		args = args.without(of(r.Ignore, name))
	}
	if args == nil {
		args = emptyObject
	}
	return n.with("arguments", args)
}
