package triage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

// badArgument is one value that was wrong, or a whole call's arguments.
type badArgument struct {
	tool    *toolSeen
	pointer string // into the arguments; empty: all of them
	class   string // of the violation; empty: it violates no schema
	call    *callSeen
	text    string // what is wrong with it, quotable
	records []report.Record
}

func (b *badArgument) top() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(b.pointer, "/"), "/")
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(first)
}

var (
	// "name": a, expected b; other: c, expected d (package report, "differences")
	differingKey = regexp.MustCompile(`(?:^|; )("[^"\\]{1,100}"|[^\s":;,\\]{1,80}): `)
	// missing-required at /a/b: message (package predicate, "describeIn")
	violationAt = regexp.MustCompile(`\b(missing-required|wrong-type|bad-enum|hallucinated-param|other) at (/[^\s:]{1,80}|the arguments): `)
	missingKeys = regexp.MustCompile(`'([^'\\]{1,100})'|"([^"\\]{1,100})"`)
)

// badArguments gathers what is wrong with arguments, of the verdict's texts and of calls.
func (r *rules) badArguments() []badArgument {
	var out []badArgument
	add := func(b badArgument) {
		if len(out) < 20 && !slices.ContainsFunc(out, func(o badArgument) bool {
			return o.tool == b.tool && o.pointer == b.pointer && o.class == b.class
		}) {
			out = append(out, b)
		}
	}
	for _, c := range r.calls() {
		if c.entry == nil {
			continue
		}
		for _, w := range c.wrong {
			b := badArgument{tool: c.entry, pointer: w.path, class: w.class, call: c, records: c.record(),
				text: fmt.Sprintf("%s in record %d: %s at %s: %s", name(c.tool), c.seq, w.class, atPath(w.path), predicate.Scrub(w.message))}
			// The keys of these two classes are in the message, the path is their object's.
			if w.class == "missing-required" || w.class == "hallucinated-param" {
				for _, m := range missingKeys.FindAllStringSubmatch(w.message, 8) {
					k := b
					k.pointer = w.path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m[1]+m[2])
					add(k)
				}
				continue
			}
			add(b)
		}
	}
	for _, row := range r.example.rows {
		for i := range row.Differences {
			d := &row.Differences[i]
			if d.Class != "arguments" {
				continue
			}
			t := r.tool(d.Tool)
			call := r.callAt(d.Records)
			for k, m := range differingKey.FindAllStringSubmatch(d.Actual, 8) {
				key := strings.Trim(m[1], `"`)
				if p := t.properties(); k > 0 && p != nil {
					if _, ok := p.Get(key); !ok {
						continue // it is a value that looks like a key
					}
				}
				add(badArgument{tool: t, pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key), call: call, records: d.Records,
					text: "arguments of " + name(d.Tool) + ": " + d.Actual})
			}
		}
	}
	if r.l == nil { // the verdict's own words
		for _, text := range r.words() {
			t := r.tool(firstQuoted(text))
			for _, m := range violationAt.FindAllStringSubmatch(text, 8) {
				b := badArgument{tool: t, class: m[1], pointer: m[2], text: text}
				if m[2] == "the arguments" {
					b.pointer = ""
				}
				if l := r.example.link; l != nil {
					b.records = l.Records
				}
				add(b)
			}
		}
	}
	return out
}

// words are the verdict's texts on the spot.
func (r *rules) words() []string {
	var out []string
	if l := r.example.link; l != nil && l.Text != "" {
		out = append(out, l.Text)
	}
	for _, row := range r.example.rows {
		out = append(out, row.Reason)
	}
	return out
}

func atPath(path string) string {
	if path == "" {
		return "the arguments"
	}
	return path
}

func (r *rules) callAt(records []report.Record) *callSeen {
	for _, c := range r.calls() {
		if slices.ContainsFunc(records, func(x report.Record) bool {
			return x.Seq == c.seq && (x.Recording == "" || x.Recording == c.recording)
		}) {
			return c
		}
	}
	return nil
}

func (r *rules) call() {
	if row := r.row("noRepeatedIdenticalCall"); row != nil {
		r.add(find("repeated-call").of(r.tool(firstQuoted(row.Reason))).says(rowText(row)).at(row.Records))
	}
	bad := r.badArguments()
	for i := range bad {
		r.badArgument(&bad[i])
	}
	for _, c := range r.calls() { // what else failed is the response link's
		if len(c.wrong) > 0 || c.code == predicate.CodeInvalidParams || slices.ContainsFunc(bad, func(b badArgument) bool { return b.call == c }) {
			r.refusal(c)
		}
	}
	l := r.example.link
	if l == nil || l.Reason != chain.ReasonProtocolError {
		return
	}
	if strings.Contains(l.Text, "-32602") {
		r.add(find("refused-by-protocol").of(r.tool(firstQuoted(l.Text))).says(l.Text).at(l.Records))
		return
	}
	r.add(find("server-fault").of(r.tool(firstQuoted(l.Text))).says(l.Text).at(l.Records))
}

// badArgument looks for why one value was wrong.
func (r *rules) badArgument(b *badArgument) {
	p := b.tool.param(b.pointer)
	switch b.class {
	case "hallucinated-param":
		f := find("parameter-guessed").of(b.tool).about(b.top()).says(b.text).at(b.records)
		if near := nearest(b.top(), b.tool.names()); near != "" {
			f.says("the declared name that is nearest to it is " + name(near))
		} else if names := b.tool.names(); len(names) > 0 {
			f.says("declared are " + listed(quotedNames(names), maxEvidence))
		}
		r.add(f)
		return
	case "missing-required":
		r.add(find("required-left-out").of(b.tool).about(b.top()).says(b.text).at(b.records))
	}
	if p != nil {
		r.notDeclared(b, p)
		if why, whole := p.undescribed(); why != "" {
			r.add(find("parameter-undescribed").faint(!whole).of(b.tool).about(b.top()).
				says(b.text, fmt.Sprintf("the parameter %s of %s %s", name(p.name), name(b.tool.name), why)).at(b.records))
		}
		if b.class != "" && b.class != "missing-required" && p.formed() && !p.exampled() {
			r.add(find("form-not-told").of(b.tool).about(b.top()).
				says(b.text, fmt.Sprintf("the description of %s has no example of a value that fits", name(p.name))).at(b.records))
		}
	}
	if r.spot.tells(b.tool, b.top()) {
		return
	}
	id := "value-not-told"
	if b.class != "" {
		id = "schema-not-followed"
	}
	r.add(find(id).of(b.tool).about(b.top()).says(b.text).at(b.records))
}

// notDeclared: words demand what the schema does not.
func (r *rules) notDeclared(b *badArgument, p *param) {
	if p.bounded() {
		return
	}
	type source struct{ what, text string }
	sources := []source{{"its description", p.text("description")}}
	if b.call != nil && b.call.errText != "" {
		sources = append([]source{{fmt.Sprintf("the error in record %d", b.call.seq), b.call.errText}}, sources...)
	}
	for _, s := range sources {
		values, form := demands(s.text)
		what := ""
		switch {
		case len(values) > 1 && !r.sent(b, values):
			what = "lists " + listed(quotedNames(values), 8)
		case form != "":
			what = "demands " + name(form)
		default:
			continue
		}
		r.add(find("values-not-declared").of(b.tool).about(b.top()).at(b.records).
			says(b.text, fmt.Sprintf("%s %s, and the schema of %s has neither enum, pattern nor format", s.what, what, name(p.name))))
		return
	}
}

// sent tells whether the value that was sent is one of those.
func (r *rules) sent(b *badArgument, values []string) bool {
	if b.call == nil || b.call.args == nil {
		return false
	}
	v, ok := b.call.args.Get(b.top())
	return ok && v.Kind == value.String && slices.Contains(values, v.Str)
}

// refusal looks at how the server refused a call.
func (r *rules) refusal(c *callSeen) {
	if c.entry == nil || c.errText == "" && c.state != session.CallToolError {
		return
	}
	refused := c.state == session.CallToolError || c.state == session.CallProtocolError && c.code == predicate.CodeInvalidParams
	if !refused {
		return
	}
	said := fmt.Sprintf("record %d of %s was answered: %s", c.seq, name(c.tool), predicate.Quoted(c.errText))
	if c.state == session.CallProtocolError {
		r.add(find("refused-by-protocol").of(c.entry).says(said).at(c.record()))
	}
	for _, b := range r.byText(c) {
		if p := c.entry.param(b.pointer); p != nil {
			r.notDeclared(&b, p)
			if why, whole := p.undescribed(); why != "" {
				r.add(find("parameter-undescribed").faint(!whole).of(c.entry).about(b.top()).
					says(said, fmt.Sprintf("the parameter %s of %s %s", name(p.name), name(c.tool), why)).at(c.record()))
			}
		}
	}
	if len(c.wrong) > 0 && !r.saysWhatIsRight(c) {
		w := c.wrong[0]
		r.add(find("refusal-without-remedy").of(c.entry).at(c.record()).
			says(said, fmt.Sprintf("the arguments violate the schema: %s at %s: %s", w.class, atPath(w.path), predicate.Scrub(w.message))))
	}
	r.namesNoInput(c, said)
}

// byText are the arguments that the text of an error names.
func (r *rules) byText(c *callSeen) []badArgument {
	names := c.entry.names()
	var out []badArgument
	for _, n := range names {
		if mentions(c.errText, n) && len(n) > 1 {
			out = append(out, badArgument{tool: c.entry, pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(n), call: c, records: c.record(),
				text: fmt.Sprintf("record %d of %s was answered: %s", c.seq, name(c.tool), predicate.Quoted(c.errText))})
		}
	}
	return out[:min(len(out), maxEvidence)]
}

// saysWhatIsRight tells whether the text of an error holds an accepted value, the pattern,
// or a word of demand.
func (r *rules) saysWhatIsRight(c *callSeen) bool {
	if remedy.MatchString(c.errText) {
		return true
	}
	for _, w := range c.wrong {
		if p := c.entry.param(w.path); p != nil {
			for _, a := range p.accepted() {
				if mentions(c.errText, a) {
					return true
				}
			}
		}
	}
	return false
}

// namesNoInput: the rule of toolErrorNamesInput on one call.
func (r *rules) namesNoInput(c *callSeen, said string) {
	if c.entry.properties() == nil {
		return
	}
	for _, n := range c.entry.names() {
		if mentions(c.errText, n) {
			return
		}
	}
	if c.args != nil {
		for i := range c.args.Obj {
			text := ""
			switch v := &c.args.Obj[i].Value; v.Kind {
			case value.String:
				text = v.Str
			case value.Number:
				text = value.ExactNumber(v.Str)
			}
			if value.UTF16Len(text) >= 3 && mentions(c.errText, text) {
				return
			}
		}
	}
	r.add(find("error-names-no-input").of(c.entry).says(said, "it names neither a parameter nor a value that was sent").at(c.record()))
}
