package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// ask answers call id with an input round.
func ask(id, more string) string {
	return `< {"id":` + id + `,"result":{"resultType":"input_required"` + more + `}}` + "\n"
}

// again is a call of t with arguments {"a":1} and more params.
func again(id, more string) string {
	return `> {"id":` + id + `,"method":"tools/call","params":{"name":"t","arguments":{"a":1}` + more + `}}` + "\n"
}

func TestInputRounds(t *testing.T) {
	const (
		confirm = `,"inputRequests":{"confirm":{"method":"elicitation/create"}}`
		yes     = `,"inputResponses":{"confirm":{"action":"accept"}}`
		state   = `,"requestState":"s1"`
	)
	for _, x := range []struct {
		name, script string
		calls        string // state of each, with its number of attempts
		waited       int64
	}{
		{"by state", again("1", "") + ask("1", confirm+state) + again("2", yes+state) + answer("2"), "result/2", 1e6},
		{"by state, spelt otherwise", again("1", "") + ask("1", confirm+state) + again("2", yes+`,"requestState":"\u0073\u0031"`) + answer("2"), "result/2", 1e6},
		{"another state is another call", again("1", "") + ask("1", confirm+state) + again("2", yes+`,"requestState":"s2"`) + answer("2"), "inputRequired/1 result/1", 0},
		{"by arguments and keys", again("1", "") + ask("1", confirm) + again("2", yes) + answer("2"), "result/2", 1e6},
		{"arguments in another order and spelling", `> {"id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"b":2}}}` + "\n" + ask("1", confirm) +
			`> {"id":2,"method":"tools/call","params":{"name":"t","arguments":{"b":2.0,"a":1}` + yes + `}}` + answer("2"), "result/2", 1e6},
		{"other arguments are another call", again("1", "") + ask("1", confirm) + `> {"id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":2}` + yes + `}}` + answer("2"), "inputRequired/1 result/1", 0},
		{"a key that was not asked for", again("1", "") + ask("1", confirm) + again("2", `,"inputResponses":{"other":{}}`) + answer("2"), "inputRequired/1 result/1", 0},
		{"no answer to the round is another call", again("1", "") + ask("1", confirm) + again("2", "") + answer("2"), "inputRequired/1 result/1", 0},
		{"state alone means again", again("1", "") + ask("1", state) + again("2", state) + answer("2"), "result/2", 1e6},
		{"three rounds", again("1", "") + ask("1", confirm) + again("2", yes) + ask("2", confirm) + again("3", yes) + answer("3"), "result/3", 2e6},
		{"never resumed", again("1", "") + ask("1", confirm), "inputRequired/1", 0},
		{"resumed and dropped", again("1", "") + ask("1", confirm) + again("2", yes) + "exit 1\n", "connectionDrop/2", 1e6},
		{"resumed and cancelled", again("1", "") + ask("1", confirm) + again("2", yes) + `> {"method":"notifications/cancelled","params":{"requestId":2}}` + "\n", "cancelled/2", 1e6},
		{"two at once, answered in reverse", again("1", "") + `> {"id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":2}}}` + "\n" +
			ask("1", confirm) + ask("2", confirm) + `> {"id":3,"method":"tools/call","params":{"name":"t","arguments":{"a":2}` + yes + `}}` + "\n" +
			again("4", yes) + answer("4") + answer("3"), "result/2 result/2", 3e6},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, "start\n"+x.script+goodbye)
			if got := callsOf(s); got != x.calls {
				t.Fatalf("%s, want %s", got, x.calls)
			}
			if s.Calls[0].WaitedNs != x.waited {
				t.Errorf("waited %d, want %d", s.Calls[0].WaitedNs, x.waited)
			}
		})
	}
}

func callsOf(s *session.Session) string {
	var out []string
	for _, c := range s.Calls {
		out = append(out, string(c.State)+"/"+string(rune('0'+len(c.Attempts))))
	}
	return strings.Join(out, " ")
}

func TestMaskedRequestState(t *testing.T) {
	// The recording hides requestState behind filler; equal MACs are equal states.
	for name, x := range map[string]struct {
		mac2, want string
	}{"the same": {"m1", "result/2"}, "another": {"m2", "inputRequired/1 result/1"}} {
		t.Run(name, func(t *testing.T) {
			r := script(t, "start\n"+again("1", "")+ask("1", `,"requestState":"xxxx"`)+again("2", `,"requestState":"xxxx"`)+answer("2")+goodbye)
			for i, mac := range map[int]string{2: "m1", 3: x.mac2} {
				d := string(r.Records[i].Data)
				r.Records[i].Masked = []record.Mask{{Off: int64(strings.Index(d, "xxxx")), Len: 4, MAC: mac}}
			}
			if got := callsOf(only(t, decode(t, r))); got != x.want {
				t.Error(got)
			}
		})
	}
}

func TestAttemptsWithOneToolUseID(t *testing.T) {
	const (
		claude = `,"_meta":{"claudecode/toolUseId":"toolu_1"}`
		codex  = `,"_meta":{"callId":"call_1","x-codex-turn-metadata":{}}`
		plain  = `,"_meta":{"callId":"call_1"}`
		url    = `< {"id":1,"error":{"code":-32042,"message":"open this"}}` + "\n"
	)
	for _, x := range []struct{ name, script, calls, use string }{
		{"-32042 and then success", again("1", claude) + url + again("2", claude) + answer("2"), "result/2", "toolu_1"},
		{"codex", again("1", codex) + url + again("2", codex) + answer("2"), "result/2", "call_1"},
		{"a plain callId is nobody's", again("1", plain) + answer("1") + again("2", plain) + answer("2"), "result/1 result/1", ""},
		{"without an id two requests are two calls", again("1", "") + answer("1") + again("2", "") + answer("2"), "result/1 result/1", ""},
		{"the last one with an answer counts", again("1", claude) + url + again("2", claude), "protocolError/2", "toolu_1"},
		{"answered in reverse, the later attempt counts", again("1", claude) + again("2", claude) + answer("2") + url, "result/2", "toolu_1"},
		{"another tool with the same id is another call", again("1", claude) + answer("1") + strings.Replace(again("2", claude), `"t"`, `"u"`, 1) + answer("2"), "result/1 result/1", "toolu_1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, "start\n"+x.script+goodbye)
			if got := callsOf(s); got != x.calls || s.Calls[0].ToolUseID != x.use {
				t.Errorf("%s %q, want %s %q", got, s.Calls[0].ToolUseID, x.calls, x.use)
			}
		})
	}
}

// A host without a tool-use id (VS Code) sends the same request again once the
// person has opened the address of a -32042 (grading.md 0.1).
func TestURLElicitationTriedAgainWithoutToolUseID(t *testing.T) {
	url := func(id string) string {
		return `< {"id":` + id + `,"error":{"code":-32042,"message":"open this"}}` + "\n"
	}
	of := func(id, tool, args string) string {
		return `> {"id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `"` + args + `}}` + "\n"
	}
	const (
		use1 = `,"_meta":{"claudecode/toolUseId":"toolu_1"}`
		use2 = `,"_meta":{"claudecode/toolUseId":"toolu_2"}`
	)
	for _, x := range []struct{ name, script, calls string }{
		{"success", again("1", "") + url("1") + again("2", "") + answer("2"), "result/2"},
		{"arguments in another order and spelling", of("1", "t", `,"arguments":{"a":1,"b":"x"}`) + url("1") + of("2", "t", `,"arguments":{"b":"\u0078","a":1.0}`) + answer("2"), "result/2"},
		{"no arguments", of("1", "t", "") + url("1") + of("2", "t", "") + answer("2"), "result/2"},
		{"the retry fails", again("1", "") + url("1") + again("2", "") + `< {"id":2,"error":{"code":-32603,"message":"no"}}`, "protocolError/2"},
		{"the retry gets a tool error", again("1", "") + url("1") + again("2", "") + `< {"id":2,"result":{"isError":true}}`, "toolError/2"},
		{"the retry gets no answer: the last with one counts", again("1", "") + url("1") + again("2", ""), "protocolError/2"},
		{"never tried again", again("1", "") + url("1"), "protocolError/1"},
		{"asked for twice", again("1", "") + url("1") + again("2", "") + url("2") + again("3", "") + answer("3"), "result/3"},
		{"other work in between", again("1", "") + url("1") + of("5", "u", "") + answer("5") + again("2", "") + answer("2"), "result/2 result/1"},
		{"a third request is another call", again("1", "") + url("1") + again("2", "") + answer("2") + again("3", "") + answer("3"), "result/2 result/1"},
		{"another error asks for nothing", again("1", "") + `< {"id":1,"error":{"code":-32603,"message":"no"}}` + "\n" + again("2", "") + answer("2"), "protocolError/1 result/1"},
		{"other arguments", again("1", "") + url("1") + of("2", "t", `,"arguments":{"a":2}`) + answer("2"), "protocolError/1 result/1"},
		{"arguments against none", again("1", "") + url("1") + of("2", "t", "") + answer("2"), "protocolError/1 result/1"},
		{"another tool", again("1", "") + url("1") + of("2", "u", `,"arguments":{"a":1}`) + answer("2"), "protocolError/1 result/1"},
		{"another tool use of the host's", again("1", use1) + url("1") + again("2", use2) + answer("2"), "protocolError/1 result/1"},
		{"sent before the -32042 came", again("1", "") + again("2", "") + url("1") + answer("2"), "protocolError/1 result/1"},
		{"two at once, tried again in order", again("1", "") + again("2", "") + url("1") + url("2") + again("3", "") + answer("3") + again("4", "") + answer("4"), "result/2 result/2"},
		{"a -32042 of an attempt that no longer counts", again("1", use1) + again("2", use1) + answer("2") + url("1") + again("3", "") + answer("3"), "result/2 result/1"},
		{"another session of the process", again("1", "") + url("1") + strings.ReplaceAll(opened, "start", "") + again("2", "") + answer("2"), "protocolError/1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := run(t, opened+x.script+goodbye).Sessions[0]
			if got := callsOf(s); got != x.calls {
				t.Errorf("%s, want %s", got, x.calls)
			}
		})
	}
	t.Run("many wait, the oldest is given up", func(t *testing.T) {
		var b strings.Builder
		for i := range 65 {
			fmt.Fprintf(&b, "%s%s", of(fmt.Sprint(i), "t", fmt.Sprintf(`,"arguments":{"n":%d}`, i)), url(fmt.Sprint(i)))
		}
		s := one(t, opened+b.String()+of("100", "t", `,"arguments":{"n":0}`)+answer("100")+of("101", "t", `,"arguments":{"n":1}`)+answer("101")+goodbye)
		if len(s.Calls) != 66 || len(s.Calls[0].Attempts) != 1 || len(s.Calls[1].Attempts) != 2 {
			t.Errorf("%d calls, %d and %d attempts", len(s.Calls), len(s.Calls[0].Attempts), len(s.Calls[1].Attempts))
		}
	})
	t.Run("hidden arguments that differ", func(t *testing.T) {
		hidden := `,"arguments":{"key":"xxxx"}`
		for second, want := range map[string]string{"m1": "result/2", "m2": "protocolError/1 result/1"} {
			r := script(t, "start\n"+of("1", "t", hidden)+url("1")+of("2", "t", hidden)+answer("2")+goodbye)
			for i, mac := range map[int]string{1: "m1", 3: second} {
				r.Records[i].Masked = []record.Mask{{Off: int64(strings.Index(string(r.Records[i].Data), "xxxx")), Len: 4, MAC: mac}}
			}
			if got := callsOf(only(t, decode(t, r))); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	})
	t.Run("the person's time is not the tool's", func(t *testing.T) {
		s := one(t, opened+again("1", "")+url("1")+again("2", "")+answer("2")+goodbye)
		if ns, ok := s.Calls[0].DurationNs(); !ok || ns != 2e6 || s.Calls[0].WaitedNs != 1e6 {
			t.Errorf("%d ns, waited %d", ns, s.Calls[0].WaitedNs)
		}
	})
}

func TestTasks(t *testing.T) {
	const (
		handle  = `< {"id":1,"result":{"task":{"taskId":"T","status":"working"}}}` + "\n"
		handle2 = `< {"id":1,"result":{"resultType":"task","taskId":"T","status":"working"}}` + "\n"
		poll    = `> {"id":2,"method":"tasks/get","params":{"taskId":"T"}}` + "\n"
		fetch   = `> {"id":3,"method":"tasks/result","params":{"taskId":"T"}}` + "\n"
	)
	status := func(s string) string {
		return `< {"method":"notifications/tasks/status","params":{"taskId":"T","status":"` + s + `","statusMessage":"it is ` + s + `"}}` + "\n"
	}
	polled := func(more string) string {
		return poll + `< {"id":2,"result":{"taskId":"T",` + more + `}}` + "\n"
	}
	for _, x := range []struct {
		name, script string
		state        session.CallState
		answer       int64
		waited       int64
		text         string
	}{
		{"result fetched", again("1", "") + handle + polled(`"status":"completed"`) + fetch + answer("3"), session.CallResult, 7, 0, ""},
		{"result fetched before the status is known", again("1", "") + handle + fetch + answer("3"), session.CallResult, 5, 0, ""},
		{"fetched twice, the first counts", again("1", "") + handle + fetch + answer("3") + strings.Replace(fetch, "3", "4", 1) + `< {"id":4,"error":{"code":-32602,"message":"gone"}}` + "\n", session.CallResult, 5, 0, ""},
		{"an error result", again("1", "") + handle + fetch + `< {"id":3,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}` + "\n", session.CallToolError, 5, 0, "no"},
		{"a protocol error", again("1", "") + handle + fetch + `< {"id":3,"error":{"code":-32603,"message":"no"}}` + "\n", session.CallProtocolError, 5, 0, ""},
		{"failed, by status alone", again("1", "") + handle + status("failed"), session.CallToolError, 4, 0, "it is failed"},
		{"failed, and a result without isError", again("1", "") + handle + status("failed") + fetch + answer("3"), session.CallToolError, 6, 0, ""},
		{"cancelled", again("1", "") + handle + polled(`"status":"cancelled"`), session.CallCancelled, 0, 0, ""},
		{"completed and never fetched", again("1", "") + handle + status("completed"), session.CallTaskHandle, 0, 0, ""},
		{"cut while it works", again("1", "") + handle, session.CallTaskHandle, 0, 0, ""},
		{"status before the handle", again("1", "") + status("failed") + handle, session.CallToolError, 3, 0, "it is failed"},
		{"an old status overtaken by the end", again("1", "") + handle + status("failed") + status("working"), session.CallToolError, 4, 0, "it is failed"},
		{"extension: result inside the task", again("1", "") + handle2 + polled(`"status":"completed","result":{"content":[]}`), session.CallResult, 5, 0, ""},
		{"extension: error result inside", again("1", "") + handle2 + polled(`"status":"completed","result":{"content":[{"type":"text","text":"no"}],"isError":true}`), session.CallToolError, 5, 0, "no"},
		{"extension: error inside", again("1", "") + handle2 + polled(`"status":"failed","error":{"code":-32603,"message":"boom"}`), session.CallToolError, 5, 0, "boom"},
		{"extension: input asked and given", again("1", "") + handle2 + polled(`"status":"input_required","inputRequests":{}`) + `> {"id":8,"method":"tasks/update","params":{"taskId":"T"}}` + "\n" +
			`< {"id":8,"result":{}}` + "\n" + strings.ReplaceAll(polled(`"status":"completed","result":{"content":[]}`), `"id":2`, `"id":9`), session.CallResult, 9, 1e6, ""},
		{"a request of the server's names the task", again("1", "") + handle + `< {"id":1,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T"}}}}` + "\n" +
			`> {"id":1,"result":{"action":"accept"}}` + "\n" + fetch + answer("3"), session.CallResult, 7, 1e6, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, "start\n"+x.script+goodbye)
			c := s.Calls[0]
			if len(s.Calls) != 1 || c.State != x.state || c.AnswerSeq != x.answer || c.WaitedNs != x.waited || c.ErrorText != x.text || c.Task == nil || c.Task.ID != "T" {
				t.Errorf("%d calls; %s answer %d waited %d %q task %+v", len(s.Calls), c.State, c.AnswerSeq, c.WaitedNs, c.ErrorText, c.Task)
			}
			if (c.State == session.CallTaskHandle) != (s.Capture.ToolErrors == session.Partial) {
				t.Errorf("%s, %+v", c.State, s.Capture)
			}
		})
	}
}

func TestWaitingForTheClient(t *testing.T) {
	elicit := func(id string) string {
		return `< {"id":` + id + `,"method":"elicitation/create","params":{}}` + "\n"
	}
	agree := func(id string) string { return `> {"id":` + id + `,"result":{"action":"accept"}}` + "\n" }
	for _, x := range []struct {
		name, script string
		waited       []int64
		shared       bool
	}{
		// Both sides count from 1: the ids never meet.
		{"one request", tool("1") + elicit("1") + agree("1") + answer("1"), []int64{1e6}, false},
		{"two at once count once", tool("1") + elicit("1") + elicit("2") + agree("1") + agree("2") + answer("1"), []int64{3e6}, false},
		{"one after the other", tool("1") + elicit("1") + agree("1") + elicit("2") + agree("2") + answer("1"), []int64{2e6}, false},
		{"answered without waiting", tool("1") + elicit("1") + answer("1") + agree("1"), []int64{1e6}, false},
		{"never answered", tool("1") + elicit("1") + answer("1"), []int64{1e6}, false},
		{"a ping is no wait", tool("1") + `< {"id":1,"method":"ping"}` + "\n" + `> {"id":1,"result":{}}` + "\n" + answer("1"), []int64{0}, false},
		{"outside of any call", elicit("1") + agree("1") + tool("1") + answer("1"), []int64{0}, false},
		{"two calls open", tool("1") + tool("2") + elicit("1") + agree("1") + answer("2") + answer("1"), []int64{1e6, 1e6}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, opened+x.script+goodbye)
			var got []int64
			for _, c := range s.Calls {
				got = append(got, c.WaitedNs)
				if strings.Contains(flags(c.Remarks), session.FlagWaitShared) != x.shared {
					t.Errorf("remarks %+v", c.Remarks)
				}
				if c.State != session.CallResult {
					t.Error(c.State)
				}
			}
			if d := cmp.Diff(x.waited, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParallelCallsAnsweredInReverse(t *testing.T) {
	s := one(t, opened+tool("1")+tool("2")+tool("3")+answer("3")+answer("2")+answer("1")+goodbye)
	for i, want := range []int64{10, 9, 8} {
		if c := s.Calls[i]; c.AnswerSeq != want {
			t.Errorf("call %d answered by %d, want %d", i, c.AnswerSeq, want)
		}
	}
	if ns, ok := s.Calls[0].DurationNs(); !ok || ns != 5e6 {
		t.Error(ns, ok)
	}
}

func TestProgressByToken(t *testing.T) {
	progress := func(token string) string {
		return `< {"method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}` + "\n"
	}
	s := one(t, opened+again("1", `,"_meta":{"progressToken":"tok"}`)+again("2", `,"_meta":{"progressToken":1}`)+
		progress(`"tok"`)+progress("1.0")+progress(`"1"`)+answer("1")+progress(`"tok"`)+answer("2")+goodbye)
	if a, b := s.Calls[0].Attempts[0].Progress, s.Calls[1].Attempts[0].Progress; a != 2 || b != 1 {
		t.Errorf("progress %d and %d, want 2 (one of them late) and 1", a, b)
	}
}
