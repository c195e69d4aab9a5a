package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record/visible"
)

// SARIF writes the verdict as SARIF 2.1.0: a result per case and check that did not
// hold, whose place is in the suite's file, and a rule per kind of check, which is its
// doc. What could not be decided has the kind "open", which is no failure. The verdict
// itself, and what was skipped, are notifications.
func SARIF(w io.Writer, v *Verdict, _ Options) error {
	list, more, err := findings(v)
	if err != nil {
		return err
	}
	var notes []string
	for i := range v.Skipped {
		s := &v.Skipped[i]
		if i == maxNotes {
			notes = append(notes, fmt.Sprintf("and %d more that are no trial", len(v.Skipped)-i))
			break
		}
		notes = append(notes, visible.String(fmt.Sprintf("no trial: recording %s, session %s: %s (%s)", s.Recording, s.Session, s.Why, s.Detail)))
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("%d more findings are left out: a run has at most %d results", more, maxFindings))
	}
	said := "verdict: " + string(v.Word)
	if len(v.Reasons) > 0 {
		said += " (" + strings.Join(v.Reasons, ", ") + ")"
	}
	return sarif(w, &sarifRun{id: v.SuiteID, files: v.SuiteFiles, findings: list, said: said, notes: notes, ok: v.Word != grade.Inconclusive,
		properties: map[string]string{"verdict": string(v.Word), "suiteHash": v.SuiteHash}})
}

// maxNotes bounds the notifications.
const maxNotes = 100

// sarifRun is what a SARIF file is made of.
type sarifRun struct {
	id       string
	files    []string
	findings []finding
	said     string // what came of it
	ok       bool   // it could be decided
	notes    []string
	// properties of the run; keys in any order.
	properties map[string]string
}

func sarif(w io.Writer, run *sarifRun) error {
	var rules []rule
	index := map[string]int{}
	for i := range run.findings {
		f := &run.findings[i]
		if _, known := index[f.rule]; !known {
			index[f.rule] = len(rules)
			rules = append(rules, ruleOf(f))
		}
	}
	prints := map[string]int{} // how often a case has had a rule
	j := &writer{w: w}
	j.object(func() {
		j.key("$schema").text("https://json.schemastore.org/sarif-2.1.0.json")
		j.key("version").text("2.1.0")
		j.key("runs").array(1, func(int) {
			j.object(func() {
				j.key("tool").object(func() {
					j.key("driver").object(func() {
						j.key("name").text("sixlink")
						j.key("informationUri").text("https://github.com/sixlink/sixlink")
						j.key("rules").array(len(rules), func(i int) { sarifRule(j, &rules[i]) })
					})
				})
				j.key("automationDetails").object(func() { j.key("id").text("sixlink/" + visible.String(run.id) + "/") })
				j.key("invocations").array(1, func(int) {
					j.object(func() {
						j.key("executionSuccessful").flag(run.ok)
						j.key("toolExecutionNotifications").array(1+len(run.notes), func(i int) {
							text := run.said
							if i > 0 {
								text = run.notes[i-1]
							}
							j.object(func() {
								j.key("level").text("note")
								j.key("message").object(func() { j.key("text").text(noLinks(text)) })
							})
						})
					})
				})
				j.key("columnKind").text("unicodeCodePoints")
				j.key("results").array(len(run.findings), func(i int) {
					f := &run.findings[i]
					of := f.caseID + "\x00" + f.rule
					prints[of]++
					sarifResult(j, run, f, index[f.rule], prints[of])
					if len(j.out) > flushSize {
						j.flush()
					}
				})
				j.key("properties").object(func() {
					for _, k := range sortedKeys(run.properties) {
						j.key(k).text(run.properties[k])
					}
				})
			})
		})
	})
	j.out = append(j.out, '\n')
	j.flush()
	return j.err
}

func sarifRule(j *writer, r *rule) {
	j.object(func() {
		j.key("id").text(r.id)
		j.key("shortDescription").object(func() { j.key("text").text(r.title) })
		j.key("fullDescription").object(func() { j.key("text").text(r.text) })
		j.key("help").object(func() {
			j.key("text").text(r.text)
			j.key("markdown").text(r.markdown)
		})
		j.key("properties").object(func() {
			tags := []string{"mcp"}
			if r.link != "" {
				tags = append(tags, string(r.link))
			}
			j.key("tags").texts(tags)
		})
	})
}

func sarifResult(j *writer, run *sarifRun, f *finding, ruleIndex, nth int) {
	kind, level := "fail", map[severity]string{isError: "error", isWarning: "warning", isNote: "note"}[f.severity]
	if f.severity == isOpen {
		kind, level = "open", "none" // SARIF 2.1.0, 3.27.10: a kind other than fail has no level
	}
	j.object(func() {
		j.key("ruleId").text(f.rule)
		j.key("ruleIndex").num(int64(ruleIndex))
		j.key("kind").text(kind)
		j.key("level").text(level)
		j.key("message").object(func() { j.key("text").text(noLinks(f.text())) })
		j.key("locations").array(1, func(int) {
			j.object(func() {
				if name := file(run.files, f.at); name != "" {
					j.key("physicalLocation").object(func() {
						j.key("artifactLocation").object(func() {
							uri, relative := fileURI(name)
							j.key("uri").text(uri)
							if relative {
								j.key("uriBaseId").text("%SRCROOT%")
							}
						})
						j.key("region").object(func() {
							j.key("startLine").num(int64(f.at.Line))
							j.key("startColumn").num(int64(f.at.Column))
						})
					})
				}
				j.key("logicalLocations").array(1, func(int) {
					j.object(func() {
						j.key("name").text(visible.String(f.caseID))
						j.key("fullyQualifiedName").text(visible.String(run.id + "/" + f.caseID + "/" + f.rule))
					})
				})
			})
		})
		j.key("partialFingerprints").object(func() { j.key("sixlink/v1").text(fingerprint(run.id, f, nth)) })
		j.key("properties").object(func() {
			if f.link != "" {
				j.key("link").text(string(f.link))
			}
			j.key("trials").num(int64(f.trials))
			j.key("of").num(int64(f.of))
		})
	})
}

// noLinks keeps a message from having links: SARIF reads [text](address) as one, and the
// text may be a recording's (SARIF 2.1.0, 3.11.6).
func noLinks(s string) string { return strings.ReplaceAll(s, "](", "] (") }

// fingerprint is equal for the same finding of two runs, wherever its check has moved in
// the file. nth tells apart checks of one kind in one case.
func fingerprint(suite string, f *finding, nth int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%d", suite, f.caseID, f.rule, f.link, nth))
	return hex.EncodeToString(sum[:16])
}

// fileURI is a path as a URI: relative where the path is.
func fileURI(name string) (uri string, relative bool) {
	name = path.Clean(filepath.ToSlash(name))
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	uri = strings.Join(parts, "/")
	if path.IsAbs(name) {
		return "file://" + uri, false
	}
	if first, _, _ := strings.Cut(uri, "/"); strings.Contains(first, ":") {
		uri = "./" + uri // or it would be a scheme
	}
	return uri, true
}
