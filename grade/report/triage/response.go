package triage

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/report"
)

// responses maps the checks on results to causes.
var responses = map[string]string{
	"toolErrorNamesInput": "error-names-no-input", "toolLatencyUnder": "slow-tool", "toolResultSizeUnder": "result-too-large",
	"fullPageHasContinuation": "page-without-continuation", "toolResultMatchesSchema": "result-not-as-declared",
}

func (r *rules) response() {
	for _, row := range r.example.rows {
		if id := responses[row.Name]; id != "" {
			r.add(find(id).of(r.tool(firstQuoted(row.Reason))).says(rowText(row)).at(row.Records))
		}
	}
	before := len(r.spot.Causes)
	for _, c := range r.calls() {
		r.refusal(c)
		if gaveUp(c) {
			r.add(find("slow-tool").of(r.named(c)).says(fmt.Sprintf("the host gave up on record %d of %s", c.seq, name(c.tool))).at(c.record()))
		}
	}
	results := r.row("toolResultContains", "toolResultMatches", "toolResultMatchesSchema")
	if results != nil {
		r.weakResults(true)
	}
	if len(r.spot.Causes) > before {
		return
	}
	if results != nil && results.Name != "toolResultMatchesSchema" {
		r.add(find("result-lacks-text").says(rowText(results)).at(results.Records))
	}
	if l := r.example.link; l != nil && l.Reason == chain.ReasonToolError {
		r.add(find("tool-failed").of(r.tool(firstQuoted(l.Text))).says(l.Text).at(l.Records))
	} else if row := r.row("noToolErrors"); row != nil {
		r.add(find("tool-failed").of(r.tool(firstQuoted(row.Reason))).says(rowText(row)).at(row.Records))
	}
}

func (r *rules) named(c *callSeen) *toolSeen {
	if c.entry != nil {
		return c.entry
	}
	return r.tool(c.tool)
}

// weakResults adds what the recordings tell of the tools that the trial called: results
// that are large, empty, late, or pages without a word of more. strong says that a check
// on results failed.
func (r *rules) weakResults(strong bool) {
	called := map[toolKey]bool{}
	for _, s := range r.sessions() {
		for _, c := range s.calls {
			if k := (toolKey{s.server, c.tool}); !called[k] {
				called[k] = true
				for _, f := range r.l.stats[k].faults() {
					if f.id == "empty-result" {
						f.faint(!strong)
					}
					r.add(f)
				}
			}
		}
	}
}

// faults are what all sessions together show of a tool's results.
func (st *toolStats) faults() []*found {
	t := st.entry
	if t == nil {
		t = &toolSeen{server: st.server, name: st.name}
	}
	var out []*found
	if st.slowest >= slowCall {
		out = append(out, find("slow-tool").faint(true).of(t).at([]report.Record{st.slowestAt}).says(fmt.Sprintf("a call to %s took %.1f s", name(st.name), float64(st.slowest)/1e9)))
	}
	if st.largest >= largeResult {
		out = append(out, find("result-too-large").faint(true).of(t).at([]report.Record{st.largestAt}).says(fmt.Sprintf("a result of %s has %d bytes", name(st.name), st.largest)))
	}
	if len(st.pages) > 0 {
		out = append(out, find("page-without-continuation").faint(true).of(t).at(st.pageAt).says(st.pages[0]))
	}
	if st.empty > 0 {
		out = append(out, find("empty-result").faint(true).of(t).at(st.emptyAt).says(fmt.Sprintf("%d of %s to %s came back empty", st.empty, plural(st.calls, "call"), name(st.name))))
	}
	return out
}

func (r *rules) userValue() {
	for _, row := range r.example.rows {
		switch row.Name {
		case "noEndingQuestion":
			r.add(find("ends-with-question").says(rowText(row)))
		case "tokenBudgetUnder", "turnCountUnder":
			r.add(find("over-budget").says(rowText(row)))
		case "responseContains", "responseMatches", "responseCloseTo", "finalAssistantMessageNonEmpty":
			if row.Name == "responseContains" {
				r.compared(row)
			}
			r.add(find("answer-off").says(rowText(row)))
		}
	}
	r.weakResults(false)
	for _, c := range r.calls() {
		r.refusal(c)
	}
}

// compared looks for the text that the final message lacks in the results of the trial.
func (r *rules) compared(row *report.Row) {
	needle := firstQuoted(row.Expected)
	calls := r.calls()
	if needle == "" || len(calls) == 0 || strings.Contains(needle, "…") {
		return
	}
	for _, c := range calls {
		if c.errText == "" && mentions(c.text, needle) {
			r.add(find("answer-ignores-result").of(r.named(c)).at(c.record()).
				says(fmt.Sprintf("record %d of %s returned %s, and the final message does not have it: %s", c.seq, name(c.tool), name(needle), row.Actual)))
			return
		}
	}
	f := find("result-lacks-answer").says(fmt.Sprintf("%s is in none of the %s of the trial", name(needle), plural(len(calls), "result")))
	for _, c := range calls[:min(len(calls), maxShown)] {
		f.of(r.named(c)).at(c.record())
	}
	r.add(f)
}
