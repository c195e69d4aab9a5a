package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record/session/catalog/drift"
)

const (
	// MaxWhere is how many calls a finding names.
	MaxWhere = 5
	// maxKinds bounds the kinds of findings that are kept: more than anybody reads, and
	// what a hostile recording can make of memory (about 1 KiB each).
	maxKinds = 5000
)

// Finding is one difference, with how often it was seen: the same change at the same
// place in the results of one tool is one finding.
type Finding struct {
	Rule  string
	Class Class
	// Tool is the tool; for requests other than calls Method is what was asked.
	Tool, Method string
	// Catalog says that it is about what the server lists.
	Catalog bool
	// Path is a JSON pointer: into the tool as it was listed, or into the result. It goes
	// on into text that holds JSON. The index of a list is "*" when the difference was
	// seen at several.
	Path string
	// Before and After are JSON text, cut; empty where there is nothing. Both are the
	// first ones seen.
	Before, After string
	// Text says in words what is different. What of it came from a recording is not made
	// visible yet.
	Text string
	// Count is how often it was seen, Calls in how many calls, Of how many calls of that
	// tool were compared.
	Count, Calls, Of int
	Where            []Where // the first calls, or sessions, at most MaxWhere

	place int // found as number
	last  string
}

// Where is where a difference was seen: ids as [CallID] makes them.
type Where struct {
	SessionA, SessionB, CallA, CallB string
}

// Subject is what the finding is about: a tool, a method, or nothing of these.
func (f *Finding) Subject() string {
	if f.Tool != "" {
		return f.Tool
	}
	return f.Method
}

// findings are kept by kind.
type findings struct {
	kinds   map[string]*Finding
	dropped map[Class]int
}

// add takes a finding; pattern is its path with indexes left open.
func (fs *findings) add(f Finding, pattern string, w Where) {
	f.Class = classes[f.Rule]
	id := strings.Join([]string{f.Rule, f.Tool, f.Method, pattern}, "\n")
	if f.Catalog || f.Tool == "" && f.Method == "" {
		// One change of a list in many sessions; two changes are two.
		id += "\n" + f.Text + "\n" + f.Before + "\n" + f.After
	}
	at := w.SessionA + "\n" + w.CallA + "\n" + w.CallB
	old := fs.kinds[id]
	if old == nil {
		if fs.kinds == nil {
			fs.kinds = map[string]*Finding{}
		}
		if len(fs.kinds) >= maxKinds {
			fs.dropped[f.Class]++
			return
		}
		f.Count, f.Calls, f.Where, f.place, f.last = 1, 1, []Where{w}, len(fs.kinds), at
		kept := f
		fs.kinds[id] = &kept
		return
	}
	old.Count++
	if old.Path != f.Path {
		old.Path = pattern
	}
	if old.last == at {
		return
	}
	old.last = at
	old.Calls++
	if len(old.Where) < MaxWhere {
		old.Where = append(old.Where, w)
	}
}

func (fs *findings) sorted() []*Finding {
	var all []*Finding
	for _, f := range fs.kinds {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(b.Class.Rank(), a.Class.Rank()), cmp.Compare(places[a.Rule], places[b.Rule]), cmp.Compare(a.place, b.place))
	})
	return all
}

// add takes a finding without a path that could be open.
func (d *differ) add(f Finding, w Where) {
	if d.learn == nil {
		d.kept.add(f, f.Path, w)
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// shownValue is how many bytes of a value a finding keeps.
const shownValue = 300

func cut(b []byte) string { return drift.Cut(b, shownValue) }
