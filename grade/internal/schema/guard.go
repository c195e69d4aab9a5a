package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
)

// The bounds. They are sizes and counts, never a clock, so that the same schema
// gives the same outcome on every machine (grading.md 0.2.19). The library has no
// way to be stopped, so what would take long is refused before it begins; its
// costs were measured in wire.md 6.1.
const (
	maxBytes    = 256 << 10 // of a schema's text
	maxDepth    = 64        // of a schema's text; compiling costs more than its square
	maxNodes    = 10_000    // subschemas; the library searches them linearly for each other
	maxRefs     = 2_000     // references; each is searched among the subschemas
	maxFanOut   = 100_000   // evaluations along one path of the instance
	maxExponent = 400       // of a number: big.Rat writes it out in full, and panics from 1e3000000
	maxDigits   = 1_000     // of a number

	maxInstanceBytes = 4 << 20
	maxInstanceDepth = 200
	maxWork          = 20_000_000  // fan-out × values of the instance
	maxMatching      = 400_000_000 // fan-out × bytes of the instance, where a schema has patterns
)

const base = "mem://sixlink/schema.json"

// node is one subschema with what evaluating it once sets off.
type node struct {
	weight  uint64
	inPlace []*node // applied to the same value
	one     []*node // at most one of them is applied to each member
	all     []*node // each may be applied to each member
	// meta marks a reference to a draft's own schema, which descends with the value.
	meta bool

	refs  []reference
	state uint8 // of the walk that looks for cycles

	cost, next uint64 // at the depth under way, and one deeper
}

type reference struct{ keyword, uri, text string }

type guard struct {
	root    value.Value
	draft07 bool
	// nodes by address in the document, by absolute URI, and by dynamic anchor.
	byValue  map[*value.Value]*node
	byURI    map[string]*node
	dynamic  map[string][]*node
	resource map[string]*value.Value // root of each embedded resource, by URI
	order    []*node                 // after all nodes that they apply in place
	count    int
	refs     int
	patterns bool
	formats  bool
	rootNode *node
	depth    int      // of the instance for which node.cost holds
	levels   []uint64 // the root's cost, by depth
}

// inspect walks a schema and finds out what evaluating it can cost. It resolves
// every reference itself, so that the library is never asked for a document that
// is not there.
func inspect(root value.Value, draft07 bool) (*guard, error) {
	g := &guard{
		root: root, draft07: draft07,
		byValue:  map[*value.Value]*node{},
		byURI:    map[string]*node{},
		dynamic:  map[string][]*node{},
		resource: map[string]*value.Value{base: &root},
	}
	if err := checkNumbers(&g.root); err != nil {
		return nil, err
	}
	g.resource[base] = &g.root
	var err error
	if g.rootNode, err = g.walk(&g.root, base); err != nil {
		return nil, err
	}
	// Resolving may walk into parts that no keyword reaches, which adds nodes
	// with references of their own.
	done := map[*node]bool{}
	for changed := true; changed; {
		changed = false
		for _, n := range g.sorted() {
			if done[n] {
				continue
			}
			done[n], changed = true, true
			for _, r := range n.refs {
				target, err := g.resolve(r)
				if err != nil {
					return nil, err
				}
				n.inPlace = append(n.inPlace, target...)
			}
		}
	}
	for _, n := range g.sorted() {
		if err := g.topological(n, 0); err != nil {
			return nil, err
		}
	}
	g.start()
	if g.rootNode.cost > maxFanOut {
		return nil, fmt.Errorf("the schema's references multiply to more than %d evaluations", maxFanOut)
	}
	return g, nil
}

// sorted returns the nodes in a fixed order; a map's order must not decide which
// of two errors is reported.
func (g *guard) sorted() []*node {
	out := make([]*node, 0, len(g.byValue))
	var visit func(v *value.Value)
	visit = func(v *value.Value) {
		if n := g.byValue[v]; n != nil {
			out = append(out, n)
		}
		for i := range v.Arr {
			visit(&v.Arr[i])
		}
		for i := range v.Obj {
			visit(&v.Obj[i].Value)
		}
	}
	visit(&g.root)
	return out
}

func (g *guard) walk(v *value.Value, uri string) (*node, error) {
	if n := g.byValue[v]; n != nil {
		return n, nil
	}
	g.count++
	if g.count > maxNodes {
		return nil, fmt.Errorf("the schema has more than %d subschemas", maxNodes)
	}
	n := &node{weight: 1}
	g.byValue[v] = n
	if v.Kind == value.Bool {
		return n, nil
	}
	if v.Kind != value.Object {
		return nil, fmt.Errorf("a subschema is %s, expected an object or a boolean", v.Kind)
	}
	uri, err := g.identify(v, n, uri)
	if err != nil {
		return nil, err
	}
	for i := range v.Obj {
		m := &v.Obj[i]
		if err := g.keyword(n, m, uri); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// identify notes the names under which a subschema can be referred to.
func (g *guard) identify(v *value.Value, n *node, uri string) (string, error) {
	_, hasRef := v.Get("$ref")
	if id, ok := v.Get("$id"); ok && id.Kind == value.String && !(g.draft07 && hasRef) {
		abs, err := absolute(uri, id.Str)
		if err != nil {
			return "", fmt.Errorf("$id %.80q is no URI", id.Str)
		}
		if strings.HasPrefix(id.Str, "#") {
			g.byURI[abs] = n
		} else {
			uri = strings.TrimSuffix(abs, "#")
			g.byURI[uri] = n
			g.resource[uri] = v
		}
	}
	for _, k := range []string{"$anchor", "$dynamicAnchor"} {
		if a, ok := v.Get(k); ok && a.Kind == value.String {
			g.byURI[uri+"#"+a.Str] = n
			if k == "$dynamicAnchor" {
				g.dynamic[a.Str] = append(g.dynamic[a.Str], n)
			}
		}
	}
	return uri, nil
}

func (g *guard) keyword(n *node, m *value.Member, uri string) error {
	add := func(to *[]*node, v *value.Value) error {
		c, err := g.walk(v, uri)
		if err == nil && to != nil {
			*to = append(*to, c)
		}
		return err
	}
	addAll := func(to *[]*node) error {
		for i := range m.Value.Arr {
			if err := add(to, &m.Value.Arr[i]); err != nil {
				return err
			}
		}
		for i := range m.Value.Obj {
			c := &m.Value.Obj[i].Value
			if m.Key == "dependencies" && c.Kind == value.Array {
				continue // a list of names
			}
			if err := add(to, c); err != nil {
				return err
			}
		}
		// The library looks through the whole list on each evaluation.
		n.weight += uint64(len(m.Value.Arr)+len(m.Value.Obj)) / 8
		return nil
	}
	switch m.Key {
	case "$ref", "$dynamicRef":
		if m.Value.Kind != value.String {
			return fmt.Errorf("%s is no string", m.Key)
		}
		if g.refs++; g.refs > maxRefs {
			return fmt.Errorf("the schema has more than %d references", maxRefs)
		}
		n.refs = append(n.refs, reference{m.Key, uri, m.Value.Str})
	case "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies":
		return addAll(&n.inPlace)
	case "not", "if", "then", "else":
		return add(&n.inPlace, &m.Value)
	case "properties", "prefixItems":
		return addAll(&n.one)
	case "patternProperties":
		g.patterns = true
		return addAll(&n.all)
	case "items":
		if m.Value.Kind == value.Array {
			return addAll(&n.one)
		}
		return add(&n.all, &m.Value)
	case "additionalProperties", "unevaluatedProperties", "propertyNames", "additionalItems", "contains", "unevaluatedItems":
		return add(&n.all, &m.Value)
	case "$defs", "definitions":
		if m.Value.Kind == value.Object {
			return addAll(nil)
		}
	case "pattern":
		g.patterns = true
	case "format":
		g.formats = true
	case "enum", "const":
		n.weight += comparing(&m.Value) / 8
	case "required":
		n.weight += uint64(len(m.Value.Arr)) / 8
	}
	return nil
}

func absolute(from, ref string) (string, error) {
	b, err := url.Parse(from)
	if err != nil {
		return "", err
	}
	r, err := url.Parse(ref)
	if err != nil {
		return "", err
	}
	return b.ResolveReference(r).String(), nil
}

// resolve finds what a reference names inside the document. Files and the
// network are never read, so anything else is an error that names the reference.
func (g *guard) resolve(r reference) ([]*node, error) {
	outside := fmt.Errorf("%s %.120q is not in the schema itself (files and the network are never read)", r.keyword, r.text)
	abs, err := absolute(r.uri, r.text)
	if err != nil {
		return nil, fmt.Errorf("%s %.120q is no URI", r.keyword, r.text)
	}
	doc, fragment, _ := strings.Cut(abs, "#")
	if dialect(doc) != 0 && (fragment == "" || fragment == "/") && g.resource[doc] == nil {
		// The drafts' own schemas are built into the library.
		return []*node{{meta: true}}, nil
	}
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		out := []*node{}
		if n := g.byURI[doc+"#"+fragment]; n != nil {
			out = append(out, n)
		}
		if r.keyword == "$dynamicRef" {
			for _, n := range g.dynamic[fragment] {
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
		if len(out) == 0 {
			return nil, outside
		}
		return out, nil
	}
	at := g.resource[doc]
	if at == nil {
		return nil, outside
	}
	uri := doc
	for _, token := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		if fragment == "" || fragment == "/" {
			break
		}
		if token, err = url.PathUnescape(token); err != nil {
			return nil, outside
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at.Kind {
		case value.Object:
			next, ok := at.Get(token)
			if !ok {
				return nil, fmt.Errorf("%s %.120q leads nowhere", r.keyword, r.text)
			}
			at = next
		case value.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at.Arr) {
				return nil, fmt.Errorf("%s %.120q leads nowhere", r.keyword, r.text)
			}
			at = &at.Arr[i]
		default:
			return nil, fmt.Errorf("%s %.120q leads nowhere", r.keyword, r.text)
		}
		if id, ok := at.Get("$id"); ok && id.Kind == value.String {
			if u, err := absolute(uri, id.Str); err == nil {
				uri, _, _ = strings.Cut(u, "#")
			}
		}
	}
	n, err := g.walk(at, uri)
	if err != nil {
		return nil, err
	}
	return []*node{n}, nil
}

// topological orders the nodes and refuses a schema that applies itself to the
// same value for ever.
func (g *guard) topological(n *node, depth int) error {
	switch n.state {
	case 2:
		return nil
	case 1:
		return fmt.Errorf("a $ref leads back to itself without descending into the value")
	}
	if depth > 4*maxDepth+maxRefs {
		return fmt.Errorf("the schema's references are chained too deep")
	}
	n.state = 1
	for _, c := range n.inPlace {
		if err := g.topological(c, depth+1); err != nil {
			return err
		}
	}
	n.state = 2
	g.order = append(g.order, n)
	return nil
}

const saturated = 1 << 40

// metaCost is how many evaluations the drafts' own schema takes for one value.
const metaCost = 300

// start computes the costs for a value without members.
func (g *guard) start() {
	for _, n := range g.order {
		n.cost = n.weight
		if n.meta {
			n.cost = metaCost
		}
		for _, c := range n.inPlace {
			n.cost = min(saturated, n.cost+c.cost)
		}
	}
	g.depth = 0
	g.levels = []uint64{g.rootNode.cost}
}

// fanOut is how many evaluations a path of the instance of that depth can cost.
func (g *guard) fanOut(depth int) uint64 {
	for ; g.depth < depth; g.depth++ {
		for _, n := range g.order {
			n.next = n.weight
			if n.meta {
				n.next = metaCost * uint64(g.depth+2)
			}
			for _, c := range n.inPlace {
				n.next = min(saturated, n.next+c.next)
			}
			var most uint64
			for _, c := range n.one {
				most = max(most, c.cost)
			}
			n.next = min(saturated, n.next+most)
			for _, c := range n.all {
				n.next = min(saturated, n.next+c.cost)
			}
		}
		for _, n := range g.order {
			n.cost = n.next
		}
		g.levels = append(g.levels, g.rootNode.cost)
	}
	return g.levels[depth]
}

// comparing is what it costs to compare a value with this one, in eighths of an
// evaluation. The library makes two big.Rat of each pair of numbers, which takes as
// long as some eight evaluations.
func comparing(v *value.Value) uint64 {
	n := uint64(1)
	if v.Kind == value.Number {
		n = 64
	}
	for i := range v.Arr {
		n += comparing(&v.Arr[i])
	}
	for i := range v.Obj {
		n += comparing(&v.Obj[i].Value)
	}
	return n
}

// checkNumbers refuses numbers that exact arithmetic cannot afford.
func checkNumbers(v *value.Value) error {
	switch v.Kind {
	case value.Number:
		exp, digits := value.Exponent(v.Str)
		if exp > maxExponent || exp < -maxExponent {
			return fmt.Errorf("the number %.40s has an exponent beyond %d", v.Str, maxExponent)
		}
		if digits > maxDigits || len(v.Str) > 2*maxDigits {
			return fmt.Errorf("the number %.40s… has more than %d digits", v.Str, maxDigits)
		}
	case value.Array:
		for i := range v.Arr {
			if err := checkNumbers(&v.Arr[i]); err != nil {
				return err
			}
		}
	case value.Object:
		for i := range v.Obj {
			if err := checkNumbers(&v.Obj[i].Value); err != nil {
				return err
			}
		}
	}
	return nil
}
