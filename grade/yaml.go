package grade

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/sixlink/sixlink/grade/internal/lazy"
	"github.com/sixlink/sixlink/grade/internal/value"
)

// Limits of a suite file. They bound what a stranger's suite can cost.
const (
	maxSuiteBytes = 1 << 20
	maxSuiteDepth = 64      // of the value
	maxSuiteNodes = 250_000 // of the value, aliases expanded: 500 cases of 50 checks have 130,000
	// maxLineOpens bounds, per line, the tokens that open a level without
	// indentation ("- - - -", "? ? ?", anchors); the parser recurses on them.
	maxLineOpens = 64
	// maxTokens bounds what is parsed at all, and maxKeys the keys of one block
	// mapping: the parser recurses from key to key and takes their square (16,000
	// keys of 4 bytes took 2.3 s, 500 take 2 ms).
	maxTokens = 400_000
	maxKeys   = 500
)

// problem is a fault in a suite's text with its place.
type problem struct {
	pos value.Pos
	msg string
}

func (p *problem) Error() string { return p.msg }

// asProblem is err with its place, the beginning of the text where it has none.
func asProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return problemf(value.Pos{Line: 1, Col: 1}, "%v", err)
}

func problemf(pos value.Pos, format string, args ...any) *problem {
	return &problem{pos, fmt.Sprintf(format, args...)}
}

// parseYAML reads one document of YAML 1.2, core schema.
func parseYAML(data []byte) (v *value.Value, err error) {
	// The parser is a stranger's and so is the text.
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, problemf(value.Pos{Line: 1, Col: 1}, "the YAML parser broke on this text: %.120v", r)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var se interface {
			error
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &se) && se.GetToken() != nil {
			return nil, problemf(tokenPos(se.GetToken()), "no YAML: %s", oneLine(se.GetMessage()))
		}
		return nil, problemf(value.Pos{Line: 1, Col: 1}, "no YAML: %s", oneLine(err.Error()))
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.DirectiveType || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, problemf(nodePos(d.Body), "a second document begins here: expected one")
		}
		body = d.Body
	}
	if body == nil {
		return nil, problemf(value.Pos{Line: 1, Col: 1}, "the suite is empty")
	}
	c := converter{anchors: map[string]*value.Value{}}
	out, err := c.convert(body, 0)
	if err != nil {
		return nil, err
	}
	return &out, nil
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

func tokenPos(t *token.Token) value.Pos {
	if t == nil || t.Position == nil {
		return value.Pos{Line: 1, Col: 1}
	}
	return value.Pos{Line: max(1, t.Position.Line), Col: max(1, t.Position.Column)}
}

// checkTokens refuses what would make the parser recurse too deep, since a stack
// that overflows cannot be recovered from, or work too long.
func checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return problemf(value.Pos{Line: 1, Col: 1}, "more than %d tokens", maxTokens)
	}
	flow, line, opens := 0, 0, 0
	keys := map[int]int{} // of the open block mappings, by column
	closeInside := func(col int) {
		for c := range keys {
			if c > col {
				delete(keys, c)
			}
		}
	}
	for i, t := range tokens {
		pos := tokenPos(t)
		if pos.Line != line {
			line, opens = pos.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.AnchorType, token.TagType:
			opens++
		case token.MappingKeyType:
			return problemf(pos, "explicit keys (?) have no meaning in a suite")
		case token.SequenceEntryType:
			opens++
			closeInside(pos.Col)
		case token.MappingValueType:
			if flow == 0 && i > 0 {
				col := tokenPos(tokens[i-1]).Col
				closeInside(col)
				if keys[col]++; keys[col] > maxKeys {
					return problemf(pos, "more than %d keys in one mapping", maxKeys)
				}
			}
		}
		if flow > maxSuiteDepth || opens > maxLineOpens {
			return problemf(pos, "nested deeper than %d", maxSuiteDepth)
		}
	}
	return nil
}

type converter struct {
	anchors map[string]*value.Value
	nodes   int
}

// nodePos is where a node begins: a block mapping at its first key, which is
// not what its own token says.
func nodePos(n ast.Node) value.Pos {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return tokenPos(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return tokenPos(n.Key.GetToken())
	case *ast.LiteralNode:
		if n.Start != nil {
			return tokenPos(n.Start)
		}
	}
	return tokenPos(n.GetToken())
}

func (c *converter) convert(n ast.Node, depth int) (value.Value, error) {
	if n == nil {
		return value.Value{}, nil
	}
	pos := nodePos(n)
	if depth > maxSuiteDepth {
		return value.Value{}, problemf(pos, "nested deeper than %d", maxSuiteDepth)
	}
	if c.nodes++; c.nodes > maxSuiteNodes {
		return value.Value{}, problemf(pos, "more than %d values", maxSuiteNodes)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Values, pos, depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, pos, depth)
	case *ast.SequenceNode:
		out := value.Value{Kind: value.Array, Pos: pos, Arr: []value.Value{}}
		for _, item := range n.Values {
			v, err := c.convert(item, depth+1)
			if err != nil {
				return out, err
			}
			out.Arr = append(out.Arr, v)
		}
		return out, nil
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		c.anchors[name] = nil // so that an alias inside itself is noticed
		v, err := c.convert(n.Value, depth+1)
		if err != nil {
			return v, err
		}
		c.anchors[name] = &v
		return v, nil
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		v := c.anchors[name]
		if v == nil {
			return value.Value{}, problemf(pos, "the alias *%s has no anchor before it", name)
		}
		out, err := c.copy(v, pos, depth)
		out.Pos = pos
		return out, err
	case *ast.TagNode:
		return value.Value{}, problemf(pos, "the tag %s: tags have no meaning in a suite", n.GetToken().Value)
	case *ast.LiteralNode:
		return value.Value{Kind: value.String, Str: n.Value.Value, Pos: pos}, nil
	case *ast.NullNode:
		return value.Value{Pos: pos}, nil
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(n, pos)
	}
	return value.Value{}, problemf(pos, "%s has no meaning in a suite", n.Type())
}

// copy expands an alias and counts what it adds, so that a few lines cannot grow
// into gigabytes.
func (c *converter) copy(v *value.Value, pos value.Pos, depth int) (value.Value, error) {
	if depth > maxSuiteDepth {
		return value.Value{}, problemf(pos, "nested deeper than %d", maxSuiteDepth)
	}
	if c.nodes++; c.nodes > maxSuiteNodes {
		return value.Value{}, problemf(pos, "more than %d values once aliases are expanded", maxSuiteNodes)
	}
	out := *v
	var err error
	if v.Arr != nil {
		out.Arr = make([]value.Value, len(v.Arr))
		for i := range v.Arr {
			if out.Arr[i], err = c.copy(&v.Arr[i], pos, depth+1); err != nil {
				return out, err
			}
		}
	}
	if v.Obj != nil {
		out.Obj = make([]value.Member, len(v.Obj))
		for i := range v.Obj {
			out.Obj[i] = v.Obj[i]
			if out.Obj[i].Value, err = c.copy(&v.Obj[i].Value, pos, depth+1); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func (c *converter) mapping(values []*ast.MappingValueNode, pos value.Pos, depth int) (value.Value, error) {
	out := value.Value{Kind: value.Object, Pos: pos, Obj: []value.Member{}}
	seen := map[string]bool{}
	for _, m := range values {
		at := nodePos(m)
		if m.Key.IsMergeKey() {
			return out, problemf(at, "merge keys (<<) are no part of YAML 1.2")
		}
		key, err := c.convert(m.Key, depth+1)
		if err != nil {
			return out, err
		}
		if key.Kind != value.String {
			return out, problemf(at, "a key is %s, expected a string: put it in quotes", key.Kind)
		}
		if seen[key.Str] {
			return out, problemf(at, "the key %q is there twice", key.Str)
		}
		seen[key.Str] = true
		v, err := c.convert(m.Value, depth+1)
		if err != nil {
			return out, err
		}
		if v.Kind == value.Null && v.Pos.Line < at.Line {
			v.Pos = at
		}
		out.Obj = append(out.Obj, value.Member{Key: key.Str, Pos: at, Value: v})
	}
	return out, nil
}

// The core schema of YAML 1.2: yes, no, on and 0b1 are strings, 017 is seventeen.
var (
	coreInt   = lazy.Regexp(`^[-+]?[0-9]+$`)
	coreOctal = lazy.Regexp(`^0o[0-7]+$`)
	coreHex   = lazy.Regexp(`^0x[0-9a-fA-F]+$`)
	coreFloat = lazy.Regexp(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	coreInf   = lazy.Regexp(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// scalar resolves a scalar by its text; the parser's own idea of numbers is that
// of YAML 1.1 in places.
func scalar(n ast.Node, pos value.Pos) (value.Value, error) {
	t := n.GetToken()
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		s := t.Value
		if sn, ok := n.(*ast.StringNode); ok {
			s = sn.Value
		}
		if !utf8.ValidString(s) {
			return value.Value{}, problemf(pos, "an escape in this string makes no valid text; write the suite as JSON to name half a surrogate pair")
		}
		return value.Value{Kind: value.String, Str: s, Pos: pos}, nil
	}
	s := t.Value
	if sn, ok := n.(*ast.StringNode); ok {
		s = sn.Value
	}
	switch s {
	case "", "~", "null", "Null", "NULL":
		return value.Value{Pos: pos}, nil
	case "true", "True", "TRUE":
		return value.Value{Kind: value.Bool, Bool: true, Pos: pos}, nil
	case "false", "False", "FALSE":
		return value.Value{Kind: value.Bool, Pos: pos}, nil
	}
	num := func(s string) (value.Value, error) { return value.Value{Kind: value.Number, Str: s, Pos: pos}, nil }
	switch {
	case coreInt().MatchString(s), coreFloat().MatchString(s):
		return num(value.ExactNumber(s))
	case coreOctal().MatchString(s), coreHex().MatchString(s):
		n, err := parseUint(s)
		if err != nil {
			return value.Value{}, problemf(pos, "the number %.40s does not fit 64 bits", s)
		}
		return num(n)
	case coreInf().MatchString(s):
		return value.Value{}, problemf(pos, "%s is no JSON number", s)
	}
	return value.Value{Kind: value.String, Str: s, Pos: pos}, nil
}
