package key

import (
	"bytes"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Index finds recorded requests that are equal to a live one. It keeps a key a
// request, not the requests. All are added before the first is looked for.
type Index struct {
	rules Rules
	// mac makes the hash of a live value, to be compared with what stands for the
	// recorded one. nil: the recording's key is not there, and any value fits.
	mac    func(string) string
	shapes map[string][]shape // by method

	// The requests: ns[i] has keys[i]. In the order of keys once sorted is true, which the
	// first Find sees to: a map of lists takes three times the memory.
	mu     sync.Mutex
	sorted bool
	keys   []Key
	ns     []int
}

// byKey sorts an index by key.
type byKey Index

func (x *byKey) Len() int           { return len(x.keys) }
func (x *byKey) Less(i, j int) bool { return bytes.Compare(x.keys[i][:], x.keys[j][:]) < 0 }
func (x *byKey) Swap(i, j int) {
	x.keys[i], x.keys[j] = x.keys[j], x.keys[i]
	x.ns[i], x.ns[j] = x.ns[j], x.ns[i]
}

// of are the requests with a key, in the order in which they were added. The same list
// is at the same place each time.
func (x *Index) of(k Key) []int {
	x.mu.Lock()
	if !x.sorted {
		sort.Stable((*byKey)(x))
		x.sorted = true
	}
	x.mu.Unlock()
	from := sort.Search(len(x.keys), func(i int) bool { return bytes.Compare(x.keys[i][:], k[:]) >= 0 })
	to := from + sort.Search(len(x.keys)-from, func(i int) bool { return x.keys[from+i] != k })
	return x.ns[from:to:to]
}

// NewIndex returns an empty index. mac hashes values by the key that the recording
// was masked with; nil when that key is not known.
func NewIndex(rules Rules, mac func(string) string) *Index {
	return &Index{rules: rules, mac: mac, shapes: map[string][]shape{}}
}

// Rules are those that it was made with.
func (x *Index) Rules() *Rules { return &x.rules }

// Add takes a recorded request: n is what Find will return. masked are the filler
// spans in params, by offset in it.
func (x *Index) Add(n int, method string, params []byte, masked []mask.Span) Key {
	k := x.Key(method, params, masked, true)
	x.AddKey(n, k)
	return k
}

// AddKey is Add for a request without filler whose key is known.
func (x *Index) AddKey(n int, k Key) {
	x.keys, x.ns, x.sorted = append(x.keys, k), append(x.ns, n), false
}

// Key is the key of a recorded request in which filler stands for what it replaced:
// equal for equal credentials. learn: Find is to look for such requests.
func (x *Index) Key(method string, params []byte, masked []mask.Span, learn bool) Key {
	if len(masked) == 0 || ByMethod(method) {
		return x.rules.Of(method, params)
	}
	n := parse(params)
	if n == nil {
		return x.rules.Of(method, params)
	}
	f := filler{text: params, masked: masked, mac: x.mac}
	n = f.fill(n, nil)
	if len(f.shape) > 0 && learn {
		x.learn(method, f.shape)
	}
	return sumForm(method, x.rules.prune(method, n))
}

// Find returns the recorded requests that are equal to a live one, in the order in
// which they were added.
func (x *Index) Find(method string, params []byte) []int {
	params = x.rules.redacted(method, params)
	found := x.of(x.rules.Of(method, params))
	shapes := x.shapes[method]
	if len(shapes) == 0 || len(params) == 0 {
		return found
	}
	n := parse(params)
	if n == nil {
		return found
	}
	found = slices.Clone(found)
	for _, s := range shapes {
		for _, like := range s.apply(n, x.mac) {
			found = append(found, x.of(sumForm(method, x.rules.prune(method, like)))...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// holeKind begins the raw text of a node that stands for a string with a credential
// in it; no JSON value begins so.
const holeKind = 0x01

// hole is a string in which credentials were replaced: the texts between them. Two
// holes have one text more than credentials.
type hole struct {
	path  []string
	texts []string
	lens  []int // of the credentials, in bytes as spelt
}

// shape is where a request has credentials. Most recordings have none or one.
type shape []hole

// maxShapes bounds the shapes of one method: a live request is tried with each. A
// recording's credentials are at most 32 values, in few places.
const maxShapes = 256

func (x *Index) learn(method string, s shape) {
	id := s.String()
	for _, had := range x.shapes[method] {
		if had.String() == id {
			return
		}
	}
	if len(x.shapes[method]) < maxShapes {
		x.shapes[method] = append(x.shapes[method], s)
	}
}

func (s shape) String() string {
	var b strings.Builder
	for _, h := range s {
		for _, p := range h.path {
			b.WriteString(strconv.Quote(p) + "/")
		}
		for i, t := range h.texts {
			b.WriteString(strconv.Quote(t))
			if i < len(h.lens) {
				b.WriteString(strconv.Itoa(h.lens[i]))
			}
		}
		b.WriteByte(';')
	}
	return b.String()
}

// filler makes holes of the strings of a recorded value.
type filler struct {
	text   []byte
	masked []mask.Span
	mac    func(string) string
	shape  shape
}

func (f *filler) fill(n *node, path []string) *node {
	switch n.kind() {
	case '{', '[':
		if !f.touched(n) {
			return n
		}
		return n.each(func(seg string, v *node) *node { return f.fill(v, append(path, seg)) })
	case '"':
		return f.string(n, path)
	}
	return n
}

// place is where a node stands in the text: both are of one array.
func (f *filler) place(n *node) (from, to int64) {
	from = int64(cap(f.text) - cap(n.raw))
	return from, from + int64(len(n.raw))
}

func (f *filler) touched(n *node) bool {
	from, to := f.place(n)
	for _, m := range f.masked {
		if within(m, from, to) {
			return true
		}
	}
	return false
}

// within tells whether a span, of which a hostile recording may say anything, lies there.
func within(m mask.Span, from, to int64) bool {
	return m.Len >= 0 && m.Len <= to-from && m.Off >= from && m.Off <= to-m.Len
}

func (f *filler) string(n *node, path []string) *node {
	from, to := f.place(n)
	h := hole{path: slices.Clone(path)}
	form := []byte{holeKind}
	at := from + 1 // behind the quotation mark
	text := func(end int64) {
		quoted := append(append([]byte{'"'}, f.text[at:end]...), '"')
		if _, err := jsonscan.Skip(quoted, 0); err != nil {
			quoted = []byte(`""`) // the cut is in the middle of an escape
		}
		t, _ := jsonscan.String(quoted)
		h.texts = append(h.texts, t)
		form = appendText(form, []byte(t))
	}
	for _, m := range f.masked {
		if !within(m, at, to-1) {
			continue
		}
		text(m.Off)
		h.lens = append(h.lens, int(m.Len))
		form = append(form, f.stands(m.MAC)...)
		at = m.Off + m.Len
	}
	if len(h.lens) == 0 {
		return n
	}
	text(to - 1)
	f.shape = append(f.shape, h)
	return &node{raw: form}
}

// stands is what stands for a credential in a form. One of which only a part was
// there has no hash; without the key nothing can be compared.
func (f *filler) stands(mac string) string {
	if f.mac == nil || mac == "" {
		return "any"
	}
	return mac
}

// apply makes of a live value what a recorded one of this shape looks like, if it
// can be one: once with the hashes of its values, once with whatever has no hash.
func (s shape) apply(n *node, mac func(string) string) []*node {
	var out []*node
	hashed := func(v string) []string { return []string{"any"} }
	ways := [][]string{nil}
	if mac != nil {
		hashed = func(v string) []string {
			all := []string{mac(v)}
			// A hash is that of the plain credential, whatever it was spelt like.
			if plain, err := url.PathUnescape(v); err == nil && plain != v {
				all = append(all, mac(plain))
			}
			return append(all, "any")
		}
	}
	// The ways in which all the holes can be filled: few holes, few spellings.
	var cuts [][]string
	for _, h := range s {
		values, ok := h.cut(n)
		if !ok {
			return nil
		}
		cuts = append(cuts, values)
		for _, v := range values {
			var more [][]string
			for _, w := range ways {
				for _, m := range hashed(v) {
					more = append(more, append(slices.Clone(w), m))
				}
			}
			if ways = more; len(ways) > maxWays {
				return nil
			}
		}
	}
	for _, w := range ways {
		like := n
		for i, h := range s {
			form := []byte{holeKind}
			for j, t := range h.texts {
				form = appendText(form, []byte(t))
				if j < len(cuts[i]) {
					form, w = append(form, w[0]...), w[1:]
				}
			}
			like = like.put(h.path, &node{raw: form})
		}
		out = append(out, like)
	}
	return out
}

const maxWays = 1 << 10

// cut takes the values of a hole out of a live value.
func (h hole) cut(n *node) (values []string, ok bool) {
	for _, seg := range h.path {
		if n = n.at(seg); n == nil {
			return nil, false
		}
	}
	if n.kind() != '"' {
		return nil, false
	}
	s, _ := jsonscan.String(n.raw)
	if len(h.lens) == 1 {
		rest, ok1 := strings.CutPrefix(s, h.texts[0])
		v, ok2 := strings.CutSuffix(rest, h.texts[1])
		return []string{v}, ok1 && ok2
	}
	for i, t := range h.texts {
		if s, ok = strings.CutPrefix(s, t); !ok {
			return nil, false
		}
		if i < len(h.lens) {
			if len(s) < h.lens[i] {
				return nil, false
			}
			values, s = append(values, s[:h.lens[i]]), s[h.lens[i]:]
		}
	}
	return values, s == ""
}

// at is the member or element that a segment of a path names.
func (n *node) at(seg string) *node {
	if n.kind() == '[' {
		i, err := strconv.Atoi(seg)
		if err != nil || i < 0 || i >= len(n.elems) {
			return nil
		}
		return n.elems[i]
	}
	return n.get(seg)
}

// put is the value with another one at the end of a path that is there.
func (n *node) put(path []string, value *node) *node {
	if len(path) == 0 {
		return value
	}
	return n.each(func(seg string, v *node) *node {
		if seg != path[0] {
			return v
		}
		return v.put(path[1:], value)
	})
}
