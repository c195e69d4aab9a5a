package join_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/join"
)

// What the hosts print while they run joins like what they keep: ids are in it.
// Each stream is one process, so that its calls are on one connection alone.
func TestStreams(t *testing.T) {
	for _, version := range []string{"1.0.98", "2.0.65", "2.1.332"} {
		dir := "rig-claude-code/" + version
		truth := readOracle(t, dir)
		ws := wires(t, false, dir, "wire.jsonl")
		for _, file := range []string{"stream-1.ndjson", "stream-2.ndjson"} {
			t.Run(version+"/"+file, func(t *testing.T) {
				cs := hosts(t, dir, file)
				r := join.Join(cs, ws, join.Options{})
				got, unsure := pairs(r, callIDs(cs))
				for id, w := range got {
					if unsure[id] || !slices.Equal(w, truth[id]) {
						t.Errorf("%s: %v, the truth is %v", id, w, truth[id])
					}
				}
				if len(got) == 0 || r.Conversations[0].Verdict != join.Joined || len(r.Conversations[0].Sessions) != 1 {
					t.Errorf("%d calls, %s: %s", len(got), r.Conversations[0].Verdict, r.Conversations[0].Why)
				}
			})
		}
	}
}

// Public samples that have both sides: a label that is the host's key, a server
// that calls itself otherwise, and no clock.
func TestPaired(t *testing.T) {
	recs, err := fixtures.HostWire("paired-claude-code", "wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	recs[0].Header.Labels["server"] = "safe_outputs"
	r := join.Join(hosts(t, "paired-claude-code", "host-verbose.json"), decoded(t, recs[0]), join.Options{})
	c := &r.Conversations[0]
	if c.Verdict != join.Joined || len(c.Calls) != 1 || c.Calls[0].Tier != join.TierID || c.Calls[0].Tool != "missing-tool" {
		t.Errorf("%s: %s; %+v", c.Verdict, c.Why, c.Calls)
	}
}

// Hooks and the stream of one run against its wire. Hooks do not say that a call was
// denied: that one is left over, and nothing is guessed.
func TestHooks(t *testing.T) {
	for file, want := range map[string]string{"hooks.ndjson": "joined-with-rest unexplained", "stream-replay-user-messages.ndjson": "joined denied"} {
		ws := wires(t, false, "rig-claude-code/2.1.332-hooks", "wire.jsonl")
		r := join.Join(hosts(t, "rig-claude-code/2.1.332-hooks", file), ws, join.Options{})
		c := &r.Conversations[0]
		got := string(c.Verdict)
		for i := range c.Calls {
			if k := &c.Calls[i]; !k.Paired() {
				got += " " + string(k.HostOnly)
				if k.Tool != "delete_all" {
					t.Errorf("%s: %s is not on the wire", file, k.Tool)
				}
			}
		}
		if got != want || len(c.Calls) != 7 {
			t.Errorf("%s: %s: %s; %d calls", file, got, c.Why, len(c.Calls))
		}
	}
}

// The reference tool's own trace: the host recorded an error where the wire has a
// success (its NOTES.md). Told, and not settled.
func TestOutcomesDiffer(t *testing.T) {
	ws := wires(t, false, "rig-mcpjam-sdk/1.14.0", "wire.jsonl")
	r := join.Join(hosts(t, "rig-mcpjam-sdk/1.14.0", "prompt-results.json"), ws, join.Options{})
	c := &r.Conversations[0]
	var tools []string
	for i := range c.Calls {
		if k := &c.Calls[i]; k.Contradiction == join.OtherOutcome {
			tools = append(tools, k.Tool)
		}
	}
	if c.Verdict != join.Contradictory || !slices.Equal(tools, []string{"search_docs"}) {
		t.Errorf("%s: %s; %v", c.Verdict, c.Why, tools)
	}
}

// Codex's printed events have no ids, no times and no prompt: what is called once is
// found, and nothing is wrong.
func TestCodexExec(t *testing.T) {
	for _, version := range []string{"0.105.0", "0.147.0", "0.171.0"} {
		ws := wires(t, false, "rig-codex", version, "wire.jsonl")
		for _, turn := range []struct {
			file, tool string
			seq        int64
		}{{"exec-2.jsonl", "cancel.order", 7}, {"exec-3.jsonl", "export_orders", 7}, {"exec-4.jsonl", "get_chart", 7}} {
			r := join.Join(hosts(t, "rig-codex", version, turn.file), ws, join.Options{})
			c := &r.Conversations[0]
			if len(c.Calls) != 1 || !c.Calls[0].Paired() || c.Calls[0].Wire().Tool != turn.tool || c.Calls[0].Wire().Seq != turn.seq || c.Calls[0].Certainty != join.Sure {
				t.Errorf("%s %s: %s %+v", version, turn.file, c.Why, c.Calls)
			}
		}
	}
}

// Whatever calls both sides hold: no wire call is of two host calls, what is sure
// is the same in every order of the input, and nothing breaks.
func TestAnyCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var recs []rec
		var talks []*host.Conversation
		for i := range 1 + rng.IntN(3) {
			r := rec{id: fmt.Sprintf("r%d", i), tools: []string{"a", "b.c", "b_c"}, server: []string{"", "shop"}[rng.IntN(2)]}
			for range rng.IntN(6) {
				r.calls = append(r.calls, sent{ms: 1 + rng.IntN(5000), tool: []string{"a", "b.c"}[rng.IntN(2)], args: fmt.Sprintf(`{"n":%d}`, rng.IntN(2)),
					meta: []string{"", "", use(fmt.Sprint("t", rng.IntN(6)))}[rng.IntN(3)], outcome: []string{"", "error", "none"}[rng.IntN(3)]})
			}
			recs = append(recs, r)
		}
		for i := range 1 + rng.IntN(2) {
			var calls []said
			for n := range rng.IntN(6) {
				ms := rng.IntN(5000)
				calls = append(calls, said{turn: n / 2, id: []string{"", fmt.Sprint("t", n)}[rng.IntN(2)], name: []string{"mcp__shop__a", "mcp__shop__b_c"}[rng.IntN(2)],
					args: fmt.Sprintf(`{"n":%d}`, rng.IntN(2)), ms: ms, end: ms + rng.IntN(300)})
			}
			talks = append(talks, talk("claude-code", fmt.Sprint("s", i), calls...))
		}
		var ws []join.Wire
		for _, r := range recs {
			ws = append(ws, r.wires(t)...)
		}
		r := join.Join(talks, ws, join.Options{Window: time.Duration(1+rng.IntN(2000)) * time.Millisecond})
		seen := map[string]bool{}
		for i := range r.Conversations {
			for k := range r.Conversations[i].Calls {
				for _, w := range r.Conversations[i].Calls[k].Wires {
					id := fmt.Sprintf("%s:%d", r.Wires[w.Wire].Recording, w.Call.Seq)
					if seen[id] {
						t.Fatalf("%s is two calls", id)
					}
					seen[id] = true
				}
			}
		}
		before := told(r, 0)
		slices.Reverse(talks)
		slices.Reverse(ws)
		o := join.Options{Window: time.Second}
		a := join.Join(talks, ws, o)
		slices.Reverse(talks)
		slices.Reverse(ws)
		b := join.Join(talks, ws, o)
		if d := cmp.Diff(told(b, 0), told(a, len(talks)-1)); d != "" {
			t.Fatalf("another order, another join (%v):\n%s", before, d)
		}
	}
}

// Thousands of equal calls neither take long nor are guessed at.
func TestManyEqualCalls(t *testing.T) {
	const n = 1200
	r := rec{id: "r", tools: []string{"poll"}}
	var timed, untimed []said
	for i := range n {
		r.calls = append(r.calls, sent{ms: 10 + i*1000, tool: "poll"})
		timed = append(timed, said{name: "mcp__shop__poll", args: "{}", ms: 5 + i*1000, end: 100 + i*1000})
		untimed = append(untimed, said{name: "mcp__shop__poll", args: "{}"})
	}
	ws := r.wires(t)
	res := join.Join([]*host.Conversation{talk("codex", "s", timed...)}, ws, join.Options{Window: 100 * time.Millisecond})
	if c := res.Conversations[0]; c.Verdict != join.Joined {
		t.Errorf("with times: %s: %s", c.Verdict, c.Why)
	}
	// Windows that overlap all the time: paired in order, and none is sure.
	res = join.Join([]*host.Conversation{talk("codex", "s", timed...)}, ws, join.Options{Window: 20 * time.Second})
	if c := res.Conversations[0]; c.Verdict != join.JoinedWithRest || !strings.HasPrefix(c.Why, "1200 paired (1200 ambiguous)") {
		t.Errorf("wide windows: %s: %s", c.Verdict, c.Why)
	}
	res = join.Join([]*host.Conversation{talk("codex", "s", untimed...)}, ws, join.Options{})
	for _, c := range res.Conversations[0].Calls {
		if c.Paired() && c.Certainty == join.Sure {
			t.Fatal("one of thousands is sure")
		}
	}
}

// A join of what was read before says the same as one of whole sessions.
func TestLight(t *testing.T) {
	for _, rig := range rigs {
		cs, ws := hosts(t, rig.dir, rig.talk), wires(t, false, rig.dir, "wire.jsonl")
		want := join.Join(cs, ws, join.Options{})
		var light []join.Wire
		for _, w := range ws {
			l := join.Light(w)
			if len(l.Session.Calls) > 0 && (l.Session.Calls[0].Attempts != nil || !l.Session.Calls[0].Arguments.IsZero()) {
				t.Fatal("it holds on to the recording")
			}
			light = append(light, l)
		}
		for range 2 { // it may be used again
			got := join.Join(cs, light, join.Options{})
			for i := range cs {
				if d := cmp.Diff(told(want, i), told(got, i)); d != "" {
					t.Errorf("%s: -whole +light\n%s", rig.dir, d)
				}
			}
		}
	}
}

// A transcript that was redacted joins as before, and twice is once.
func TestRedacted(t *testing.T) {
	r := rec{id: "r", tools: []string{"login"}, calls: []sent{{ms: 1001, tool: "login", args: `{"user":"u","password":"hunt2"}`, meta: use("t1")}}}
	c := talk("claude-code", "s", said{id: "t1", name: "mcp__shop__login", args: `{"user":"u","password":"hunt2","list":[{"apiKey":1}],"token":""}`, ms: 1000, end: 1200})
	c.Calls[0].Args.JSON = []byte(`{"user":"u","password":"hunt2"}`)
	for range 2 {
		j := join.Join([]*host.Conversation{c}, r.wires(t), join.Options{})
		if d := cmp.Diff([]string{"joined", "0 -> r:5 exact id, sure"}, told(j, 0)); d != "" {
			t.Error(d)
		}
		c.Redact(func(int) bool { return true })
		if got := string(c.Calls[0].Args.JSON); got != `{"user":"u","password":"[redacted]"}` || c.Calls[0].Args.SHA256 == "" {
			t.Errorf("%s %q", got, c.Calls[0].Args.SHA256)
		}
	}
}

// Case 72, import.names: names of tools with the host's prefix, taken apart by the
// servers that are recorded; the host's own tools are none of them.
func TestCaseNamePrefix(t *testing.T) {
	b, err := fixtures.ReadFile("cases", "72-name-prefix", "expect.md")
	if err != nil {
		t.Fatal(err)
	}
	_, b, _ = bytes.Cut(b, []byte("```json\n"))
	b, _, _ = bytes.Cut(b, []byte("```"))
	var expect struct {
		Names map[string]*[2]string `json:"import.names"`
	}
	if err := json.Unmarshal(b, &expect); err != nil {
		t.Fatal(err)
	}
	if b, err = fixtures.ReadFile("cases", "72-name-prefix", "host.json"); err != nil {
		t.Fatal(err)
	}
	var in struct {
		Turns []struct{ Calls []struct{ Name string } }
	}
	if err := json.Unmarshal(b, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	var calls []said
	for i, c := range in.Turns[0].Calls {
		calls = append(calls, said{name: c.Name, args: fmt.Sprintf(`{"n":%d}`, i), ms: 1000, end: 1100})
	}
	ws := rec{id: "tracker", server: "tracker", tools: []string{"search_issues", "b"}, calls: []sent{{ms: 1010, tool: "search_issues", args: `{"n":0}`}}}.wires(t)
	ws = append(ws, rec{id: "my_srv", server: "my_srv", tools: []string{"a__b", "b", "search_issues"}, calls: []sent{{ms: 1010, tool: "a__b", args: `{"n":2}`}}}.wires(t)...)
	r := join.Join([]*host.Conversation{talk("claude-code", "s", calls...)}, ws, join.Options{})
	got := map[string]*[2]string{}
	for name := range expect.Names {
		got[name] = nil
	}
	for _, c := range r.Conversations[0].Calls {
		if name := in.Turns[0].Calls[c.Host].Name; c.Paired() {
			got[name] = &[2]string{r.Wires[c.Session].Server, c.Tool}
		}
	}
	if d := cmp.Diff(expect.Names, got); d != "" || len(got) < 4 {
		t.Errorf("-want +got\n%s", d)
	}
}
