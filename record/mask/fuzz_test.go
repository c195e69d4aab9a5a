package mask

import (
	"bytes"
	"slices"
	"testing"
)

// naive finds the bytes that needles cover, one needle and one place at a time.
func naive(m *Masker, p []byte) []bool {
	covered := make([]bool, len(p))
	for _, n := range m.needles {
		for at := 0; ; at++ {
			i := bytes.Index(p[at:], []byte(n.text))
			if i < 0 {
				break
			}
			at += i
			for j := range len(n.text) {
				covered[at+j] = true
			}
		}
	}
	return covered
}

// FuzzMask compares the search with the naive one, and pieces with the whole.
func FuzzMask(f *testing.F) {
	f.Add([]byte("x abc-123-def y 123-def-456"), "abc-123-def", "123-def-456", uint(7))
	f.Add([]byte(`{"a":"k\"ey\u00e9-1\n"}`), "k\"eyé-1\n", "ey\\u00e9-1", uint(12))
	f.Add([]byte("aab1aab1aab1aab1aab1"), "aab1aab1", "b1aab1aa", uint(3))
	f.Add([]byte(`\\\nabc12345\`), "nabc12345", `12345\xyz`, uint(10))
	f.Fuzz(func(t *testing.T, p []byte, a, b string, cut uint) {
		m := New(Key{}, a, b)
		want := naive(m, p)
		got := slices.Clone(p)
		spans := m.Mask(got, nil)
		if len(got) != len(p) {
			t.Fatal("the length changed")
		}
		covered := make([]bool, len(p))
		last := int64(0)
		for _, s := range spans {
			if s.Off < last || s.Len < minLen {
				t.Fatalf("span %+v after %d", s, last)
			}
			last = s.Off + s.Len
			for i := s.Off; i < last; i++ {
				covered[i] = true
			}
			// Of an escape that a credential begins or ends in, 2 bytes stay at
			// most, and filler in the middle can only stand for itself.
			if mid := got[s.Off+2 : last-2]; len(bytes.Trim(mid, "*0\\u")) > 0 {
				t.Fatalf("%q is left of %q", mid, p[s.Off:last])
			}
		}
		if !slices.Equal(covered, want) {
			t.Fatalf("needles %q in %q: got %v, want %v", m.needles, p, covered, want)
		}
		for i := range p {
			if !covered[i] && got[i] != p[i] {
				t.Fatalf("byte %d changed in %q", i, p)
			}
		}
		c := int(cut % uint(len(p)+1))
		if h := m.Held(p[:c]); h < 0 || h > c {
			t.Fatalf("Held(%q) = %d", p[:c], h)
		}
		if 4*m.max > len(p) { // else Held may give up
			if r := pieces(m, p, c); string(r.text) != string(got) || !slices.Equal(r.spans, spans) {
				t.Fatalf("%q cut at %d: %q, whole %q", p, c, r.text, got)
			}
		}
		m.Torn(slices.Clone(p), true, true, nil)
		if c := m.String(string(p)); len(spans) == 0 && c != string(p) {
			t.Fatalf("String changed %q to %q", p, c)
		}
	})
}

// FuzzProcess: an argv and an environment of strangers never stop a start, and
// an argument without a credential is not changed.
func FuzzProcess(f *testing.F) {
	for _, s := range []string{
		"--api-key=abc-123-def", `{"apiKey":"a\"b","x":["y"]}`, "https://u:p@h/?token=a%zz#code=1", "Authorization: Bearer  x",
		"a=b;Password='x y';c", "\"\\u00e9\"", "-H", "Cookie: a=b; c", "sh -c 'TOKEN=x'", "--url=https://a@b:c@d/",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		m := FromProcess(Key{}, []string{"server", a, b}, []string{"X_TOKEN=" + a, "OTHER=" + b})
		argv := m.Argv()
		if len(argv) != 3 {
			t.Fatalf("%d arguments of 3", len(argv))
		}
		for _, v := range m.needles {
			for _, out := range argv {
				if len(v.text) >= 24 && bytes.Contains([]byte(out), []byte(v.text)) {
					t.Fatalf("%q is in %q", v.text, out)
				}
			}
		}
	})
}
