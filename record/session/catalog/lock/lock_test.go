package lock_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/catalog/lock"
)

func list(tools string, more bool) *catalog.List {
	b := catalog.NewBuilder()
	next := ""
	if more {
		next = "2"
	}
	b.Answer(b.Request(1, "", false), 2, []byte(tools), next, more)
	return b.Lists()[0]
}

const (
	first   = `[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}},{"name":"b"}]`
	spelt   = `[{"inputSchema":{"properties":{"n":{"maximum":12345678901234567890,"type":"integer"}},"type":"object"},"name":"\u0061"},{"name":"b"}]`
	removed = `[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}}]`
	added   = `[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}}},{"name":"b"},{"name":"c"}]`
)

func locked(t *testing.T) *lock.Lock {
	t.Helper()
	l := &lock.Lock{}
	for _, name := range []string{"zoo", "shop"} {
		if _, err := l.Add(name, "1.0", list(first, false)); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	l, err := lock.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := l.Write(&again); err != nil || again.String() != b.String() || !strings.Contains(b.String(), `"maximum": 12345678901234567890`) {
		t.Fatalf("a lock is not the same when it is written again (%v):\n%s", err, b.String())
	}
	return l
}

func TestCheck(t *testing.T) {
	t.Parallel()
	type seen struct{ server, tools string }
	for name, c := range map[string]struct {
		on      lock.FailOn
		seen    []seen
		partial bool
		verdict string
		code    int
	}{
		"the same":             {lock.FailAny, []seen{{"shop", first}, {"zoo", first}}, false, lock.Same, 0},
		"spelt otherwise":      {lock.FailAny, []seen{{"shop", spelt}, {"zoo", first}}, false, lock.Same, 0},
		"a tool less":          {lock.FailBreaking, []seen{{"shop", removed}, {"zoo", first}}, false, lock.Changed, 1},
		"a tool less, none":    {lock.FailNone, []seen{{"shop", removed}, {"zoo", first}}, false, lock.Accepted, 0},
		"a tool more":          {lock.FailBreaking, []seen{{"shop", added}, {"zoo", first}}, false, lock.Accepted, 0},
		"a tool more, any":     {lock.FailAny, []seen{{"shop", added}, {"zoo", first}}, false, lock.Changed, 1},
		"one of two sessions":  {lock.FailBreaking, []seen{{"shop", first}, {"shop", removed}, {"zoo", first}}, false, lock.Changed, 1},
		"one server missing":   {lock.FailBreaking, []seen{{"shop", first}}, false, lock.NotMeasured, 3},
		"one missing, one bad": {lock.FailBreaking, []seen{{"shop", removed}}, false, lock.Changed, 1},
		"pages missing":        {lock.FailBreaking, []seen{{"shop", removed}, {"zoo", first}}, true, lock.NotMeasured, 3},
		"nothing":              {lock.FailBreaking, nil, false, lock.NotMeasured, 3},
		"another server":       {lock.FailBreaking, []seen{{"shop", first}, {"zoo", first}, {"new", first}}, false, lock.Same, 0},
	} {
		want := ""
		for round := range 2 {
			ch := lock.NewChecker(locked(t), c.on)
			for i := range c.seen {
				s := c.seen[i]
				if round == 1 {
					s = c.seen[len(c.seen)-1-i]
				}
				ch.Add(s.server, "2.0", "rec", list(s.tools, c.partial))
			}
			r := ch.Result()
			if r.Verdict != c.verdict || r.ExitCode() != c.code {
				t.Errorf("%s: %s, exit code %d", name, r.Verdict, r.ExitCode())
			}
			if (len(r.NotLocked) > 0) != (name == "another server") {
				t.Errorf("%s: not locked %v", name, r.NotLocked)
			}
			var b bytes.Buffer
			if err := lock.JSON(&b, r); err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = b.String()
			}
			if b.String() != want {
				t.Errorf("%s: another order gives other bytes", name)
			}
		}
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	deep := `[{"name":"a","inputSchema":` + strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600) + `}]`
	for name, c := range map[string]struct {
		l    *catalog.List
		want string
	}{
		"pages missing": {list(first, true), "not whole"}, "too deep": {list(deep, false), "deeper"}, "no object": {list(`[1]`, false), "no object"},
	} {
		l := &lock.Lock{}
		if _, err := l.Add("s", "1", c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := locked(t)
	if another, err := l.Add("shop", "1.1", list(spelt, false)); err != nil || another {
		t.Errorf("the same list: %v %v", another, err)
	}
	if another, err := l.Add("shop", "1.1", list(removed, false)); err != nil || !another || len(l.Servers) != 2 {
		t.Errorf("another list: %v %v", another, err)
	}
}

// What is no lock is refused by the field.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, want string }{
		"no JSON":        {"{", "no catalog lock"},
		"another schema": {`{"schema":"sixlink/catalog-lock/2"}`, `schema is "sixlink/catalog-lock/2"`},
		"no servers":     {`{"schema":"sixlink/catalog-lock/1"}`, "servers is empty"},
		"unknown member": {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a","tool":[]}]}`, `"tool" within "/servers/0"`},
		"no tools":       {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a"}]}`, "servers[0].tools"},
		"no object":      {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a","tools":[{},7]}]}`, "servers[0].tools[1]"},
		"twice":          {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a","tools":[]},{"server":"a","tools":[]}]}`, "servers[1].server"},
		"wrong type":     {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":1,"tools":[]}]}`, "/servers/0/server"},
		"too deep":       {`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a","tools":[{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}]}]}`, "servers[0].tools[0]"},
	} {
		if _, err := lock.Read([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
}

// A lock that can be read can be written, and is the same then.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"sixlink/catalog-lock/1","servers":[{"server":"a","version":"1","tools":[{"name":"\ud800","a":1e400,"a":2}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lock.Read(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := l.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := lock.Read(b.Bytes())
		if err != nil {
			t.Fatalf("%v: %s", err, b.Bytes())
		}
		c := lock.NewChecker(again, lock.FailAny)
		for i := range l.Servers {
			tools := []byte("[")
			for k, v := range l.Servers[i].Tools {
				if k > 0 {
					tools = append(tools, ',')
				}
				tools = append(tools, v...)
			}
			c.Add(l.Servers[i].Server, "", "r", list(string(append(tools, ']')), false))
		}
		if r := c.Result(); r.Verdict != lock.Same {
			t.Fatalf("%s: %+v", r.Verdict, r.Servers)
		}
	})
}
