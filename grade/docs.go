package grade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
)

// UnknownKind says that a check kind does not exist, and names the nearest.
func UnknownKind(name string) string {
	return fmt.Sprintf("unknown check kind %s%s", predicate.Quoted(name), didYouMean(name, predicate.Names()))
}

// ChecksJSON writes docs of check kinds as a JSON array, keys sorted.
func ChecksJSON(docs []predicate.Doc) []byte {
	list := []value.Value{}
	for _, d := range docs {
		list = append(list, d.Value())
	}
	v := value.List(list...)
	return pretty(&v)
}

// ChecksPage is docs/checks.md.
func ChecksPage() []byte {
	var b strings.Builder
	b.WriteString("# The kinds of checks\n\n<!-- Made from the code: go test ./grade -run TestGenerated -update. Do not edit. -->\n\n")
	b.WriteString("A check is an object in a list of `assertions`: its `type`, its fields, and who listens to it: `role: required` (the\n" +
		"default; `gating` means the same) decides the trial, `role: advisory` is shown only, and `severity: warn` beside it\n" +
		"marks it as a warning. A row passes, fails, or is an error where evidence is missing: never a pass, and never a fail.\n")
	link := predicate.Link("")
	for _, d := range predicate.Docs() {
		if d.Link != link {
			link = d.Link
			fmt.Fprintf(&b, "\n## %s\n", link)
		}
		b.WriteString("\n" + d.Markdown())
	}
	return []byte(b.String())
}

// pretty writes a value as indented JSON with sorted keys.
func pretty(v *value.Value) []byte {
	text, err := value.Canonical(nil, v, value.Exact)
	if err != nil {
		panic(err) // of constants only
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		panic(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// SuiteSchemaDoc is docs/suite.schema.json: the JSON Schema of sixlink's suites, for
// editors. The loader knows more (bounds between fields, patterns that do not
// compile), and its word counts.
func SuiteSchemaDoc() []byte {
	type val = value.Value
	m, obj, list, text := value.M, value.Obj, value.List, value.Text
	no := val{Kind: value.Bool}
	num := func(n int) val { return value.Num(fmt.Sprint(n)) }
	ref := func(name string) val { return obj(m("$ref", text("#/$defs/"+name))) }
	str := func(least, most int) val {
		return obj(m("type", text("string")), m("minLength", num(least)), m("maxLength", num(most)))
	}
	enum := func(words ...string) val {
		var out []val
		for _, w := range words {
			out = append(out, text(w))
		}
		return obj(m("enum", list(out...)))
	}
	array := func(items val, least, most int) val {
		return obj(m("type", text("array")), m("items", items), m("minItems", num(least)), m("maxItems", num(most)))
	}
	closed := func(required []string, members ...value.Member) val {
		var req []val
		for _, r := range required {
			req = append(req, text(r))
		}
		out := []value.Member{m("type", text("object")), m("properties", obj(members...)), m("additionalProperties", no)}
		if len(req) > 0 {
			out = append(out, m("required", list(req...)))
		}
		return obj(out...)
	}
	whole := func(least, most int) val {
		return obj(m("type", text("integer")), m("minimum", num(least)), m("maximum", num(most)))
	}
	flag := obj(m("type", text("boolean")))
	var kinds []val
	defs := []value.Member{}
	for _, d := range predicate.Docs() {
		kinds = append(kinds, ref("check-"+d.Info.Name))
		defs = append(defs, m("check-"+d.Info.Name, d.Schema()))
	}
	checks := func(inherit bool) val {
		item := ref("check")
		if inherit {
			item = obj(m("anyOf", list(ref("check"), obj(m("const", text("inherit"))))))
		}
		return array(item, 0, maxChecks)
	}
	defs = append(defs,
		m("check", obj(m("oneOf", list(kinds...)))),
		m("id", obj(m("type", text("string")), m("pattern", text(`^[A-Za-z0-9_-]{1,128}$`)))),
		m("fraction", obj(m("type", text("number")), m("minimum", num(0)), m("maximum", num(1)))),
		m("matchOptions", closed(nil,
			m("argumentMatching", enum("partial", "exact", "ignore")),
			m("toolCallOrder", enum("ignore", "strict", "superset")),
			m("maxExtraToolCalls", obj(m("type", list(text("integer"), text("null"))), m("minimum", num(0)))))),
		m("servers", array(str(1, maxTitle), 1, 100)),
		m("turn", closed(nil,
			m("prompt", str(1, maxPrompt)),
			m("expectedToolCalls", array(closed([]string{"toolName"}, m("toolName", str(1, maxPrompt)), m("arguments", obj(m("type", text("object"))))), 0, maxTurns)),
			m("assertions", checks(false)))),
		m("case", closed([]string{"id"},
			m("id", ref("id")), m("title", str(1, maxTitle)),
			m("match", closed(nil, m("prompt", str(1, maxPrompt)), m("labels", obj(m("type", text("object")), m("additionalProperties", str(1, maxPrompt)))))),
			m("servers", ref("servers")), m("turns", array(ref("turn"), 0, maxTurns)),
			m("assertions", obj(m("anyOf", list(checks(true), closed([]string{"mode"}, m("mode", enum("inherit", "replace", "extend")), m("list", checks(true))))))),
			m("matchOptions", ref("matchOptions")), m("isNegativeTest", flag), m("expectedOutput", str(1, maxPrompt)),
			m("passThreshold", ref("fraction")), m("repetitions", whole(1, 100)), m("disabled", flag))),
	)
	doc := closed([]string{"schemaVersion", "suite"},
		m("schemaVersion", obj(m("const", text(SuiteSchema)))),
		m("extends", str(1, 4096)),
		m("suite", closed([]string{"id"}, m("id", ref("id")), m("name", str(1, maxTitle)), m("description", str(1, maxPrompt)))),
		m("servers", ref("servers")),
		m("evidence", enum("wire", "model")),
		m("usage", closed(nil, m("source", str(1, maxTitle)), m("cache", enum("include", "exclude")), m("subagents", enum("include", "exclude")))),
		m("defaults", closed(nil,
			m("assertions", checks(true)), m("matchOptions", ref("matchOptions")), m("passThreshold", ref("fraction")),
			m("validity", closed(nil, m("minEligibleTrials", obj(m("type", text("integer")), m("minimum", num(1)))),
				m("minCompletionRate", ref("fraction")), m("maxEvaluatorErrorRate", ref("fraction")))))),
		m("cases", array(ref("case"), 0, maxCases)),
	)
	doc.Obj = append(doc.Obj,
		m("$schema", text("https://json-schema.org/draft/2020-12/schema")),
		m("title", text("A suite of sixlink")),
		m("$defs", obj(defs...)))
	return pretty(&doc)
}
