package grade_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/grade"
)

func TestOverrides(t *testing.T) {
	s := mustLoadFile(t, "layers.good.yaml")
	var o grade.Overrides
	for _, set := range [][2]string{
		{grade.OverrideArguments, "ignore"}, {grade.OverrideMaxExtra, "any"}, {grade.OverridePassThreshold, "0.25"},
	} {
		if err := o.Set(set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	o.Only = []string{"list", "turns", "list"}
	got, err := s.Override(o)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"argumentMatching", "maxExtraToolCalls", "passThreshold"}
	if got.Hash != s.Hash || len(got.Cases) != len(s.Cases) || got.PassThreshold.RatString() != "1/4" {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"list", "turns"}, got.Only); diff != "" {
		t.Error(diff)
	}
	for _, c := range got.Cases {
		chosen := c.ID == "list" || c.ID == "turns"
		// A run override is above the case, which is above the defaults.
		if optionWords(c.Match) != "ignore strict any" || c.PassThreshold.RatString() != "1/4" || c.LeftOut == chosen {
			t.Errorf("case %s: %s, %s, left out %v", c.ID, optionWords(c.Match), c.PassThreshold.RatString(), c.LeftOut)
		}
		if diff := cmp.Diff(names, c.Overridden); diff != "" {
			t.Error(diff)
		}
	}
	// What was loaded stays what it was.
	if c := s.Cases[0]; c.LeftOut || c.Overridden != nil || optionWords(c.Match) != "partial strict 2" || s.Only != nil || s.PassThreshold.RatString() != "1/2" {
		t.Errorf("%+v", c)
	}
	if none, err := s.Override(grade.Overrides{}); err != nil || !cmp.Equal(none.Cases[0].Match, s.Cases[0].Match) || none.Cases[0].Overridden != nil || none.Cases[0].LeftOut {
		t.Errorf("nothing overridden: %v %+v", err, none.Cases[0])
	}
}

// Each value follows the rule of the suite's field (grading.md 10.59).
func TestOverrideValues(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{grade.OverrideArguments, "exact", ""},
		{grade.OverrideArguments, "exakt", `did you mean "exact"?`},
		{grade.OverrideArguments, "", "expected partial or exact or ignore"},
		{grade.OverrideOrder, "superset", ""},
		{grade.OverrideOrder, "any", "expected ignore or strict or superset"},
		{grade.OverrideMaxExtra, "0", ""},
		{grade.OverrideMaxExtra, "any", ""},
		{grade.OverrideMaxExtra, "-1", "expected a whole number from 0 to 1000000000, or any"},
		{grade.OverrideMaxExtra, "1.5", "expected a whole number"},
		{grade.OverrideMaxExtra, "", "expected a whole number"},
		{grade.OverrideMaxExtra, "1e1000001", "expected a whole number"},
		{grade.OverrideMaxExtra, "null", "or any"},
		{grade.OverridePassThreshold, "0.8", ""},
		{grade.OverridePassThreshold, "1", ""},
		{grade.OverridePassThreshold, "80", "expected a fraction from 0 to 1; 80 percent is 0.8"},
		{grade.OverridePassThreshold, "80%", "80 percent is 0.8"},
		{grade.OverridePassThreshold, "", "expected a fraction"},
		{grade.OverridePassThreshold, " ", "expected a fraction"},
		{grade.OverridePassThreshold, " 0.8", "expected a fraction"},
		{grade.OverridePassThreshold, "-0.1", "expected a fraction"},
		{grade.OverridePassThreshold, "NaN", "expected a fraction"},
		{grade.OverridePassThreshold, "4/5", "expected a fraction"},
		{grade.OverridePassThreshold, "0.1e1000001", "expected a fraction"},
		{"validity", "1", "cannot be overridden"},
	} {
		var o grade.Overrides
		err := o.Set(c.name, c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %q: %v, want %q", c.name, c.text, err, c.want)
		}
		if err == nil && o.Set(c.name, c.text) == nil {
			t.Errorf("%s: taken twice", c.name)
		}
	}
}

func TestOnlyNamesCasesThatAreThere(t *testing.T) {
	s := mustLoadFile(t, "layers.good.yaml")
	for id, want := range map[string]string{
		"turn":     `no case "turn" in the suite; did you mean "turns"?`,
		"xyz-abcd": `no case "xyz-abcd" in the suite: the suite has the cases "nothing-said", "inherit", "extend", "replace", "list" and 3 more`,
		"":         `no case "" in the suite`,
		"negative": `the case "negative" is disabled in the suite`,
	} {
		if _, err := s.Override(grade.Overrides{Only: []string{id}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := grade.BuiltIn().Override(grade.Overrides{Only: []string{"a"}}); err == nil || err.Error() != `no case "a": the suite has no cases` {
		t.Error(err)
	}
}
