package key

import (
	"fmt"
	"strings"
)

// Pointer names values in the arguments of a call: a JSON pointer (RFC 6901) in
// which a segment "*" stands for every member or element, of one tool or of all.
type Pointer struct {
	// Tool is the tool (or prompt) whose arguments are meant; "": of all.
	Tool string
	segs []string
}

// maxSegments bounds a pointer; nobody writes a longer one by hand.
const maxSegments = 64

// ParsePointer reads "/path/to/value" or "TOOL:/path/to/value". The empty pointer
// ("TOOL:" or "") is all of the arguments.
func ParsePointer(s string) (Pointer, error) {
	var p Pointer
	path := s
	if s != "" && s[0] != '/' {
		tool, rest, ok := strings.Cut(s, ":")
		// A tool's name may have a colon itself.
		if i := strings.Index(s, ":/"); i >= 0 {
			tool, rest = s[:i], s[i+1:]
		}
		if !ok || tool == "" || rest != "" && rest[0] != '/' {
			return p, fmt.Errorf("%q is no pointer: /name/0/*, or TOOL:/name", s)
		}
		p.Tool, path = tool, rest
	}
	if path == "" {
		return p, nil
	}
	for _, seg := range strings.Split(path[1:], "/") {
		for i := 0; i < len(seg); i++ {
			if seg[i] == '~' && (i+1 == len(seg) || seg[i+1] != '0' && seg[i+1] != '1') {
				return p, fmt.Errorf("%q: a ~ is written ~0, and a / inside a name ~1", s)
			}
		}
		p.segs = append(p.segs, unescape.Replace(seg))
	}
	if len(p.segs) > maxSegments {
		return p, fmt.Errorf("%q has %d segments, at most %d are followed", s, len(p.segs), maxSegments)
	}
	return p, nil
}

// ParsePointers reads the values of a flag.
func ParsePointers(all []string) ([]Pointer, error) {
	var out []Pointer
	for _, s := range all {
		p, err := ParsePointer(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

func (p Pointer) String() string {
	var b strings.Builder
	if p.Tool != "" {
		b.WriteString(p.Tool + ":")
	}
	for _, s := range p.segs {
		b.WriteString("/" + escape.Replace(s))
	}
	return b.String()
}

// paths are the pointers that are still on their way at some value: the segments
// that each has left.
type paths [][]string

// of are the paths of those pointers that mean the tool.
func of(all []Pointer, tool string) paths {
	var out paths
	for _, p := range all {
		if p.Tool == "" || p.Tool == tool {
			out = append(out, p.segs)
		}
	}
	return out
}

// here tells whether one of them ends at this value.
func (ps paths) here() bool {
	for _, p := range ps {
		if len(p) == 0 {
			return true
		}
	}
	return false
}

// into are the paths that go on into a member or element.
func (ps paths) into(seg string) paths {
	var out paths
	for _, p := range ps {
		if len(p) > 0 && (p[0] == "*" || p[0] == seg) {
			out = append(out, p[1:])
		}
	}
	return out
}
