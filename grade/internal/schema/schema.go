// Package schema validates a value against a JSON Schema that a stranger wrote.
// The validator is santhosh-tekuri/jsonschema; this package keeps files, the
// network, endless work and panics away from it (wire.md 6.1).
//
// It must not know checks, sessions or verdicts.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// Class is what kind of violation a failing keyword stands for (grading.md 1.8).
type Class string

// The classes.
const (
	MissingRequired   Class = "missing-required"
	WrongType         Class = "wrong-type"
	BadEnum           Class = "bad-enum"
	HallucinatedParam Class = "hallucinated-param"
	Other             Class = "other"
)

// Violation is one place where a value breaks its schema.
type Violation struct {
	Class Class
	// Path is a JSON Pointer into the value; empty for the value itself.
	Path    string
	Message string
}

// Schema is a compiled schema.
type Schema struct {
	compiled *jsonschema.Schema
	guard    *guard
	quick    *quick // nil: of no use for this schema
}

// HasFormat tells whether the schema has a format keyword, which is never
// asserted (grading.md 0.2.11).
func (s *Schema) HasFormat() bool { return s.guard.formats }

const (
	draft2020 = "https://json-schema.org/draft/2020-12/schema"
	draft07   = "http://json-schema.org/draft-07/schema"
)

// dialect returns 2020, 7, or 0 for a $schema that is not supported.
func dialect(uri string) int {
	uri = strings.TrimSuffix(uri, "#")
	uri = strings.TrimPrefix(strings.TrimPrefix(uri, "https://"), "http://")
	switch uri {
	case strings.TrimPrefix(draft2020, "https://"):
		return 2020
	case strings.TrimPrefix(draft07, "http://"):
		return 7
	}
	return 0
}

// Compile reads a schema. Every error means that nothing can be said about a
// value, never that a value is wrong.
func Compile(raw []byte) (s *Schema, err error) {
	// The library panics on some input, for instance on numbers of three million
	// digits; the guard below knows those, and this knows the rest.
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("the validator broke on this schema: %.120v", r)
		}
	}()
	if len(raw) > maxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(raw), maxBytes)
	}
	doc, err := value.Parse(raw, value.Options{MaxDepth: maxDepth})
	if err != nil {
		if errors.Is(err, value.ErrDepth) {
			return nil, fmt.Errorf("the schema is nested deeper than %d", maxDepth)
		}
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	if doc.Kind != value.Object && doc.Kind != value.Bool {
		return nil, fmt.Errorf("the schema is %s, expected an object or a boolean", doc.Kind)
	}
	uri, is07, err := pickDialect(&doc)
	if err != nil {
		return nil, err
	}
	g, err := inspect(doc, is07)
	if err != nil {
		return nil, err
	}
	text, err := value.Canonical(nil, &g.root, value.Exact)
	if err != nil {
		return nil, err
	}
	if !valid(&g.root) {
		// encoding/json would turn a half of a pair into U+FFFD.
		return nil, errors.New("the schema holds a lone surrogate")
	}
	c := jsonschema.NewCompiler()
	c.LoadURL = func(u string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%.120q is not in the schema itself (files and the network are never read)", u)
	}
	for name := range jsonschema.Formats {
		c.Formats[name] = func(any) bool { return true } // draft-07 would assert them
	}
	for name := range jsonschema.Decoders {
		c.Decoders[name] = func(string) ([]byte, error) { return nil, nil } // the same for contentEncoding
	}
	for name := range jsonschema.MediaTypes {
		c.MediaTypes[name] = func([]byte) error { return nil } // and contentMediaType
	}
	c.Draft = jsonschema.Draft2020
	if is07 {
		c.Draft = jsonschema.Draft7
	}
	if doc.Kind == value.Object {
		// With $schema absent the library asserts formats; so it never is.
		text = withSchema(text, uri)
	}
	if err := c.AddResource(base, strings.NewReader(string(text))); err != nil {
		return nil, oneLine(err)
	}
	compiled, err := c.Compile(base)
	if err != nil {
		return nil, oneLine(err)
	}
	return &Schema{compiled: compiled, guard: g, quick: quickOf(&doc, 0)}, nil
}

// pickDialect takes $schema off the schema and returns the spelling to compile with.
func pickDialect(doc *value.Value) (uri string, is07 bool, err error) {
	uri = draft2020
	for i := range doc.Obj {
		if doc.Obj[i].Key != "$schema" {
			continue
		}
		v := doc.Obj[i].Value
		if v.Kind != value.String {
			return "", false, fmt.Errorf("$schema is %s, expected a string", v.Kind)
		}
		switch dialect(v.Str) {
		case 7:
			uri, is07 = draft07, true
		case 0:
			return "", false, fmt.Errorf("the dialect %.120q is not supported (draft-07 and 2020-12 are)", v.Str)
		}
		doc.Obj = slices.Delete(doc.Obj, i, i+1)
		break
	}
	return uri, is07, nil
}

func withSchema(object []byte, uri string) []byte {
	out := append([]byte(`{"$schema":`), value.Quote(nil, uri)...)
	if len(object) > 2 {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}

func valid(v *value.Value) bool {
	if v.Kind == value.String && !utf8.ValidString(v.Str) {
		return false
	}
	for i := range v.Arr {
		if !valid(&v.Arr[i]) {
			return false
		}
	}
	for i := range v.Obj {
		if !utf8.ValidString(v.Obj[i].Key) || !valid(&v.Obj[i].Value) {
			return false
		}
	}
	return true
}

// oneLine makes the library's message one line, without our made-up address.
func oneLine(err error) error {
	var se *jsonschema.SchemaError
	if errors.As(err, &se) && se.Err != nil {
		err = se.Err
	}
	var ve *jsonschema.ValidationError
	if errors.As(err, &ve) {
		if vs := leaves(ve, nil); len(vs) > 0 {
			return fmt.Errorf("the schema breaks its dialect at %q: %s", vs[0].Path, vs[0].Message)
		}
	}
	text := strings.ReplaceAll(err.Error(), base, "")
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "jsonschema: ")), " ")
	return errors.New("the schema cannot be used: " + text)
}

// Validate returns every violation, sorted; none means that v is valid. An error
// means that nothing can be said about v.
func (s *Schema) Validate(v *value.Value, size int) (out []Violation, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the validator broke on this value: %.120v", r)
		}
	}()
	if size > maxInstanceBytes {
		return nil, fmt.Errorf("the value has %d bytes, more than %d", size, maxInstanceBytes)
	}
	if err := checkNumbers(v); err != nil {
		return nil, err
	}
	depth, count := measure(v)
	if depth > maxInstanceDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d", maxInstanceDepth)
	}
	fan := s.guard.fanOut(depth)
	if fan > maxFanOut || fan*uint64(count) > maxWork || s.guard.patterns && fan*uint64(size) > maxMatching {
		return nil, fmt.Errorf("validating this value could take %d evaluations for each of its %d members, more than the limit", fan, count)
	}
	if s.quick != nil && s.quick.accepts(v) {
		return nil, nil
	}
	err = s.compiled.Validate(plain(v))
	var ve *jsonschema.ValidationError
	if errors.As(err, &ve) {
		return leaves(ve, s.guard), nil
	}
	if err != nil {
		return nil, oneLine(err)
	}
	return nil, nil
}

func measure(v *value.Value) (depth, count int) {
	count = 1
	add := func(c *value.Value) {
		d, n := measure(c)
		depth, count = max(depth, d+1), count+n
	}
	for i := range v.Arr {
		add(&v.Arr[i])
	}
	for i := range v.Obj {
		add(&v.Obj[i].Value)
	}
	return depth, count
}

// plain is v as the library takes it. Numbers stay exact.
func plain(v *value.Value) any {
	switch v.Kind {
	case value.Bool:
		return v.Bool
	case value.Number:
		return json.Number(v.Str)
	case value.String:
		return v.Str
	case value.Array:
		out := make([]any, len(v.Arr))
		for i := range v.Arr {
			out[i] = plain(&v.Arr[i])
		}
		return out
	case value.Object:
		out := make(map[string]any, len(v.Obj))
		for i := range v.Obj {
			out[v.Obj[i].Key] = plain(&v.Obj[i].Value)
		}
		return out
	}
	return nil
}

// leaves gathers the errors that have no cause, sorted: the library walks maps.
// Messages take their bounds from the schema that g has walked.
func leaves(e *jsonschema.ValidationError, g *guard) []Violation {
	type leaf struct {
		v       Violation
		keyword string
	}
	var found []leaf
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) == 0 {
			found = append(found, leaf{Violation{classify(e), e.InstanceLocation, message(e, g)}, e.KeywordLocation})
		}
	}
	walk(e)
	slices.SortFunc(found, func(a, b leaf) int {
		if c := strings.Compare(a.v.Path, b.v.Path); c != 0 {
			return c
		}
		if c := strings.Compare(a.keyword, b.keyword); c != 0 {
			return c
		}
		return strings.Compare(a.v.Message, b.v.Message)
	})
	// A false subschema says only that something is not allowed: it counts where
	// nothing else was found.
	bare := func(v Violation) bool { return v.Message == notAllowed && v.Class == Other }
	specific := slices.ContainsFunc(found, func(l leaf) bool { return !bare(l.v) })
	out := make([]Violation, 0, len(found))
	for _, l := range found {
		if specific && bare(l.v) {
			continue
		}
		if !slices.Contains(out, l.v) {
			out = append(out, l.v)
		}
	}
	return out
}

const notAllowed = "not allowed" // the library's words for a false subschema

func classify(e *jsonschema.ValidationError) Class {
	path := strings.Split(e.KeywordLocation, "/")
	last := path[len(path)-1]
	if e.Message == notAllowed {
		// The location is the false subschema's own: a keyword, unless it is a name
		// under a keyword that holds names.
		if last == "unevaluatedProperties" && (len(path) < 2 || !strings.HasSuffix(strings.ToLower(path[len(path)-2]), "properties")) {
			return HallucinatedParam
		}
		return Other
	}
	switch last {
	case "required":
		return MissingRequired
	case "type":
		return WrongType
	case "enum", "const":
		return BadEnum
	case "additionalProperties", "unevaluatedProperties":
		return HallucinatedParam
	}
	return Other
}

// message is the library's message with the schema's own numbers, and with the
// names in it sorted: for keys that are not allowed it lists them in the order
// of a map.
func message(e *jsonschema.ValidationError, g *guard) string {
	if text, ok := exact(e, g); ok {
		return text
	}
	const head = "additionalProperties "
	m := e.Message
	if strings.HasPrefix(m, head) && strings.HasSuffix(m, " not allowed") {
		names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(m, head), " not allowed"), ", ")
		slices.Sort(names)
		m = strings.Join(names, ", ") + " not allowed"
	}
	return m
}
