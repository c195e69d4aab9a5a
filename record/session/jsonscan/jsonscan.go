// Package jsonscan walks JSON text as it stands: it finds where values begin and
// end, never decodes a whole message, and never re-encodes.
//
// It accepts what RFC 8259's grammar accepts, and two things more that stand on
// real wires and that jsontext refuses: escapes of lone surrogates, and any
// depth (the walk is a loop with a bit stack, so hostile nesting costs one bit a
// level). Bytes that are no UTF-8 are let through inside strings; whoever cares
// tests the line with utf8.Valid. Names are compared as they are: case counts.
//
// It must not know JSON-RPC.
package jsonscan

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Errors of the walk. They carry no offset: callers want to know that a line is
// no JSON, or that it is cut, and not where.
var (
	ErrSyntax = errors.New("not JSON")
	// ErrCut is input that ends inside a value.
	ErrCut = errors.New("JSON that ends too early")
)

// Span is where a value stands in its text, and how deep it nests: 0 for a
// scalar, 1 for an object or array of scalars, and so on.
type Span struct {
	Start, End, Depth int
}

// Space returns the offset of the first byte at or after i that is no JSON white space.
func Space(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// Skip walks over the value that begins at or after i (white space before it is
// skipped) and returns where it stands.
func Skip(b []byte, i int) (Span, error) {
	i = Space(b, i)
	s := Span{Start: i}
	if i >= len(b) {
		return s, ErrCut
	}
	if c := b[i]; c != '{' && c != '[' {
		end, err := scalar(b, i)
		s.End = end
		return s, err
	}
	err := s.nested(b)
	return s, err
}

// nested walks over the object or array at s.Start. The stack has one bit a
// level: set for an object.
func (s *Span) nested(b []byte) error {
	const (
		value = iota // a value must come
		key          // a member's name must come
		after        // a value has ended
	)
	var inline [16]uint64 // 1,024 levels without an allocation
	stack := inline[:]
	depth, i, state := 0, s.Start, value
	for {
		i = Space(b, i)
		if i >= len(b) {
			return ErrCut
		}
		switch state {
		case value:
			c := b[i]
			if c != '{' && c != '[' {
				end, err := scalar(b, i)
				if err != nil {
					return err
				}
				i, state = end, after
				continue
			}
			if depth/64 == len(stack) {
				stack = append(stack, 0)
			}
			w, m := depth/64, uint64(1)<<(depth%64)
			if c == '{' {
				stack[w] |= m
			} else {
				stack[w] &^= m
			}
			depth++
			s.Depth = max(s.Depth, depth)
			i = Space(b, i+1)
			if i >= len(b) {
				return ErrCut
			}
			switch {
			case c == '{' && b[i] == '}', c == '[' && b[i] == ']':
				i, state = i+1, after
				depth--
			case c == '{':
				state = key
			}
		case key:
			_, next, err := name(b, i)
			if err != nil {
				return err
			}
			i, state = next, value
		case after:
			object := stack[(depth-1)/64]&(1<<((depth-1)%64)) != 0
			switch c := b[i]; {
			case c == ',' && object:
				i, state = i+1, key
			case c == ',':
				i, state = i+1, value
			case c == '}' && object, c == ']' && !object:
				i++
				depth--
			default:
				return ErrSyntax
			}
		}
		if state == after && depth == 0 {
			s.End = i
			return nil
		}
	}
}

// name walks over a member's name at i, which ends at end, and the colon behind it.
func name(b []byte, i int) (end, next int, err error) {
	if b[i] != '"' {
		return i, i, ErrSyntax
	}
	end, err = str(b, i)
	if err != nil {
		return end, end, err
	}
	i = Space(b, end)
	if i >= len(b) {
		return end, i, ErrCut
	}
	if b[i] != ':' {
		return end, i, ErrSyntax
	}
	return end, i + 1, nil
}

// scalar walks over the string, number or literal at i.
func scalar(b []byte, i int) (int, error) {
	switch b[i] {
	case '"':
		return str(b, i)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	default:
		return number(b, i)
	}
}

func literal(b []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(b) {
			return len(b), ErrCut
		}
		if b[i+k] != word[k] {
			return i + k, ErrSyntax
		}
	}
	return i + len(word), nil
}

func number(b []byte, i int) (int, error) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i >= len(b) {
		return i, ErrCut
	}
	switch c := b[i]; {
	case c == '0':
		i++
	case c >= '1' && c <= '9':
		i = digits(b, i)
	default:
		return i, ErrSyntax
	}
	if i < len(b) && b[i] == '.' {
		n := digits(b, i+1)
		if n == i+1 {
			return n, atEnd(b, n)
		}
		i = n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := digits(b, i)
		if n == i {
			return n, atEnd(b, n)
		}
		i = n
	}
	return i, nil
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func atEnd(b []byte, i int) error {
	if i >= len(b) {
		return ErrCut
	}
	return ErrSyntax
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special has the high bit set in the lowest byte of w that is a quote, a
// backslash or a control character (bytes above that one may be wrong).
func special(w uint64) uint64 {
	q := w ^ ones*'"'
	s := w ^ ones*'\\'
	return ((q-ones) & ^q | (s-ones) & ^s | (w-ones*0x20) & ^w) & highs
}

// str walks over the string at i. Strings are most of the bytes of a recording,
// so it takes eight bytes at a time.
func str(b []byte, i int) (int, error) {
	i++
	for {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
			break
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			return i, ErrCut
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			if i+1 >= len(b) {
				return i, ErrCut
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				for k := i + 2; k < i+6; k++ {
					if k >= len(b) {
						return k, ErrCut
					}
					if hex(b[k]) > 15 {
						return k, ErrSyntax
					}
				}
				i += 6
			default:
				return i, ErrSyntax
			}
		default: // a control character
			return i, ErrSyntax
		}
	}
}

// hex returns the value of a hexadecimal digit, 16 if c is none.
func hex(c byte) uint32 {
	switch {
	case c >= '0' && c <= '9':
		return uint32(c - '0')
	case c >= 'a' && c <= 'f':
		return uint32(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint32(c-'A') + 10
	}
	return 16
}
