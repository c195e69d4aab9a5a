package grade

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
)

// maxExtends is how many files a suite may be made of, itself included.
const maxExtends = 8

// inherit is the list element that stands for the parent's list (grading.md 0.3).
const inherit = "inherit"

// resolve parses a suite file and puts what it extends under it. below are the
// files that extend this one. It returns nil when nothing can be read further;
// the fault is then noted.
func (l *loader) resolve(name string, data []byte, below []string) *value.Value {
	file := len(l.files)
	l.files = append(l.files, name)
	doc, err := parseSuite(data)
	if err != nil {
		p := asProblem(err)
		p.pos.File = file
		l.fail(p.pos, "%s", p.msg)
		return nil
	}
	inFile(doc, file)
	if v, ok := doc.Get("schemaVersion"); len(below) > 0 && (!ok || v.Kind != value.String || v.Str != SuiteSchema) {
		at := doc.Pos
		if ok {
			at = v.Pos
		}
		l.fail(at, "schemaVersion: expected %q: only such a file can be extended", SuiteSchema)
		return nil
	} else if !ok || v.Str != SuiteSchema {
		return doc // its own loader knows no extends
	}
	ext, ok := doc.Get("extends")
	if !ok {
		return doc
	}
	chain := append(slices.Clone(below), filepath.Clean(name))
	target, ok := l.target(ext, name, chain)
	if !ok {
		return nil
	}
	data, err = l.openFile(target)
	if err != nil {
		l.fail(ext.Pos, "extends: %v", err)
		return nil
	}
	parent := l.resolve(target, data, chain)
	if parent == nil {
		return nil
	}
	// By itself first: what this file replaces must not hide a fault, and paths are
	// those of the parent's own file.
	before, warns := len(l.errs), l.warns
	l.part = true
	l.suite(parent)
	l.part, l.warns = false, warns
	if len(l.errs) > before {
		return nil
	}
	// A suite's identity is its own.
	out := l.merge(without(doc, "extends"), without(parent, "suite"))
	return &out
}

func without(v *value.Value, key string) *value.Value {
	out := *v
	out.Obj = slices.DeleteFunc(slices.Clone(v.Obj), func(m value.Member) bool { return m.Key == key })
	return &out
}

// target is the file that a suite extends.
func (l *loader) target(ext *value.Value, name string, chain []string) (string, bool) {
	before := len(l.errs)
	l.text(nil, 4096)(ext, "extends")
	if len(l.errs) > before {
		return "", false
	}
	rel := filepath.FromSlash(ext.Str)
	target := filepath.Join(filepath.Dir(name), rel)
	switch {
	case strings.Contains(ext.Str, "://"):
		l.fail(ext.Pos, "extends: expected a file's path relative to this one, got the address %s: nothing is fetched", predicate.Quoted(ext.Str))
	case filepath.IsAbs(rel):
		l.fail(ext.Pos, "extends: expected a path relative to this file, got %s", predicate.Quoted(ext.Str))
	case slices.Contains(chain, target):
		l.fail(ext.Pos, "extends: the suite extends itself: %s", strings.Join(append(chain[slices.Index(chain, target):], target), " -> "))
	case len(chain) >= maxExtends:
		l.fail(ext.Pos, "extends: more than %d files", maxExtends)
	case l.openFile == nil:
		l.fail(ext.Pos, "extends: no other file is read here")
	default:
		return target, true
	}
	return "", false
}

// inFile marks v and what is in it as read from a file.
func inFile(v *value.Value, file int) {
	v.Pos.File = file
	for i := range v.Arr {
		inFile(&v.Arr[i], file)
	}
	for i := range v.Obj {
		v.Obj[i].Pos.File = file
		inFile(&v.Obj[i].Value, file)
	}
}

// merge puts child over parent: objects key by key, lists with the parent's in
// place of "inherit", all else the child's. What is inside a list is never merged.
// parent may be nil.
func (l *loader) merge(child, parent *value.Value) value.Value {
	out := *child
	switch child.Kind {
	case value.Object:
		out.Obj = nil
		for i := range child.Obj {
			m := child.Obj[i]
			var above *value.Value
			if parent != nil {
				above, _ = parent.Get(m.Key)
			}
			m.Value = l.merge(&child.Obj[i].Value, above)
			out.Obj = append(out.Obj, m)
		}
		if parent == nil || parent.Kind != value.Object {
			break
		}
		for i := range parent.Obj {
			if _, own := child.Get(parent.Obj[i].Key); !own {
				out.Obj = append(out.Obj, parent.Obj[i])
			}
		}
	case value.Array:
		out.Arr = []value.Value{}
		spliced := false
		for i := range child.Arr {
			v := &child.Arr[i]
			switch {
			case v.Kind != value.String || v.Str != inherit:
				out.Arr = append(out.Arr, *v)
			case spliced:
				l.fail(v.Pos, "%q is in this list twice", inherit)
			default:
				spliced = true
				if parent != nil && parent.Kind == value.Array {
					out.Arr = append(out.Arr, parent.Arr...)
				}
			}
		}
	}
	return out
}
