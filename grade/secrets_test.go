package grade_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
)

// No report shows the value of an argument whose key says that it is a secret, as
// expected or as sent, nor what looks like one by itself; and none is as long as a
// stranger's key.
func TestReportsShowNoSecretArguments(t *testing.T) {
	sent := `{"password":"sent-value-1","n":{"api_key":"sent-value-2"},"token":5550001,"tok":"sk-sentvalue3","q":"Bearer sentvalue4","client_secret":["sent-value-5"],"` +
		strings.Repeat("k", 100_000) + `":1}`
	expected := `{"password":"expected-value-1","n":{"api_key":"expected-value-2"},"token":5550002,"tok":"ghp_expectedvalue3","client_secret":["expected-value-5"]}`
	for _, mode := range []string{"exact", "partial"} {
		for _, check := range []string{
			`"turns":[{"expectedToolCalls":[{"toolName":"t","arguments":` + expected + `}]}]`,
			`"turns":[{"expectedToolCalls":[{"toolName":"t","arguments":{"n":1}}]}]`,
			`"assertions":[{"type":"toolCalledWith","toolName":"t","args":{"args":` + expected + `}}]`,
			`"assertions":[{"type":"noToolErrors"},{"type":"toolCalledWith","role":"advisory","toolName":"t","args":{"args":` + expected + `,"argumentMatching":"` + mode + `"}}]`,
			`"assertions":[{"type":"noRepeatedIdenticalCall","role":"advisory"},{"type":"toolInputMatches","toolName":"t","patterns":["no such"],"path":"/password"}]`,
			`"assertions":[{"type":"argumentsMatchToolSchema"}]`,
		} {
			s, err := grade.LoadSuite("s.json", []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":[{"id":"c","matchOptions":{"argumentMatching":"`+mode+`"},`+check+`}]}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			r := scripted("secrets", hello+toolWith(`{"type":"object","properties":{"password":{"type":"number"},"token":{"maximum":3}}}`)+called("1", sent)+called("2", sent))
			v, err := grade.Grade(s, []grade.Recording{decodeCase(t, r)}, grade.Options{Case: "c"})
			if err != nil {
				t.Fatal(err)
			}
			var text, out bytes.Buffer
			if err := report.Text(&text, report.Of(v), report.Options{Verbose: true}); err != nil {
				t.Fatal(err)
			}
			if err := report.JSON(&out, report.Of(v)); err != nil {
				t.Fatal(err)
			}
			for _, b := range []string{text.String(), out.String()} {
				flat := strings.Join(strings.Fields(b), "")
				for _, secret := range []string{"sent-value", "expected-value", "sentvalue", "expectedvalue", "5550001", "5550002"} {
					if i := strings.Index(flat, secret); i >= 0 {
						t.Errorf("%s, %s: %q is shown: …%s", mode, check, secret, flat[max(0, i-200):i+len(secret)])
					}
				}
				if len(b) > 50_000 {
					t.Errorf("%s, %s: a report of %d bytes", mode, check, len(b))
				}
			}
		}
	}
	if got := predicate.ShownAt("Password", nil); got != `"[redacted]"` {
		t.Error(got)
	}
}
