//go:build faults

package grade_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
)

// Case 16: arguments nested 12,000 deep cost the grader at most 2 s, from the
// records to both reports, with a check that wants to read them.
func TestFaultDeepNestingIsGradedInTime(t *testing.T) {
	t.Attr("fault", "case 16: arguments nested 12,000 deep")
	const limit = 2 * time.Second
	r, err := fixtures.CaseFrames("16-deep-nesting")
	if err != nil {
		t.Fatal(err)
	}
	suite := mustLoad(t, "defaults: {assertions: [{type: noToolErrors}, {type: argumentsMatchToolSchema}, {type: toolCalledAtLeastOnce, toolName: deep}]}")
	start := time.Now()
	v, err := grade.Grade(suite, []grade.Recording{decodeCase(t, r)}, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.Text(&out, report.Of(v), report.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&out, report.Of(v)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Attr("observed", fmt.Sprintf("decoded, graded and reported in %v; verdict %s", took.Round(time.Microsecond), v.Word))
	if took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
	if v.Word != grade.Inconclusive {
		t.Errorf("verdict %s", v.Word)
	}
}
