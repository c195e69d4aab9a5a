package claudecode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
)

// resumed writes session files as 1.0.x does: each turn is a prompt, a call, its
// result and an answer; a copy keeps ids and texts, and has the new file's session
// and time. hour orders the files, and side adds a subagent's call to a turn that is
// no copy.
func resumed(session string, hour int, turns ...string) *host.File {
	var b strings.Builder
	parent := "null"
	n := 0
	line := func(typ, id, message, more string) {
		n++
		fmt.Fprintf(&b, `{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"version":"1.0.98","timestamp":"2026-11-30T%02d:00:%02dZ","message":%s%s}`+"\n",
			typ, id, parent, session, hour, n, message, more)
		if more == "" {
			parent = `"` + id + `"`
		}
	}
	for _, t := range turns {
		t, side := strings.CutSuffix(t, "+side")
		line("user", t+"-1", fmt.Sprintf(`{"role":"user","content":"do %s"}`, t), "")
		line("assistant", t+"-2", fmt.Sprintf(`{"id":"m-%[1]s","model":"m","content":[{"type":"tool_use","id":"call-%[1]s","name":"mcp__s__t","input":{}}],"stop_reason":"tool_use"}`, t), "")
		if side {
			was := parent
			parent = "null"
			line("user", t+"-s1", `{"role":"user","content":"help"}`, `,"isSidechain":true`)
			parent = `"` + t + `-s1"`
			line("assistant", t+"-s2", fmt.Sprintf(`{"id":"ms-%[1]s","model":"m","content":[{"type":"tool_use","id":"side-%[1]s","name":"mcp__s__t","input":{}}],"stop_reason":"tool_use"}`, t), `,"isSidechain":true`)
			parent = was
		}
		line("user", t+"-3", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call-%s","content":"ok"}]}`, t), "")
		line("assistant", t+"-4", fmt.Sprintf(`{"id":"n-%[1]s","model":"m","content":[{"type":"text","text":"%[1]s is done"}],"stop_reason":"end_turn"}`, t), "")
	}
	return host.BytesFile(session+".jsonl", []byte(b.String()))
}

// told is each conversation in one line: its sessions, and its turns with where each
// was read, when it began, its calls, and what it is said to be a copy of.
func told(cs []*host.Conversation) (out []string) {
	for _, c := range cs {
		s := strings.Join(c.SessionIDs, "+") + ":"
		for i, t := range c.Turns {
			if t.Index != i {
				s += " (misplaced)"
			}
			s += fmt.Sprintf(" %s %s@%s", t.FinalText.Text.Text[:2], c.Sources[t.Src.Source].Path[:1], t.StartedAt.Format("15h"))
			for _, k := range c.Calls {
				if k.Turn == i {
					s += " " + k.HostCallID
				}
			}
			if t.CopiedFrom != "" {
				s += " copy of " + t.CopiedFrom
			}
			s += ";"
		}
		out = append(out, s)
	}
	return out
}

// A resume of 1.0.x begins a new file and copies the history: the session is one
// conversation all the same, with each turn as it first was.
func TestContinued(t *testing.T) {
	for name, row := range map[string]struct {
		files []*host.File
		want  []string
	}{
		"one resume": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t1", "t2")},
			[]string{"a+b: t1 a@01h call-t1; t2 b@02h call-t2;"},
		},
		"the names are the other way round": {
			[]*host.File{resumed("a", 2, "t1", "t2"), resumed("b", 1, "t1")},
			[]string{"b+a: t1 b@01h call-t1; t2 a@02h call-t2;"},
		},
		"a resume of a resume": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t1", "t2"), resumed("c", 3, "t1", "t2", "t3")},
			[]string{"a+b+c: t1 a@01h call-t1; t2 b@02h call-t2; t3 c@03h call-t3;"},
		},
		"what a subagent did is not copied, and stays": {
			[]*host.File{resumed("a", 1, "t1+side"), resumed("b", 2, "t1", "t2")},
			[]string{"a+b: t1 a@01h call-t1 side-t1; t2 b@02h call-t2;"},
		},
		"two files go on from one: none is the end of it": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t1", "t2"), resumed("c", 3, "t1", "t3")},
			[]string{"a: t1 a@01h call-t1;", "b: t1 b@02h call-t1 copy of a; t2 b@02h call-t2;", "c: t1 c@03h call-t1 copy of a; t3 c@03h call-t3;"},
		},
		"a fork that goes on: its copies stay marked": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t1", "t2"), resumed("c", 3, "t1", "t3"), resumed("d", 4, "t1", "t2", "t4")},
			[]string{"a: t1 a@01h call-t1;", "c: t1 c@03h call-t1 copy of a; t3 c@03h call-t3;",
				"b+d: t1 d@04h call-t1 copy of a; t2 b@02h call-t2; t4 d@04h call-t4;"},
		},
		"the first went on by itself": {
			[]*host.File{resumed("a", 3, "t1", "t9"), resumed("b", 2, "t1", "t2")},
			[]string{"a: t1 a@03h call-t1 copy of b; t9 a@03h call-t9;", "b: t1 b@02h call-t1; t2 b@02h call-t2;"},
		},
		"others have nothing to do with it": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t2")},
			[]string{"a: t1 a@01h call-t1;", "b: t2 b@02h call-t2;"},
		},
		"a resume without a prompt of its own": {
			[]*host.File{resumed("a", 1, "t1"), resumed("b", 2, "t1")},
			[]string{"a: t1 a@01h call-t1;", "b: t1 b@02h call-t1 copy of a;"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cs, err := claudecode.Session.Import(row.files)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, told(cs)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}
