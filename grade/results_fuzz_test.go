package grade

import (
	"bytes"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// FuzzResult: what is read over the text of a result is what a whole parse of it
// reads.
func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a\u00e9"},{"type":"text","text":"[1]"}],"structuredContent":[1.0]}`,
		`{"structuredContent":{"a":1},"content":[{"type":"text","text":" {\"a\":1e0}"}]}`,
		`{"content":[{"ty\u0070e":"text","text":"x"},7,[{}]],"content":{}}`,
		`{"content":[{"type":"image","text":"x"}],"isError":true,"structuredContent":"\ud83d"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := jsonscan.Skip(raw, 0); err != nil || jsonscan.Space(raw, s.End) != len(raw) || raw[s.Start] != '{' {
			return // a session has no such result
		}
		p, err := partsOf(raw)
		tree, parseErr := value.Parse(raw, value.Options{MaxDepth: 1000})
		if err != nil || parseErr != nil {
			if err != nil && parseErr == nil {
				t.Fatalf("%q: %v, and it can be read", raw, err)
			}
			return
		}
		text, has := "", false
		var blocks []string
		if content, ok := tree.Get("content"); ok && content.Kind == value.Array {
			for i := range content.Arr {
				kind, _ := content.Arr[i].Get("type")
				if block, ok := content.Arr[i].Get("text"); ok && kind != nil && kind.Kind == value.String && kind.Str == "text" && block.Kind == value.String {
					text, has = text+block.Str, true
					blocks = append(blocks, block.Str)
				}
			}
		}
		if got, gotHas := p.text(); got != text || gotHas != has {
			t.Fatalf("%q: text %q (%v), want %q (%v)", raw, got, gotHas, text, has)
		}
		structured, has := tree.Get("structuredContent")
		if got := p.structured(); (got != nil) != has {
			t.Fatalf("%q: structuredContent %q, want %v", raw, got, has)
		}
		if !has {
			return
		}
		want := false
		for _, b := range blocks {
			if v, err := value.Parse([]byte(b), value.Options{MaxDepth: 1000}); err == nil && value.Equal(&v, structured) {
				want = true
			}
		}
		if got, err := p.twin(nil); err == nil && got != want {
			t.Fatalf("%q: twin %v, want %v", raw, got, want)
		}
		if s := p.structured(); !bytes.Contains(raw, s) {
			t.Fatalf("%q: %q is not in it", raw, s)
		}
	})
}
