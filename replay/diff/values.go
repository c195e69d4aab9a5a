package diff

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Bounds of the comparison of two results, which strangers wrote.
const (
	maxDepth   = 64      // below that values are compared as a whole
	maxAlign   = 1 << 18 // pairs of elements that are looked at to align two lists
	maxChanges = 200     // of one result, one by one
)

// change is one place where two values differ.
type change struct {
	rule          string
	path          *path
	before, after []byte // JSON text; nil: not there
	text          string // what to say beside the rule's own words; may be empty
}

// values compares two JSON values.
type values struct {
	noise   func(p *path, before, after []byte) bool // scalars that differ and do not count
	ignored func(p *path) bool
	found   func(change)
	// shape: only names and types count.
	shape bool
	n     int
}

func (v *values) add(c change) {
	if v.n++; v.n <= maxChanges {
		v.found(c)
	}
}

// compare compares the values at p.
func (v *values) compare(p *path, a, b []byte, depth int) {
	if bytes.Equal(a, b) || v.ignored(p) {
		return
	}
	x, y := kind(a), kind(b)
	switch {
	case x != y:
		v.add(change{rule: ResultType, path: p, before: a, after: b, text: fmt.Sprintf("is %s, was %s", kindWords[y], kindWords[x])})
	case depth >= maxDepth && (x == '{' || x == '['):
		if !v.shape && !jsonscan.Equal(a, b) {
			v.add(change{rule: ResultValue, path: p, before: a, after: b, text: "is different; it nests too deep to say where"})
		}
	case x == '{':
		v.objects(p, a, b, depth)
	case x == '[':
		v.arrays(p, a, b, depth)
	case x == '"':
		v.strings(p, a, b, depth)
	case v.shape || x == '0' && jsonscan.Number(a) == jsonscan.Number(b):
	case v.noise(p, a, b):
	default:
		v.add(change{rule: ResultValue, path: p, before: a, after: b})
	}
}

// kind is the JSON type of a value by its first character, '0' for a number and 't'
// for true and false.
func kind(b []byte) byte {
	i := jsonscan.Space(b, 0)
	if i >= len(b) {
		return 'n'
	}
	switch c := b[i]; c {
	case '{', '[', '"', 'n':
		return c
	case 't', 'f':
		return 't'
	}
	return '0'
}

var kindWords = map[byte]string{'{': "an object", '[': "a list", '"': "a text", '0': "a number", 't': "true or false", 'n': "null"}

func (v *values) objects(p *path, a, b []byte, depth int) {
	x, _ := jsonscan.Object(a)
	y, _ := jsonscan.Object(b)
	after := make(map[string][]byte, len(y))
	for _, m := range y {
		after[m.Name] = m.Value
	}
	before := make(map[string]bool, len(x))
	for _, m := range x {
		before[m.Name] = true
		at := p.member(m.Name)
		if is, ok := after[m.Name]; ok {
			v.compare(at, m.Value, is, depth+1)
		} else if !v.ignored(at) {
			v.add(change{rule: ResultRemoved, path: at, before: m.Value})
		}
	}
	for _, m := range y {
		if at := p.member(m.Name); !before[m.Name] && !v.ignored(at) {
			v.add(change{rule: ResultAdded, path: at, after: m.Value})
		}
	}
}

func (v *values) arrays(p *path, a, b []byte, depth int) {
	x, _ := jsonscan.Array(a)
	y, _ := jsonscan.Array(b)
	if v.shape {
		// How many there are is what state makes of it.
		for i := range min(len(x), len(y)) {
			v.compare(p.element(i), x[i], y[i], depth+1)
		}
		return
	}
	hx, hy := hashes(x), hashes(y)
	if len(x) == len(y) {
		if slices.Equal(hx, hy) {
			return
		}
		sx, sy := slices.Sorted(slices.Values(hx)), slices.Sorted(slices.Values(hy))
		if slices.Equal(sx, sy) {
			v.add(change{rule: ResultOrder, path: p, before: a, after: b})
			return
		}
	}
	pairs, moved := align(x, y, hx, hy)
	if moved && len(pairs) > 1 {
		v.add(change{rule: ResultOrder, path: p, before: a, after: b})
	}
	pairedX, pairedY := make([]bool, len(x)), make([]bool, len(y))
	for _, q := range pairs {
		pairedX[q[0]], pairedY[q[1]] = true, true
		v.compare(p.element(q[0]), x[q[0]], y[q[1]], depth+1)
	}
	for i := range x {
		if at := p.element(i); !pairedX[i] && !v.ignored(at) {
			v.add(change{rule: ResultElementRemoved, path: at, before: x[i], text: fmt.Sprintf("is gone; the list has %d, had %d", len(y), len(x))})
		}
	}
	for i := range y {
		if at := p.element(i); !pairedY[i] && !v.ignored(at) {
			v.add(change{rule: ResultElementAdded, path: at, after: y[i], text: fmt.Sprintf("is new; the list has %d, had %d", len(y), len(x))})
		}
	}
}

// hashes are of values, whatever their spelling.
func hashes(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		if c, ok := jsonscan.Canonical(b); ok {
			b = c
		}
		sum := sha256.Sum256(b)
		out[i] = string(sum[:12])
	}
	return out
}

// align says which element of a list is which of another. Elements that have ids in
// common are the same by those; else equal ones are, where the order stays, and what
// is between them is taken in order. moved says that ids stand in another order.
func align(x, y [][]byte, hx, hy []string) (pairs [][2]int, moved bool) {
	if pairs, moved, ok := byID(x, y); ok {
		return pairs, moved
	}
	lo := 0
	for lo < min(len(x), len(y)) && hx[lo] == hy[lo] {
		pairs = append(pairs, [2]int{lo, lo})
		lo++
	}
	hiX, hiY := len(x), len(y)
	for hiX > lo && hiY > lo && hx[hiX-1] == hy[hiY-1] {
		hiX, hiY = hiX-1, hiY-1
	}
	anchors := [][2]int{}
	if n, m := hiX-lo, hiY-lo; n > 0 && m > 0 && n != m && n*m <= maxAlign {
		anchors = common(hx[lo:hiX], hy[lo:hiY])
	}
	i, j := lo, lo
	for _, q := range append(anchors, [2]int{hiX - lo, hiY - lo}) {
		for i < lo+q[0] && j < lo+q[1] {
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		}
		i, j = lo+q[0], lo+q[1]
		if i < hiX && j < hiY {
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		}
	}
	for k := range len(x) - hiX {
		pairs = append(pairs, [2]int{hiX + k, hiY + k})
	}
	return pairs, false
}

// common is a longest common subsequence of two lists, as places in both.
func common(a, b []string) [][2]int {
	n, m := len(a), len(b)
	best := make([]int32, (n+1)*(m+1)) // from the end
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			at := i*(m+1) + j
			if a[i] == b[j] {
				best[at] = best[at+m+2] + 1
			} else {
				best[at] = max(best[at+m+1], best[at+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < n && j < m; {
		switch at := i*(m+1) + j; {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case best[at+m+1] >= best[at+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// byID aligns objects by the first of these members that each has with a value of its
// own, when half of the values stand in both lists: ids that the server makes anew
// say nothing.
func byID(x, y [][]byte) (pairs [][2]int, moved, ok bool) {
	if len(x) == 0 || len(y) == 0 {
		return nil, false, false
	}
	for _, name := range []string{"id", "uri", "uriTemplate", "name", "key", "path"} {
		a, b := ids(x, name), ids(y, name)
		if a == nil || b == nil {
			continue
		}
		places := make(map[string]int, len(b))
		for j, id := range b {
			places[id] = j
		}
		last := -1
		for i, id := range a {
			if j, ok := places[id]; ok {
				pairs = append(pairs, [2]int{i, j})
				moved = moved || j < last
				last = max(last, j)
			}
		}
		if 2*len(pairs) >= min(len(x), len(y)) {
			return pairs, moved, true
		}
		pairs, moved = nil, false
	}
	return nil, false, false
}

// ids are the values of a member, canonical; nil when one of the elements has none,
// or two have the same.
func ids(list [][]byte, name string) []string {
	out := make([]string, len(list))
	seen := map[string]bool{}
	for i, b := range list {
		ms, ok := jsonscan.Object(b)
		if !ok {
			return nil
		}
		for _, m := range ms {
			if k := kind(m.Value); m.Name == name && (k == '"' || k == '0') {
				c, _ := jsonscan.Canonical(m.Value)
				out[i] = string(c)
			}
		}
		if out[i] == "" || seen[out[i]] {
			return nil
		}
		seen[out[i]] = true
	}
	return out
}

func (v *values) strings(p *path, a, b []byte, depth int) {
	s, _ := jsonscan.String(a)
	t, _ := jsonscan.String(b)
	if s == t {
		return
	}
	text := p != nil && !p.index && p.name == "text"
	if text {
		if x, y := holdsJSON(s), holdsJSON(t); x != nil && y != nil {
			v.compare(p, x, y, depth+1)
			return
		}
	}
	if v.shape || v.noise(p, a, b) {
		return
	}
	c := change{rule: ResultValue, path: p, before: a, after: b}
	if text {
		c.rule = ResultText
	}
	if where := firstDifference(s, t); where != "" {
		c.text = where
	}
	v.add(c)
}

// holdsJSON returns the JSON object or list that a text is; nil when it is none.
func holdsJSON(s string) []byte {
	t := strings.TrimSpace(s)
	if len(t) < 2 || t[0] != '{' && t[0] != '[' {
		return nil
	}
	b := []byte(t)
	if sp, err := jsonscan.Skip(b, 0); err != nil || sp.End != len(b) {
		return nil
	}
	return b
}

// firstDifference says where two longer texts begin to differ; "" when they can be
// shown whole.
func firstDifference(s, t string) string {
	if len(s) <= shownText && len(t) <= shownText {
		return ""
	}
	i := 0
	for i < min(len(s), len(t)) && s[i] == t[i] {
		i++
	}
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	line := 1 + strings.Count(s[:i], "\n")
	return fmt.Sprintf("differs from line %d, byte %d on", line, i)
}

// shownText is how many bytes of a text are shown before and after.
const shownText = 160

// around cuts two JSON texts of strings to what stands around their first difference.
func around(a, b []byte) (string, string) {
	s, _ := jsonscan.String(a)
	t, _ := jsonscan.String(b)
	if len(s) <= shownText && len(t) <= shownText {
		return cut(a), cut(b)
	}
	i := 0
	for i < min(len(s), len(t)) && s[i] == t[i] {
		i++
	}
	from := max(0, i-30)
	part := func(s string) string {
		lo := min(from, len(s))
		for lo > 0 && lo < len(s) && !utf8.RuneStart(s[lo]) {
			lo--
		}
		hi := min(len(s), lo+shownText)
		for hi < len(s) && hi > lo && !utf8.RuneStart(s[hi]) {
			hi--
		}
		out := s[lo:hi]
		if lo > 0 {
			out = "…" + out
		}
		if hi < len(s) {
			out += "…"
		}
		return quote(out)
	}
	return part(s), part(t)
}
