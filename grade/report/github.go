package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// GitHub writes the verdict as GitHub's workflow commands: an annotation per finding, at
// the check in the suite's file, the grave ones first. The verb writes the Markdown
// summary beside it.
func GitHub(w io.Writer, v *Verdict, _ Options) error {
	list, more, err := findings(v)
	if err != nil {
		return err
	}
	a := annotations{w: w, files: v.SuiteFiles}
	a.write(list, more)
	level, why := "notice", ""
	switch v.Word {
	case grade.Failed:
		level = "error"
	case grade.Inconclusive:
		level = "warning"
	}
	if len(v.Reasons) > 0 {
		why = " (" + strings.Join(v.Reasons, ", ") + ")"
	}
	// The verdict is the last annotation of its level, for which write left room.
	a.command(level, "", nil, "sixlink: "+string(v.Word), fmt.Sprintf("suite %s: %s%s; %s", visible.String(v.SuiteID), v.Word, why, counted(v)))
	return a.err
}

// counted says how many trials passed.
func counted(v *Verdict) string {
	passed, failed, open := 0, 0, 0
	for _, c := range v.Cases {
		passed, failed, open = passed+c.Stats.Passed, failed+c.Stats.Failed, open+c.Stats.Errored
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d inconclusive", plural(passed+failed+open, "trial"), passed, failed, open)
}

// perLevel is how many annotations of one level GitHub shows of one step.
const perLevel = 10

// annotations writes workflow commands.
type annotations struct {
	w     io.Writer
	err   error
	files []string
}

// write writes the findings, of each level as many as GitHub shows beside one more, and
// says how many are left out.
func (a *annotations) write(list []finding, more int) {
	for _, level := range []struct {
		name string
		of   []severity
	}{{"error", []severity{isError}}, {"warning", []severity{isWarning, isOpen}}, {"notice", []severity{isNote}}} {
		var mine []*finding
		for _, s := range level.of {
			for i := range list {
				if list[i].severity == s {
					mine = append(mine, &list[i])
				}
			}
		}
		for i, f := range mine {
			if i == perLevel-2 && len(mine) > perLevel-1 {
				left := len(mine) - i
				if level.name == "error" {
					left += more
				}
				a.command(level.name, "", nil, "sixlink", fmt.Sprintf("and %d more: see the summary of the job", left))
				break
			}
			a.command(level.name, file(a.files, f.at), f.at, "sixlink: "+f.rule, f.text())
		}
	}
}

// command writes one workflow command; its parts are one line each.
func (a *annotations) command(level, name string, at *Place, title, message string) {
	if a.err != nil {
		return
	}
	where := ""
	if name != "" {
		where = fmt.Sprintf("file=%s,line=%d,col=%d,", escapeProperty(name), at.Line, at.Column)
	}
	_, a.err = fmt.Fprintf(a.w, "::%s %stitle=%s::%s\n", level, where, escapeProperty(title), escapeData(message))
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(s string) string     { return dataEscapes.Replace(visible.String(s)) }
func escapeProperty(s string) string { return propertyEscapes.Replace(visible.String(s)) }
