package predicate

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// Doc is what there is to say of a kind, for people and for programs.
type Doc struct {
	Info
	*Kind
}

// Docs returns the docs of all kinds that can be evaluated, by link.
func Docs() []Doc {
	var out []Doc
	for _, i := range infos {
		if _, k, _ := Lookup(i.Name); k != nil {
			out = append(out, Doc{i, k})
		}
	}
	return out
}

// DocOf returns the doc of one kind.
func DocOf(name string) (Doc, bool) {
	i, k, _ := Lookup(name)
	return Doc{i, k}, k != nil
}

// traits are the properties that decide where a check may stand.
func (d Doc) traits() []string {
	out := []string{"link " + string(d.Link)}
	if d.Observation {
		out = append(out, "an observation: role advisory only")
	} else {
		out = append(out, "may gate")
	}
	if d.Turn {
		out = append(out, "may stand on a turn")
	} else {
		out = append(out, "for a whole case only")
	}
	if d.NeedsCall {
		out = append(out, "expects a call")
	}
	return out
}

// Page is the kind's reference page for a terminal.
func (d Doc) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\n", d.Info.Name, d.Title, wrap(d.Text, 80, ""))
	for _, t := range d.traits() {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	fmt.Fprintf(&b, "  reads %s\n", d.reads())
	if len(d.Fields) > 0 {
		b.WriteString("\nFields:\n")
		for i := range d.Fields {
			f := &d.Fields[i]
			head := wrap(fmt.Sprintf("%s (%s): %s", f.Name, presence(f), f.Expected()), 80, "    ")
			fmt.Fprintf(&b, "%s\n", head[2:]) // what does not fit hangs below it
			if f.Text != "" {
				fmt.Fprintf(&b, "%s\n", wrap(f.Text, 80, "      "))
			}
		}
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "\n%s\n", wrap(n, 80, ""))
	}
	fmt.Fprintf(&b, "\nExample:\n%s\n", d.example())
	return b.String()
}

// example is the example on lines of at most 80 characters, where it can be: one too
// long is broken behind a comma between two members, where YAML goes on by itself.
func (d Doc) example() string {
	line, quote, depth := "  - ", byte(0), 0
	var lines []string
	for part := d.Example; part != ""; {
		end := len(part)
		for i := 0; i < len(part) && end == len(part); i++ {
			switch c := part[i]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"', c == '\'':
				quote = c
			case c == '{', c == '[':
				depth++
			case c == '}', c == ']':
				depth--
			case c == ',' && depth == 1:
				end = i + 1
			}
		}
		next := part[:end]
		if part = strings.TrimPrefix(part[end:], " "); len(lines) > 0 || len(line) > 4 {
			switch {
			case len([]rune(line))+1+len([]rune(next)) > 80:
				lines, line = append(lines, line), "     "
			case line != "     ":
				line += " "
			}
		}
		line += next
	}
	return strings.Join(append(lines, line), "\n")
}

// Markdown is the section of the kind in docs/checks.md.
func (d Doc) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### `%s`\n\n**%s.** %s\n\n", d.Info.Name, strings.TrimSuffix(d.Title, "."), strings.Join(strings.Fields(d.Text), " "))
	fmt.Fprintf(&b, "%s. Reads %s. Since analyzer version %d.\n\n", capital(strings.Join(d.traits(), "; ")), d.reads(), d.Since)
	if len(d.Fields) > 0 {
		b.WriteString("| field | | value | |\n|---|---|---|---|\n")
		for i := range d.Fields {
			f := &d.Fields[i]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, presence(f), bar(f.Expected()), bar(strings.Join(strings.Fields(f.Text), " ")))
		}
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "%s\n\n", strings.Join(strings.Fields(n), " "))
	}
	fmt.Fprintf(&b, "```yaml\n- %s\n```\n", d.Example)
	return b.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// bar keeps a text inside its cell of a table.
func bar(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func presence(f *Field) string {
	if f.Required {
		return "required"
	}
	return "optional"
}

func (d Doc) reads() string {
	if len(d.Channels) == 0 {
		return "no channel"
	}
	names := make([]string, len(d.Channels))
	for i, c := range d.Channels {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// wrap breaks a text at blanks, so that no line is over width characters.
func wrap(text string, width int, indent string) string {
	var lines []string
	line := indent
	for _, w := range strings.Fields(text) {
		switch {
		case line == indent:
			line += w
		case len([]rune(line))+1+len([]rune(w)) > width:
			lines = append(lines, line)
			line = indent + w
		default:
			line += " " + w
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// Value is the doc as JSON.
func (d Doc) Value() value.Value {
	fields := []value.Value{}
	for i := range d.Fields {
		f := &d.Fields[i]
		fields = append(fields, value.Obj(
			value.M("name", value.Text(f.Name)), value.M("required", boolean(f.Required)),
			value.M("expected", value.Text(f.Expected())), value.M("text", value.Text(strings.Join(strings.Fields(f.Text), " "))),
			value.M("schema", f.Schema())))
	}
	channels := []value.Value{}
	for _, c := range d.Channels {
		channels = append(channels, value.Text(string(c)))
	}
	notes := []value.Value{}
	for _, n := range d.Notes {
		notes = append(notes, value.Text(strings.Join(strings.Fields(n), " ")))
	}
	return value.Obj(
		value.M("type", value.Text(d.Info.Name)), value.M("title", value.Text(d.Title)),
		value.M("text", value.Text(strings.Join(strings.Fields(d.Text), " "))), value.M("link", value.Text(string(d.Link))),
		value.M("observation", boolean(d.Observation)), value.M("turn", boolean(d.Turn)), value.M("expectsCall", boolean(d.NeedsCall)),
		value.M("channels", value.List(channels...)), value.M("fields", value.List(fields...)), value.M("notes", value.List(notes...)),
		value.M("example", value.Text(d.Example)), value.M("since", value.Num(fmt.Sprint(d.Since))))
}

func boolean(b bool) value.Value { return value.Value{Kind: value.Bool, Bool: b} }

// Schema is the JSON Schema (2020-12) of the field.
func (f *Field) Schema() value.Value {
	num := func(n int64) value.Value { return value.Num(fmt.Sprint(n)) }
	text := func(more ...value.Member) value.Value {
		m := []value.Member{value.M("type", value.Text("string")), value.M("minLength", num(1))}
		if f.MaxUnits > 0 {
			// JSON Schema counts characters, a check UTF-16 units: the loader is stricter.
			m = append(m, value.M("maxLength", num(int64(f.MaxUnits))))
		}
		return value.Obj(append(m, more...)...)
	}
	words := func() value.Value {
		var out []value.Value
		for _, w := range f.Words {
			out = append(out, value.Text(w))
		}
		return value.Obj(value.M("enum", value.List(out...)))
	}
	switch f.Type {
	case WholeNum:
		m := []value.Member{value.M("type", value.Text("integer")), value.M("minimum", num(f.Min))}
		if f.Max > 0 {
			m = append(m, value.M("maximum", num(f.Max)))
		}
		return value.Obj(m...)
	case Flag:
		return value.Obj(value.M("type", value.Text("boolean")))
	case Share:
		return value.Obj(value.M("type", value.Text("number")), value.M("minimum", num(0)), value.M("maximum", num(1)))
	case Word:
		return words()
	case Texts:
		item := text()
		if len(f.Words) > 0 {
			item = words()
		}
		m := []value.Member{value.M("type", value.Text("array")), value.M("items", item), value.M("minItems", num(int64(f.MinItems)))}
		if f.MaxItems > 0 {
			m = append(m, value.M("maxItems", num(int64(f.MaxItems))))
		}
		if f.Unique {
			m = append(m, value.M("uniqueItems", boolean(true)))
		}
		return value.Obj(m...)
	case Object:
		return value.Obj(value.M("type", value.Text("object")))
	case JSON:
		return boolean(true)
	}
	return text()
}

// Schema is the JSON Schema of a check of this kind in a suite.
func (d Doc) Schema() value.Value {
	role := []value.Value{value.Text("advisory")}
	if !d.Observation {
		role = []value.Value{value.Text("required"), value.Text("gating"), value.Text("advisory")}
	}
	props := []value.Member{
		value.M("type", value.Obj(value.M("const", value.Text(d.Info.Name)))),
		value.M("role", value.Obj(value.M("enum", value.List(role...)))),
		value.M("severity", value.Obj(value.M("const", value.Text("warn")))),
	}
	required := []value.Value{value.Text("type")}
	if d.Observation {
		required = append(required, value.Text("role"))
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		s := f.Schema()
		if f.Text != "" && s.Kind == value.Object {
			s.Obj = append(s.Obj, value.M("description", value.Text(strings.Join(strings.Fields(f.Text), " "))))
		}
		props = append(props, value.M(f.Name, s))
		if f.Required {
			required = append(required, value.Text(f.Name))
		}
	}
	return value.Obj(
		value.M("title", value.Text(d.Title)), value.M("type", value.Text("object")),
		value.M("properties", value.Obj(props...)), value.M("required", value.List(required...)),
		value.M("additionalProperties", boolean(false)),
		// severity stands only beside role: advisory.
		value.M("dependentSchemas", value.Obj(value.M("severity", value.Obj(
			value.M("properties", value.Obj(value.M("role", value.Obj(value.M("const", value.Text("advisory")))))),
			value.M("required", value.List(value.Text("role"))))))))
}
