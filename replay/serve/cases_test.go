package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
)

func TestCase22NothingReEncoded(t *testing.T) {
	r, err := fixtures.Case("22-nothing-re-encoded", "input.jsonl")
	s := server(t, load(t, r, err), Config{})
	got := ask(t, s, `{"id":77,"method":"tools/call","params":{"name":"calc","arguments":{"n":1E+2,"tab":"\t","esc":"<b>","sep":"x\u2028y","html":"<b>&amp;</b>","m":0,"a":100,"z":1.1}}}`)
	same(t, "answer", got, []string{`{"jsonrpc":"2.0","id":77,"result":{"content":[{"type":"text","text":"<a href=\"https://example.test/?x=1&y=2\">link</a> \u00e9 é"}],"_meta":{"z":1,"a":2}}}` + "\t"})
}

func TestCase61Sequence(t *testing.T) {
	s, texts, _ := replayed(t, "61-sequence", Config{})
	delete(texts, "i")
	same(t, "texts", texts, map[string]string{"q0": "1", "q1": "stored", "q2": "2", "q3": "2 again", "q4": "error"})
	if r := s.Report(); r.Missed != 1 {
		t.Errorf("%d missed", r.Missed)
	}
	s, texts, _ = replayed(t, "61-sequence", Config{Repeat: true})
	if r := s.Report(); texts["q4"] != "2 again" || r.Missed != 0 {
		t.Errorf("with repeat: %q, %d missed", texts["q4"], r.Missed)
	}
}

func TestCase63Miss(t *testing.T) {
	s, texts, raw := replayed(t, "63-miss", Config{})
	delete(texts, "1")
	same(t, "texts", texts, map[string]string{"2": "error", "3": "error", "4": "3 hits", "5": "fine", "6": "error", "7": "{}"})
	for _, want := range []string{"/limit recorded 10, asked 20", "seq 6"} {
		if !strings.Contains(raw["2"], want) {
			t.Errorf("%q is not in %s", want, raw["2"])
		}
	}
	if !strings.Contains(raw["3"], "recorded are search, stat") {
		t.Error(raw["3"])
	}
	r := s.Report()
	if r.Missed != 3 || r.Used != 3 || len(r.Misses[0].Differences) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestCase65VolatileArguments(t *testing.T) {
	_, texts, raw := replayed(t, "65-volatile-arguments", Config{})
	if texts["2"] != "error" || texts["3"] != "error" || !strings.Contains(raw["2"], "/from recorded") || !strings.Contains(raw["2"], "/req recorded") ||
		strings.Contains(raw["2"], "/q recorded") || !strings.Contains(raw["3"], "/q recorded") {
		t.Errorf("%v %v", texts, raw)
	}
	_, texts, _ = replayed(t, "65-volatile-arguments", Config{Rules: rules(t, "report:/from", "/req")})
	if texts["2"] != "made at 2026-01-01T00:00:05Z" || texts["3"] != "error" {
		t.Errorf("with rules: %v", texts)
	}
}

// A write whose stream broke was sent again under the same id: the first is an open
// end again, the second has its receipt, and there is no third.
func TestCase96SentAgain(t *testing.T) {
	r, err := fixtures.HTTPCase("96-sent-again")
	s := server(t, load(t, r, err), Config{})
	web := s.Web()
	srv := httptest.NewServer(web)
	defer func() { srv.CloseClientConnections(); srv.Close(); web.Close(); transport.CloseIdleConnections() }()
	id := ""
	post := func(body string) (string, error) {
		req, err := http.NewRequest("POST", srv.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		if v := res.Header.Get("Mcp-Session-Id"); v != "" {
			id = v
		}
		b, err := io.ReadAll(res.Body)
		return string(b), err
	}
	if _, err := post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`); err != nil || id == "" {
		t.Fatal(err, id)
	}
	pay := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"pay","arguments":{"amount":10}}}`
	}
	if b, err := post(pay("1")); err == nil || b != ": started\n\n" {
		t.Errorf("the first call: %q, %v", b, err)
	}
	b, err := post(pay("1"))
	if _, text := textOf(t, b); err != nil || text != "paid, receipt 2" {
		t.Errorf("the second call: %q, %v", b, err)
	}
	b, err = post(pay("2"))
	if gotID, text := textOf(t, b); err != nil || text != "error" || gotID != "2" || !strings.Contains(b, usedUp) {
		t.Errorf("the third call: %q, %v", b, err)
	}
	if r := s.Report(); r.Missed != 1 || len(r.Unused) != 0 {
		t.Errorf("%+v", r)
	}
}
