package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// five are calls that were sent together and answered in reverse.
func five() string {
	rec := opening
	for i := range 5 {
		rec += call(2+i, "get", fmt.Sprintf(`{"n":%d}`, i))
	}
	for i := 4; i >= 0; i-- {
		rec += answerTo(2+i, `{}`)
	}
	return rec
}

func TestParallelCallsStayParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open []message
		s := &server{what: func(s *server, m message) {
			if m.method != methodCall {
				s.ok(m)
				return
			}
			if open = append(open, m); len(open) == 5 {
				for i := range open {
					s.ok(open[4-i])
				}
			}
		}}
		r := ran(t, five()+both(9, "get", `{}`, `{}`)[0:0], Options{Rate: 5}, s)
		if r.Answered != r.Sent || r.Partial {
			t.Errorf("%+v", r)
		}
		if first, last := s.got[3].at, s.got[7].at; first != last {
			t.Errorf("the first of five went out after %v, the last after %v", first, last)
		}
	})
}

// A session that was piped in: nothing was answered before all was sent.
func TestCallsWaitForTheCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, answers []string
		for _, l := range strings.Split(opening+both(2, "get", `{}`, `{}`)+both(3, "set", `{}`, `{}`), "\n") {
			if strings.HasPrefix(l, ">") {
				sent = append(sent, l)
			} else {
				answers = append(answers, l)
			}
		}
		s := &server{what: func(s *server, m message) {
			if m.method == methodTools {
				time.Sleep(time.Second)
			}
			s.ok(m)
		}}
		r := ran(t, strings.Join(append(sent, answers...), "\n"), Options{}, s)
		if got := states(r); got != "get:sent set:skipped:not-readonly" {
			t.Error(got)
		}
	})
}

func TestSequential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := 0
		s := &server{}
		s.what = func(s *server, m message) {
			if m.method == methodCall {
				if open++; open > 1 {
					t.Error("a call was sent before the answer to the one before")
				}
				time.Sleep(10 * time.Millisecond)
				open--
			}
			s.ok(m)
		}
		if r := ran(t, five(), Options{Sequential: true}, s); r.Answered != 7 {
			t.Errorf("%+v", r)
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := opening
		for i := range 10 {
			rec += both(2+i, "get", `{}`, `{}`)
		}
		s := &server{}
		ran(t, rec, Options{Rate: 5}, s)
		// 11 requests are paid for, the handshake is not; the last one is not waited for.
		if took := s.got[len(s.got)-1].at; took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("11 requests at 5 a second were sent in %v", took)
		}
	})
}

func TestNothingIsSentBeforeItsTime(t *testing.T) {
	// 3 was sent when 2 had been answered: a slow new server is waited for.
	synctest.Test(t, func(t *testing.T) {
		s := &server{what: func(s *server, m message) {
			if m.method == methodCall {
				time.Sleep(7 * time.Second)
			}
			s.ok(m)
		}}
		r := ran(t, opening+both(2, "get", `{}`, `{}`)+both(3, "get", `{}`, `{}`), Options{}, s)
		if d := s.got[4].at - s.got[3].at; d != 7*time.Second || r.Partial {
			t.Errorf("the second call came %v after the first; %+v", d, r)
		}
	})
}

func TestAHangingServer(t *testing.T) {
	rec := opening
	for i := range 20 {
		rec += both(2+i, "get", `{}`, `{}`)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &server{what: func(s *server, m message) {
			if m.method != methodCall {
				s.ok(m)
			} else {
				s.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			}
		}}
		start := time.Now()
		r := ran(t, rec, Options{Timeout: 10 * time.Second}, s)
		if took := time.Since(start); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("it took %v to give up on three answers of 10 s", took)
		}
		if !r.Partial || len(r.Unanswered()) != 3 || len(r.Skipped()) != 17 || r.Skipped()[0].Rule != SkipGone || len(r.Ends) != 1 {
			t.Errorf("%d unanswered, %d skipped, %+v", len(r.Unanswered()), len(r.Skipped()), r.Ends)
		}
	})
}

func TestAServerThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &server{}
		s.what = func(s *server, m message) {
			if m.method == methodCall {
				if n++; n == 2 {
					s.leave()
					return
				}
			}
			s.ok(m)
		}
		r := ran(t, opening+both(2, "get", `{}`, `{}`)+both(3, "get", `{}`, `{}`)+both(4, "get", `{}`, `{}`), Options{}, s)
		if got := states(r); got != "get:sent get:unanswered get:skipped:server-gone" || !r.Partial {
			t.Errorf("%s", got)
		}
	})
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := NewPlan(recorded(t, opening), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background(), func(context.Context, string) (*Link, error) { return nil, errors.New("no such server") })
		if err == nil || !r.Partial || len(r.Ends) != 1 {
			t.Errorf("%v %+v", err, r)
		}
	})
}

func TestRefusedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{what: func(s *server, m message) {
			if m.isRequest {
				s.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not this version"}}`, m.id)
			}
		}}
		r := ran(t, opening+both(2, "get", `{}`, `{}`), Options{AllowAll: true}, s)
		if s.methods() != methodInitialize || !strings.Contains(r.Ends[0].Why, "not this version") {
			t.Errorf("%s %+v", s.methods(), r.Ends)
		}
	})
}

func TestALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late message
		s := &server{what: func(s *server, m message) {
			switch {
			case m.method == methodCall && late.id == nil:
				late = m
			case m.method == methodCall:
				s.result(late, `{"structuredContent":{"id":"late-answer"}}`)
				s.ok(m)
			default:
				s.ok(m)
			}
		}}
		r := ran(t, opening+both(2, "get", `{}`, `{}`)+both(3, "get", `{}`, `{}`), Options{}, s)
		if got := states(r); got != "get:unanswered get:sent" || len(r.Notes) != 1 {
			t.Errorf("%s %v", got, r.Notes)
		}
	})
}

// Ten times the recorded time, where that is longer.
func TestALongCallIsGivenItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{what: func(s *server, m message) {
			if m.method == methodCall {
				time.Sleep(80 * time.Second)
			}
			s.ok(m)
		}}
		r := ran(t, opening+call(2, "get", `{}`)+"\n+9000"+answerTo(2, `{}`), Options{}, s)
		if r.Partial {
			t.Errorf("%s", states(r))
		}
	})
}

func TestACancelIsRelativeToItsCall(t *testing.T) {
	rec := opening + call(2, "get", `{}`) + `
+500
> {"method":"notifications/cancelled","params":{"requestId":2,"reason":"McpError: timed out"}}
` + both(3, "get", `{}`, `{}`)
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &server{what: func(s *server, m message) {
			if m.method == methodCall {
				if n++; n == 1 {
					return
				}
			}
			s.ok(m)
		}}
		r := ran(t, rec, Options{}, s)
		if got := s.methods(); got != "initialize notifications/initialized tools/list tools/call notifications/cancelled tools/call" {
			t.Fatal(got)
		}
		if d := s.got[4].at - s.got[3].at; d != 502*time.Millisecond {
			t.Errorf("cancelled after %v", d)
		}
		if got := s.last(noteCancelled); got != `{"requestId":2,"reason":"McpError: timed out"}` || r.Partial {
			t.Errorf("%s; %+v", got, r)
		}
	})
}

func TestProgressTokensFollowTheIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		ran(t, opening+`
> {"id":77,"method":"tools/call","params":{"_meta":{"progressToken":77,"x":"y"},"name":"get","arguments":{}}}
< {"id":77,"result":{}}`, Options{}, s)
		if got := s.last(methodCall); got != `{"_meta":{"progressToken":2,"x":"y"},"name":"get","arguments":{}}` {
			t.Error(got)
		}
	})
}

func TestASessionWithoutItsHandshake(t *testing.T) {
	_, rest, _ := strings.Cut(opening, "> {\"method\"")
	_, rest, _ = strings.Cut(rest, "\n")
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := ran(t, rest+both(2, "get", `{}`, `{}`), Options{Client: "sixlink", Version: "1"}, s)
		if got := s.methods(); got != "initialize notifications/initialized tools/list tools/call" || r.Sent != 2 || r.Answered != 2 {
			t.Errorf("%s, %+v", got, r)
		}
	})
}

func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{what: func(s *server, m message) {
			if m.method == methodCall {
				cancel()
				return
			}
			s.ok(m)
		}}
		p, err := NewPlan(recorded(t, opening+both(2, "get", `{}`, `{}`)+both(3, "get", `{}`, `{}`)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(ctx, s.open)
		if err != nil || !r.Interrupt || !r.Partial || s.calls() != "get" {
			t.Errorf("%v %+v", err, r)
		}
	})
}

func TestSessionByNumber(t *testing.T) {
	if _, err := NewPlan(recorded(t, opening), Options{Session: "s2"}); err == nil {
		t.Error("a session that is not there was planned")
	}
}
