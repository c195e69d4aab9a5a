package schema

import (
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// FuzzQuick: what quick accepts, the validator finds nothing wrong with.
func FuzzQuick(f *testing.F) {
	values := []string{`{}`, `{"a":1,"b":"x"}`, `{"a":1.0}`, `{"a":1e2}`, `{"a":-0}`, `{"a":"12"}`, `[1,"x",null]`, `"é"`, `"abc"`, `null`, `true`,
		`{"a":{"b":[1,2,3]}}`, `123456789012345678901`, `{"a":1,"a":"x"}`, `{"\ud800":1}`}
	for _, s := range []string{`true`, `{}`, `{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":10},"b":{"type":"string","enum":["x","y"]}},"required":["a"],"additionalProperties":false}`,
		`{"type":["string","null"],"minLength":2,"maxLength":3}`, `{"type":"number"}`, `{"type":"integer"}`, `{"items":{"type":"number"}}`, `{"enum":["abc"]}`, `{"enum":[]}`,
		`{"additionalProperties":{"type":"number"}}`, `{"additionalProperties":true}`, `{"minimum":5}`, `{"maximum":5,"type":"integer"}`, `{"properties":{"a":true}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"format":"email"}}}`, `{"required":["a","b"]}`, `{"minLength":1}`} {
		for _, v := range values {
			f.Add(s, v)
		}
	}
	f.Fuzz(func(t *testing.T, text, instance string) {
		s, err := Compile([]byte(text))
		if err != nil || s.quick == nil {
			return
		}
		v, err := value.Parse([]byte(instance), value.Options{MaxDepth: 100})
		if err != nil || !s.quick.accepts(&v) {
			return
		}
		slow := &Schema{compiled: s.compiled, guard: s.guard}
		if found, err := slow.Validate(&v, len(instance)); err == nil && len(found) > 0 {
			t.Errorf("%s by %s: %+v", instance, text, found)
		}
	})
}

// Schemas as servers write them are quick, and so are their valid calls.
func TestQuickKnowsPlainSchemas(t *testing.T) {
	s, err := Compile([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string","description":"a path"},
		"limit":{"type":"integer","minimum":1,"maximum":100},"tags":{"type":"array","items":{"type":"string"}}},"required":["path"],"additionalProperties":false}`))
	if err != nil || s.quick == nil {
		t.Fatalf("%v, quick %v", err, s)
	}
	for text, want := range map[string]bool{
		`{"path":"x"}`: true, `{"path":"x","limit":100,"tags":["a"]}`: true,
		`{"limit":1}`: false, `{"path":"x","limit":101}`: false, `{"path":"x","limit":1.0}`: false, `{"path":"x","other":1}`: false, `{"path":"x","tags":[1]}`: false, `[]`: false,
	} {
		v, err := value.Parse([]byte(text), value.Options{MaxDepth: 10})
		if err != nil || s.quick.accepts(&v) != want {
			t.Errorf("%s: %v, want %v (%v)", text, !want, want, err)
		}
	}
}
