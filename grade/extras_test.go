package grade_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

// Where no conversation tells turns apart, a call beyond the expected ones that no
// cap forbids breaks nothing: the rows are errors, and so selection is not measured.
func TestAllowedExtraWithoutConversationBreaksNothing(t *testing.T) {
	const turns = "turns: [{prompt: a, expectedToolCalls: [{toolName: t}]}, {prompt: b}]"
	for name, c := range map[string]struct {
		suite string
		state chain.State
		word  grade.Word
		text  string
	}{
		"no cap":             {"cases: [{id: c, " + turns + "}]", chain.NotMeasured, grade.Inconclusive, "extra (allowed): t (record 12)"},
		"a cap that is kept": {"cases: [{id: c, matchOptions: {maxExtraToolCalls: 1}, " + turns + "}]", chain.NotMeasured, grade.Inconclusive, "extra (allowed): t (record 12)"},
		"negative":           {"cases: [{id: c, isNegativeTest: true, turns: [{prompt: a}, {prompt: b}]}]", chain.Failed, grade.Failed, "extra: t (record 10)"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := grade.Grade(mustLoad(t, c.suite), []grade.Recording{rec("r", made(session.CallResult, session.CallResult))}, grade.Options{Case: "c"})
			if err != nil {
				t.Fatal(err)
			}
			trial := v.Cases[0].Trials[0]
			if l := trial.Chain.Links[2]; l.State != c.state || trial.Word != c.word {
				t.Errorf("selection %s (%s: %s), trial %s", l.State, l.Reason, l.Evidence.Text, trial.Word)
			}
			var out bytes.Buffer
			if err := report.Text(&out, report.Of(v), report.Options{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.text) {
				t.Errorf("no %q in\n%s", c.text, out.String())
			}
		})
	}
}
