package predicate

import (
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// scrubAll is Scrub without the looks that save a search.
func scrubAll(s string) string {
	s = bearer().ReplaceAllString(s, "Bearer "+replaced)
	s = vendor().ReplaceAllString(s, replaced)
	return secretPair().ReplaceAllStringFunc(s, func(m string) string {
		parts := secretPair().FindStringSubmatch(m)
		if parts[2] == replaced || strings.EqualFold(parts[2], "bearer") {
			return m
		}
		return parts[1] + replaced
	})
}

// FuzzShortcuts: what is not searched for would not have been found.
func FuzzShortcuts(f *testing.F) {
	for _, s := range []string{
		"", "Bearer abc", "BEARER\tx", "my-token: abc", "\"api_key\" = 'x'", "API-KEY:1", "apikey=1", "access_key: 2", "Client_Secret=\"z\"",
		"tok\u212aen: kelvin", "pa\u017fsword=long s", "\u017fk-12345678", "sk-abcdefgh", "pk_abcdefgh", "ghp_abcdefgh", "xoxb-abcdefgh1", "rk-1234567",
		"authorization: Bearer", "set-cookie: a=b", "private_key:", "Deprecated: x", "this TOOL is deprecated", "Use other instead", "in\u017ftead", "x\u0130y",
	} {
		f.Add(s, "token")
		f.Add(s, "Ü")
	}
	f.Fuzz(func(t *testing.T, s, needleText string) {
		if got, want := Scrub(s), scrubAll(s); got != want {
			t.Errorf("Scrub(%q) = %q, want %q", s, got, want)
		}
		is := false
		for _, re := range deprecations {
			is = is || re().MatchString(s)
		}
		if deprecated(s) != is {
			t.Errorf("deprecated(%q) = %v", s, !is)
		}
		if needleText == "" {
			return
		}
		n := needle{text: value.Lower(needleText), fold: true}
		if got, want := n.in(s), strings.Contains(value.Lower(s), n.text); got != want {
			t.Errorf("%q in %q: %v, want %v", n.text, s, got, want)
		}
	})
}

// Work must grow with the errors and not with their square. A guard against hanging,
// not a measurement.
func TestManyErrorsAreJoinedInOnePass(t *testing.T) {
	const n = 300_000
	ev := &Evidence{Capture: session.Capture{ToolCalls: session.Complete, ToolErrors: session.Complete, ToolInventory: session.Complete}, Turn: -1}
	entry := &catalog.Tool{Name: "t", InputSchema: []byte(`{"properties":{"orderId":{}}}`)}
	for i := range n {
		seq := int64(2*i + 1)
		ev.Calls = append(ev.Calls, CallEvidence{Seq: seq, Index: -1, Tool: "t", Turn: -1, Entry: entry})
		message := "orderid is wrong"
		if i == n-1 {
			message = "wrong"
		}
		ev.Errors = append(ev.Errors, ToolError{Kind: ContentError, Tool: "t", Seq: seq, Index: -1, Record: seq + 1, Message: message})
	}
	c, err := New("toolErrorNamesInput", Advisory)
	if err != nil {
		t.Fatal(err)
	}
	o := Evaluate(c, ev)
	if o.Result != Fail || len(o.Records) != 2 || o.Records[0] != 2*n-1 || !strings.HasPrefix(o.Actual, "1 of 300000 errors") {
		t.Errorf("%+v", o)
	}
}

// The words that are looked for one by one are those of the expression.
func TestSecretParts(t *testing.T) {
	for _, w := range secretParts {
		if !holdsPair("x"+w+"_y\" : z") || Scrub(w+"=v") != w+"="+replaced {
			t.Errorf("%q", w)
		}
	}
	if holdsPair("a token, and then: nothing") {
		t.Error("a colon that belongs to no name")
	}
}
