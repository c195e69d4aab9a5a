package run

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The sizes of a value that may be a handle (recorder.md 5.4): shorter ones meet by
// chance. Longer strings than maxHandle bytes are contents, not names of something.
const (
	minText   = 8 // characters
	minDigits = 6
	maxHandle = 16 << 10
)

// leaf is a string or a number in a JSON text.
type leaf struct {
	key        []byte // "s" and the decoded string, or "n" and the number as spelt; good while f runs
	start, end int    // where it stands in the text
	at         func() string
}

// anyJSON decodes what servers send: names twice and lone surrogates included.
var anyJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// leaves hands the strings and numbers of a JSON text to f, in order, names of
// members aside. The leaf's pointer is made when it is asked for, while f runs. It
// returns false where the text is no JSON; what came before was handed out.
func leaves(text []byte, f func(leaf)) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), anyJSON...)
	at := func() string { return string(d.StackPointer()) }
	var buf []byte
	for {
		switch d.PeekKind() {
		case '"', '0':
			kind, n := d.StackIndex(d.StackDepth())
			v, err := d.ReadValue()
			if err != nil {
				return false
			}
			if kind == '{' && n%2 == 0 {
				continue // a member's name
			}
			end := int(d.InputOffset())
			l := leaf{start: end - len(v), end: end, at: at}
			if v.Kind() == '"' {
				if buf, err = jsontext.AppendUnquote(append(buf[:0], 's'), v); err != nil {
					continue
				}
			} else {
				buf = append(append(buf[:0], 'n'), v...)
			}
			l.key = buf
			f(l)
		default:
			if _, err := d.ReadToken(); err != nil {
				return err == io.EOF
			}
		}
	}
}

// deepLeaves is leaves for results: a text that is JSON itself, as most tools give
// it, is looked into as well; its pointers stand behind that of the text and a "#".
func deepLeaves(text []byte, f func(leaf)) bool {
	return leaves(text, func(l leaf) {
		f(l)
		inner := bytes.TrimLeft(l.key[1:], " \t\r\n")
		if l.key[0] == 's' && len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && jsontext.Value(inner).IsValid(anyJSON...) {
			at := l.at()
			leaves(inner, func(in leaf) {
				deep := in.at
				in.at = func() string { return at + "#" + deep() }
				f(in)
			})
		}
	})
}

// handleLike tells whether a value is long enough to be a handle.
func handleLike(key []byte) bool {
	if len(key) > maxHandle {
		return false
	}
	if key[0] == 's' {
		return utf8.RuneCount(key[1:]) >= minText
	}
	n := 0
	for i := 1; i < len(key); i++ {
		if key[i] >= '0' && key[i] <= '9' {
			n++
		}
	}
	return n >= minDigits
}

// spelt is a leaf's JSON text.
func spelt(key string) string {
	if key[0] == 'n' {
		return key[1:]
	}
	b, _ := jsontext.AppendQuote(nil, key[1:])
	return string(b)
}

// generic is a pointer with its array indices as "*", and whether it has any.
func generic(pointer string) (string, bool) {
	words, has := strings.Split(pointer, "/"), false
	for i, w := range words {
		w, rest, deep := strings.Cut(w, "#")
		if w != "" && strings.Trim(w, "0123456789") == "" {
			has, w = true, "*"
		}
		if words[i] = w; deep {
			words[i] += "#" + rest
		}
	}
	return strings.Join(words, "/"), has
}

// lastName is the last name of a pointer.
func lastName(pointer string) string { return pointer[strings.LastIndexAny(pointer, "/#")+1:] }

// patch is a piece of a text that is replaced.
type patch struct {
	start, end int
	text       string
}

// patched is the text with its patches, which do not overlap.
func patched(text []byte, patches []patch) []byte {
	slices.SortFunc(patches, func(a, b patch) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, p := range patches {
		out = append(append(out, text[at:p.start]...), p.text...)
		at = p.end
	}
	return append(out, text[at:]...)
}

// member is a member of an object: where its value stands.
type member struct {
	name       string
	start, end int
}

// members lists the members of the object in text; ok is false when it is none. Of
// a name that stands there twice, the last holds (wire.md 2.1): look from behind.
func members(text []byte) (all []member, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), anyJSON...)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		m.end = int(d.InputOffset())
		m.start = m.end - len(v)
		all = append(all, m)
	}
	return all, true
}

// get returns the value of a member; nil: there is none.
func get(text []byte, name string) []byte {
	all, _ := members(text)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].name == name {
			return text[all[i].start:all[i].end]
		}
	}
	return nil
}

// getText returns the value of a member that is a string.
func getText(text []byte, name string) (string, bool) {
	v := get(text, name)
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, v)
	return string(b), err == nil
}

// with is an object with a member set: in its place, or as the last one.
func with(object []byte, name, value string) []byte {
	all, ok := members(object)
	if !ok {
		b, _ := jsontext.AppendQuote([]byte{'{'}, name)
		return append(append(append(b, ':'), value...), '}')
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].name == name {
			return patched(object, []patch{{all[i].start, all[i].end, value}})
		}
	}
	end := bytes.LastIndexByte(object, '}')
	b, _ := jsontext.AppendQuote(nil, name)
	text := string(b) + ":" + value
	if len(all) > 0 {
		text = "," + text
	}
	return patched(object, []patch{{end, end, text}})
}
