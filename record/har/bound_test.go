package har

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
)

// However the source is read, strings within the bound pass unchanged, longer ones
// stay valid and are told, and places are those of the source.
func TestBound(t *testing.T) {
	for _, s := range []string{`abc`, `abcdefgh`, `abcdefghi`, `\\\\\\\\\\`, `\"\"\"\"\"\"\"`, `1234567\u00fc9`, `12\ud83d\ude0034`, `123456\ud83d\ude00`, `üüüüüüü`, `12345678\"`, ``} {
		text := `{"k":"` + s + `","n":[1,2]}` + "\n"
		for name, src := range map[string]io.Reader{"all": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text))} {
			b := &bound{src: src, max: 8}
			dec := jsontext.NewDecoder(b, jsontext.AllowInvalidUTF8(true))
			for range 2 { // { and k
				if _, err := dec.ReadToken(); err != nil {
					t.Fatal(err)
				}
			}
			v, err := dec.ReadValue()
			if err != nil {
				t.Fatalf("%s, %s: %v", s, name, err)
			}
			end := dec.InputOffset()
			cut := b.isCut(end-int64(len(v)), end)
			if whole := string(v) == `"`+s+`"`; whole == cut || !cut && len(s) > 8+5 || cut && len(s) <= 8 {
				t.Errorf("%s, %s: %s, cut: %v", s, name, v, cut)
			}
			if want := int64(strings.Index(text, `,"n"`)); b.place(end) != want {
				t.Errorf("%s, %s: it ends at %d, want %d", s, name, b.place(end), want)
			}
		}
	}
}
