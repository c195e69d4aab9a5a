package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"
)

// configVariable names the file of flags for those who cannot give --config.
const configVariable = "SIXLINK_CONFIG"

// maxConfig bounds that file.
const maxConfig = 1 << 20

func configFlag(fs *pflag.FlagSet) {
	fs.String("config", "", "read flags that are not given from this YAML `FILE`, as in record: {max-age: 30d} (default: $"+configVariable+")")
}

// variable is the environment form of a verb's flag: SIXLINK_RECORD_MAX_AGE.
func variable(verb, flag string) string {
	return "SIXLINK_" + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(verb+" "+flag))
}

// settle sets the flags that the command line leaves open: from the environment, else
// from the configuration file. What is there and cannot be a flag is refused: a name
// that is mistyped must not leave a limit out.
func settle(verb string, fs *pflag.FlagSet, environ []string) error {
	given := map[string]bool{}
	fs.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	names := map[string]*pflag.Flag{}
	fs.VisitAll(func(f *pflag.Flag) { names[variable(verb, f.Name)] = f })
	prefix := variable(verb, "")
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(k, prefix) || v == "" {
			continue
		}
		f := names[k]
		if f == nil {
			return fmt.Errorf("the environment has %s, and %s has no such flag", k, verb)
		}
		if given[f.Name] {
			continue
		}
		given[f.Name] = true
		for _, one := range lines(f, v) {
			if err := fs.Set(f.Name, one); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	path, _ := fs.GetString("config")
	if path == "" {
		path = os.Getenv(configVariable)
	}
	if path == "" {
		return nil
	}
	return settleFrom(path, verb, fs, given)
}

// lines are the values of a flag that may be repeated, one a line; of another flag there
// is one, whatever it is.
func lines(f *pflag.Flag, v string) []string {
	if _, many := f.Value.(pflag.SliceValue); !many {
		return []string{v}
	}
	var out []string
	for _, l := range strings.Split(v, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// settleFrom sets flags from the file's part for the verb. The parts of other verbs are
// held to their form alone.
func settleFrom(path, verb string, fs *pflag.FlagSet, given map[string]bool) error {
	fi, err := os.Stat(path)
	if err == nil && fi.Size() > maxConfig {
		err = fmt.Errorf("%s: has over %d bytes", path, maxConfig)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("--config %s: %s", path, first)
	}
	at := func(n ast.Node, format string, args ...any) error {
		p := n.GetToken().Position
		return fmt.Errorf("--config %s:%d:%d: %s", path, p.Line, p.Column, fmt.Sprintf(format, args...))
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		verbs, err := members(doc.Body)
		if err != nil {
			return at(doc.Body, "is no mapping of verbs")
		}
		for _, v := range verbs {
			name := v.Key.GetToken().Value
			if !isVerb(name) {
				return at(v.Key, "there is no verb %q", name)
			}
			flags, err := members(v.Value)
			if err != nil {
				return at(v.Value, "%s has no mapping of flags", name)
			}
			if name != verb {
				continue
			}
			for _, f := range flags {
				if err := settleOne(fs, f, given, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// settleOne sets one flag of the file.
func settleOne(fs *pflag.FlagSet, m *ast.MappingValueNode, given map[string]bool, at func(ast.Node, string, ...any) error) error {
	name := m.Key.GetToken().Value
	f := fs.Lookup(name)
	if f == nil || name == "config" {
		return at(m.Key, "%s has no flag %q", fs.Name(), name)
	}
	values := []ast.Node{m.Value}
	if list, ok := m.Value.(*ast.SequenceNode); ok {
		if _, many := f.Value.(pflag.SliceValue); !many {
			return at(m.Value, "%s takes one value", name)
		}
		values = list.Values
	}
	for _, v := range values {
		switch v.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.LiteralNode:
		default:
			return at(v, "%s takes a plain value", name)
		}
		if given[name] {
			continue
		}
		text := v.GetToken().Value
		if l, ok := v.(*ast.LiteralNode); ok {
			text = strings.TrimSuffix(l.Value.Value, "\n")
		}
		if err := fs.Set(name, text); err != nil {
			return at(v, "%v", err)
		}
	}
	return nil
}

var errNoMapping = errors.New("is no mapping")

// members are the members of a mapping; an empty value has none.
func members(n ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case *ast.NullNode:
		return nil, nil
	}
	return nil, errNoMapping
}

// isVerb tells whether a verb that does something has the name.
func isVerb(name string) bool {
	var in func(all []*verb) bool
	in = func(all []*verb) bool {
		for _, v := range all {
			if v.name == name && v.subs == nil || in(v.subs) {
				return true
			}
		}
		return false
	}
	return in(verbs())
}
