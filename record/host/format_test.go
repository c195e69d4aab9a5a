package host_test

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
)

// everything has each field of the model set, so that the round trip shows a
// field that is lost.
func everything() *host.Conversation {
	at := time.Date(2026, 11, 30, 13, 45, 38, 495e6, time.UTC)
	yes := true
	agent := &host.Agent{ID: "a1", ParentCall: "toolu_9", Depth: 1, Type: "general-purpose"}
	usage := host.Usage{InputUncached: host.Known(110), CacheRead: host.Known(0), CacheWrite: host.Known(20), Output: host.Known(22),
		Reasoning: host.Known(3), ReasoningInOutput: true, Total: host.Known(152), Source: "responses", Scope: host.OfTurn,
		Agents: host.MainAgent, Excludes: []string{host.ExcludesSubagents}}
	media := host.Media{Type: "image/png", Bytes: 70, SHA256: "ab", URI: "ui://x"}
	cut := host.Text{Text: "beg", Cut: true, Bytes: 300000, SHA256: "cd"}
	src := host.Src{Source: 1, Line: 7, Ptr: "/message/content/0"}
	return &host.Conversation{
		Host: host.Host{Name: "claude-code", Version: "2.1.332", Entrypoint: "cli"}, SessionIDs: []string{"s1", "s2"},
		Sources: []host.Source{{Path: "a.jsonl", SHA256: "ef", Bytes: 9, Format: "f", Importer: "i", ImporterVersion: "1", Lines: 3,
			Understood: map[string]int64{"user": 1}, Skipped: map[string]int64{"mode": 2, "a": 1}, Errors: []string{"line 3: cut"}, ErrorCount: 1, Cut: true}},
		Caps: host.Caps{Turns: host.Present, Prompts: host.Partial, FinalText: host.Absent, Tokens: host.Present, Times: host.Present,
			Calls: host.Partial, CallIDs: host.Present, Model: host.Absent},
		Models: []string{"m"}, Servers: []host.Server{{Name: "shop", Prefix: "mcp__shop__", Status: "connected"}}, Usage: []host.Usage{usage},
		Branches: []host.Branch{{Why: "edited", Messages: 2, Calls: 1, CallIDs: []string{"x"}, Src: src}},
		Notes:    []host.Note{{Kind: "k", Text: "t", Src: src}},
		Turns: []host.Turn{{Index: 0, ID: "p1", Origin: host.SDK, Status: host.Failed, Error: "overloaded", Prompts: []host.Prompt{
			{Text: cut, Message: "u1", At: at, Queued: true, Media: []host.Media{media}, Src: src}}, StartedAt: at, EndedAt: at.Add(time.Second),
			FinalText: host.FinalText{State: host.HasText, Text: host.Text{Text: "done"}, Message: "m1", Src: src}, Usage: []host.Usage{usage},
			Earlier: []host.FinalText{{State: host.HasText, Text: host.Text{Text: "wait"}}}, CopiedFrom: "s0", CallIDs: []string{"toolu_1"}, Src: src}},
		Messages: []host.Message{{ID: "m1", Role: host.Assistant, Turn: 0, Parts: []host.Part{{Kind: host.OtherPart, Type: "x", Bytes: 2, CallID: "toolu_1", Media: &media}},
			Model: "m", Usage: &usage, At: at, Agent: agent, Hidden: "synthetic", Src: src}, {Role: host.User, Turn: -1}},
		Calls: []host.Call{{HostCallID: "toolu_1", HostItemID: "i", Kind: host.HostedCall, Name: "mcp__shop__cancel_order", Server: "shop",
			Tool: host.Tool{Raw: "cancel.order", Shown: "cancel_order"}, Args: &host.Value{JSON: []byte(`{"n":9007199254740993,"z":1.0}`)},
			ArgsSource: host.ArgsFromHost, ArgsError: "cut", Result: &host.CallResult{Text: cut, HasText: true, Structured: &host.Value{Bytes: 70000, SHA256: "aa"},
				Media: []host.Media{media}, Bytes: 12}, HostError: &yes, Denied: host.DeniedByUser, Refused: host.RefusedSchema, At: at, EndedAt: at,
			Agent: agent, Turn: -1, Message: "m1", Src: src, ResultSrc: src}},
	}
}

func TestRoundTrip(t *testing.T) {
	two := []*host.Conversation{everything(), {Caps: host.Caps{Turns: host.Absent}}, everything()}
	var b bytes.Buffer
	if err := host.Write(&b, two...); err != nil {
		t.Fatal(err)
	}
	got, err := host.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(two, got); d != "" {
		t.Errorf("-written +read\n%s", d)
	}
	var again bytes.Buffer
	if err := host.Write(&again, got...); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("written twice:\n%s\n%s", b.Bytes(), again.Bytes())
	}
}

// What a host's author writes by hand: the least that the document allows.
func TestReadByHand(t *testing.T) {
	const text = "\ufeff" + `{"kind":"conversation","schema":"sixlink-conversation/1.0","host":{"name":"mine"},"ours":1}` + "\r\n\r\n" +
		`{"kind":"turn","prompts":[{"text":"Where is my order?"}],"finalText":"In transit.","usage":[{"inputUncached":10,"output":2.5}]}` + "\n" +
		`{"kind":"call","hostCallId":"1","server":"shop","tool":{"raw":"lookup"},"args":{"json":{"id":1}},"result":{"text":"ok"}}` + "\n" +
		`{"kind":"weather","sun":true}` + "\n" +
		`{"kind":"turn","finalText":" \n"}`
	cs, err := host.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := cs[0]
	if len(cs) != 1 || len(c.Turns) != 2 || len(c.Calls) != 1 || c.TurnCount() != 2 {
		t.Fatalf("read %+v", c)
	}
	if k := c.Calls[0]; k.Turn != 0 || k.Kind != host.MCPCall || !k.Result.HasText || string(k.Args.JSON) != `{"id":1}` {
		t.Errorf("call %+v", k)
	}
	if d := cmp.Diff([]string{"1"}, c.Turns[0].CallIDs); d != "" {
		t.Error(d)
	}
	if u := c.Turns[0].Usage[0]; u.InputUncached != host.Known(10) || u.Output.Known {
		t.Errorf("usage %+v", u)
	}
	if f := c.Turns[0].FinalText; f.State != host.HasText || f.Text.Text != "In transit." {
		t.Errorf("final text %+v", f)
	}
	if f := c.FinalText(); f.State != host.EmptyText {
		t.Errorf("a blank answer is %+v", f)
	}
	want := host.Caps{Turns: host.Present, Prompts: host.Partial, FinalText: host.Present, Tokens: host.Partial, Times: host.Absent,
		Calls: host.Present, CallIDs: host.Present, Model: host.Absent}
	if d := cmp.Diff(want, c.Caps); d != "" {
		t.Error(d)
	}
}

func TestReadRefuses(t *testing.T) {
	const head = `{"kind":"conversation","schema":"sixlink-conversation/1.0"}` + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":            {"", `no line of kind "conversation"`},
		"no head":            {`{"kind":"turn"}`, `line 1: the first line must be of kind "conversation"`},
		"another major":      {`{"kind":"conversation","schema":"sixlink-conversation/2.0"}`, `line 1: schema "sixlink-conversation/2.0" is not one`},
		"longer major":       {`{"kind":"conversation","schema":"sixlink-conversation/10"}`, `line 1: schema "sixlink-conversation/10" is not one`},
		"no kind":            {head + `{"turn":1}`, `line 2: member "kind" is missing`},
		"cut":                {head + `{"kind":"tur`, "line 2: "},
		"a turn too far":     {head + `{"kind":"call","turn":0}`, "line 2: turn is 0, and the turns so far are 0 to -1"},
		"turns out of order": {head + `{"kind":"turn","index":1}`, "line 2: index is 1, want 0"},
		"case":               {head + `{"Kind":"turn"}`, `line 2: member "kind" is missing`},
		"twice":              {head + `{"kind":"turn","kind":"call"}`, "line 2: "},
		"text of no kind":    {head + `{"kind":"turn","finalText":{"text":7}}`, "line 2: "},
	} {
		t.Run(name, func(t *testing.T) {
			cs, err := host.Read(strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, %v; want %q", cs, err, tt.want)
			}
		})
	}
}

// The examples of the document are read, and hold what it says.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/conversation.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(doc), "```jsonl\n")
	if len(parts) != 3 {
		t.Fatalf("%d examples", len(parts)-1)
	}
	var cs []*host.Conversation
	for _, p := range parts[1:] {
		text, _, _ := strings.Cut(p, "```")
		got, err := host.Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		cs = append(cs, got...)
	}
	small, full := cs[0], cs[1]
	want := host.Caps{Turns: host.Present, Prompts: host.Present, FinalText: host.Present, Tokens: host.Present, Times: host.Absent,
		Calls: host.Present, CallIDs: host.Present, Model: host.Absent}
	if d := cmp.Diff(want, small.Caps); d != "" || small.FinalText().Text.Text != "It is in transit." || small.Calls[0].Kind != host.MCPCall {
		t.Errorf("%s\n%+v", d, small)
	}
	if len(full.Calls) != 2 || !full.Calls[1].NotSent() || full.Calls[0].NotSent() || full.Turns[0].Usage[0].Total != host.Known(784) {
		t.Errorf("%+v", full)
	}
	// Each member of the model is named in the document.
	for _, v := range []any{host.Conversation{}, host.Turn{}, host.Call{}, host.Message{}, host.Usage{}, host.Caps{}, host.Prompt{}, host.Agent{}, host.Tool{}, host.CallResult{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name != "-" && name != "hasText" && !regexp.MustCompile(`\b`+name+`\b`).Match(doc) {
				t.Errorf("%s.%s: the document does not name %q", typ.Name(), typ.Field(i).Name, name)
			}
		}
	}
}

// An end that was cut off between two lines is seen by the count of lines, so that
// nothing rests on what is not there.
func TestLinesThatWereCutOff(t *testing.T) {
	c := &host.Conversation{Caps: host.Caps{Turns: host.Present, Calls: host.Present, Tokens: host.Absent},
		Turns: []host.Turn{{Status: host.Complete}}, Calls: []host.Call{{Name: "a"}, {Name: "b", Denied: host.DeniedByUser}}}
	var b bytes.Buffer
	if err := host.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\n"))
	for n := 1; n <= len(lines); n++ {
		cs, err := host.Read(bytes.NewReader(bytes.Join(lines[:n], nil)))
		if err != nil {
			t.Fatal(err)
		}
		want := host.Partial
		if n == len(lines) {
			want = host.Present
		}
		if got := cs[0].Caps; got.Calls != want || got.Turns != want || got.Tokens != host.Absent || (len(cs[0].Notes) == 0) != (want == host.Present) {
			t.Errorf("%d of %d lines: %+v, %+v", n, len(lines), got, cs[0].Notes)
		}
	}
}
