package diff

import (
	"fmt"
	"strings"
)

// path is a place in a value, from its last segment up.
type path struct {
	up    *path
	name  string
	index bool // name is the place in a list
}

func (p *path) member(name string) *path { return &path{p, name, false} }
func (p *path) element(i int) *path      { return &path{p, fmt.Sprint(i), true} }

// segments are the path's segments from the top; of indexes "*" where any asks for it.
func (p *path) segments(any bool) []string {
	n := 0
	for q := p; q != nil; q = q.up {
		n++
	}
	out := make([]string, n)
	for q := p; q != nil; q = q.up {
		n--
		if out[n] = q.name; any && q.index {
			out[n] = "*"
		}
	}
	return out
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is the path as a JSON pointer.
func (p *path) pointer(any bool) string {
	var b strings.Builder
	for _, s := range p.segments(any) {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(s))
	}
	return b.String()
}

// root is the path's first segment, "" of none.
func (p *path) root() string {
	name := ""
	for ; p != nil; p = p.up {
		name = p.name
	}
	return name
}

// last is the name of the innermost member that p is in.
func (p *path) last() string {
	for ; p != nil; p = p.up {
		if !p.index {
			return p.name
		}
	}
	return ""
}

// Pointer names values in results that are not compared: a JSON pointer in which a
// segment "*" stands for any one segment and "**" for any number of them, in the
// results of one tool or of all. It goes on into text that holds JSON, and it has the
// members of a protocol error below /error.
type Pointer struct {
	text string
	tool string // "": all
	segs []string
}

// ParsePointer reads "/path" or "TOOL:/path"; "TOOL:" is all of the tool's results.
func ParsePointer(s string) (Pointer, error) {
	p := Pointer{text: s}
	rest := s
	if !strings.HasPrefix(s, "/") {
		i := strings.LastIndex(s, ":/")
		if i < 0 && strings.HasSuffix(s, ":") {
			i = len(s) - 1
		}
		if i <= 0 {
			return p, fmt.Errorf("%q is no pointer: write /path/to/value, or TOOL:/path/to/value", s)
		}
		p.tool, rest = s[:i], s[i+1:]
	}
	if rest != "" {
		for _, seg := range strings.Split(rest[1:], "/") {
			for i := strings.IndexByte(seg, '~'); i >= 0; {
				if i+1 == len(seg) || seg[i+1] != '0' && seg[i+1] != '1' {
					return p, fmt.Errorf("%q is no pointer: ~ is written ~0, and / in a name ~1", s)
				}
				next := strings.IndexByte(seg[i+1:], '~')
				if next < 0 {
					break
				}
				i += 1 + next
			}
			p.segs = append(p.segs, strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~"))
		}
	}
	if len(p.segs) == 1 && p.segs[0] == "isError" {
		return p, fmt.Errorf("%q is the outcome of a call, which is always compared", s)
	}
	return p, nil
}

func (p Pointer) String() string { return p.text }

// matches tells whether the pointer names the value at these segments.
func (p *Pointer) matches(segs []string) bool {
	// The place in the pattern behind the last "**", and where that began to match.
	pi, si, star, from := 0, 0, -1, 0
	for si < len(segs) {
		switch {
		case pi < len(p.segs) && p.segs[pi] == "**":
			star, from = pi, si
			pi++
		case pi < len(p.segs) && (p.segs[pi] == "*" || p.segs[pi] == segs[si]):
			pi++
			si++
		case star >= 0:
			from++
			pi, si = star+1, from
		default:
			return false
		}
	}
	for pi < len(p.segs) && p.segs[pi] == "**" {
		pi++
	}
	return pi == len(p.segs)
}
