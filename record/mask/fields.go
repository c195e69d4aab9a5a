package mask

import (
	"cmp"
	"net/url"
	"slices"
)

// Fields finds credentials by the names of a form's fields, or of the members of
// a JSON object, in the pieces of one body as they come. It holds nothing back:
// where a value begins, its name has been seen whole.
type Fields struct {
	form  bool
	state fieldState
	name  []byte
	value []byte // of a credential that is open, as far as it is wanted for its hash
	open  bool   // p begins inside of a credential …
	part  bool   // … which began in an earlier piece
	depth int
	esc   bool
	off   bool // nothing in this body is a credential
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
	maxFieldName  = 128      // a longer name is none of ours
	maxFieldValue = 16 << 10 // a longer value has no hash
)

// NewForm finds the credential-named fields of an x-www-form-urlencoded body.
func NewForm() *Fields { return &Fields{form: true} }

// NewJSON finds the credential-named members of a JSON object, those of objects in
// it not. A JSON-RPC message is left alone: of its own members none is a credential.
func NewJSON() *Fields { return &Fields{} }

// Mask replaces, in place, what is a credential in the next piece, and appends
// the spans. The hash of one that came in several pieces is empty.
func (f *Fields) Mask(m *Masker, p []byte, spans []Span) []Span {
	if f.off {
		return spans
	}
	start := 0
	f.part = f.open
	for i, c := range p {
		was := f.open
		if f.form {
			f.formByte(c)
		} else {
			f.jsonByte(c)
		}
		switch {
		case f.open && !was:
			start = i
			if !f.form {
				start = i + 1 // behind the quotation mark
			}
			f.value, f.part = f.value[:0], false
			if f.form {
				f.value = append(f.value, c)
			}
		case f.open && len(f.value) <= maxFieldValue:
			f.value = append(f.value, c)
		case was && !f.open:
			spans = f.cut(m, p, start, i, !f.part, spans)
			f.part = false
		}
	}
	if f.open {
		spans = f.cut(m, p, start, len(p), false, spans)
	}
	return spans
}

func (f *Fields) cut(m *Masker, p []byte, a, b int, whole bool, spans []Span) []Span {
	if a >= b {
		return spans
	}
	mac := ""
	if whole && len(f.value) <= maxFieldValue {
		v := string(f.value)
		if f.form {
			if u, err := url.QueryUnescape(v); err == nil {
				v = u
			}
		}
		mac = m.key.mac(v)
	}
	for i := a; i < b; i++ {
		p[i] = filler
	}
	return append(spans, Span{int64(a), int64(b - a), mac})
}

func (f *Fields) formByte(c byte) {
	switch {
	case c == '&':
		f.state, f.open, f.name = atName, false, f.name[:0]
	case f.state == inForm:
		f.open = f.open || f.name != nil && f.secret()
	case c == '=':
		f.state = inForm
	default:
		f.addName(c)
	}
}

func (f *Fields) addName(c byte) {
	if len(f.name) <= maxFieldName {
		f.name = append(f.name, c)
	}
}

func (f *Fields) secret() bool {
	if len(f.name) > maxFieldName {
		return false
	}
	name := string(f.name)
	if f.form {
		if u, err := url.QueryUnescape(name); err == nil {
			name = u
		}
	}
	return ParamStrength(name) == Strong
}

func (f *Fields) jsonByte(c byte) {
	if f.esc {
		f.esc = false
		if f.state == inName {
			f.addName(c)
		}
		return
	}
	switch f.state {
	case inName:
		switch c {
		case '\\':
			f.esc = true
		case '"':
			f.state = afterName
			if n := string(f.name); f.depth == 1 && (n == "jsonrpc" || n == "method" || n == "result") {
				f.off = true
			}
		default:
			f.addName(c)
		}
	case inString:
		switch c {
		case '\\':
			f.esc = true
		case '"':
			f.state, f.open = elsewhere, false
		}
	default:
		f.between(c)
	}
}

// between takes a byte that stands in no string.
func (f *Fields) between(c byte) {
	switch c {
	case '"':
		if f.state == atName && f.depth == 1 {
			f.state, f.name = inName, f.name[:0]
			return
		}
		f.open = f.state == beforeValue && f.depth == 1 && f.secret()
		f.state = inString
	case ':':
		if f.state == afterName {
			f.state = beforeValue
		}
	case ',':
		f.state = elsewhere
		if f.depth == 1 {
			f.state = atName
		}
	case '{', '[':
		f.depth++
		if f.state = elsewhere; f.depth == 1 && c == '{' {
			f.state = atName
		}
		if f.depth == 1 && c == '[' {
			f.off = true
		}
	case '}', ']':
		f.depth--
		f.state = elsewhere
	}
}

// Sorted sorts spans by their place and drops those that lie in another.
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
