package serve

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
)

// Ids and tokens are the live client's, as it spells them; all else is recorded bytes.
func TestValuesThatTheClientChose(t *testing.T) {
	tape := load(t, script(shake+`
> {"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}
< { "method":"notifications/progress" , "params":{"progressToken":1,"progress":0.50} }
< {"method":"notifications/message","params":{"level":"info","data":"1"}}
< {"id" : 1 , "result":{"z":1.0,"a":"\u00e9","_meta":{"progressToken":1}}}
> {"id":2,"method":"subscriptions/listen","params":{}}
< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
< {"id":null,"error":{"code":-32700,"message":"x"}}
`), nil)
	got := ask(t, server(t, tape, Config{}),
		`{"id":"a\u0062","method":"tools/call","params":{"_meta":{"progressToken":"T\u0031"},"name":"slow"}}`,
		`{"id":9007199254740993,"method":"subscriptions/listen"}`)
	same(t, "answers", got, []string{
		`{"jsonrpc":"2.0", "method":"notifications/progress" , "params":{"progressToken":"T\u0031","progress":0.50} }`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"1"}}`,
		`{"jsonrpc":"2.0","id" : "a\u0062" , "result":{"z":1.0,"a":"\u00e9","_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9007199254740993}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
	})
	// Who gave no token is told of no progress.
	got = ask(t, server(t, tape, Config{}), `{"id":5,"method":"tools/call","params":{"name":"slow"}}`)
	if len(got) != 2 || strings.Contains(got[0], "progress") {
		t.Errorf("without a token: %q", got)
	}
}

const parallel = `
> {"id":1,"method":"tools/call","params":{"name":"p","arguments":{"n":1}}}
> {"id":2,"method":"tools/call","params":{"name":"p","arguments":{"n":2}}}
> {"id":3,"method":"tools/call","params":{"name":"p","arguments":{"n":3}}}
> {"id":4,"method":"tools/call","params":{"name":"p","arguments":{"n":4}}}
> {"id":5,"method":"tools/call","params":{"name":"p","arguments":{"n":5}}}
< {"id":5,"result":5}
< {"id":4,"result":4}
< {"id":3,"result":3}
< {"id":2,"result":2}
< {"id":1,"result":1}
`

// lively is a client that sends line by line and can wait in between.
type lively struct {
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

func begin(s *Server) *lively {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &lively{inW, bufio.NewReader(outR), make(chan error, 1)}
	go func() {
		err := s.Stdio(inR, outW)
		outW.Close()
		inR.Close()
		c.done <- err
	}()
	return c
}

func (c *lively) send(line string) { io.WriteString(c.in, `{"jsonrpc":"2.0",`+line[1:]+"\n") }

func (c *lively) read(t *testing.T) string {
	l, err := c.out.ReadString('\n')
	if err != nil {
		t.Errorf("nothing came: %v", err)
	}
	return strings.TrimSuffix(l, "\n")
}

func (c *lively) end(t *testing.T) {
	c.in.Close()
	if rest, _ := io.ReadAll(c.out); len(rest) > 0 {
		t.Errorf("more came: %s", rest)
	}
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

func TestParallelCallsAreAnsweredInRecordedOrder(t *testing.T) {
	tape := load(t, script(shake+parallel), nil)
	call := func(id, n string) string {
		return `{"id":` + id + `,"method":"tools/call","params":{"name":"p","arguments":{"n":` + n + `}}}`
	}
	t.Run("all at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := begin(server(t, tape, Config{}))
			start := time.Now()
			for _, n := range []string{"2", "1", "3", "5", "4"} { // the order of arrival is not that of sending
				c.send(call(`"c`+n+`"`, n))
			}
			for _, n := range []string{"5", "4", "3", "2", "1"} {
				same(t, "answer", c.read(t), `{"jsonrpc":"2.0","id":"c`+n+`","result":`+n+`}`)
			}
			if d := time.Since(start); d != 0 {
				t.Errorf("it took %v", d)
			}
			c.end(t)
		})
	})
	// A client that makes one call at a time is not kept waiting for ever.
	t.Run("one by one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := begin(server(t, tape, Config{Patience: 50 * time.Millisecond}))
			start := time.Now()
			for _, n := range []string{"1", "2", "3", "4", "5"} {
				c.send(call(n, n))
				same(t, "answer", c.read(t), `{"jsonrpc":"2.0","id":`+n+`,"result":`+n+`}`)
			}
			if d := time.Since(start); d != 50*time.Millisecond { // given up once, it is not waited for again
				t.Errorf("it took %v", d)
			}
			c.end(t)
		})
	})
	t.Run("the last never comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := begin(server(t, tape, Config{}))
			for _, n := range []string{"1", "2"} {
				c.send(call(n, n))
			}
			for _, n := range []string{"2", "1"} {
				same(t, "answer", c.read(t), `{"jsonrpc":"2.0","id":`+n+`,"result":`+n+`}`)
			}
			c.end(t)
		})
	})
}

// What the server asks for stands before the answer, which waits for the reply.
func TestServersOwnRequests(t *testing.T) {
	tape := load(t, script(shake+`
< {"id":0,"method":"roots/list"}
> {"id":0,"result":{"roots":[]}}
> {"id":1,"method":"tools/call","params":{"name":"ask"}}
< {"id":7,"method":"elicitation/create","params":{}}
> {"id":7,"result":{"action":"accept"}}
< {"method":"notifications/tools/list_changed"}
< {"id":1,"result":"thanks"}
`), nil)
	synctest.Test(t, func(t *testing.T) {
		s := server(t, tape, Config{})
		c := begin(s)
		c.send(`{"id":"i","method":"initialize"}`)
		c.read(t)
		c.send(`{"method":"notifications/initialized"}`)
		same(t, "roots", c.read(t), `{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
		c.send(`{"id":0,"result":{"roots":[]}}`)
		c.send(`{"id":0,"method":"tools/call","params":{"name":"ask"}}`) // the same id, of the other direction
		same(t, "elicitation", c.read(t), `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`)
		time.Sleep(time.Hour) // a human thinks
		synctest.Wait()
		c.send(`{"id":7,"result":{"action":"decline"}}`)
		same(t, "notification", c.read(t), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		same(t, "answer", c.read(t), `{"jsonrpc":"2.0","id":0,"result":"thanks"}`)
		c.end(t)
		if r := s.Report(); r.OtherReplies != 1 || r.Missed != 0 || len(r.Unused) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTiming(t *testing.T) {
	tape := load(t, script(shake+`
> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}
< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
< {"id":1,"result":1}
`), nil)
	for speed, want := range map[float64]time.Duration{0: 0, 1: 2 * time.Millisecond, 2: time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			c := begin(server(t, tape, Config{Timing: speed}))
			start := time.Now()
			c.send(`{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}`)
			c.read(t)
			if d := time.Since(start); d != want/2 {
				t.Errorf("x%v: progress after %v", speed, d)
			}
			c.read(t)
			if d := time.Since(start); d != want {
				t.Errorf("x%v: answer after %v", speed, d)
			}
			c.end(t)
		})
	}
}

func TestCallsWithoutAnAnswer(t *testing.T) {
	call := `{"id":1,"method":"tools/call","params":{"name":"x"}}`
	ping := `{"id":2,"method":"tools/list"}`
	listed := `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
	for name, c := range map[string]struct {
		script string
		want   []string
		missed int
	}{
		"silence":          {"> " + call + "\n> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}`, []string{listed}, 0},
		"cancelled":        {"> " + call + "\n> " + `{"method":"notifications/cancelled","params":{"requestId":1}}` + "\n> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}`, []string{listed}, 0},
		"the server ended": {"> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}` + "\n> " + call + "\nexit", []string{}, 0},
		"torn":             {"> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}` + "\n> " + call + "\ntorn", []string{"the recording ends before its answer", listed}, 1},
		"gap":              {"> " + call + "\ngap\n> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}`, []string{"a gap lies", listed}, 1},
		"twice":            {"> " + call + "\n< " + `{"id":1,"result":1}` + "\n< " + `{"id":1,"result":2}` + "\n> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}`, []string{`{"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc":"2.0","id":1,"result":2}`, listed}, 0},
		"by an orphan":     {"> " + call + "\n< " + `{"id":"1","result":1}` + "\n> " + ping + "\n< " + `{"id":2,"result":{"tools":[]}}`, []string{`{"jsonrpc":"2.0","id":"1","result":1}`, listed}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, load(t, script(shake+c.script), nil), Config{})
			got := ask(t, s, call, ping)
			if len(got) != len(c.want) {
				t.Fatalf("%q", got)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("%s: want %s", got[i], c.want[i])
				}
			}
			if r := s.Report(); r.Missed != c.missed {
				t.Errorf("%d missed", r.Missed)
			}
		})
	}
}

func TestModes(t *testing.T) {
	tape := load(t, script(shake+`
> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1}}}
< {"id":1,"result":"a1"}
> {"id":2,"method":"tools/call","params":{"name":"a","arguments":{"n":2}}}
< {"id":2,"result":"a2"}
> {"id":3,"method":"tools/call","params":{"name":"b"}}
< {"id":3,"result":"b"}
`), nil)
	call := func(tool, n string) string {
		return `{"id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{` + n + `}}}`
	}
	for _, c := range []struct {
		mode Mode
		ask  []string
		want string
	}{
		{ByKey, []string{call("b", ""), call("a", `"n":2`), call("a", `"n":1`), call("a", `"n":1`)}, "b a2 a1 error"},
		{Sequential, []string{call("b", ""), call("a", `"n":7`), call("a", `"n":8`), call("b", `"n":9`), call("b", "")}, "error a1 a2 b error"},
		{Strict, []string{call("a", `"n":2`), call("a", `"n":1`), call("a", `"n":2`), call("b", "")}, "error a1 a2 b"},
	} {
		var got []string
		for _, l := range ask(t, server(t, tape, Config{Mode: c.mode}), c.ask...) {
			_, text := textOf(t, l)
			got = append(got, strings.Trim(text, `"`))
		}
		same(t, string(c.mode), strings.Join(got, " "), c.want)
	}
	// Of requests that were open at the same time any is the next one.
	got := ask(t, server(t, load(t, script(shake+parallel), nil), Config{Mode: Strict}),
		`{"id":3,"method":"tools/call","params":{"name":"p","arguments":{"n":3}}}`, `{"id":1,"method":"tools/call","params":{"name":"p","arguments":{"n":1}}}`)
	same(t, "strict, in parallel", got, []string{`{"jsonrpc":"2.0","id":3,"result":3}`, `{"jsonrpc":"2.0","id":1,"result":1}`})
}

// Batches are answered as recorded when they are asked as recorded, else one by one.
func TestBatches(t *testing.T) {
	tape := load(t, script(shake+`
> [{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"prompts/list"}]
< [ {"jsonrpc":"2.0","id":2,"result":2} ,{"jsonrpc":"2.0","id":1,"result":1}]
`), nil)
	got := ask(t, server(t, tape, Config{}), `[{"jsonrpc":"2.0","id":"x","method":"tools/list"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":"y","method":"prompts/list"}]`)
	same(t, "as a batch", got, []string{`[ {"jsonrpc":"2.0","id":"y","result":2} ,{"jsonrpc":"2.0","id":"x","result":1}]`})
	got = ask(t, server(t, tape, Config{}), `{"id":"y","method":"prompts/list"}`)
	same(t, "one of them", got, []string{`{"jsonrpc":"2.0","id":"y","result":2}`})
}

func TestProbesOfTheOtherEraAreNoMisses(t *testing.T) {
	s := server(t, load(t, script(shake), nil), Config{})
	got := ask(t, s, `{"id":"p","method":"server/discover","params":{}}`, `{"id":0,"method":"initialize"}`, `{"id":1,"method":"ping"}`)
	if len(got) != 3 || !strings.Contains(got[0], "-32601") || got[2] != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%q", got)
	}
	if r := s.Report(); r.Missed != 0 || r.Probes != 1 || r.Used != 1 {
		t.Errorf("%+v", r)
	}
}

// A second handshake begins the recording anew.
func TestReconnect(t *testing.T) {
	s := server(t, load(t, script(shake+`
> {"id":1,"method":"tools/call","params":{"name":"a"}}
< {"id":1,"result":1}
`), nil), Config{})
	call := `{"id":1,"method":"tools/call","params":{"name":"a"}}`
	got := ask(t, s, `{"id":0,"method":"initialize"}`, call, `{"id":2,"method":"initialize"}`, call)
	if len(got) != 4 || got[3] != `{"jsonrpc":"2.0","id":1,"result":1}` {
		t.Errorf("%q", got)
	}
	if r := s.Report(); r.Clients != 2 || r.Answered != 4 || r.Missed != 0 {
		t.Errorf("%+v", r)
	}
}

func TestWhichSessionIsPlayed(t *testing.T) {
	again := strings.Replace(shake, "case-host", "other-host", 1)
	call := func(n string) string {
		return `> {"id":1,"method":"tools/call","params":{"name":"` + n + `"}}` + "\n" + `< {"id":1,"result":"` + n + `"}` + "\n"
	}
	one := load(t, script(shake+again+call("b")), nil)
	if s := server(t, one, Config{}); s.Session().ID != "s2" {
		t.Errorf("the one with calls is %s", s.Session().ID)
	}
	two := load(t, script(shake+call("a")+again+call("b")), nil)
	_, err := New(two, Config{})
	if err == nil || !strings.Contains(err.Error(), "1: case-host, 1 calls") || !strings.Contains(err.Error(), "2: other-host, 1 calls") {
		t.Error(err)
	}
	if _, err := New(two, Config{Session: 3}); err == nil {
		t.Error("session 3 is played")
	}
	got := ask(t, server(t, two, Config{Session: 2}), `{"id":4,"method":"tools/call","params":{"name":"b"}}`, `{"id":5,"method":"tools/call","params":{"name":"a"}}`)
	if len(got) != 2 || got[0] != `{"jsonrpc":"2.0","id":4,"result":"b"}` || !strings.Contains(got[1], "recorded are b") {
		t.Errorf("%q", got)
	}
}

// Noise on stdout comes where it stood; lines that are no message get no answer.
func TestLinesThatAreNoMessage(t *testing.T) {
	s := server(t, load(t, script(shake+`
> {"id":1,"method":"tools/list"}
< Loading model ...
< {"id":1,"result":1}
`), nil), Config{})
	got := ask(t, s, "hello", "", `{"id":1,"method":"tools/list"}`)
	same(t, "lines", got, []string{"Loading model ...", `{"jsonrpc":"2.0","id":1,"result":1}`})
	var out bytes.Buffer
	if err := s.Stdio(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), &out); err != nil || out.Len() != 0 {
		t.Errorf("a line without an end was answered: %q, %v", out.String(), err)
	}
}

// Where the recording hides a credential, the live one is compared by its hash.
func TestHiddenCredentialsInArguments(t *testing.T) {
	k := mask.RandomKey()
	const secret = "hunter2-hunter2-token"
	r := script(shake + `
> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"auth":"Bearer ` + secret + `"}}}
< {"id":1,"result":"in"}
`)
	for _, rec := range r.Records {
		for _, s := range mask.New(k, secret).Mask(rec.Data, nil) {
			rec.Masked = append(rec.Masked, record.Mask{Off: s.Off, Len: s.Len, MAC: s.MAC})
		}
	}
	tape := load(t, r, nil)
	call := func(token string) string {
		return `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"auth":"Bearer ` + token + `"}}}`
	}
	for token, cfg := range map[string]Config{secret: {MAC: k.MAC}, "another-token": {}} {
		same(t, token, ask(t, server(t, tape, cfg), call(token)), []string{`{"jsonrpc":"2.0","id":1,"result":"in"}`})
	}
	got := ask(t, server(t, tape, Config{MAC: k.MAC}), call("another-token"))
	if len(got) != 1 || !strings.Contains(got[0], "no recording") || strings.Contains(got[0], secret) || strings.Contains(got[0], "another-token") {
		t.Errorf("%q", got)
	}
}
