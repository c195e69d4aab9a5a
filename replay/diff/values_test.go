package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// exact compares two values with nothing let pass.
func exact(a, b []byte) (found []change) {
	v := values{ignored: func(*path) bool { return false }, noise: func(*path, []byte, []byte) bool { return false }, found: func(c change) { found = append(found, c) }}
	v.compare(nil, a, b, 0)
	return found
}

// Any two values: equal ones show no difference, and different ones one at least, but
// for text that holds equal JSON.
func FuzzValues(f *testing.F) {
	f.Add(`{"a":[1,{"id":1},{"id":2}]}`, `{"a":[{"id":2},{"id":1},1.0]}`)
	f.Add(`{"text":"{\"a\":1}"}`, `{"text":"[1]"}`)
	f.Add(`[1,2,3,4]`, `[0,1,3,4,5]`)
	f.Add(`[{"id":1,"id":2},{"name":"x"}]`, `[{"id":2},{"name":"y"}]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := jsonscan.Canonical([]byte(a))
		y, okY := jsonscan.Canonical([]byte(b))
		if !okX || !okY {
			return
		}
		sx, _ := jsonscan.Skip([]byte(a), 0)
		sy, _ := jsonscan.Skip([]byte(b), 0)
		found := exact([]byte(a)[sx.Start:sx.End], []byte(b)[sy.Start:sy.End])
		switch same := string(x) == string(y); {
		case same && len(found) > 0:
			t.Fatalf("equal, and found %+v", found[0])
		case !same && len(found) == 0 && !strings.Contains(a, "text") && !strings.Contains(a, `\u`):
			t.Fatal("different, and nothing found")
		}
		for _, c := range found {
			if classes[c.rule] == "" {
				t.Fatalf("unknown rule %q", c.rule)
			}
			c.path.pointer(true)
			around(c.before, c.after)
		}
	})
}

func FuzzPointer(f *testing.F) {
	f.Add("/a/*/b", "/a/0/b")
	f.Add("t:/**/b", "/x/y/b")
	f.Fuzz(func(t *testing.T, pattern, at string) {
		p, err := ParsePointer(pattern)
		if err != nil {
			return
		}
		p.matches(strings.Split(at, "/"))
		if len(p.segs) > 0 && !slices.Contains(p.segs, "**") && !p.matches(p.segs) {
			t.Fatalf("%q does not match itself", pattern)
		}
	})
}

// Hostile times, durations and numbers in texts: no panic.
func FuzzMatchers(f *testing.F) {
	m, err := newMatchers(Matchers, &Tolerance{by: number("1")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("at 2026-03-02T09:00:00.5Z, 1772442000500, 12 ms", "at 2026-03-02T09:00:00,5z, 1772442000.500, PT3S")
	f.Add("Mon Mar  2 2026 09:00:00 GMT+0100", "99999999999999999999999")
	f.Fuzz(func(t *testing.T, a, b string) {
		c := &calling{pairing: &pairing{uuids: [2]map[string]string{{}, {}}}, sent: func(string) bool { return false }}
		c.answer = [2]moments{{1, 2, true}, {1 << 62, 1 << 62, true}}
		c.span = c.answer
		m.text(c, "durationMs", a, b)
		m.token(c, "durationMs", a, b)
	})
}

// In a session of hours a clock that is an hour off is found, and one of minutes ago is not.
func TestClockOfALongSession(t *testing.T) {
	const second, hour = int64(1e9), int64(3600e9)
	c := &calling{pairing: &pairing{}}
	for side, start := range []int64{1_772_442_000 * second, 1_772_559_000 * second} {
		c.span[side] = moments{start, start + 8*hour, true}
		c.answer[side] = moments{start + 5*hour, start + 5*hour, true}
	}
	a, b := c.answer[0].last, c.answer[1].last
	if !c.clock(a-300*second, b-2*second) {
		t.Error("two moments shortly before the call are a difference")
	}
	if c.clock(a, b-hour) || c.clock(a, b+hour) {
		t.Error("an hour more or less is none")
	}
}
