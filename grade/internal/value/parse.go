package value

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Options say what [Parse] accepts.
type Options struct {
	// MaxDepth bounds nesting; a scalar is 0 deep.
	MaxDepth int
	// Unique refuses duplicate keys. Else the last one wins, at the place of the
	// first, as in JavaScript.
	Unique bool
	// Positions fills the Pos of every value and key.
	Positions bool
	// MaxValues bounds how many values there are, nested ones counted; 0: no bound.
	// One takes some 100 bytes however short its text is.
	MaxValues int
}

// ErrDepth is wrapped by a [SyntaxError] for nesting beyond Options.MaxDepth,
// ErrValues for more values than Options.MaxValues.
var (
	ErrDepth  = fmt.Errorf("nested too deep")
	ErrValues = fmt.Errorf("too many values")
)

// SyntaxError is a text that is no JSON value, or not an acceptable one.
type SyntaxError struct {
	Pos    Pos // always known
	Offset int
	Msg    string
	Err    error // ErrDepth, ErrValues, or nil
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Pos.Line, e.Pos.Col, e.Msg)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Parse reads one JSON value (RFC 8259, strict UTF-8) and nothing behind it.
// Escaped lone surrogates are kept as WTF-8; a decoder that turns them into
// U+FFFD would make three different values equal.
func Parse(data []byte, o Options) (Value, error) {
	v, _, err := ParseCount(data, o)
	return v, err
}

// ParseCount is [Parse] that tells how many values there are, as Options.MaxValues
// counts them.
func ParseCount(data []byte, o Options) (v Value, n int, err error) {
	p := parser{data: data, o: o}
	if v, err = p.document(); err != nil {
		return Value{}, 0, err
	}
	return v, p.n, nil
}

type parser struct {
	data []byte
	i    int
	o    Options
	n    int // values so far
	// text is data once the first string is wanted: strings are parts of it.
	text string
	// objects and lists are what is in the objects and lists around this place, so
	// that a small one is made once, in its size.
	objects []Member
	lists   []Value
	// line and lineStart follow the white space skipped so far.
	line, lineStart int
	// known is where the column of this line was last counted, so that one long
	// line costs linear time.
	knownOff, knownCol int
}

func (p *parser) document() (Value, error) {
	p.line = 1
	p.space()
	v, err := p.value(0)
	if err != nil {
		return v, err
	}
	p.space()
	if p.i < len(p.data) {
		return v, p.fail("text after the end of the value")
	}
	return v, nil
}

func (p *parser) pos() Pos {
	if p.knownOff < p.lineStart || p.knownOff > p.i {
		p.knownOff, p.knownCol = p.lineStart, 0
	}
	p.knownCol += utf8.RuneCount(p.data[p.knownOff:p.i])
	p.knownOff = p.i
	return Pos{Line: p.line, Col: p.knownCol + 1}
}

func (p *parser) mark() Pos {
	if !p.o.Positions {
		return Pos{}
	}
	return p.pos()
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Pos: p.pos(), Offset: p.i, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	for p.i < len(p.data) {
		switch p.data[p.i] {
		case '\n':
			p.i++
			p.line++
			p.lineStart = p.i
		case ' ', '\t', '\r':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (Value, error) {
	if p.i >= len(p.data) {
		return Value{}, p.fail("the text ends where a value was expected")
	}
	if p.n++; p.o.MaxValues > 0 && p.n > p.o.MaxValues {
		err := p.fail("more than %d values", p.o.MaxValues).(*SyntaxError)
		err.Err = ErrValues
		return Value{}, err
	}
	v := Value{Pos: p.mark()}
	var err error
	switch c := p.data[p.i]; {
	case c == '{':
		v.Kind = Object
		v.Obj, err = p.object(depth)
	case c == '[':
		v.Kind = Array
		v.Arr, err = p.array(depth)
	case c == '"':
		v.Kind = String
		v.Str, err = p.string()
	case c == '-' || '0' <= c && c <= '9':
		v.Kind = Number
		v.Str, err = p.number()
	case p.word("true"):
		v.Kind, v.Bool = Bool, true
	case p.word("false"):
		v.Kind = Bool
	case p.word("null"):
		v.Kind = Null
	default:
		err = p.fail("expected a JSON value")
	}
	return v, err
}

func (p *parser) word(w string) bool {
	if len(p.data)-p.i >= len(w) && string(p.data[p.i:p.i+len(w)]) == w {
		p.i += len(w)
		return true
	}
	return false
}

func (p *parser) enter(depth int) error {
	if depth >= p.o.MaxDepth {
		err := p.fail("nested deeper than %d", p.o.MaxDepth).(*SyntaxError)
		err.Err = ErrDepth
		return err
	}
	return nil
}

func (p *parser) array(depth int) ([]Value, error) {
	if err := p.enter(depth); err != nil {
		return nil, err
	}
	p.i++
	p.space()
	if p.take(']') {
		return []Value{}, nil
	}
	base := len(p.lists)
	var large []Value
	for {
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if large != nil {
			large = append(large, v)
		} else if p.lists = append(p.lists, v); len(p.lists)-base == maxSmall {
			large = append(large, p.lists[base:]...)
		}
		p.space()
		if p.take(']') {
			if large == nil {
				large = append(make([]Value, 0, len(p.lists)-base), p.lists[base:]...)
			}
			p.lists = p.lists[:base]
			return large, nil
		}
		if !p.take(',') {
			return nil, p.fail(`expected "," or "]" in a list`)
		}
	}
}

// maxSmall is how many elements or members are put aside until it is known how many
// there are.
const maxSmall = 64

func (p *parser) take(c byte) bool {
	if p.i < len(p.data) && p.data[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) object(depth int) ([]Member, error) {
	if err := p.enter(depth); err != nil {
		return nil, err
	}
	p.i++
	var index map[string]int // built once the object is too large to search
	p.space()
	if p.take('}') {
		return []Member{}, nil
	}
	base := len(p.objects)
	var large []Member
	for {
		p.space()
		if p.i >= len(p.data) || p.data[p.i] != '"' {
			return nil, p.fail("expected a key in double quotes")
		}
		at := p.mark()
		start := p.i
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		have := -1
		if index != nil {
			if i, ok := index[key]; ok {
				have = i
			}
		} else {
			for i := base; i < len(p.objects); i++ {
				if p.objects[i].Key == key {
					have = i - base
				}
			}
		}
		if have >= 0 && p.o.Unique {
			p.i = start
			return nil, p.fail("the key %q is there twice", key)
		}
		p.space()
		if !p.take(':') {
			return nil, p.fail(`expected ":" after a key`)
		}
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		switch m := (Member{Key: key, Pos: at, Value: v}); {
		case have >= 0 && large != nil:
			large[have].Value = v
		case have >= 0:
			p.objects[base+have].Value = v
		case large != nil:
			large = append(large, m)
			index[key] = len(large) - 1
		default:
			if p.objects = append(p.objects, m); len(p.objects)-base == maxSmall {
				large = append(large, p.objects[base:]...)
				index = make(map[string]int, 2*maxSmall)
				for i := range large {
					index[large[i].Key] = i
				}
			}
		}
		p.space()
		if p.take('}') {
			if large == nil {
				large = append(make([]Member, 0, len(p.objects)-base), p.objects[base:]...)
			}
			p.objects = p.objects[:base]
			return large, nil
		}
		if !p.take(',') {
			return nil, p.fail(`expected "," or "}" in an object`)
		}
	}
}

func (p *parser) number() (string, error) {
	start := p.i
	p.take('-')
	switch {
	case p.take('0'):
	case p.digits() > 0:
	default:
		return "", p.fail("expected a digit")
	}
	if p.take('.') && p.digits() == 0 {
		return "", p.fail("expected a digit after the decimal point")
	}
	if p.take('e') || p.take('E') {
		if !p.take('+') {
			p.take('-')
		}
		at := p.i
		if p.digits() == 0 {
			return "", p.fail("expected a digit in the exponent")
		}
		// Beyond that two different numbers would compare as equal.
		if e := bytes.TrimLeft(p.data[at:p.i], "0"); len(e) > maxExpDigits {
			return "", p.fail("the exponent has over %d digits: such numbers are not compared", maxExpDigits)
		}
	}
	return p.cut(start, p.i), nil
}

// maxShared is the length in bytes of texts whose strings are parts of one copy.
const maxShared = 16 << 10

// cut is a part of the text as a string.
func (p *parser) cut(start, end int) string {
	if len(p.data) > maxShared {
		return string(p.data[start:end]) // one small string must not keep all of a large text
	}
	if p.text == "" {
		p.text = string(p.data)
	}
	return p.text[start:end]
}

func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.data) && '0' <= p.data[p.i] && p.data[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

func (p *parser) string() (string, error) {
	p.i++
	start := p.i
	// Most strings have no escape: find the end first.
	for p.i < len(p.data) && p.data[p.i] != '"' && p.data[p.i] != '\\' && p.data[p.i] >= 0x20 {
		p.i++
	}
	if !utf8.Valid(p.data[start:p.i]) {
		return "", p.fail("the string is no valid UTF-8")
	}
	if p.i < len(p.data) && p.data[p.i] == '"' {
		s := p.cut(start, p.i)
		p.i++
		return s, nil
	}
	out := append([]byte(nil), p.data[start:p.i]...)
	for {
		if p.i >= len(p.data) {
			return "", p.fail("the text ends inside a string")
		}
		switch c := p.data[p.i]; {
		case c == '"':
			p.i++
			return string(out), nil
		case c < 0x20:
			return "", p.fail("control character U+%04X in a string", c)
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		default:
			r, n := utf8.DecodeRune(p.data[p.i:])
			if r == utf8.RuneError && n == 1 {
				return "", p.fail("the string is no valid UTF-8")
			}
			out = append(out, p.data[p.i:p.i+n]...)
			p.i += n
		}
	}
}

var simple = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(out []byte) ([]byte, error) {
	if p.i+1 >= len(p.data) {
		return nil, p.fail("the text ends inside a string")
	}
	c := p.data[p.i+1]
	if r, ok := simple[c]; ok {
		p.i += 2
		return append(out, r), nil
	}
	u, ok := p.unit(p.i)
	if !ok {
		return nil, p.fail("unknown escape in a string")
	}
	p.i += 6
	if u >= 0xd800 && u < 0xdc00 {
		if low, ok := p.unit(p.i); ok && low >= 0xdc00 && low < 0xe000 {
			p.i += 6
			return utf8.AppendRune(out, (u-0xd800)<<10|(low-0xdc00)+0x10000), nil
		}
	}
	if u >= 0xd800 && u < 0xe000 {
		// WTF-8: the surrogate as three bytes, which no valid string contains.
		return append(out, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f)), nil
	}
	return utf8.AppendRune(out, u), nil
}

// unit reads \uXXXX at offset i.
func (p *parser) unit(i int) (rune, bool) {
	if i+6 > len(p.data) || p.data[i] != '\\' || p.data[i+1] != 'u' {
		return 0, false
	}
	var u rune
	for _, c := range p.data[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | rune(c)
	}
	return u, true
}
