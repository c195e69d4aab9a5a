package triage

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Bounds of descriptions, in characters: of a tool (as the lint of the page has it) and
// of a parameter.
const (
	shortTool  = 20
	shortParam = 12
	maxSchema  = 256 << 10 // bytes of an input schema that is looked at
)

// toolSeen is a tool as a server listed it.
type toolSeen struct {
	server, version, name, desc string
	hasDesc, deprecated         bool
	input                       []byte
	seq                         int64
	recording                   string

	schema   *value.Value // of input; nil: not there, or not readable
	unparsed bool
}

func seeTool(server, version, recording string, t *catalog.Tool) *toolSeen {
	out := &toolSeen{server: server, version: version, recording: recording, name: t.Name, desc: strings.TrimSpace(t.Description), hasDesc: t.HasDesc,
		input: t.InputSchema, seq: t.Seq, unparsed: true}
	out.deprecated = isDeprecated(t)
	return out
}

// properties are the members of the tool's input schema.
func (t *toolSeen) properties() *value.Value {
	if t.unparsed {
		t.unparsed = false
		if len(t.input) > 0 && len(t.input) <= maxSchema {
			if s, err := predicate.ParseArguments(t.input); err == nil && s.Kind == value.Object {
				t.schema = s
			}
		}
	}
	if t.schema == nil {
		return nil
	}
	if p, ok := t.schema.Get("properties"); ok && p.Kind == value.Object {
		return p
	}
	return nil
}

// names are those of the tool's top-level parameters.
func (t *toolSeen) names() []string {
	var out []string
	if p := t.properties(); p != nil {
		for i := range p.Obj {
			out = append(out, p.Obj[i].Key)
		}
	}
	return out
}

// param is what a schema says of one parameter, which a JSON Pointer into the arguments
// finds; nil: the schema does not say anything of it.
func (t *toolSeen) param(pointer string) *param {
	props := t.properties()
	if props == nil {
		return nil
	}
	name := ""
	var at *value.Value
	for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if at != nil {
			if _, err := strconv.Atoi(key); err == nil {
				if items, ok := at.Get("items"); ok && items.Kind == value.Object {
					at = items
					continue
				}
			}
			sub, ok := at.Get("properties")
			if !ok || sub.Kind != value.Object {
				break // what is below the schema does not say: that above stands for it
			}
			props = sub
		}
		p, ok := props.Get(key)
		if !ok || p.Kind != value.Object {
			return nil
		}
		name, at = key, p
	}
	if at == nil {
		return nil
	}
	return &param{name, at}
}

type param struct {
	name   string
	schema *value.Value
}

func (p *param) text(key string) string {
	if v, ok := p.schema.Get(key); ok && v.Kind == value.String {
		return strings.TrimSpace(v.Str)
	}
	return ""
}

// bounded tells whether the schema bounds the values by more than their type.
func (p *param) bounded() bool {
	for _, key := range []string{"enum", "const", "pattern", "format", "$ref", "anyOf", "oneOf", "allOf"} {
		if _, ok := p.schema.Get(key); ok {
			return true
		}
	}
	t := p.text("type")
	return t == "boolean" || t == "number" || t == "integer"
}

// formed tells whether the schema demands a form that words should say too.
func (p *param) formed() bool {
	for _, key := range []string{"enum", "pattern", "format"} {
		if _, ok := p.schema.Get(key); ok {
			return true
		}
	}
	return false
}

// saysNothing are words that tell a model nothing of a parameter.
var saysNothing = WordSet("a an the of to for in on with and or this that id ids identifier name value string text number parameter param argument input field data object item")

// undescribed tells how a parameter lacks a description; whole says that there is none.
func (p *param) undescribed() (why string, whole bool) {
	d := p.text("description")
	if d == "" {
		return "has no description", true
	}
	if n := utf8.RuneCountInString(d); n < shortParam {
		return "has the description " + predicate.Quoted(d) + " of " + plural(n, "character"), false
	}
	name := WordSet(p.name)
	for w := range WordSet(d) {
		if !saysNothing[w] && !name[w] {
			return "", false
		}
	}
	return "has a description that says no more than its name: " + predicate.Quoted(d), false
}

var exemplary = regexp.MustCompile(`(?i)\be\.?g\b|\bexamples?\b|\bsuch as\b|\blike\b|\bfor instance\b|[0-9]`)

// exampled tells whether words say what a value looks like.
func (p *param) exampled() bool {
	_, ok := p.schema.Get("examples")
	return ok || exemplary.MatchString(p.text("description"))
}

// accepted are texts that the schema accepts or demands, at most 20 of them.
func (p *param) accepted() []string {
	var out []string
	for _, key := range []string{"enum", "examples"} {
		if v, ok := p.schema.Get(key); ok && v.Kind == value.Array {
			for i := range v.Arr {
				if e := &v.Arr[i]; e.Kind == value.String && e.Str != "" && len(out) < 20 {
					out = append(out, e.Str)
				}
			}
		}
	}
	for _, key := range []string{"pattern", "format"} {
		if s := p.text(key); s != "" {
			out = append(out, s)
		}
	}
	return out
}

var (
	lists   = regexp.MustCompile(`(?i)\b(?:one of|either|expected|allowed|valid|must be|should be|supported|choose from|options|permitted|accepts?)\b`)
	quoted  = regexp.MustCompile("[\"'`“‘]([^\"'`“”‘’\\n]{1,60})[\"'`”’]")
	between = regexp.MustCompile(`^\s*[,|/]?\s*(?:or|and)?\s*$`)
	bracket = regexp.MustCompile(`^[^\[({\n]{0,40}[\[({]([^\[\](){}\n]{3,300})[\])}]`)
	// A list of bare words: behind a colon, "one of" or "are", or with bars between.
	listing = regexp.MustCompile(`^(?:(?:\s+[\w-]+){0,3}?(?:\s*:|\s+are:?|\s+one of:?)|\s*:)\s*([\w.-]+(?:\s*[,|]\s*(?:or\s+|and\s+)?[\w.-]+)*(?:\s+(?:or|and)\s+[\w.-]+)?)|^\s+(?:one of\s+)?([\w.-]+(?:\s*\|\s*[\w.-]+)+)`)
	ofList  = regexp.MustCompile(`^\s+([\w.-]+(?:\s*[,|]\s*(?:or\s+|and\s+)?[\w.-]+)*(?:\s+(?:or|and)\s+[\w.-]+)?)`)
	parts   = regexp.MustCompile(`\s*[,|]\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+`)
	forms   = regexp.MustCompile(`(?i)\bISO[ -]?8601\b|\bRFC[ -]?3339\b|\bY{4}\b(?:[-/]?M{2})?(?:[-/]?D{2})?|\bdate-time\b|\bUUID\b|\be-?mail address\b|\bmust match \S+|\bpattern \S+|\bE\.164\b`)
	remedy  = regexp.MustCompile(`(?i)\b(?:must|should|expected|expects|one of|allowed|valid values?|required|requires?|missing|has to|use|try|instead|format|at least|at most|between|greater|less|additional propert|unrecognized)\b`)
)

// noValues are words that stand where a list of values could: types, and what was sent.
var noValues = WordSet("string number integer boolean bool object array list null undefined nan received got but not found")

// demands are the values that a text lists, or the form that it demands; nil: neither.
// It is right about what it sees and may be wrong about what it means.
func demands(text string) (values []string, form string) {
	text = cutBytes(text, maxWords)
	for _, m := range lists.FindAllStringIndex(text, 8) {
		if values = listedIn(text[m[0]:m[1]], cutBytes(text[m[1]:], 400)); len(values) > 1 {
			return values, ""
		}
	}
	return nil, forms.FindString(text)
}

// listedIn are the values that stand right behind a word of demand: quoted, in brackets, or
// bare; nil where they are types, or fewer than two.
func listedIn(word, rest string) []string {
	var values []string
	last := -1
	for _, q := range quoted.FindAllStringSubmatchIndex(rest, 20) {
		if last < 0 && q[0] > 40 || last >= 0 && !between.MatchString(rest[last:q[0]]) {
			break
		}
		values, last = append(values, rest[q[2]:q[3]]), q[1]
	}
	if len(values) < 2 {
		run := ""
		if m := bracket.FindStringSubmatch(rest); m != nil {
			run = m[1]
		} else if m := ofList.FindStringSubmatch(rest); m != nil && strings.EqualFold(word, "one of") {
			run = m[1]
		} else if m := listing.FindStringSubmatch(rest); m != nil {
			run = m[1] + m[2]
		}
		values = nil
		for _, v := range parts.Split(run, 20) {
			if v = strings.Trim(v, " \"'`.;"); v != "" && len(v) <= 60 && !strings.ContainsAny(v, " /") {
				values = append(values, v)
			}
		}
	}
	for _, v := range values {
		if noValues[strings.ToLower(v)] {
			return nil
		}
	}
	if len(values) < 2 {
		return nil
	}
	return values
}
