package report

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// differences lists what a scorer's row is about: the match row shows what is
// missing, extra and out of order, the arguments row the mismatches.
func differences(t *grade.Trial, r *grade.Row) []Difference {
	if r.Diff == nil || r.Result == predicate.Pass {
		return nil
	}
	var out []Difference
	turn := func(m *match.Turn) {
		lists := []*match.Findings{&m.Missing, &m.OutOfOrder, &m.Extra}
		if r.Name == match.ArgumentsID {
			lists = []*match.Findings{&m.Mismatched}
		}
		for _, f := range lists {
			for i := range f.List {
				d := differenceOf(t, &f.List[i])
				d.Allowed = f.List[i].Category == match.Extra && m.Extras.Outcome != match.Fail && m.Negative.Outcome != match.Fail
				out = append(out, d)
			}
		}
	}
	for i := range r.Diff.Turns {
		turn(&r.Diff.Turns[i])
	}
	if r.Diff.Whole != nil {
		turn(r.Diff.Whole)
	}
	return out
}

func differenceOf(t *grade.Trial, f *match.Finding) Difference {
	d := Difference{Class: string(f.Category), Turn: f.Turn}
	if f.Expected != nil {
		d.Tool = f.Expected.Tool
		d.At = placeOf(f.Expected.Pos.File, f.Expected.Pos.Line, f.Expected.Pos.Col)
		if f.Expected.Args != nil {
			d.Expected = predicate.Shown(f.Expected.Args)
		}
		if f.Count > 1 {
			d.Expected = fmt.Sprintf("%d times %s", f.Count, d.Expected)
		}
	}
	if f.Call != nil {
		d.Tool = f.Call.Tool
		if !f.Call.HostOnly {
			d.Records = ofRecords(t, []int64{f.Call.Seq})
		}
		switch {
		case len(f.Keys) > 0:
			for i, k := range f.Keys {
				if i > 0 {
					d.Actual += "; "
				}
				d.Actual += fmt.Sprintf("%s: %s, expected %s", keyText(&k), orNone(k.Actual), orNone(k.Expected))
			}
		case f.Text != "":
			d.Actual = f.Text
		}
	}
	return d
}

// keyText names the key at which arguments differ: a stranger may have made it long.
func keyText(d *match.Difference) string {
	if d.Kind == match.NoObject {
		return "the arguments"
	}
	for _, r := range d.Key {
		if r <= ' ' || r > '~' || strings.ContainsRune("\"\\:,;", r) {
			return predicate.Quoted(d.Key)
		}
	}
	if len(d.Key) == 0 || len(d.Key) > 80 {
		return predicate.Quoted(d.Key)
	}
	return d.Key
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
