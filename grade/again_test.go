package grade_test

import (
	"fmt"
	"testing"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
)

// When the answer to a call is lost, an equal one after it may be the same call sent
// again (after a challenge, -32042, an input round): what passes only with two calls
// has not been shown, and nothing is blamed or lost where one is enough.
func TestMayHaveBeenSentAgain(t *testing.T) {
	const (
		lost  = "1 list write\n10 ask write {}\n15 gap\n20 call write {}\n"
		input = "defaults: {assertions: [{type: toolInputMatches, toolName: write, patterns: ['.'], min: %d}]}"
		calls = "cases: [{id: c, title: c, match: {labels: {trial: '7'}}, turns: [{expectedToolCalls: [%s]}]}]"
		one   = "{toolName: write}"
	)
	for name, c := range map[string]struct {
		script, suite string
		want          predicate.Result
	}{
		"two calls are asked for":           {lost, fmt.Sprintf(input, 2), predicate.Error},
		"one is enough":                     {lost, fmt.Sprintf(input, 1), predicate.Pass},
		"two are expected":                  {lost, fmt.Sprintf(calls, one+", "+one), predicate.Error},
		"one is expected":                   {lost, fmt.Sprintf(calls, one), predicate.Pass},
		"other arguments are another call":  {"1 list write\n10 ask write {}\n15 gap\n20 call write {\"a\":1}\n", fmt.Sprintf(input, 2), predicate.Pass},
		"no gap: nothing was answered":      {"1 list write\n10 ask write {}\n20 call write {}\n", fmt.Sprintf(input, 2), predicate.Pass},
		"the answer is there, behind a gap": {"1 list write\n5 gap\n10 call write {}\n20 call write {}\n", fmt.Sprintf(input, 2), predicate.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := grade.Grade(mustLoad(t, c.suite), []grade.Recording{toGrade(t, served("r", "shop", 0, c.script))}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			rows := v.Cases[0].Trials[0].Rows
			if len(rows) == 0 || rows[0].Result != c.want {
				t.Fatalf("%+v, want %s", rows, c.want)
			}
			if word := v.Cases[0].Word; c.want == predicate.Error && word != grade.Inconclusive {
				t.Errorf("the case is %s", word)
			}
		})
	}
}
