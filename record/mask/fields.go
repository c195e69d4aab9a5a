package mask

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Fields finds credentials by the names of a form's fields, or of the members of
// JSON objects, in the pieces of one body as they come. It holds nothing back:
// where a value begins, its name has been seen whole.
type Fields struct {
	form  bool
	begun bool // the first byte that is no white space was seen
	off   bool // nothing in this body is a credential
	state fieldState
	name  []byte
	hide  bool   // the value that is next belongs to a credential's name
	esc   bool   // the byte that is next belongs to an escape
	open  bool   // the byte that is next is a credential's …
	part  bool   // … which began in an earlier piece
	value []byte // of it, as far as it is wanted for its hash
	depth int
	// objects has bit d set when what is open at depth d is an object.
	objects uint64
	// spare is the depth of the container that is left alone with all that is in
	// it; 0: none.
	spare int
}

type fieldState uint8

const (
	atName fieldState = iota // a form's name, or before a member's name
	inName
	afterName
	beforeValue
	inString
	inForm
	elsewhere
)

const (
	maxFieldName  = 128      // bytes; a longer name is none of ours
	maxFieldValue = 16 << 10 // bytes; a longer value has no hash
	maxFieldDepth = 63       // what is nested deeper is left alone
)

// NewForm finds the credential-named fields of an x-www-form-urlencoded body. One
// that is JSON in truth (the label is curl's default) is taken as such.
func NewForm() *Fields { return &Fields{form: true} }

// NewJSON finds the credential-named members of a JSON object and of those in it
// whose values are strings. A JSON-RPC message is left alone: of its own members
// none is a credential, and what is in params, result or error is not looked at.
func NewJSON() *Fields { return &Fields{} }

// Mask replaces, in place, what is a credential in the next piece, and appends
// the spans. last: p is the body's last piece. The hash of a credential that came
// in several pieces is empty.
func (f *Fields) Mask(m *Masker, p []byte, last bool, spans []Span) []Span {
	if f.off {
		return spans
	}
	start := 0
	f.part = f.open
	for i := 0; i < len(p); i++ {
		if i += f.skip(p[i:]); i == len(p) || f.off {
			break
		}
		c, was := p[i], f.open
		f.next(c)
		switch {
		case f.open && !was:
			start = i
			f.value, f.part = f.value[:0], false
			if !f.form {
				start = i + 1 // behind the quotation mark
				continue
			}
			f.value = append(f.value, c)
		case f.open && len(f.value) <= maxFieldValue:
			f.value = append(f.value, c)
		case was && !f.open:
			spans = f.cut(m, p, start, i, !f.part, spans)
			f.part, start = false, 0
		}
	}
	if f.open {
		// A string of JSON that has no end is not all of the value.
		spans = f.cut(m, p, start, len(p), last && f.form && !f.part, spans)
	}
	return spans
}

// skip is how many bytes at the beginning of p say nothing: most of a body is
// strings.
func (f *Fields) skip(p []byte) int {
	switch {
	case f.open || f.esc || !f.begun:
		return 0
	case f.form && f.state == inForm && !f.hide:
		if i := bytes.IndexByte(p, '&'); i >= 0 {
			return i
		}
		return len(p)
	case !f.form && f.state == inString:
		end := len(p)
		if i := bytes.IndexByte(p, '"'); i >= 0 {
			end = i
		}
		if i := bytes.IndexByte(p[:end], '\\'); i >= 0 {
			end = i
		}
		return end
	}
	return 0
}

func (f *Fields) cut(m *Masker, p []byte, a, b int, whole bool, spans []Span) []Span {
	if a >= b {
		return spans
	}
	mac := ""
	if whole && len(f.value) <= maxFieldValue {
		v := string(f.value)
		if f.form {
			v = unquery(v)
		} else if u, err := jsontext.AppendUnquote(nil, `"`+v+`"`); err == nil {
			v = string(u)
		}
		mac = m.hash(v)
	}
	for i := a; i < b; i++ {
		p[i] = filler
	}
	return append(spans, Span{int64(a), int64(b - a), mac})
}

func (f *Fields) next(c byte) {
	switch {
	case f.off:
	case !f.begun && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
	case !f.begun:
		f.begun = true
		f.form = f.form && c != '{' && c != '['
		f.off = !f.form && c != '{'
		f.next(c)
	case f.form:
		f.formByte(c)
	default:
		f.jsonByte(c)
	}
}

func (f *Fields) formByte(c byte) {
	switch {
	case c == '&':
		f.state, f.open, f.name = atName, false, f.name[:0]
	case f.state == inForm:
		f.open = f.hide
	case c == '=':
		f.state, f.hide = inForm, len(f.name) <= maxFieldName && ParamStrength(unquery(string(f.name))) == Strong
	default:
		f.addName(c)
	}
}

func (f *Fields) addName(c byte) {
	if len(f.name) <= maxFieldName {
		f.name = append(f.name, c)
	}
}

func (f *Fields) jsonByte(c byte) {
	switch f.state {
	case inName, inString:
		switch {
		case f.esc:
			f.esc = false
		case c == '\\':
			f.esc = true
		case c == '"':
			f.open = false
			if f.state == inName {
				f.named()
			} else {
				f.state = elsewhere
			}
			return
		}
		if f.state == inName {
			f.addName(c)
		}
	default:
		f.between(c)
	}
}

// named judges the name of a member that has been read.
func (f *Fields) named() {
	f.state, f.hide = afterName, false
	if len(f.name) > maxFieldName {
		return
	}
	name := string(f.name)
	if u, err := jsontext.AppendUnquote(nil, `"`+name+`"`); err == nil {
		name = string(u)
	}
	if f.depth == 1 {
		switch name {
		case "jsonrpc", "method":
			f.off = true
			return
		case "params", "result", "error":
			f.spare = 2 // should it be an object or an array
			return
		}
	}
	f.hide = ParamStrength(name) == Strong
}

// between takes a byte that stands in no string.
func (f *Fields) between(c byte) {
	switch c {
	case '"':
		if f.state == atName {
			f.state, f.name = inName, f.name[:0]
			return
		}
		f.open = f.state == beforeValue && f.hide
		f.state = inString
	case ':':
		if f.state == afterName {
			f.state = beforeValue
		}
	case ',':
		f.value1()
		f.state = f.inside()
	case '{', '[':
		f.depth++
		if f.depth <= maxFieldDepth {
			if f.objects &^= 1 << f.depth; c == '{' {
				f.objects |= 1 << f.depth
			}
		}
		f.state = f.inside()
	case '}', ']':
		f.depth--
		f.value1()
		f.state = elsewhere
		if f.depth <= 0 {
			f.off = true // what follows is no part of the object
		}
	}
}

// value1 notes that a value at depth 1 has ended.
func (f *Fields) value1() {
	if f.depth == 1 {
		f.spare = 0
	}
}

// inside is the state behind a comma or an opening bracket.
func (f *Fields) inside() fieldState {
	spared := f.spare > 0 && f.depth >= f.spare
	if f.depth > 0 && f.depth <= maxFieldDepth && !spared && f.objects>>f.depth&1 == 1 {
		return atName
	}
	return elsewhere
}

// Sorted sorts spans by their place and joins those that overlap; of those the
// hash is the first one's.
func Sorted(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(b.Len, a.Len)) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Off < out[n-1].Off+out[n-1].Len {
			last := &out[n-1]
			if end := s.Off + s.Len; end > last.Off+last.Len {
				last.Len = end - last.Off
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
