package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// FuzzPeek holds the peek against jsontext: of whatever jsontext reads as an
// object, the peek must find the same members at both levels, the last of
// duplicates. What it accepts, others accept. Of a line that is cut, it must not
// say what the whole line does not.
func FuzzPeek(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,{}]},"_meta":{"progressToken":1}}}`,
		`{"id":1,"id":2.0,"result":{"isError":true,"isError":1},"error":null}`,
		`{"ID":1,"i\u0064":"\ud800","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":1e999,"result":[]} x`,
		`{"jsonrpc":"2.0","id":1234567,"method":"ping"}`,
		`{"params":{"name":"a"},"params":[],"result":{"content":[]},"result":{}}`,
		`{"params":[{"name":1}],"params":{"name":"b","name":"c"},"method":7}`,
		`{"params":{"name":`, `{}`, `[{}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		span, err := m.peek(b, 0)
		classified(t, &m)
		again(t, &m, b)
		if err == nil && !json.Valid(b[span.Start:span.End]) && span.Depth <= 10000 {
			t.Fatalf("an object to the peek alone: %q", b[span.Start:span.End])
		}
		whole, ok := parse(b)
		if !ok {
			return
		}
		if err != nil || span.End != whole.end || span.Depth != whole.depth {
			t.Fatalf("jsontext reads an object of %d bytes, %d deep, the peek %+v: %v", whole.end, whole.depth, span, err)
		}
		sameMembers(t, "the message", &m.object, whole.members)
		sameMembers(t, "params", &m.params, whole.inner["params"])
		sameMembers(t, "result", &m.result, whole.inner["result"])
		if m.has(fID) {
			sameID(t, m.id, m.token(fID))
		}

		// Cut anywhere, it is an error, and what was found is in the whole line.
		for n := 0; n < whole.end; n += 1 + whole.end/128 {
			var c message
			if _, err := c.peek(b[:n], 0); err == nil {
				t.Fatalf("cut at %d of %d: no error", n, whole.end)
			}
			for f := fNone + 1; f < fieldCount; f++ {
				if v := c.token(f); v != nil && !slices.Contains(whole.all[f], string(v)) {
					t.Fatalf("cut at %d: %q, the line has %q", n, v, whole.all[f])
				}
				if v := c.params.token(f); v != nil && !slices.Contains(whole.deep[f], string(v)) {
					t.Fatalf("cut at %d: %q in params, the line has %q", n, v, whole.deep[f])
				}
			}
			if c.method != "" && !slices.ContainsFunc(whole.all[fMethod], func(v string) bool { return unquoted(v) == c.method }) {
				t.Fatalf("cut at %d: method %q", n, c.method)
			}
		}
	})
}

// parsed is what jsontext finds in an object.
type parsed struct {
	end, depth int
	members    map[string][]string            // raw values in order, by name
	inner      map[string]map[string][]string // of the last params and result, if objects
	all, deep  [fieldCount][]string           // of each field all values: of the object, and of params in it
}

func parse(b []byte) (p parsed, ok bool) {
	opts := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	dec := jsontext.NewDecoder(bytes.NewReader(b), opts...)
	if p.members, ok = membersOf(dec); !ok {
		return p, false
	}
	p.end = int(dec.InputOffset())
	p.inner = map[string]map[string][]string{}
	for name, values := range p.members {
		for _, v := range values {
			p.all[fieldOf([]byte(name))] = append(p.all[fieldOf([]byte(name))], v)
			if (name == "params" || name == "result") && v[0] == '{' {
				in, _ := membersOf(jsontext.NewDecoder(bytes.NewReader([]byte(v)), opts...))
				p.inner[name] = in
				for n, vs := range in {
					if name == "params" {
						p.deep[fieldOf([]byte(n))] = append(p.deep[fieldOf([]byte(n))], vs...)
					}
				}
			} else {
				delete(p.inner, name)
			}
		}
	}
	depth := jsontext.NewDecoder(bytes.NewReader(b), opts...)
	for {
		if _, err := depth.ReadToken(); err != nil {
			return p, false
		}
		p.depth = max(p.depth, depth.StackDepth())
		if depth.StackDepth() == 0 {
			return p, true
		}
	}
}

func membersOf(dec *jsontext.Decoder) (map[string][]string, bool) {
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, false
	}
	out := map[string][]string{}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		name := tok.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		out[name] = append(out[name], string(bytes.TrimSpace(v)))
	}
	_, err := dec.ReadToken()
	return out, err == nil
}

// sameMembers compares the members that are looked at.
func sameMembers(t *testing.T, what string, o *object, theirs map[string][]string) {
	t.Helper()
	var want [fieldCount][]string
	dup := false
	for name, values := range theirs {
		if f := fieldOf([]byte(name)); f != fNone {
			want[f] = values
			dup = dup || len(values) > 1
		}
	}
	for f := fNone + 1; f < fieldCount; f++ {
		last := ""
		if n := len(want[f]); n > 0 {
			last = want[f][n-1]
		}
		if got := o.token(f); o.has(f) != (want[f] != nil) || string(got) != last {
			t.Fatalf("%s: field %d is %q, jsontext says %q", what, f, got, last)
		}
	}
	if o.dup != dup {
		t.Fatalf("%s: dup is %v", what, o.dup)
	}
}

// sameID reads the id as jsontext does.
func sameID(t *testing.T, id ID, token []byte) {
	t.Helper()
	want := map[byte]IDKind{'n': IDNull, '"': IDString, 't': IDOther, 'f': IDOther, '{': IDOther, '[': IDOther}
	kind, ok := want[token[0]]
	if !ok {
		kind = IDNumber
	}
	if id.Kind != kind || id.Pairs() != (kind == IDString || kind == IDNumber) {
		t.Fatalf("%s is %+v", token, id)
	}
	switch {
	case !id.Pairs() || len(id.Value) > maxID || len(token) > maxID:
	case kind == IDString:
		if text, err := jsontext.AppendUnquote(nil, token); err == nil && string(text) != id.Value {
			t.Fatalf("%s is %q, jsontext says %q", token, id.Value, text)
		}
	default:
		if again := parseID([]byte(id.Value)); again.key() != id.key() {
			t.Fatalf("%s is %q, which is %q", token, id.Value, again.Value)
		}
	}
	if again := parseID([]byte(id.Raw)); len(token) <= maxID && again.key() != id.key() {
		t.Fatalf("%+v, again %+v", id, again)
	}
}

// classified holds a message's kind against its members.
func classified(t *testing.T, m *message) {
	t.Helper()
	_, isText := m.text(fMethod)
	ok := m.why != ""
	switch m.kind {
	case kRequest:
		ok = isText && m.has(fID) && (m.valid || m.id.Pairs()) && m.why == ""
	case kNotification:
		ok = isText && !m.has(fID) && m.valid && m.why == ""
	case kReply:
		ok = !m.has(fMethod) && (m.has(fID) || m.valid && (m.has(fResult) || m.has(fError))) && m.why == ""
	}
	if version, _ := m.text(fJSONRPC); !ok || m.valid != (version == "2.0") || m.has(fID) != (m.id.Kind != IDAbsent) {
		t.Fatalf("kind %d, %q, id %+v: %q", m.kind, m.why, m.id, m.data)
	}
}

// again peeks with a message that has been used, and at another place.
func again(t *testing.T, m *message, b []byte) {
	t.Helper()
	var used message
	_, _ = used.peek([]byte(`{"jsonrpc":"2.0","id":"x","id":1,"method":"m","params":{"name":1,"name":2},"result":{"isError":1},"error":{}}`), 0)
	_, _ = used.peek(b, 0)
	// What stands at the place of a member that is absent means nothing.
	for f := field(0); f < fieldCount; f++ {
		for _, o := range []*object{&used.object, &used.params, &used.result, &m.object, &m.params, &m.result} {
			if !o.has(f) {
				o.places[f] = place{}
			}
		}
	}
	if !reflect.DeepEqual(*m, used) {
		t.Fatalf("a fresh message %+v, a used one %+v", m, used)
	}
	_, _ = used.peek(append([]byte("[1,"), b...), 3)
	for f := fNone + 1; f < fieldCount; f++ {
		if !bytes.Equal(m.token(f), used.token(f)) || !bytes.Equal(m.params.token(f), used.params.token(f)) || !bytes.Equal(m.result.token(f), used.result.token(f)) {
			t.Fatalf("inside an array %+v, alone %+v", used, m)
		}
	}
	if used.kind != m.kind || used.id != m.id || used.method != m.method {
		t.Fatalf("inside an array %+v, alone %+v", used, m)
	}
}

func unquoted(v string) string {
	s, _ := jsonscan.String([]byte(v))
	return s
}

// fuzzLines are what a fuzzed recording's lines are mostly made of.
var fuzzLines = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"a"}}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
	`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"t"}],"nextCursor":"a"}}`,
	`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"u"}]}}`,
	`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"claudecode/toolUseId":"x","progressToken":4}}}`,
	`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","arguments":{},"inputResponses":{"k":{}},"requestState":"s"}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`,
	`{"jsonrpc":"2.0","id":4,"result":{"task":{"taskId":"T","status":"working"}}}`,
	`{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"T"}}`,
	`{"jsonrpc":"2.0","id":6,"result":{"taskId":"T","status":"failed","error":{"code":1}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"T"}}`,
	`{"jsonrpc":"2.0","id":7,"result":{"content":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"timed out"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4}}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
	`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"T","status":"input_required"}}`,
	`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`,
	`{"jsonrpc":"2.0","id":4,"error":{"code":-32042,"message":"x"}}`,
	`[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":4,"result":{}}]`,
	`{"jsonrpc":"2.0","id":4,"result":{}}{"jsonrpc":"2.0","id":5,"result":{}}`,
	`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	`{"jsonrpc":"2.0","id":10,"result":{"resultType":"weird"}}`,
	`{"jsonrpc":"2.0","id":9,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`,
	`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"arguments":{"a":1.0},"name":"t"}}`,
	`{"jsonrpc":"2.0","id":11,"error":{"code":-32042,"message":"open it"}}`,
	`{"jsonrpc":"2.0","id":11,"result":{"resultType":"input_required","inputRequests":{"k":{}}}}`,
	`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"t","arguments":{"a":1},"inputResponses":{"k":{}}}}`,
	`{"jsonrpc":"2.0","id":12,"result":{"content":[]}}`,
}

// fuzzRecords makes records of bytes: an opcode, then what it needs.
func fuzzRecords(b []byte) *fixtures.Recording {
	r := &fixtures.Recording{State: record.Sealed, Header: record.Header{FirstSeq: 1}}
	next := func() byte {
		if len(b) == 0 {
			return 0
		}
		c := b[0]
		b = b[1:]
		return c
	}
	from := []record.From{record.Client, record.Server, record.Stderr}
	off := map[record.From]int64{}
	for len(b) > 0 && len(r.Records) < 300 {
		rec := record.Record{At: int64(len(r.Records)) * 1e6}
		switch op := next(); op % 16 {
		case 0:
			rec.Kind, rec.Start = record.KindStart, &record.Start{PID: int(next() % 3)}
		case 1:
			rec.Kind = record.KindClose
			rec.Close = &record.Close{Who: []string{"client", "server", "proxy", "?"}[next()%4], What: []string{"stdin", "stdout", "stderr", "signal"}[next()%4], Signal: "TERM", To: "child"}
		case 2:
			code := int(next())
			rec.Kind, rec.Exit = record.KindExit, &record.Exit{Code: &code}
			if code%2 == 0 {
				rec.Exit = &record.Exit{Signal: "TERM"}
			}
		case 3:
			rec.Kind = record.KindGap
			rec.Gap = &record.Gap{FirstSeq: int64(len(r.Records)), LastSeq: int64(next()), Streams: map[record.From]record.GapStream{from[next()%3]: {}}}
		case 4:
			f := from[next()%3]
			rec.Kind, rec.From, rec.Off, rec.Lost = record.KindUndelivered, f, max(0, off[f]-int64(next())), &record.Undelivered{Bytes: int64(next())}
		case 5:
			rec.Kind, rec.Error = record.KindError, &record.Error{}
		case 6:
			rec.Kind = record.Kind([]string{"stall", "clock", "later", "check", "closing", "start", "close", "exit", "gap", "undelivered", "error"}[next()%11]) // without its members
		default:
			f := from[next()%3]
			rec.Kind, rec.From, rec.Off = record.KindFrame, f, off[f]
			switch {
			case op%16 < 13:
				rec.Data = []byte(fuzzLines[int(next())%len(fuzzLines)])
			default:
				n := min(int(next()), len(b))
				rec.Data = bytes.Clone(b[:n])
				b = b[n:]
			}
			how := next()
			if how&1 == 0 {
				rec.EOL = []byte("\n")
			}
			rec.More, rec.Cont, rec.Headless = how&6 == 6, how&24 == 24, how&96 == 96
			rec.Form = record.Form(how%3 + 1)
			if how&128 != 0 {
				rec.Since = &record.Since{After: rec.Off % 40}
				rec.Masked = []record.Mask{{Off: int64(how), Len: 3, MAC: "m"}}
			}
			off[f] += int64(len(rec.Data) + len(rec.EOL))
		}
		r.Add(rec)
	}
	r.State = []record.State{record.Sealed, record.Torn, record.Live}[next()%3]
	return r
}

// FuzzDecode decodes recordings that no recorder would write.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 1, 7, 0, 0, 0, 7, 1, 1, 0, 7, 0, 6, 0, 7, 1, 9, 0, 1, 0, 0, 2, 1})
	f.Add([]byte{7, 0, 6, 6, 7, 0, 6, 24, 3, 9, 1, 7, 1, 8, 0, 7, 0, 7, 0, 4, 0, 9, 0})
	// The same call again: after -32042, and with what an input round asked for.
	f.Add([]byte{7, 0, 27, 0, 7, 1, 29, 0, 7, 0, 28, 0, 7, 1, 32, 0})
	f.Add([]byte{7, 0, 27, 0, 7, 1, 30, 0, 7, 0, 31, 0, 7, 1, 32, 0})
	// A request in two parts, with something between them: its answer, or nothing.
	parts := func(line string, between ...byte) []byte {
		b := append(append([]byte{13, 0, 40}, line[:40]...), 7)
		b = append(append(b, between...), 13, 0, byte(len(line)-40))
		return append(append(b, line[40:]...), 24)
	}
	f.Add(parts(fuzzLines[27], 7, 1, 30, 0))
	f.Add(slices.Concat([]byte{7, 0, 0, 0, 7, 1, 1, 0}, parts(fuzzLines[0]), []byte{7, 0, 3, 0})) // another handshake
	all := []byte{}
	for i := range fuzzLines {
		all = append(all, 7, byte(i%2), byte(i), 0)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := fuzzRecords(b)
		decode := func(src Source) *Result {
			res, err := Decode(&r.Header, r.Next(), src, Options{MaxLine: fuzzMaxLine, End: r.End})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		res := decode(r)
		for _, s := range res.Sessions {
			check(t, s)
		}
		consistent(t, r, res)
		whole := dump(res)
		if again := dump(decode(r)); again != whole {
			t.Fatalf("the same recording, decoded twice, gives two results:\n%s\n%s", whole, again)
		}
		if held := dump(decode(nil)); held != whole {
			t.Fatalf("values that are held:\n%s\nvalues that are fetched:\n%s", held, whole)
		}
		if fed := dump(feed(r)); fed != whole {
			t.Fatalf("record by record:\n%s\nin one go:\n%s", fed, whole)
		}
		began(t, r, res)
		inPieces(t, r, res)
		// A decoder that is fed nothing, or nothing sensible, must end as well.
		if _, err := Decode(nil, func() (*record.Record, error) { return nil, io.EOF }, nil, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

// fuzzMaxLine is small, so that lines are too long now and then.
const fuzzMaxLine = 2000

// feed adds the records one by one, each of which its owner uses for something
// else right after: nothing of it may be kept.
func feed(r *fixtures.Recording) *Result {
	d := NewDecoder(&r.Header, r, Options{MaxLine: fuzzMaxLine})
	for _, rec := range r.Records {
		own := *rec
		own.Data, own.EOL, own.Masked = bytes.Clone(rec.Data), bytes.Clone(rec.EOL), slices.Clone(rec.Masked)
		if rec.Since != nil {
			since := *rec.Since
			own.Since = &since
		}
		d.Add(&own)
		for i := range own.Data {
			own.Data[i] = '#'
		}
		for i := range own.EOL {
			own.EOL[i] = '#'
		}
		if own.Since != nil {
			*own.Since = record.Since{After: 1 << 40}
		}
		own = record.Record{Kind: "used", Seq: -1}
	}
	return d.Finish(r.End())
}

// began decodes the beginning alone, as of a live recording: requests, calls and
// answers that are known then are those of the whole, which has more.
func began(t *testing.T, r *fixtures.Recording, whole *Result) {
	t.Helper()
	d := NewDecoder(&r.Header, r, Options{MaxLine: fuzzMaxLine})
	for _, rec := range r.Records[:len(r.Records)*2/3] {
		d.Add(rec)
	}
	res := d.Finish(record.Live, false)
	if len(res.Sessions) > len(whole.Sessions) || res.Records > whole.Records {
		t.Fatalf("%d sessions of %d records, in all %d of %d", len(res.Sessions), res.Records, len(whole.Sessions), whole.Records)
	}
	for i, s := range res.Sessions {
		w := whole.Sessions[i]
		// Not LastSeq: a line that is open here may turn out to begin the next session.
		if s.FirstSeq != w.FirstSeq || len(s.Requests) > len(w.Requests) || len(s.Calls) > len(w.Calls) {
			t.Fatalf("session %s: %d to %d, in the end %d to %d", s.ID, s.FirstSeq, s.LastSeq, w.FirstSeq, w.LastSeq)
		}
		for k, ex := range s.Requests {
			x := w.Requests[k]
			if x.From != ex.From || x.Seq != ex.Seq || x.Index != ex.Index || x.ID != ex.ID || x.Method != ex.Method ||
				ex.AnswerSeq != 0 && (x.AnswerSeq != ex.AnswerSeq || x.State != ex.State) || ex.CancelledSeq != 0 && x.CancelledSeq != ex.CancelledSeq {
				t.Fatalf("request %+v, in the end %+v", ex, x)
			}
		}
		for k, c := range s.Calls {
			if x := w.Calls[k]; x.Seq != c.Seq || x.Index != c.Index || x.Tool != c.Tool || len(x.Attempts) < len(c.Attempts) {
				t.Fatalf("call %+v, in the end %+v", c, x)
			}
		}
		for from, n := range s.Messages {
			if n > w.Messages[from] || s.Blank[from] > w.Blank[from] {
				t.Fatalf("%d messages of %s, in the end %d", n, from, w.Messages[from])
			}
		}
	}
}

// inPieces decodes the recording with its lines in parts, as a recorder keeps
// long ones: that changes where things stand, and nothing else.
func inPieces(t *testing.T, r *fixtures.Recording, whole *Result) {
	t.Helper()
	parts := &fixtures.Recording{Header: r.Header, State: r.State}
	at := map[int64]int64{} // the last seq of what was one record
	for _, rec := range r.Records {
		if rec.Kind == record.KindGap || rec.Since != nil {
			return // they name seqs
		}
		p := *rec
		if n := len(rec.Data); rec.Kind == record.KindFrame && rec.From != record.Stderr && !rec.More && !rec.Cont && !rec.Headless && n > 1 && rec.Masked == nil {
			cut := 1 + int(rec.Seq*7)%(n-1)
			p.Data, p.EOL, p.More, p.Len = rec.Data[:cut], nil, true, 0
			parts.Add(p)
			p = *rec
			p.Data, p.Off, p.Cont = rec.Data[cut:], rec.Off+int64(cut), true
		}
		at[rec.Seq] = parts.Add(p).Seq
	}
	res, err := Decode(&parts.Header, parts.Next(), parts, Options{MaxLine: fuzzMaxLine, End: parts.End})
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, parts, res)
	if a, b := outline(whole), outline(res); a != b {
		t.Fatalf("in parts:\n%s\nwhole:\n%s", b, a)
	}
	for i, s := range res.Sessions {
		if w := whole.Sessions[i]; at[w.LastSeq] != s.LastSeq {
			t.Fatalf("session %s ends at %d in parts, %d whole, which is %d", s.ID, s.LastSeq, w.LastSeq, at[w.LastSeq])
		}
	}
}

// outline is what does not tell where things stand.
func outline(res *Result) string {
	var b strings.Builder
	for _, s := range res.Sessions {
		fmt.Fprintln(&b, s.ID, s.Era, s.ProtocolVersion, s.Client, s.Server, s.Lines, s.Blank, s.Nonmessage, s.Messages, s.RemarkCounts, s.Torn,
			s.Capture.ToolCalls, s.Capture.ToolResults, s.Capture.ToolInventory, s.Capture.ToolDeclarations, s.Connection.BeganMidway, s.Connection.ReachedSeq != 0, s.End.First)
		for _, ex := range s.Requests {
			fmt.Fprintln(&b, ex.From, ex.Index, ex.At, ex.ID, ex.Method, ex.State, ex.AnswerIndex, ex.AnswerAt, ex.AnswerID, ex.Late, ex.CancelledAt,
				ex.CancelReason, ex.Undelivered, ex.Error, ex.Progress, len(ex.Remarks), text(ex.Params), text(ex.Result))
		}
		for _, c := range s.Calls {
			fmt.Fprintln(&b, c.Index, c.Tool, c.State, c.AnswerAt, c.Late, c.WaitedNs, c.Error, c.ErrorText, c.AnsweredLater, c.ToolUseID, len(c.Attempts),
				c.Stale, len(c.Remarks), text(c.Arguments), text(c.Result))
		}
		for _, o := range s.Orphans {
			fmt.Fprintln(&b, o.From, o.Index, o.ID, o.Duplicate)
		}
	}
	return b.String()
}

func text(v Value) string {
	b, _ := v.Bytes()
	return string(b)
}

// consistent holds the result against the records that it names.
func consistent(t *testing.T, r *fixtures.Recording, res *Result) {
	t.Helper()
	if int(res.Records) != len(r.Records) {
		t.Fatalf("%d records, there are %d", res.Records, len(r.Records))
	}
	line := func(seq int64, from record.From) *record.Record {
		if seq < 1 || seq > int64(len(r.Records)) {
			t.Fatalf("there is no record %d", seq)
		}
		rec := r.Records[seq-1]
		if rec.Kind != record.KindFrame || rec.From != from {
			t.Fatalf("record %d is a %s of %q, not a line of %s", seq, rec.Kind, rec.From, from)
		}
		return rec
	}
	type place struct {
		seq   int64
		index int
	}
	lines, answers := map[record.From]int{}, map[place]bool{}
	for _, s := range res.Sessions {
		for from, n := range s.Lines {
			if lines[from] += n; s.Blank[from]+s.Nonmessage[from] > n || n < 0 {
				t.Fatalf("%s: %d lines, %d blank, %d no message", from, n, s.Blank[from], s.Nonmessage[from])
			}
		}
		requests := map[record.From]int{}
		calls := map[*Exchange]bool{}
		for _, ex := range s.Requests {
			rec := line(ex.Seq, ex.From)
			if !rec.More && len(ex.ID.Raw) < maxID && !bytes.Contains(rec.Data, []byte(ex.ID.Raw)) {
				t.Fatalf("id %s is not in %q", ex.ID.Raw, rec.Data)
			}
			if ex.Seq < s.FirstSeq || ex.AnswerSeq > s.LastSeq {
				t.Fatalf("%+v outside the session's %d to %d", ex, s.FirstSeq, s.LastSeq)
			}
			requests[ex.From]++
			if ex.Method == methodCall && ex.From == record.Client {
				calls[ex] = true
			}
			if ex.AnswerSeq == 0 {
				continue
			}
			rec = line(ex.AnswerSeq, other(ex.From))
			early := slices.ContainsFunc(ex.Remarks, func(m Remark) bool { return m.Flag == FlagEarly })
			if !rec.More && ex.AnswerSeq < ex.Seq && !early || ex.AnswerID.key() != ex.ID.key() || !ex.ID.Pairs() || ex.AnswerAt != 0 && !early && ex.AnswerAt < ex.At {
				t.Fatalf("answer of %+v", ex)
			}
			if at := (place{ex.AnswerSeq, ex.AnswerIndex}); answers[at] {
				t.Fatalf("two requests were answered by %+v", at)
			} else {
				answers[at] = true
			}
		}
		for from, n := range requests {
			if n > s.Messages[from] {
				t.Fatalf("%d requests in %d messages of %s", n, s.Messages[from], from)
			}
		}
		for _, o := range s.Orphans {
			if line(o.Seq, o.From); answers[place{o.Seq, o.Index}] {
				t.Fatalf("%+v is an answer too", o)
			}
		}
		for _, c := range s.Calls {
			for _, ex := range c.Attempts {
				if ex.Method != methodCall || ex.From != record.Client || ex.ID.Kind != IDAbsent && !calls[ex] {
					t.Fatalf("attempt %+v of a call, or of two", ex)
				}
				delete(calls, ex)
			}
		}
		for ex := range calls {
			t.Fatalf("%+v is no call's attempt", ex)
		}
		counts := map[string]int{}
		for _, m := range s.Remarks {
			counts[m.Flag]++
		}
		for flag, n := range s.RemarkCounts {
			if counts[flag] != min(n, maxRemarks) {
				t.Fatalf("%d remarks %s are kept of %d", counts[flag], flag, n)
			}
			delete(counts, flag)
		}
		if len(counts) > 0 {
			t.Fatalf("not counted: %v", counts)
		}
	}
	frames := map[record.From]int{}
	for _, rec := range r.Records {
		if rec.Kind == record.KindFrame {
			frames[rec.From]++
		}
	}
	for from, n := range lines {
		if n > frames[from] {
			t.Fatalf("%d lines of %s in %d frames", n, from, frames[from])
		}
	}
}

// dump spells all of a result; of values their bytes, wherever they are kept.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	if v.IsValid() && v.Type() == reflect.TypeFor[Value]() {
		val := v.Interface().(Value)
		text, err := val.Bytes()
		fmt.Fprintf(b, "value %q %v %d", text, err, val.Depth())
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fmt.Fprintf(b, "\n%*s%s: ", depth, "", f.Name)
				dumpValue(b, v.Field(i), depth+1)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%q", v.Bytes())
			return
		}
		for i := range v.Len() {
			fmt.Fprintf(b, "\n%*s- ", depth, "")
			dumpValue(b, v.Index(i), depth+1)
		}
	case reflect.Map:
		var lines []string
		for it := v.MapRange(); it.Next(); {
			var l strings.Builder
			fmt.Fprintf(&l, "\n%*s%v = ", depth, "", it.Key())
			dumpValue(&l, it.Value(), depth+1)
			lines = append(lines, l.String())
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	default:
		fmt.Fprint(b, v)
	}
}

// check holds a session against what must be true of any.
func check(t *testing.T, s *Session) {
	t.Helper()
	if s.ID == "" || s.Basis == "" || s.LastSeq < s.FirstSeq {
		t.Fatalf("session %+v", s)
	}
	told := slices.Clone(s.Remarks)
	for _, ex := range s.Requests {
		told = append(told, ex.Remarks...)
	}
	for _, c := range s.Calls {
		told = append(told, c.Remarks...)
	}
	for _, r := range told {
		if r.Flag == "" || r.Detail == "" {
			t.Fatalf("remark %+v", r)
		}
	}
	for _, ex := range s.Requests {
		if (ex.AnswerSeq != 0) != (ex.State == ExchangeResult || ex.State == ExchangeError || ex.State == ExchangeMalformed) {
			t.Fatalf("exchange %+v", ex)
		}
	}
	for _, c := range s.Calls {
		if c.State == "" || len(c.Attempts) == 0 || c.WaitedNs < 0 {
			t.Fatalf("call %+v", c)
		}
		for _, v := range []Value{c.Arguments, c.Result} {
			if v.IsZero() {
				continue
			}
			if b, err := v.Bytes(); err != nil || !json.Valid(b) && !bytes.Contains(b, []byte("\xff")) {
				t.Fatalf("value %q %v", b, err)
			}
		}
		if _, ok := c.DurationNs(); ok != (c.AnswerSeq != 0 && !c.Late) {
			t.Fatal(c)
		}
	}
	if !slices.IsSortedFunc(s.Calls, func(a, b *Call) int { return int(a.Seq - b.Seq) }) {
		t.Fatal("calls out of order")
	}
}
