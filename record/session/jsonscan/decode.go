package jsonscan

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendString appends the text of a quoted JSON string to dst. A lone surrogate
// is kept as the three bytes that UTF-8 would give it if it were a character
// (WTF-8): so "\ud800", "\ud801" and "\ufffd" are three different texts.
// quoted must be a string that [Skip] accepted.
func AppendString(dst, quoted []byte) []byte {
	b := quoted[1 : len(quoted)-1]
	for {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:n]...)
		b = b[n:]
		switch b[1] {
		case 'u':
			r := unit(b)
			b = b[6:]
			switch {
			case r >= 0xD800 && r < 0xDC00 && len(b) >= 6 && b[0] == '\\' && b[1] == 'u' && unit(b) >= 0xDC00 && unit(b) < 0xE000:
				dst = utf8.AppendRune(dst, rune((r-0xD800)<<10|(unit(b)-0xDC00))+0x10000)
				b = b[6:]
			case r >= 0xD800 && r < 0xE000:
				dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
			default:
				dst = utf8.AppendRune(dst, rune(r))
			}
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default: // quote, backslash, slash
			dst = append(dst, b[1])
		}
		b = b[2:]
	}
}

// unit returns the UTF-16 unit of the escape that b begins with.
func unit(b []byte) uint32 {
	return hex(b[2])<<12 | hex(b[3])<<8 | hex(b[4])<<4 | hex(b[5])
}

// String decodes a quoted string; ok is false when b is no string.
func String(b []byte) (s string, ok bool) {
	if len(b) < 2 || b[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1]), true
	}
	return string(AppendString(nil, b)), true
}

// MaxNumber is how many bytes of a number's spelling are read exactly. Longer
// ones are compared as spelt: nobody counts that far, and the arithmetic would
// be a way to keep us busy.
const MaxNumber = 1000

// plainZeros is how many zeros a normal form writes out before it turns to an exponent.
const plainZeros = 30

// Number returns the exact decimal normal form of a number: 1, 1.0, 1e0 and
// 10e-1 are all "1", -0 is "0", 1.5 is "15e-1", 1e400 is "1e400". Two numbers
// are equal iff their forms are. No floating point is involved. token must be a
// number that [Skip] accepted.
func Number(token []byte) string {
	if len(token) > MaxNumber {
		return string(token)
	}
	if plain(token) {
		return string(token)
	}
	s := string(token)
	s, negative := strings.CutPrefix(s, "-")
	exp := new(big.Int)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp.SetString(strings.TrimPrefix(s[i+1:], "+"), 10) // at most MaxNumber digits
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d := strings.TrimLeft(whole+fraction, "0")
	if d == "" {
		return "0"
	}
	exp.Sub(exp, big.NewInt(int64(len(fraction))))
	t := strings.TrimRight(d, "0")
	exp.Add(exp, big.NewInt(int64(len(d)-len(t))))
	var out strings.Builder
	if negative {
		out.WriteByte('-')
	}
	out.WriteString(t)
	switch {
	case exp.IsInt64() && exp.Int64() >= 0 && exp.Int64() <= plainZeros:
		out.WriteString(strings.Repeat("0", int(exp.Int64())))
	default:
		out.WriteByte('e')
		out.WriteString(exp.String())
	}
	return out.String()
}

// plain tells whether the token is its own normal form: an integer that is not
// -0 and has no more than plainZeros trailing zeros.
func plain(token []byte) bool {
	d := bytes.TrimPrefix(token, []byte("-"))
	if len(d) == 0 || d[0] == '0' {
		return len(token) == 1
	}
	for _, c := range d {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(d)-len(bytes.TrimRight(d, "0")) <= plainZeros
}

// Int reads a number token as an integer, whatever its spelling; ok is false
// when it is none or does not fit.
func Int(token []byte) (n int64, ok bool) {
	if len(token) == 0 || len(token) > MaxNumber || (token[0] != '-' && (token[0] < '0' || token[0] > '9')) {
		return 0, false
	}
	n, err := strconv.ParseInt(Number(token), 10, 64)
	return n, err == nil
}
