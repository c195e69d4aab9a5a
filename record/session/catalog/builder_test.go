package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// play makes lists of a script, one event a line; the line's number is its seq:
//
//	ask [CURSOR]         a tools/list; "-" is the empty cursor
//	page N TOOLS [NEXT]  the answer to the N-th request: tool names with commas, "." for none
//	fail N               an error
//	none N why           no answer, the server's fault; open N why: nobody's
//	changed, gap
func play(t *testing.T, script string) *Builder {
	t.Helper()
	b := NewBuilder()
	var asked []*Request
	seq := int64(0)
	word := func(w []string, i int) (string, bool) {
		if i >= len(w) {
			return "", false
		}
		return strings.TrimPrefix(w[i], "-"), true
	}
	for _, l := range strings.Split(strings.TrimSpace(script), "\n") {
		w := strings.Fields(l)
		seq++
		n := 0
		if len(w) > 1 {
			fmt.Sscan(w[1], &n)
		}
		switch w[0] {
		case "ask":
			cursor, has := word(w, 1)
			asked = append(asked, b.Request(seq, cursor, has))
		case "page":
			var tools []string
			for _, name := range strings.Split(w[2], ",") {
				if name != "." {
					tools = append(tools, `{"name":"`+name+`","inputSchema":{"type": "object"}}`)
				}
			}
			next, has := word(w, 3)
			b.Answer(asked[n-1], seq, []byte("[ "+strings.Join(tools, " , ")+" ]"), next, has)
		case "fail":
			b.Fail(asked[n-1], seq, -32603, "boom")
		case "none", "open":
			b.Unanswered(asked[n-1], w[0] == "none", strings.Join(w[2:], " "))
		case "changed":
			b.Changed(seq)
		case "gap":
			b.Gap()
		default:
			t.Fatal(l)
		}
	}
	return b
}

func TestChains(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"one page", "ask\npage 1 a,b", "complete[a b]"},
		{"no tools are a whole list", "ask\npage 1 .", "complete[]"},
		{"two pages", "ask\npage 1 a c1\nask c1\npage 2 b", "complete[a b]"},
		{"an empty cursor is a cursor", "ask\npage 1 a -\nask -\npage 2 b", "complete[a b]"},
		{"an empty cursor not followed", "ask\npage 1 a -", "partial[a]"},
		{"the next page not fetched", "ask\npage 1 a c1", "partial[a]"},
		{"two lists", "ask\npage 1 a\nask\npage 2 b", "complete[a] complete[b]"},
		{"two chains at once", "ask\nask\npage 1 a x\npage 2 b y\nask y\nask x\npage 4 c\npage 3 d", "complete[a c] complete[b d]"},
		{"the same cursor asked twice adds once", "ask\npage 1 a c1\nask c1\nask c1\npage 2 b\npage 3 b", "complete[a b]"},
		{"a cursor that stands still", "ask\npage 1 a c1\nask c1\npage 2 a c1\nask c1\npage 3 a c1", "partial[a]"},
		{"a cursor that stands still over another page", "ask\npage 1 a c1\nask c1\npage 2 b c1\nask c1\npage 3 b c1", "partial[a b]"},
		{"cursors in a circle", "ask\npage 1 a c1\nask c1\npage 2 b c2\nask c2\npage 3 c c1\nask c1\npage 4 b c2", "partial[a b c]"},
		{"equal pages under moving cursors are the server's own", "ask\npage 1 a c1\nask c1\npage 2 a", "complete[a a]"},
		{"a cursor from nowhere", "ask zz\npage 1 a", "partial[a]"},
		{"an error first", "ask\nfail 1", "failed[]"},
		{"an error on page two", "ask\npage 1 a c1\nask c1\nfail 2", "partial[a]"},
		{"an error, tried again", "ask\nfail 1\nask\npage 2 a", "failed[] complete[a]"},
		{"page two tried again", "ask\npage 1 a c1\nask c1\nfail 2\nask c1\npage 3 b", "complete[a b]"},
		{"no answer yet", "ask", "open[]"},
		{"page two not answered yet", "ask\npage 1 a c1\nask c1", "open[a]"},
		{"no answer at all", "ask\nnone 1 gone", "failed[]"},
		{"no answer for page two", "ask\npage 1 a c1\nask c1\nnone 2 gone", "partial[a]"},
		{"the recording ends", "ask\nopen 1 cut", "open[]"},
		{"changed while it was fetched", "ask\nchanged\npage 1 a", "complete-but-racy[a]"},
		{"changed between pages", "ask\npage 1 a c1\nchanged\nask c1\npage 2 b", "complete-but-racy[a b]"},
		{"changed before it was asked for", "changed\nask\npage 1 a", "complete[a]"},
		{"changed afterwards", "ask\npage 1 a\nchanged", "complete[a]"},
		{"a gap inside", "ask\ngap\npage 1 a", "open[a]"},
		{"a gap outside", "gap\nask\npage 1 a\ngap", "complete[a]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range play(t, c.script).Lists() {
				var names []string
				for _, tool := range l.Tools {
					names = append(names, tool.Name)
				}
				got = append(got, fmt.Sprintf("%s[%s]", l.State, strings.Join(names, " ")))
				if l.State == Complete != (l.Why == "") && l.State != Open {
					t.Errorf("%s: why %q", l.State, l.Why)
				}
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%s, want %s", g, c.want)
			}
		})
	}
}

func TestHeld(t *testing.T) {
	b := play(t, "ask\npage 1 a\nchanged\nask\nfail 2\nask\npage 3 b")
	for seq, want := range map[int64]struct {
		list  int
		stale bool
	}{1: {2, false}, 3: {0, false}, 4: {0, true}, 6: {0, true}, 7: {0, true}, 8: {2, false}} {
		l, stale := b.Held(seq)
		got := -1
		for i := range b.Lists() {
			if b.Lists()[i] == l {
				got = i
			}
		}
		if seq == 1 { // before any answer: the latest that was begun
			if got < 0 {
				t.Error("nothing held at 1")
			}
			continue
		}
		if got != want.list || stale != want.stale {
			t.Errorf("at %d: list %d stale %v, want %+v", seq, got, stale, want)
		}
	}
	if l, _ := NewBuilder().Held(5); l != nil {
		t.Error("a list out of nothing")
	}
}

func TestToolsAreKeptRaw(t *testing.T) {
	page := `[{"name":"a\u0062","description":"","inputSchema": {"$schema":"x", "n":1.0},"vendor":{"k":[1]},"Name":"no"},{"name":"ab"},7,{"name":5}]`
	b := NewBuilder()
	r := b.Request(1, "", false)
	raw := []byte(page)
	b.Answer(r, 2, raw, "", false)
	for i := range raw {
		raw[i] = 'x' // the list must not stand on the caller's bytes
	}
	l := b.Lists()[0]
	if len(l.Tools) != 4 || l.Pages[0].Tools != 4 || len(l.Duplicates) != 1 || l.Duplicates[0] != "ab" {
		t.Fatalf("%+v", l)
	}
	a := l.Tools[0]
	if a.Name != "ab" || !a.HasDesc || string(a.InputSchema) != `{"$schema":"x", "n":1.0}` || a.OutputSchema != nil || !strings.HasPrefix(string(a.Raw), `{"name":"a\u0062"`) {
		t.Errorf("%+v", a)
	}
	if l.Tools[3].HasName || string(l.Tools[2].Raw) != "7" {
		t.Errorf("%+v", l.Tools[2:])
	}
	if _, ok := l.Find("ab"); !ok {
		t.Error("not found")
	}
	if _, ok := l.Find("zz"); ok {
		t.Error("found what is not there")
	}
	if _, ok := (*List)(nil).Find("a"); ok {
		t.Error("found in nothing")
	}
}

func TestEqualPagesAreKeptOnce(t *testing.T) {
	b := NewBuilder()
	for i := range int64(3) {
		b.Answer(b.Request(2*i+1, "", false), 2*i+2, []byte(`[{"name":"a"}]`), "", false)
	}
	first, last := b.Lists()[0].Tools[0], b.Lists()[2].Tools[0]
	if &first.Raw[0] != &last.Raw[0] {
		t.Error("three copies of one page")
	}
	if first.Seq != 2 || last.Seq != 6 {
		t.Error(first.Seq, last.Seq)
	}
}
