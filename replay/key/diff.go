package key

import (
	"bytes"
	"strconv"
)

// Difference is one place where two requests of one method differ.
type Difference struct {
	// Path is a JSON pointer into the arguments, as --ignore-args takes it; or into
	// the params, where Params is set.
	Path   string
	Params bool
	// Recorded and Live are the values' JSON text, cut to maxShown bytes; "" where
	// there is none.
	Recorded, Live string
}

// maxShown is how many bytes of a value a difference has, MaxDifferences how many
// of them are listed: for people, who read the first ones.
const (
	maxShown       = 120
	MaxDifferences = 32
)

// Diff lists what differs between a recorded and a live request, as far as it
// counts, and how many values do: more than are listed, maybe.
func (r *Rules) Diff(method string, recorded, live []byte) ([]Difference, int) {
	a, ok1 := r.counting(method, recorded)
	b, ok2 := r.counting(method, r.redacted(method, live))
	if !ok1 || !ok2 {
		if ok1 == ok2 && bytes.Equal(recorded, live) {
			return nil, 0
		}
		return []Difference{{Params: true, Recorded: shown(recorded), Live: shown(live)}}, 1
	}
	d := differ{args: hasArguments(method)}
	d.compare(a, b, "")
	return d.list, d.n
}

type differ struct {
	args bool
	list []Difference
	n    int
}

func (d *differ) add(path string, a, b *node) {
	d.n++
	if len(d.list) == MaxDifferences {
		return
	}
	diff := Difference{Path: path, Params: true}
	if rest, ok := bytes.CutPrefix([]byte(path), []byte("/arguments")); ok && d.args && (len(rest) == 0 || rest[0] == '/') {
		diff.Path, diff.Params = string(rest), false
	}
	if a != nil {
		diff.Recorded = shown(a.raw)
	}
	if b != nil {
		diff.Live = shown(b.raw)
	}
	d.list = append(d.list, diff)
}

func (d *differ) compare(a, b *node, path string) {
	switch {
	case a == nil || b == nil:
		if a != b {
			d.add(path, a, b)
		}
	case a.kind() == '{' && b.kind() == '{':
		i, j := 0, 0
		for i < len(a.members) || j < len(b.members) {
			switch {
			case j == len(b.members) || i < len(a.members) && a.members[i].name < b.members[j].name:
				d.add(path+"/"+escape.Replace(a.members[i].name), a.members[i].value, nil)
				i++
			case i == len(a.members) || b.members[j].name < a.members[i].name:
				d.add(path+"/"+escape.Replace(b.members[j].name), nil, b.members[j].value)
				j++
			default:
				d.compare(a.members[i].value, b.members[j].value, path+"/"+escape.Replace(a.members[i].name))
				i, j = i+1, j+1
			}
		}
	case a.kind() == '[' && b.kind() == '[':
		for i := range max(len(a.elems), len(b.elems)) {
			var x, y *node
			if i < len(a.elems) {
				x = a.elems[i]
			}
			if i < len(b.elems) {
				y = b.elems[i]
			}
			d.compare(x, y, path+"/"+strconv.Itoa(i))
		}
	case !bytes.Equal(a.appendForm(nil), b.appendForm(nil)):
		d.add(path, a, b)
	}
}

// shown cuts a value's text for people.
func shown(b []byte) string {
	if len(b) <= maxShown {
		return string(b)
	}
	cut := maxShown
	for cut > 0 && b[cut]&0xc0 == 0x80 {
		cut--
	}
	return string(b[:cut]) + "…"
}
