package grade

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// configHash is equal for two cases that ask the same of a trial (grading.md 7.1): the
// lower-case hex SHA-256 of the canonical JSON of what is asked, its layers and the
// run's overrides resolved. Titles, and by what sessions are found, are no part of it.
func (s *Suite) configHash(c *CaseSpec) string {
	servers := c.Servers
	if len(servers) == 0 {
		servers = s.Servers
	}
	turns := make([]value.Value, len(c.Turns))
	for i := range c.Turns {
		t := &c.Turns[i]
		v := value.Obj(value.M("prompt", value.Text(t.Prompt)), value.M("expected", expectedValue(t.Expected)), value.M("checks", checksValue(t.Assertions)))
		if t.Pinned && t.PinnedCall != nil {
			v.Obj = append(v.Obj, value.M("pinned", expectedValue([]match.Expectation{*t.PinnedCall})))
		}
		turns[i] = v
	}
	maxExtra := value.Value{}
	if c.Match.MaxExtra != nil {
		maxExtra = wholeNum(*c.Match.MaxExtra)
	}
	threshold := value.Value{}
	if c.PassThreshold != nil {
		threshold = value.Text(c.PassThreshold.RatString())
	}
	v := value.Obj(
		value.M("turns", value.List(turns...)),
		value.M("checks", checksValue(c.Assertions)),
		value.M("match", value.List(value.Text(string(c.Match.Arguments)), value.Text(string(c.Match.Order)), maxExtra)),
		value.M("negative", value.Value{Kind: value.Bool, Bool: c.Negative}),
		value.M("passThreshold", threshold),
		value.M("servers", textsValue(slices.Sorted(slices.Values(servers)))),
		value.M("modelEvidence", value.Value{Kind: value.Bool, Bool: s.ModelEvidence}),
		value.M("usage", value.List(value.Text(s.Usage.Source), value.Value{Kind: value.Bool, Bool: s.Usage.ExcludeCache}, value.Value{Kind: value.Bool, Bool: s.Usage.WithSubagents})),
	)
	text, err := value.Canonical(nil, &v, value.Exact)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func expectedValue(list []match.Expectation) value.Value {
	out := make([]value.Value, len(list))
	for i := range list {
		e := &list[i]
		args := value.Obj()
		if e.Args != nil {
			args = *e.Args
		}
		out[i] = value.Obj(value.M("tool", value.Text(e.Tool)), value.M("args", args), value.M("mode", value.Text(string(e.Mode))), value.M("minCount", wholeNum(max(1, e.MinCount))))
	}
	return value.List(out...)
}

func checksValue(list []*predicate.Check) value.Value {
	out := make([]value.Value, len(list))
	for i, c := range list {
		out[i] = value.Obj(value.M("type", value.Text(c.Info.Name)), value.M("role", value.Text(string(c.Role))), value.M("fields", value.Obj(c.Fields...)))
	}
	return value.List(out...)
}

func textsValue(list []string) value.Value {
	out := make([]value.Value, len(list))
	for i := range list {
		out[i] = value.Text(list[i])
	}
	return value.List(out...)
}

func wholeNum(n int64) value.Value { return value.Num(strconv.FormatInt(n, 10)) }
