package record

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// frame is a stdio line, or a part of one, on its way into a recording.
type frame struct {
	seq, at  int64
	from     From
	off      int64
	since    *Since
	cont     bool
	headless bool
	more     bool
	total    int64  // bytes of the whole line without its end; meaningful unless more
	data     []byte // with its end of line
	masked   []Mask
}

// appendFrame appends the frame's line with its LF (FORMAT.md 5).
func appendFrame(dst []byte, f *frame) []byte {
	body, eol := splitEOL(f.data)
	form := FormText
	if !f.cont && !f.headless && !f.more {
		if b, e := splitJSON(f.data); embeddable(b) {
			body, eol, form = b, e, FormMessage
		}
	}
	dst = append(dst, `{"kind":"frame","seq":`...)
	dst = strconv.AppendInt(dst, f.seq, 10)
	dst = append(dst, `,"at":`...)
	dst = strconv.AppendInt(dst, f.at, 10)
	dst = append(dst, `,"from":"`...)
	dst = append(dst, f.from...)
	dst = append(dst, `","off":`...)
	dst = strconv.AppendInt(dst, f.off, 10)
	if f.since != nil {
		dst = append(dst, `,"since":{"after":`...)
		dst = strconv.AppendInt(dst, f.since.After, 10)
		dst = append(dst, `,"at":`...)
		dst = strconv.AppendInt(dst, f.since.At, 10)
		dst = append(dst, '}')
	}
	if f.cont {
		dst = append(dst, `,"cont":true`...)
	}
	if f.headless {
		dst = append(dst, `,"headless":true`...)
	}
	if f.more {
		dst = append(dst, `,"more":true`...)
	} else {
		if form == FormMessage || f.cont {
			n := int64(len(body))
			if f.cont {
				n = f.total - int64(len(eol))
			}
			dst = append(dst, `,"len":`...)
			dst = strconv.AppendInt(dst, n, 10)
		}
		if string(eol) != "\n" {
			dst = append(dst, `,"eol":`...)
			dst = appendString(dst, eol)
		}
	}
	dst = appendMasked(dst, f.masked)
	return appendForm(dst, form, body)
}

// appendMasked appends the member masked, if there is anything in it.
func appendMasked(dst []byte, masked []Mask) []byte {
	if len(masked) == 0 {
		return dst
	}
	dst = append(dst, `,"masked":[`...)
	for i, m := range masked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"off":`...)
		dst = strconv.AppendInt(dst, m.Off, 10)
		dst = append(dst, `,"len":`...)
		dst = strconv.AppendInt(dst, m.Len, 10)
		dst = append(dst, `,"mac":"`...)
		dst = append(dst, m.MAC...)
		dst = append(dst, `"}`...)
	}
	return append(dst, ']')
}

// appendForm appends the last member, which holds the bytes, and ends the line.
// A text that cannot be one becomes raw.
func appendForm(dst []byte, form Form, body []byte) []byte {
	switch {
	case form == FormMessage:
		dst = append(dst, `,"message":`...)
		dst = append(dst, body...)
	case utf8.Valid(body) && readable(body):
		dst = append(dst, `,"text":`...)
		dst = appendString(dst, body)
	default:
		dst = append(dst, `,"raw":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, body)
		dst = append(dst, '"')
	}
	return append(dst, '}', '\n')
}

// readable tells whether a text may be kept as a JSON string: short, or not
// longer than base64 would be, so that a part of any kind stays under maxLine.
func readable(p []byte) bool {
	n := stringLen(p)
	return n < 1<<10 || n <= base64.StdEncoding.EncodedLen(len(p))+2
}

// splitEOL cuts "\n" or "\r\n" off the end.
func splitEOL(p []byte) (body, eol []byte) {
	n := len(p)
	if n > 0 && p[n-1] == '\n' {
		n--
		if n > 0 && p[n-1] == '\r' {
			n--
		}
	}
	return p[:n], p[n:]
}

// splitJSON cuts all JSON white space off the end.
func splitJSON(p []byte) (body, eol []byte) {
	n := len(p)
	for n > 0 && (p[n-1] == '\n' || p[n-1] == '\r' || p[n-1] == ' ' || p[n-1] == '\t') {
		n--
	}
	return p[:n], p[n:]
}

var embedOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false)}

// embeddable tells whether a line may stand in the recording as it is, so that
// plain jq (depth 256, no lone surrogates) and Python (numbers of 4,300 digits)
// still read the recording.
func embeddable(p []byte) bool {
	if len(p) == 0 || p[0] != '{' && p[0] != '[' || !plain(p) {
		return false
	}
	return jsontext.Value(p).IsValid(embedOptions...)
}

// plain refuses a bare CR, an LF (bodies of HTTP have some: it would end the
// recording's line), nesting over maxDepth and numbers over maxNumber. It need not
// be right about anything else: the JSON check follows.
func plain(p []byte) bool {
	if bytes.IndexByte(p, '\r') >= 0 || bytes.IndexByte(p, '\n') >= 0 {
		return false
	}
	depth := 0
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c == '"':
			for i++; ; {
				j := bytes.IndexByte(p[min(i, len(p)):], '"')
				if j < 0 {
					return false
				}
				i += j + 1
				// An odd number of backslashes before it makes it part of the string.
				k := i - 2
				for p[k] == '\\' {
					k--
				}
				if (i-2-k)%2 == 0 {
					break
				}
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case c == '-' || '0' <= c && c <= '9':
			j := i
			for j < len(p) && (p[j] == '-' || p[j] == '+' || p[j] == '.' || p[j]|0x20 == 'e' || '0' <= p[j] && p[j] <= '9') {
				j++
			}
			if j-i > maxNumber {
				return false
			}
			i = j
		default:
			i++
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

// appendString appends valid UTF-8 as a JSON string, escaping only what JSON
// demands.
func appendString[T string | []byte](dst []byte, p T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(p) {
		c := p[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, p[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, p[start:]...)
	return append(dst, '"')
}

// stringLen is the length of what appendString appends.
func stringLen(p []byte) int {
	n := len(p) + 2
	for _, c := range p {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < 0x20:
			n += 5
		}
	}
	return n
}

// appendEvent appends the line of a record that is no frame. The payload's
// members follow kind, seq, at and, where the record has a direction, from and off.
func appendEvent(dst []byte, r *Record) ([]byte, error) {
	dst = append(dst, `{"kind":`...)
	dst = appendString(dst, []byte(r.Kind))
	if r.Kind != KindHeader && r.Kind != KindClosing {
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendInt(dst, r.Seq, 10)
		dst = append(dst, `,"at":`...)
		dst = strconv.AppendInt(dst, r.At, 10)
	}
	if r.Exchange != 0 {
		dst = append(dst, `,"exchange":`...)
		dst = strconv.AppendInt(dst, r.Exchange, 10)
	}
	if r.From != "" {
		dst = append(dst, `,"from":"`...)
		dst = append(dst, r.From...)
		dst = append(dst, '"')
	}
	if r.Kind == KindUndelivered {
		dst = append(dst, `,"off":`...)
		dst = strconv.AppendInt(dst, r.Off, 10)
	}
	switch {
	case r.Request != nil && r.Kind == KindRequest:
		l := headLine{dst: dst}
		l.request(r.Request)
		return append(l.dst, '}', '\n'), nil
	case r.Response != nil && r.Kind == KindResponse:
		l := headLine{dst: dst}
		l.response(r.Response)
		return append(l.dst, '}', '\n'), nil
	}
	if p := r.payload(); p != nil {
		b, err := json.Marshal(p, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, err
		}
		if b = b[1 : len(b)-1]; len(b) > 0 {
			dst = append(append(dst, ','), b...)
		}
	}
	return append(dst, '}', '\n'), nil
}

// payload is the struct that holds the members of the record's own kind.
func (r *Record) payload() any {
	switch r.Kind {
	case KindHeader:
		return r.Header
	case KindStart:
		return r.Start
	case KindClose:
		return r.Close
	case KindExit:
		return r.Exit
	case KindError:
		return r.Error
	case KindUndelivered:
		return r.Lost
	case KindStall:
		return r.Stall
	case KindGap:
		return r.Gap
	case KindConversation:
		return r.Attached
	case KindClock:
		return r.Clock
	case KindRemoved:
		return r.Removed
	case KindClosing:
		return r.Closing
	case KindRequest:
		return r.Request
	case KindResponse:
		return r.Response
	}
	return nil
}
