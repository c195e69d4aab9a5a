package triage

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
)

// manyTools is from how many tools on a model has many to choose from.
const manyTools = 40

// choice is what was to be called, and what was called in its place.
type choice struct {
	missing, extra []string
	records        []report.Record
}

// choice gathers it from the categorized difference, from checks that name tools, and
// where there is none of what was called, from the recordings.
func (r *rules) choice() choice {
	var c choice
	add := func(list *[]string, name string) {
		if name != "" && !slices.Contains(*list, name) && len(*list) < maxEvidence {
			*list = append(*list, name)
		}
	}
	for _, row := range r.example.rows {
		for i := range row.Differences {
			d := &row.Differences[i]
			switch d.Class {
			case "missing":
				add(&c.missing, d.Tool)
			case "extra":
				add(&c.extra, d.Tool)
				c.records = append(c.records, d.Records...)
			}
		}
		switch row.Name {
		case "toolCalledAtLeastOnce", "toolCalledWith":
			add(&c.missing, firstQuoted(row.Expected))
		case "firstToolWas":
			add(&c.missing, firstQuoted(row.Expected))
			add(&c.extra, firstQuoted(row.Actual))
			c.records = append(c.records, row.Records...)
		case "toolNeverCalled":
			add(&c.extra, firstQuoted(row.Expected))
			c.records = append(c.records, row.Records...)
		case "onlyToolsCalled":
			add(&c.extra, firstQuoted(row.Reason))
			c.records = append(c.records, row.Records...)
		}
	}
	if len(c.extra) == 0 && len(c.missing) > 0 {
		for _, call := range r.calls() {
			if !slices.Contains(c.missing, call.tool) {
				if add(&c.extra, call.tool); len(c.records) < maxRecords {
					c.records = append(c.records, call.record()...)
				}
			}
		}
	}
	return c
}

func (r *rules) selection() {
	t := r.example.t
	reason := chain.Reason("")
	if r.failed() {
		reason = r.example.link.Reason
	}
	if reason == chain.UnknownTool {
		r.unlisted()
		return
	}
	c := r.choice()
	r.keptByHost(c)
	for _, m := range c.missing {
		mine := r.tool(m)
		r.notListed(m)
		r.described(mine, nil)
		for _, e := range c.extra {
			other := r.tool(e)
			alike := r.alike(mine, other, c.records)
			r.deprecatedCalled(other, c.records)
			r.described(other, c.records)
			if !alike {
				f := find("passed-over").of(mine, other).says(fmt.Sprintf("%s was called where %s was expected", name(e), name(m))).at(c.records)
				if mine.known() && other.known() && !mentions(other.desc, m) {
					f.says(fmt.Sprintf("the description of %s does not say that %s is for this", name(e), name(m)))
				}
				r.add(f)
			}
		}
		if len(c.extra) == 0 && t.Facts.Calls > 0 && reason != chain.CallsOutOfOrder {
			r.add(find("passed-over").of(mine).says(fmt.Sprintf("%s was expected, and none of the trial's calls (%d) is to it", name(m), t.Facts.Calls)))
		}
		if len(c.extra) == 0 && t.Facts.Calls == 0 && (t.Conversation == nil || len(t.Conversation.HostOnly) == 0) {
			r.add(find("nothing-called").of(mine).says(name(m) + " was expected, and the trial has no call"))
		}
	}
	if len(c.missing) == 0 {
		for _, e := range c.extra {
			other := r.tool(e)
			r.deprecatedCalled(other, c.records)
			if reason != chain.CallsOutOfOrder {
				r.add(find("uncalled-for").of(other).says(r.spot.Text).at(c.records))
			}
		}
	}
	if row := r.row("noDeprecatedToolCalled"); row != nil {
		r.add(find("deprecated-tool").of(r.tool(firstQuoted(row.Reason))).says(rowText(row)).at(row.Records))
	}
	if row := r.row("toolCalledBefore"); row != nil || reason == chain.CallsOutOfOrder {
		f := find("order-not-told").says(r.spot.Text)
		if row != nil {
			f.says(rowText(row)).at(row.Records)
		}
		r.add(f)
	}
	n := 0
	for i := range t.Facts.Servers {
		n += t.Facts.Servers[i].Tools
	}
	if n > manyTools {
		r.add(find("many-tools").says(fmt.Sprintf("%d tools were listed in this trial", n)))
	}
}

// unlisted: a call to a name that the complete list lacks.
func (r *rules) unlisted() {
	l := r.example.link
	called := firstQuoted(l.Text)
	f := find("unlisted-tool-called").about(called).says(l.Text).at(l.Records)
	for _, s := range r.sessions() {
		if s.list == nil {
			continue
		}
		if near := nearest(called, s.list.names()); near != "" {
			f.of(s.list.find(near)).says(fmt.Sprintf("the listed name that is nearest to it is %s", name(near)))
			break
		}
	}
	r.add(f)
}

// keptByHost: the transcript has the call, and the wire does not.
func (r *rules) keptByHost(c choice) {
	talk := r.example.t.Conversation
	if talk == nil {
		return
	}
	for _, text := range talk.HostOnly {
		for _, n := range slices.Concat(c.missing, c.extra) {
			if mentions(text, n) {
				r.add(find("kept-by-host").of(r.tool(n)).says("never on the wire: " + text))
				break
			}
		}
	}
}

// notListed: the expected tool is in no list of the trial.
func (r *rules) notListed(missing string) {
	all := r.sessions()
	if len(all) < len(sessionsOf(r.example.t)) {
		return // a list is not at hand, and may have it
	}
	if r.elsewhere(missing) != nil {
		return // another server lists it
	}
	whole := true
	var what []string
	for _, s := range all {
		switch {
		case s.list == nil:
			whole = false
			what = append(what, fmt.Sprintf("no list of %s is on record", name(s.server)))
		case s.list.find(missing) != nil:
			return
		default:
			text := fmt.Sprintf("%s listed %s, and not %s", name(s.server), plural(len(s.list.tools), "tool"), name(missing))
			if !s.list.whole {
				whole = false
				text += "; the list is not whole: " + s.list.why
			} else if near := nearest(missing, s.list.names()); near != "" {
				text += fmt.Sprintf("; the name that is nearest to it is %s", name(near))
			}
			what = append(what, text)
		}
	}
	if len(all) > 0 {
		r.add(find("tool-not-listed").faint(!whole).of(r.tool(missing)).says(what...))
	}
}

// alike: the two tools read alike.
func (r *rules) alike(mine, other *toolSeen, at []report.Record) bool {
	names := alikeNames(mine.name, other.name)
	texts, how := alikeTexts(mine, other, alikeBehind)
	if names == "" && !texts {
		return false
	}
	f := find("similar-tools").faint(!texts).of(mine, other).at(at)
	f.says(fmt.Sprintf("%s was called where %s was expected", name(other.name), name(mine.name)))
	if texts {
		f.says("the descriptions of " + name(mine.name) + " and " + name(other.name) + " " + how)
	}
	if names != "" {
		f.says("their names are alike: " + names)
	}
	if a, b := mine.names(), other.names(); texts && len(a) > 0 && slices.Equal(a, b) {
		f.says("they have the same parameters: " + listed(quotedNames(a), maxEvidence))
	}
	r.add(f)
	return true
}

func quotedNames(list []string) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = name(n)
	}
	return out
}

// alikeTexts tells whether, and how, the descriptions of two tools are alike.
func alikeTexts(a, b *toolSeen, least float64) (bool, string) {
	return alikeSets(WordSet(a.desc), WordSet(b.desc), least)
}

func alikeSets(a, b map[string]bool, least float64) (bool, string) {
	if min(len(a), len(b)) < leastWords {
		return false, ""
	}
	both, all, s := Share(a, b)
	if s < least {
		return false, ""
	}
	if both == all {
		return true, "have the same words"
	}
	return true, "share " + ofWords(both, all)
}

func (r *rules) deprecatedCalled(t *toolSeen, at []report.Record) {
	if t.deprecated {
		r.add(find("deprecated-tool").of(t).at(at).says(fmt.Sprintf("%s was called, and its description says that it is deprecated: %s", name(t.name), predicate.Quoted(t.desc))))
	}
}

// described: the tool's own description is missing or short.
func (r *rules) described(t *toolSeen, at []report.Record) {
	if f := undescribed(t); f != nil {
		r.add(f.at(at))
	}
}

func undescribed(t *toolSeen) *found {
	if !t.known() {
		return nil
	}
	switch n := utf8.RuneCountInString(t.desc); {
	case n == 0:
		return find("no-description").of(t).says(name(t.name) + " has no description: a model has only the name to choose by")
	case n < shortTool:
		return find("no-description").faint(true).of(t).says(fmt.Sprintf("the description of %s has %s: %s", name(t.name), plural(n, "character"), predicate.Quoted(strings.TrimSpace(t.desc))))
	}
	return nil
}
