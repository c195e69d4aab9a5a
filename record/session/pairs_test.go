package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// pairs lists the requests as "FROM ID=ANSWER", a batch's place behind a dot.
func pairs(s *session.Session) string {
	var out []string
	for _, ex := range s.Requests {
		seq := func(n int64, index int) string {
			if index >= 0 {
				return fmt.Sprintf("%d.%d", n, index)
			}
			return fmt.Sprint(n)
		}
		p := fmt.Sprintf("%c%s@%s=", ex.From[0], ex.ID.Raw, seq(ex.Seq, ex.Index))
		if ex.AnswerSeq != 0 {
			p += seq(ex.AnswerSeq, ex.AnswerIndex)
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

func TestPairing(t *testing.T) {
	ask := func(id string) string { return `> {"id":` + id + `,"method":"ping"}` + "\n" }
	reply := func(id string) string { return `< {"id":` + id + `,"result":{}}` + "\n" }
	long := strings.Repeat("9", 1500)
	for _, x := range []struct {
		name, script, pairs, flags string
	}{
		{"text is no number", ask("1") + reply(`"1"`), "c1@2=", "3:orphan"},
		{"a number spelt otherwise", ask("1") + reply("1.0") + ask("1e3") + reply("1000"), "c1@2=3 c1e3@4=5", "3:id-spelling 5:id-spelling"},
		{"-0 is 0", ask("-0") + reply("0"), "c-0@2=3", "3:id-spelling"},
		{"beyond float64", ask("9007199254740993") + reply("9007199254740992"), "c9007199254740993@2=", "3:orphan"},
		{"exact beyond float64", ask("9007199254740993") + reply("9007199254740993.0"), "c9007199254740993@2=3", "3:id-spelling"},
		{"huge exponents", ask("1e999999999999") + reply("10e999999999998") + reply("1e999999999998"), "c1e999999999999@2=3", "3:id-spelling 4:orphan"},
		{"numbers that nobody counts", ask(long) + reply(long) + reply(long+"0"), "c" + long[:1024] + "@2=3", "4:orphan"},
		{"text spelt otherwise", ask(`"a"`) + reply(`"\u0061"`), `c"a"@2=3`, "3:id-spelling"},
		{"halves of pairs are three texts", ask(`"\ud800"`) + reply(`"\ud801"`) + reply(`"\ufffd"`) + reply(`"\uD800"`), `c"\ud800"@2=5`, "3:orphan 4:orphan 5:id-spelling"},
		{"empty text", ask(`""`) + reply(`""`), `c""@2=3`, ""},
		{"null never pairs", ask("null") + reply("null"), "cnull@2=", "2:null-id 3:null-id"},
		{"other values never pair", ask("{}") + reply("{}") + ask("[1]") + reply("true"), "c{}@2= c[1]@4=", "2:bad-id 3:bad-id 4:bad-id 5:bad-id"},
		{"a second answer", ask("1") + reply("1") + reply("1"), "c1@2=3", "4:duplicate"},
		{"an id used again after its answer", ask("1") + reply("1") + ask("1") + reply("1"), "c1@2=3 c1@4=5", ""},
		{"an id in flight twice: the oldest first", ask("1") + ask("1") + reply("1") + reply("1"), "c1@2=4 c1@3=5", "3:id-reuse"},
		{"an id in flight twice, one cancelled", ask("1") + `> {"method":"notifications/cancelled","params":{"requestId":1}}` + "\n" + ask("1") + reply("1"), "c1@2= c1@4=5", "4:id-reuse"},
		{"both sides ask with one id", ask("0") + `< {"id":0,"method":"roots/list"}` + "\n" + `> {"id":0,"result":{}}` + "\n" + reply("0"), "c0@2=5 s0@3=4", ""},
		{"a reply to itself", ask("1") + `> {"id":1,"result":{}}` + "\n", "c1@2=", "3:orphan"},
		{"an error without id", ask("1") + `< {"error":{"code":-32700,"message":"parse"}}` + "\n", "c1@2=", "3:no-id"},
		{"the last of two ids holds", `> {"id":1,"id":2,"method":"ping"}` + "\n" + reply("1") + reply("2"), "c2@2=4", "2:duplicate-member 3:orphan"},
		{"ID is not id", `> {"ID":1,"method":"ping"}` + "\n" + reply("1"), "", "3:orphan"},
		{"result and error", ask("1") + `< {"id":1,"result":{},"error":{"code":1,"message":""}}` + "\n", "c1@2=3", "3:result-and-error"},
		{"without jsonrpc", `>> {"id":1,"method":"ping"}` + "\n" + `<< {"id":1,"result":{}}` + "\n", "c1@2=3", "2:no-jsonrpc 3:no-jsonrpc"},
		{"a batch, answered one by one and in reverse", `>> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},7]` + "\n" + reply("2") + `<< [{"jsonrpc":"2.0","id":1,"result":{}}]` + "\n",
			"c1@2.0=4.0 c2@2.1=3", "2:nonmessage 2:batch 4:batch"},
		{"a batch of nothing", ">> []\n>> [1,2]\n", "", "2:nonmessage 3:nonmessage 3:nonmessage 3:nonmessage"},
		{"a batch that is cut", `>> [{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", "", "2:nonmessage"},
		{"a mark in front of both sides' first lines", ">> \xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n<< \xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n<< \xef\xbb\xbf{}\n", "c1@2=3", "2:bom 3:bom 4:nonmessage"},
		{"white space in front", `>>   ` + "\t" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" + reply("1"), "c1@2=3", ""},
		{"text in front", `<< DEBUG {"jsonrpc":"2.0","id":1,"result":{}}` + "\n", "", "2:nonmessage"},
		{"headers in front", "<< Content-Length: 10\n<< \n<< " + `{"jsonrpc":"2.0","method":"x"}content-length: 9` + "\n", "", "2:header-framing 2:nonmessage 4:header-framing 4:nonmessage"},
		{"answered before the last part", `>+ {"jsonrpc":"2.0","id":1,` + "\n" + `>+ "method":"ping"}` + "\n" + reply("1") + ">> \n" + ask("2") + reply("2"), "c1@2=4 c2@6=7", "4:early"},
		{"the request's parts and the reply's mixed", `>+ {"jsonrpc":"2.0","id":1,` + "\n" + ">> \"method\":\"ping\"}\n<+ {\"jsonrpc\":\"2.0\",\n" + ask("2") + "<< \"id\":1,\"result\":{}}\n" + reply("2"), "c1@2=4 c2@5=7", ""},
		{"a part without its beginning", "gap client\n", "", ""},
		{"a line that never ends", `>+ {"jsonrpc":"2.0","id":1,` + "\n", "", "2:unfinished"},
		{"a gap inside a line", `>+ {"jsonrpc":"2.0","id":1,` + "\ngap client\n" + ask("2") + reply("2"), "c2@4=5", "2:unfinished"},
		{"method is no text", `> {"id":1,"method":5}` + "\n", "", "2:nonmessage"},
		{"an object that is no message", "<< {\"jsonrpc\":\"2.0\"}\n", "", "2:nonmessage"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := one(t, "start\n"+x.script+goodbye)
			if got := pairs(s); got != x.pairs {
				t.Errorf("pairs %s\nwant  %s", got, x.pairs)
			}
			if got := flags(s.Remarks); got != x.flags {
				t.Errorf("flags %s\nwant  %s", got, x.flags)
			}
		})
	}
}

func TestIDReuseInTheInitializeEra(t *testing.T) {
	s := one(t, opened+tool("1")+answer("1")+tool("1")+answer("1")+goodbye)
	if got := flags(s.Remarks); got != "7:id-reuse" {
		t.Error(got)
	}
	if len(s.Calls) != 2 || s.Calls[1].State != session.CallResult {
		t.Errorf("%+v", s.Calls)
	}
}

func TestAnswerBeforeTheNewline(t *testing.T) {
	// One record whose first byte was read before the answer.
	r := script(t, "start\n< {\"id\":1,\"result\":{}}\n> {\"id\":1,\"method\":\"ping\"}"+goodbye)
	r.Records[2].Since = &record.Since{After: 1, At: 0}
	s := only(t, decode(t, r))
	if got := pairs(s) + " " + flags(s.Remarks); got != "c1@3=2 2:early" || len(s.Orphans) != 0 {
		t.Errorf("%s, orphans %v", got, s.Orphans)
	}
	// Without that the answer was there first, and belongs to nothing.
	r.Records[2].Since = nil
	if s = only(t, decode(t, r)); len(s.Orphans) != 1 {
		t.Error(pairs(s))
	}
}

func TestHeadlessLinesAreNoMessages(t *testing.T) {
	r := script(t, "start\n> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}"+goodbye)
	r.Records[1].Headless = true
	r.Records[2].Cont = true // and its first part is not there
	s := only(t, decode(t, r))
	if len(s.Requests)+len(s.Orphans) != 0 || s.Nonmessage[record.Client] != 1 || s.Nonmessage[record.Server] != 1 {
		t.Errorf("%+v", s)
	}
}

func TestUnterminatedTail(t *testing.T) {
	r := script(t, "start\n> {\"id\":1,\"method\":\"ping\"}"+goodbye)
	r.Records[1].EOL = nil
	s := only(t, decode(t, r))
	if pairs(s) != "c1@2=" || flags(s.Remarks) != "2:unterminated" || s.Messages[record.Client] != 1 {
		t.Errorf("%s %s", pairs(s), flags(s.Remarks))
	}
}

func TestBytesThatAreNoUTF8(t *testing.T) {
	r := script(t, "start\n>> {\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n<< {\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}"+goodbye)
	for _, rec := range r.Records[1:3] {
		rec.Form = record.FormRaw
	}
	s := only(t, decode(t, r))
	if flags(s.Remarks) != "2:invalid-utf8 3:invalid-utf8" || s.Requests[0].AnswerSeq != 3 {
		t.Errorf("%s %s", pairs(s), flags(s.Remarks))
	}
}

func TestTooLongLinesArePeekedAt(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	r := script(t, opened+tool("1")+`< {"id":1,"result":{"content":[{"type":"text","text":"`+big+`"}]}}`+"\n"+tool("2")+answer("2")+goodbye)
	for _, cut := range []*fixtures.Recording{r, inParts(r, 4000)} {
		res, err := session.Decode(&cut.Header, cut.Next(), cut, session.Options{MaxLine: 80 << 10, End: cut.End})
		if err != nil {
			t.Fatal(err)
		}
		s := only(t, res)
		// Its answer is on record and was not read: nobody may say that there is none.
		if s.Calls[0].State != session.CallPending || s.Calls[1].State != session.CallResult {
			t.Errorf("%s %s", s.Calls[0].State, s.Calls[1].State)
		}
		if s.RemarkCounts[session.FlagTooLong] != 1 || !strings.HasSuffix(s.Remarks[0].Detail, "id 1, the answer to 5") || s.Capture.ToolCalls != session.Partial {
			t.Errorf("%v %v", s.RemarkCounts, s.Capture)
		}
	}
}

func TestRemarksAreBounded(t *testing.T) {
	s := one(t, "start\n"+strings.Repeat("<< log line\n", 3000)+goodbye)
	if len(s.Remarks) != 1000 || s.RemarkCounts[session.FlagNonmessage] != 3000 || s.Nonmessage[record.Server] != 3000 {
		t.Errorf("%d remarks, %v", len(s.Remarks), s.RemarkCounts)
	}
}

func TestHints(t *testing.T) {
	s := one(t, opened+tool("9007199254740993")+answer("9007199254740992")+`< {"id":null,"error":{"code":-32700,"message":""}}`+"\n"+answer("5000000000")+goodbye)
	var got []string
	for _, o := range s.Orphans {
		got = append(got, o.Hint)
	}
	want := []string{"id-rewritten? request 5 has id 9007199254740993: equal as float64", "request 5 was the only one open", ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s.Calls[0].AnswerSeq != 0 {
		t.Error("a hint has paired something")
	}
}

func TestValues(t *testing.T) {
	big := strings.Repeat("x", 5000)
	text := opened + `> {"id":1,"method":"tools/call","params":{"name":"t","arguments":{"s":"` + big + `"}}}` + "\n" +
		`< {"id":1,"result":{"content":[{"type":"text","text":"` + big + `"}]}}` + goodbye
	r := script(t, text)
	whole := only(t, decode(t, r)).Calls[0]
	for name, x := range map[string]*fixtures.Recording{"one record": r, "parts": inParts(r, 700)} {
		c := only(t, decode(t, x)).Calls[0]
		args, err := c.Arguments.Bytes()
		if err != nil || string(args) != `{"s":"`+big+`"}` || c.Arguments.Len() != int64(len(args)) || c.Arguments.Depth() != 1 {
			t.Errorf("%s: %d bytes of arguments, %v", name, len(args), err)
		}
		result, err := c.Result.Bytes()
		if err != nil || string(result) != `{"content":[{"type":"text","text":"`+big+`"}]}` {
			t.Errorf("%s: %d bytes of result, %v", name, len(result), err)
		}
	}
	// Another recording under the same name must not give other bytes.
	r.Records[4].Data = []byte("short")
	if b, err := whole.Arguments.Bytes(); err == nil {
		t.Errorf("%d bytes", len(b))
	}
	if !(session.Value{}).IsZero() {
		t.Error("the zero value is one")
	}
	if _, err := (session.Value{}).Bytes(); err == nil {
		t.Error("no value has bytes")
	}
}
