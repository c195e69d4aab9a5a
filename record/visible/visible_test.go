package visible

import (
	"testing"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":                {"Zürich <b>&amp; 漢字 👍", "Zürich <b>&amp; 漢字 👍"},
		"terminal escape":      {"\x1b[2Jx", `\u001b[2Jx`},
		"C1 as a character":    {"a\u009b31m", `a\u009b31m`},
		"raw C1 byte":          {"a\x9b31m", `a\x9b31m`},
		"line ends":            {"a\r\n\tb", `a\r\n\tb`},
		"line separators":      {"a\u2028b\u2029", `a\u2028b\u2029`},
		"bidi override":        {"a\u202eb\u2066", `a\u202eb\u2066`},
		"zero width":           {"a\u200b\u200d\ufeff\u2060", `a\u200b\u200d\ufeff\u2060`},
		"tag characters":       {"a\U000e0041\U000e007f", `a\u{e0041}\u{e007f}`},
		"lone surrogate":       {"a\xed\xa0\xbdb", `a\ud83db`},
		"half a surrogate":     {"a\xed\xa0", `a\xed\xa0`},
		"delete":               {"a\x7f", `a\u007f`},
		"replacement is plain": {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := String(c.in); got != c.want {
				t.Errorf("String(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
	if got, want := Text("a\n\tb\x1b"), "a\n\tb\\u001b"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	if got, want := UTF8("a\x1b\xed\xa0\xbd\xff"), "a\x1b\\ud83d\\xff"; got != want {
		t.Errorf("UTF8 = %q, want %q", got, want)
	}
}

func FuzzString(f *testing.F) {
	f.Add("a\xed\xa0\xbd\x1b\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := String(s)
		if !utf8.ValidString(got) {
			t.Fatalf("String(%q) is no valid UTF-8", s)
		}
		for _, r := range got {
			if Hidden(r) {
				t.Fatalf("String(%q) still holds %U", s, r)
			}
		}
		if String(got) != got {
			t.Fatalf("String is not idempotent on %q", s)
		}
	})
}
