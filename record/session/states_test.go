package session_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// The terminal states of wire.md 3.3, by how a call without an answer can end.
func TestCallStates(t *testing.T) {
	for _, c := range []struct {
		name, script string
		state        session.CallState
		errors       session.CaptureState // of toolErrors; pending calls and losses make it partial
	}{
		{"answered", tool("1") + answer("1") + goodbye, session.CallResult, session.Complete},
		{"answered after the host's end of file", tool("1") + "close client stdin" + answer("1") + "close server stdout\nexit 0", session.CallResult, session.Complete},
		{"server exits first", tool("1") + "exit 1", session.CallConnectionDrop, session.Complete},
		{"server closes stdout first", tool("1") + "close server stdout\nclose client stdin\nexit 0", session.CallConnectionDrop, session.Complete},
		{"server is killed by somebody else", tool("1") + "close server stdout\nexit KILL", session.CallConnectionDrop, session.Complete},
		{"server crashes after the host's end of file", tool("1") + "close client stdin\nclose server stdout\nexit 1", session.CallConnectionDrop, session.Complete},
		{"server dies of a signal after the host's end of file", tool("1") + "close client stdin\nclose server stdout\nexit SEGV", session.CallConnectionDrop, session.Complete},
		{"server crashes after end of file and later work", tool("1") + tool("2") + "close client stdin" + answer("2") + "exit 1", session.CallConnectionDrop, session.Complete},
		{"end of file, nobody reads, server exits with 1", tool("1") + "close client stdin\nclose client stdout\nexit 1", session.CallClientGone, session.Partial},
		{"end of file, a signal passed on, server exits with 1", tool("1") + "close client stdin\nsignal client TERM\nexit 1", session.CallClientGone, session.Partial},
		{"end of file, killed by sixlink", tool("1") + "close client stdin\nsignal proxy KILL\nexit KILL", session.CallClientGone, session.Partial},
		{"end of file, a gap, server exits with 1", tool("1") + "close client stdin\ngap server\nexit 1", session.CallPending, session.Partial},
		{"server closes stderr, host leaves", tool("1") + "close server stderr\nclose client stdin\nclose server stdout\nexit 0", session.CallClientGone, session.Partial},
		{"host leaves", tool("1") + goodbye, session.CallClientGone, session.Partial},
		{"host sends a signal with stdin open", tool("1") + "signal client INT\nclose server stdout\nexit INT", session.CallClientGone, session.Partial},
		{"sixlink ends the server", tool("1") + "signal proxy TERM\nclose server stdout\nexit TERM", session.CallClientGone, session.Partial},
		{"host survives its own signal, server exits later", tool("1") + "signal client HUP" + tool("2") + answer("2") + "exit 1", session.CallConnectionDrop, session.Complete},
		{"server answers later work", tool("1") + tool("2") + answer("2") + goodbye, session.CallNeverAnswered, session.Complete},
		{"server answers a later ping only", tool("1") + `> {"id":2,"method":"ping"}` + "\n" + `< {"id":2,"result":{}}` + goodbye, session.CallClientGone, session.Partial},
		{"server answers under another id", tool("1") + answer(`"1"`) + goodbye, session.CallNeverAnswered, session.Complete},
		{"server answers with the handshake's id again", tool("1") + answer(`"i"`) + goodbye, session.CallNeverAnswered, session.Complete},
		{"cancelled", tool("1") + `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"user pressed stop"}}` + goodbye, session.CallCancelled, session.Complete},
		{"cancelled, answered late", tool("1") + `> {"method":"notifications/cancelled","params":{"requestId":1}}` + answer("1") + goodbye, session.CallCancelled, session.Complete},
		{"cancelled by another spelling of the id", tool("1") + `> {"method":"notifications/cancelled","params":{"requestId":1.0}}` + goodbye, session.CallCancelled, session.Complete},
		{"the server cannot cancel the client's call", tool("1") + `< {"method":"notifications/cancelled","params":{"requestId":1}}` + goodbye, session.CallClientGone, session.Partial},
		{"TypeScript's timeout", tool("1") + `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"McpError: MCP error -32001: Request timed out"}}` + goodbye, session.CallClientTimeout, session.Complete},
		{"Go's timeout", tool("1") + `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"context deadline exceeded"}}` + goodbye, session.CallClientTimeout, session.Complete},
		{"answer and cancellation cross", tool("1") + answer("1") + `> {"method":"notifications/cancelled","params":{"requestId":1}}` + goodbye, session.CallResult, session.Complete},
		{"never delivered", tool("1") + "undelivered client\nclose client stdin\nexit 0", session.CallUndelivered, session.Complete},
		{"torn", tool("1") + "torn", session.CallPending, session.Partial},
		{"torn after the host's end of file", tool("1") + "close client stdin\ntorn", session.CallPending, session.Partial},
		{"torn after the server's exit", tool("1") + "exit 1\ntorn", session.CallConnectionDrop, session.Partial},
		{"live", tool("1") + "live", session.CallPending, session.Partial},
		{"sealed, and nothing says how it ended", tool("1"), session.CallPending, session.Partial},
		{"a gap behind it", tool("1") + "gap server" + goodbye, session.CallPending, session.Partial},
		{"a gap of unknown streams behind it", tool("1") + "gap" + goodbye, session.CallPending, session.Partial},
		{"a gap of log lines behind it", tool("1") + "gap stderr" + goodbye, session.CallClientGone, session.Partial},
		{"a gap inside an answered call", tool("1") + "gap server" + answer("1") + goodbye, session.CallResult, session.Partial},
		{"an id that pairs with nothing", tool("true") + answer("true") + goodbye, session.CallNoID, session.Complete},
		{"result that is no object", tool("1") + `< {"id":1,"result":"ok"}` + goodbye, session.CallMalformed, session.Complete},
		{"neither result nor error", tool("1") + `< {"id":1}` + goodbye, session.CallMalformed, session.Complete},
		{"error that is no object", tool("1") + `< {"id":1,"error":"no"}` + goodbye, session.CallMalformed, session.Complete},
		{"result beside a null error", tool("1") + `< {"id":1,"result":{"content":[]},"error":null}` + goodbye, session.CallResult, session.Complete},
		{"error beside a null result", tool("1") + `< {"id":1,"result":null,"error":{"code":1,"message":"x"}}` + goodbye, session.CallProtocolError, session.Complete},
		{"isError false spelt out", tool("1") + `< {"id":1,"result":{"content":[],"isError":false}}` + goodbye, session.CallResult, session.Complete},
		{"a name in other case is another member", tool("1") + `< {"id":1,"result":{"content":[],"iserror":true}}` + goodbye, session.CallResult, session.Complete},
		{"the last of two members holds", tool("1") + `< {"id":1,"result":{"isError":true,"isError":false}}` + goodbye, session.CallResult, session.Complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := one(t, opened+c.script)
			got := s.Calls[0]
			if got.State != c.state {
				t.Errorf("%s, want %s (end %+v)", got.State, c.state, s.End)
			}
			if s.Capture.ToolErrors != c.errors {
				t.Errorf("toolErrors %s, want %s: %v", s.Capture.ToolErrors, c.errors, s.Capture.Why)
			}
			if got.Seq != 5 { // in all scripts
				t.Errorf("seq %d", got.Seq)
			}
		})
	}
}

func TestOrphansAfterALossProveNothing(t *testing.T) {
	// The orphan may answer a request that the gap swallowed.
	s := one(t, opened+"gap client"+tool("1")+answer("77")+goodbye)
	if c := s.Calls[0]; c.State != session.CallClientGone || len(c.RepliesWithoutRequest) != 0 {
		t.Errorf("%s %v", c.State, c.RepliesWithoutRequest)
	}
}

func TestCaptureStates(t *testing.T) {
	type states struct{ Calls, Errors, Inventory, Declarations session.CaptureState }
	list := `
		> {"id":"l","method":"tools/list"}
		< {"id":"l","result":{"tools":[{"name":"t"}]}}
	`
	const (
		c = session.Complete
		p = session.Partial
		a = session.Absent
	)
	for _, x := range []struct {
		name, script string
		want         states
	}{
		{"whole", opened + list + tool("1") + answer("1") + goodbye, states{c, c, c, c}},
		{"no list", opened + tool("1") + answer("1") + goodbye, states{c, c, a, a}},
		{"joined in the middle", list + tool("1") + answer("1") + goodbye, states{p, p, c, p}}, // another list may have stood before an earlier call
		{"a pending call matters for errors only", opened + list + tool("1") + goodbye, states{c, p, c, c}},
		{"torn", opened + list + tool("1") + answer("1") + "torn", states{p, p, c, c}},
		{"live", opened + list + tool("1") + answer("1") + "live", states{p, p, c, c}},
		{"live after the exit", opened + list + tool("1") + answer("1") + goodbye + "live", states{c, c, c, c}},
		{"a gap between list and call", opened + list + "gap server" + tool("1") + answer("1") + goodbye, states{p, p, p, p}},
		{"a gap behind the calls", opened + list + tool("1") + answer("1") + "gap server" + goodbye, states{p, p, c, c}},
		{"a gap of log lines", opened + list + "gap stderr" + tool("1") + answer("1") + goodbye, states{c, c, c, c}},
		{"a gap before the list", opened + "gap server" + list + tool("1") + answer("1") + goodbye, states{p, p, c, p}},
		{"torn before any call", opened + list + "torn", states{p, p, p, p}},
		{"torn after a list that no call followed", opened + tool("1") + answer("1") + list + "torn", states{p, p, p, p}},
		{"a gap after a list that no call followed", opened + tool("1") + answer("1") + list + "gap server" + goodbye, states{p, p, p, p}},
		{"call before the list", opened + tool("1") + answer("1") + list + goodbye, states{c, c, p, c}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, x.script)
			got := states{s.Capture.ToolCalls, s.Capture.ToolErrors, s.Capture.ToolInventory, s.Capture.ToolDeclarations}
			if d := cmp.Diff(x.want, got); d != "" {
				t.Errorf("(-want +got) %s\n%v", d, s.Capture.Why)
			}
			if (got != states{c, c, c, c}) && len(s.Capture.Why) == 0 && got.Inventory == got.Declarations {
				t.Error("nothing says why")
			}
		})
	}
}

func TestConnectionFacts(t *testing.T) {
	for _, x := range []struct {
		name, script string
		check        func(*session.Session) bool
	}{
		{"reached by a message", opened + goodbye, func(s *session.Session) bool { return s.Connection.ReachedSeq == 3 }},
		{"log text on stdout is no message", "start\n<< starting up\nsignal client TERM\nexit TERM", func(s *session.Session) bool { return s.Connection.ReachedSeq == 0 && s.End.PassedOn }},
		{"log lines in JSON are no messages", "start\n<< {\"level\":\"info\",\"method\":\"GET\",\"error\":\"none\"}\nsignal client TERM\nexit TERM", func(s *session.Session) bool {
			return s.Connection.ReachedSeq == 0 && s.Nonmessage[record.Server] == 1
		}},
		{"reached by its own exit", "start\nexit 3", func(s *session.Session) bool { return s.Connection.ReachedSeq == 2 && s.End.First == "server" }},
		{"a launcher's exit says nothing", "start 7 /usr/bin/npx -y x\nexit 1", func(s *session.Session) bool { return s.Connection.ReachedSeq == 0 && s.Connection.Launcher }},
		{"127 says nothing", "start\nexit 127", func(s *session.Session) bool { return s.Connection.ReachedSeq == 0 }},
		{"death by our signal says nothing", "start\nsignal proxy KILL\nexit KILL", func(s *session.Session) bool { return s.Connection.ReachedSeq == 0 && s.End.PassedOn }},
		{"143 after TERM is the signal's", "start\nsignal client TERM\nexit 143", func(s *session.Session) bool { return s.End.PassedOn }},
		{"1 after TERM is its own", "start\nsignal client TERM\nexit 1", func(s *session.Session) bool { return !s.End.PassedOn && s.Connection.ReachedSeq == 3 }},
		{"could not be started", "spawn-error", func(s *session.Session) bool {
			return s.Connection.Spawn != nil && s.Connection.Spawn.Code == 127 && s.Connection.ReachedSeq == 0
		}},
		{"initialize refused", "start\n> {\"id\":1,\"method\":\"initialize\"}\n< {\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}\nexit 0", func(s *session.Session) bool {
			return s.Connection.Initialize.State == session.ExchangeError && s.Connection.FirstSuccessSeq == 0 && s.ProtocolVersion == ""
		}},
		{"initialize alone is no success", opened + goodbye, func(s *session.Session) bool {
			return s.Connection.FirstSuccessSeq == 0 && s.Connection.InitializedSeq == 4
		}},
		{"first success", opened + tool("1") + answer("1") + goodbye, func(s *session.Session) bool { return s.Connection.FirstSuccessSeq == 6 }},
		{"peers", opened + goodbye, func(s *session.Session) bool {
			return s.Client == session.Peer{Name: "host", Version: "1"} && s.Server == session.Peer{Name: "srv", Version: "2", Title: "Srv"} && *s.ToolsCapability
		}},
		{"no tools capability", "start\n> {\"id\":1,\"method\":\"initialize\"}\n< {\"id\":1,\"result\":{\"capabilities\":{\"Tools\":{}}}}\nexit 0", func(s *session.Session) bool { return s.ToolsCapability != nil && !*s.ToolsCapability }},
		{"stderr's tail", "start\n!! " + strings.Repeat("x", 5000) + "\n!! the end\nexit 1", func(s *session.Session) bool {
			tail := s.Connection.StderrTail
			return len(tail) == 2048 && strings.HasSuffix(tail, "x\nthe end\n") && s.Lines[record.Stderr] == 2
		}},
		{"unsupported version", "start\n> {\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\"}}}\n< {\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\"}}\nexit 0", func(s *session.Session) bool {
			return s.Connection.Unsupported != nil && s.Era == session.EraStateless && s.ProtocolVersion == ""
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if s := one(t, x.script); !x.check(s) {
				t.Errorf("%+v\n%+v", s.Connection, s.End)
			}
		})
	}
}

// Who ended the session, when the host's end of file came first.
func TestCrashAfterTheHostsEndOfFile(t *testing.T) {
	const (
		ask    = "start\n> {\"id\":1,\"method\":\"initialize\"}\n"
		eof    = "close client stdin\n"
		listen = `> {"id":9,"method":"subscriptions/listen"}` + "\n"
		cancel = `> {"method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	)
	for _, x := range []struct {
		name, script, first string
		seq                 int64
	}{
		{"initialize unanswered, code 1", ask + eof + "!! Traceback\nexit 1", "server", 5},
		{"initialize unanswered, signal", ask + eof + "exit SEGV", "server", 4},
		{"initialize unanswered, code 0", ask + eof + "exit 0", "client", 3},
		{"end of file before the request's turn", "start\n" + eof + "> {\"id\":1,\"method\":\"initialize\"}\nexit 1", "server", 4},
		{"nothing was asked", "start\n" + eof + "exit 1", "client", 2},
		{"everything was answered", opened + eof + "exit 1", "client", 5},
		{"only a subscription is open", opened + listen + eof + "exit 1", "client", 6},
		{"what is open was cancelled", opened + tool("1") + cancel + eof + "exit 1", "client", 7},
		{"only a probe of the other era is open", "start\n> {\"id\":7,\"method\":\"server/discover\"}\n" + ask[6:] + "< {\"id\":1,\"result\":{}}\n" + eof + "exit 1", "client", 5},
		{"the server ended first", ask + "close server stdout\n" + eof + "exit 1", "server", 3},
		{"no exit on record", ask + eof + "torn", "client", 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, x.script)
			if s.End.First != x.first || s.End.FirstSeq != x.seq {
				t.Errorf("%q in %d, want %q in %d", s.End.First, s.End.FirstSeq, x.first, x.seq)
			}
		})
	}
}

func TestLauncher(t *testing.T) {
	for cmd, want := range map[string]bool{
		"npx -y x": true, "/usr/local/bin/uvx x": true, "docker run x": true, "sh -c x": true, `C:\tools\npx.cmd x`: true, "bun x y": true,
		"node server.js": false, "bun run y": false, "./server": false, "npxx": false, "python -m x": false,
	} {
		if got := session.IsLauncher(strings.Fields(cmd)); got != want {
			t.Errorf("%s: %v", cmd, got)
		}
	}
	if session.IsLauncher(nil) {
		t.Error("no command")
	}
}
