package html

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report/triage"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Bounds of the lint, in characters and tools. They are advice and gate nothing: what
// gates are the checks of a suite.
const (
	shortDesc = 20
	longDesc  = 2000
	// maxCompared bounds the tools whose descriptions are compared, each with each.
	maxCompared = 200
	// alike is the share of words that two descriptions have in common from which a
	// model can hardly tell them apart.
	alike = 0.8
)

// lint says what of one tool's description and schema makes it hard for a model to
// choose or to call.
func lint(t *catalog.Tool) []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, oneLine(fmt.Sprintf(format, a...))) }
	desc := strings.TrimSpace(t.Description)
	switch n := utf8.RuneCountInString(desc); {
	case n == 0:
		add("no description: a model has only the name to choose by")
	case n < shortDesc:
		add("its description has %d characters: it hardly says when to use the tool", n)
	case n > longDesc:
		add("its description has %d characters, which every request of the host carries", n)
	}
	if strings.Contains(strings.ToLower(desc), "deprecated") {
		add("its description says deprecated, and it is still listed")
	}
	if len(t.InputSchema) == 0 {
		add("no input schema")
		return out
	}
	if len(t.InputSchema) > 256<<10 {
		add("its input schema has %d bytes and is not looked at", len(t.InputSchema))
		return out
	}
	s, err := predicate.ParseArguments(t.InputSchema)
	if err != nil || s.Kind != value.Object {
		add("its input schema is no object that can be read")
		return out
	}
	if k, ok := s.Get("type"); !ok || k.Kind != value.String || k.Str != "object" {
		add("the type of its input schema is not object")
	}
	out = append(out, lintParameters(s)...)
	return out
}

func lintParameters(s *value.Value) []string {
	var out, silent, untyped []string
	known := map[string]bool{}
	if props, ok := s.Get("properties"); ok && props.Kind == value.Object {
		for i := range props.Obj {
			key, p := props.Obj[i].Key, &props.Obj[i].Value
			known[key] = true
			if d, ok := p.Get("description"); !ok || d.Kind != value.String || strings.TrimSpace(d.Str) == "" {
				silent = append(silent, predicate.Quoted(key))
			}
			if !typed(p) {
				untyped = append(untyped, predicate.Quoted(key))
			}
		}
	}
	add := func(what string, names []string) {
		if len(names) > 0 {
			out = append(out, oneLine(what+": "+strings.Join(names, ", ")))
		}
	}
	add("parameters without a description", silent)
	add("parameters without a type", untyped)
	var missing []string
	if req, ok := s.Get("required"); ok && req.Kind == value.Array {
		for i := range req.Arr {
			if n := &req.Arr[i]; n.Kind == value.String && !known[n.Str] {
				missing = append(missing, predicate.Quoted(n.Str))
			}
		}
	}
	add("required, and not among its properties", missing)
	return out
}

// typed tells whether a parameter's schema bounds its values somehow.
func typed(p *value.Value) bool {
	if p.Kind != value.Object {
		return false
	}
	for _, key := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
		if _, ok := p.Get(key); ok {
			return true
		}
	}
	return false
}

// likeOthers says of each tool whose description reads like another one's which that is.
func likeOthers(tools []catalog.Tool) []string {
	out := make([]string, len(tools))
	n := min(len(tools), maxCompared)
	sets := make([]map[string]bool, n)
	for i := range sets {
		sets[i] = triage.WordSet(tools[i].Description)
	}
	for i := range sets {
		best, at := alike, -1
		for k := range sets {
			if k != i && len(sets[i]) > 3 {
				if _, _, s := triage.Share(sets[i], sets[k]); s >= best && (at < 0 || s > best) {
					best, at = s, k
				}
			}
		}
		if at >= 0 {
			out[i] = oneLine(fmt.Sprintf("its description reads like that of %s (%.0f %% of the words are the same)", predicate.Quoted(tools[at].Name), best*100))
		}
	}
	return out
}
