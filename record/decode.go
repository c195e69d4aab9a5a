package record

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of a line's object: its name and its raw value.
type member struct{ name, value []byte }

// lineKinds are the kinds whose members have a struct of their own.
var lineKinds = map[Kind]func(*Record) any{
	KindHeader:       func(r *Record) any { r.Header = new(Header); return r.Header },
	KindStart:        func(r *Record) any { r.Start = new(Start); return r.Start },
	KindClose:        func(r *Record) any { r.Close = new(Close); return r.Close },
	KindExit:         func(r *Record) any { r.Exit = new(Exit); return r.Exit },
	KindError:        func(r *Record) any { r.Error = new(Error); return r.Error },
	KindUndelivered:  func(r *Record) any { r.Lost = new(Undelivered); return r.Lost },
	KindStall:        func(r *Record) any { r.Stall = new(Stall); return r.Stall },
	KindGap:          func(r *Record) any { r.Gap = new(Gap); return r.Gap },
	KindClock:        func(r *Record) any { r.Clock = new(Clock); return r.Clock },
	KindRemoved:      func(r *Record) any { r.Removed = new(Removed); return r.Removed },
	KindClosing:      func(r *Record) any { r.Closing = new(Closing); return r.Closing },
	KindConversation: func(r *Record) any { r.Attached = new(Attached); return r.Attached },
	KindRequest:      func(r *Record) any { r.Request = new(HTTPRequest); return r.Request },
	KindResponse:     func(r *Record) any { r.Response = new(HTTPResponse); return r.Response },
}

// check is the check line's members.
type check struct {
	Last  int64    `json:"last"`
	Count int64    `json:"count"`
	CRC   string   `json:"crc"`
	Runs  []string `json:"runs,omitzero"`
}

// kindOf reads the first member of a line, which must be kind.
func kindOf(line []byte) (Kind, bool) {
	const head = `{"kind":"`
	if len(line) < len(head) || string(line[:len(head)]) != head {
		return "", false
	}
	for i, c := range line[len(head):] {
		if c == '"' {
			return kindNamed(line[len(head) : len(head)+i]), true
		}
		if c == '\\' || c < 0x20 {
			break
		}
	}
	return "", false
}

// kindNamed is the kind of that name; the frequent ones cost no memory.
func kindNamed(name []byte) Kind {
	switch string(name) {
	case string(KindFrame):
		return KindFrame
	case string(KindBody):
		return KindBody
	case string(KindCheck):
		return KindCheck
	}
	return Kind(name)
}

// decodeLine reads one line (without LF) into r, whose slices then point into
// line or are fresh. Members and kinds that it does not know are left alone.
func decodeLine(line []byte, r *Record) error {
	kind, ok := kindOf(line)
	if !ok {
		return fmt.Errorf("line does not begin with its kind")
	}
	*r = Record{Kind: kind, Line: line}
	if kind == KindFrame || kind == KindBody {
		if err := decodeBytes(line, r); err != nil {
			return fmt.Errorf("%s line: %w", kind, err)
		}
		return nil
	}
	// What all records share. A header's and a closing's own seq stays 0.
	var common struct {
		Seq  int64 `json:"seq"`
		At   int64 `json:"at"`
		From From  `json:"from"`
		Off  int64 `json:"off"`
		Ex   int64 `json:"exchange"`
	}
	opts := []json.Options{jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true)}
	if kind != KindHeader && kind != KindClosing {
		if err := json.Unmarshal(line, &common, opts...); err != nil {
			return fmt.Errorf("%s line: %w", kind, err)
		}
		r.Seq, r.At, r.From, r.Off, r.Exchange = common.Seq, common.At, common.From, common.Off, common.Ex
		if r.Exchange < 0 {
			return fmt.Errorf("%s line: exchange is negative", kind)
		}
	}
	if into := lineKinds[kind]; into != nil {
		if err := json.Unmarshal(line, into(r), opts...); err != nil {
			return fmt.Errorf("%s line: %w", kind, err)
		}
	}
	if r.Request != nil || r.Response != nil {
		if err := checkHead(r); err != nil {
			return fmt.Errorf("%s line: %w", kind, err)
		}
	}
	return nil
}

// checkHead holds a head against what those who use it rely on.
func checkHead(r *Record) error {
	from, length := Client, int64(0)
	var masked []HeadMask
	var value func(in string) []string
	if q := r.Request; q != nil {
		length, masked = q.Length, q.Masked
		value = func(in string) []string {
			switch in {
			case "target":
				return []string{q.Target}
			case "Host":
				return []string{q.Host}
			}
			return fieldValues(q.Headers, q.RawHeaders, in)
		}
	} else {
		from, length, masked = Server, r.Response.Length, r.Response.Masked
		value = func(in string) []string { return fieldValues(r.Response.Headers, r.Response.RawHeaders, in) }
	}
	switch {
	case r.Exchange < 1:
		return fmt.Errorf("exchange is required, from 1 on")
	case r.From != from:
		return fmt.Errorf("from is %.20q, not %s", r.From, from)
	case length < -1:
		return fmt.Errorf("length is %d", length)
	}
	for _, m := range masked {
		v := value(m.In)
		if m.N < 0 || m.N >= len(v) || m.Off < 0 || m.Len < 0 || m.Len > int64(len(v[m.N])) || m.Off > int64(len(v[m.N]))-m.Len {
			return fmt.Errorf("masked: %d bytes at %d of %.40q number %d are not there", m.Len, m.Off, m.In, m.N)
		}
	}
	return nil
}

// fieldValues are a field's values as bytes, whichever way they are kept.
func fieldValues(clean, raw Fields, name string) []string {
	if v, ok := clean[name]; ok {
		return v
	}
	var out []string
	for _, v := range raw[name] {
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil
		}
		out = append(out, string(b))
	}
	return out
}

// decodeBytes reads the line of a frame or of a piece of a body. The envelope's
// members are walked by hand, so that the message is taken by position and never
// parsed here.
func decodeBytes(line []byte, r *Record) error {
	var buf [12]member
	members, err := frameMembers(line, buf[:0])
	if err != nil {
		return err
	}

	seen := [3]bool{} // seq, at, exchange
	length := int64(-1)
	frame := r.Kind == KindFrame
	if frame {
		r.EOL = newline
	}
	seen[2] = frame
	for _, m := range members {
		var err error
		switch string(m.name) {
		case "kind":
		case "seq":
			r.Seq, err = parseInt(m.value)
			seen[0] = true
		case "at":
			r.At, err = parseInt(m.value)
			seen[1] = true
		case "from":
			switch string(m.value) {
			case `"client"`:
				r.From = Client
			case `"server"`:
				r.From = Server
			case `"stderr"`:
				r.From = Stderr
			default:
				err = fmt.Errorf("is none of client, server, stderr")
			}
		case "off":
			r.Off, err = parseInt(m.value)
		case "len":
			length, err = parseInt(m.value)
		case "more":
			r.More, err = parseBool(m.value)
		case "cont":
			r.Cont, err = parseBool(m.value)
		case "headless":
			r.Headless, err = parseBool(m.value)
		case "since":
			r.Since = new(Since)
			err = json.Unmarshal(m.value, r.Since)
		case "masked":
			err = json.Unmarshal(m.value, &r.Masked)
		case "eol":
			r.EOL, err = jsontext.AppendUnquote(nil, m.value)
		case "exchange":
			r.Exchange, err = parseInt(m.value)
			seen[2] = true
		case "last", "cut":
			var is bool
			if is, err = parseBool(m.value); is {
				if r.End = BodyLast; string(m.name) == "cut" {
					r.End = BodyCut
				}
			}
		case "trailers":
			err = json.Unmarshal(m.value, &r.Trailers, jsontext.AllowInvalidUTF8(true))
		case "patch":
			err = json.Unmarshal(m.value, &r.Patch, jsontext.AllowInvalidUTF8(true))
		case "message":
			r.Form, r.Data = FormMessage, m.value
		case "text":
			r.Form = FormText
			r.Data, err = jsontext.AppendUnquote(make([]byte, 0, len(m.value)), m.value)
		case "raw":
			r.Form = FormRaw
			var s []byte
			if s, err = jsontext.AppendUnquote(nil, m.value); err == nil {
				r.Data, err = base64.StdEncoding.AppendDecode(nil, s)
			}
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", m.name, err)
		}
	}
	switch {
	case !seen[0] || !seen[1] || r.From == "" || r.Form == 0:
		return fmt.Errorf("seq, at, from and one of message, text, raw are required")
	case !seen[2] || !frame && r.Exchange < 1:
		return fmt.Errorf("exchange is required, from 1 on")
	case !frame && (r.From == Stderr || r.More || r.Cont || r.Headless):
		return fmt.Errorf("a body is from client or server, and has no parts")
	case r.Form == FormMessage && length != int64(len(r.Data)):
		return fmt.Errorf("len is %d, the message has %d bytes", length, len(r.Data))
	case r.More:
		r.EOL = nil
	case length >= 0:
		r.Len = length
	default:
		r.Len = int64(len(r.Data))
	}
	if r.Form == FormMessage && (r.More || r.Cont || r.Headless) {
		return fmt.Errorf("a part cannot be a message")
	}
	for _, p := range r.Patch {
		if p.Off < 0 || p.Len < 0 || p.Off > math.MaxInt64-p.Len {
			return fmt.Errorf("patch: %d bytes at %d", p.Len, p.Off)
		}
	}
	for _, m := range r.Masked {
		if m.Off < 0 || m.Len < 0 || m.Off > math.MaxInt64-m.Len || m.Off+m.Len > int64(len(r.Data)) {
			return fmt.Errorf("masked: %d bytes at %d lie outside the %d that are there", m.Len, m.Off, len(r.Data))
		}
	}
	return nil
}

var newline = []byte("\n")

// frameMembers splits a frame line into its members. message is the last one:
// everything up to the closing brace.
func frameMembers(p []byte, out []member) ([]member, error) {
	if len(p) < 2 || p[0] != '{' || p[len(p)-1] != '}' {
		return nil, fmt.Errorf("is not one object")
	}
	i, end := 1, len(p)-1
	for {
		if i >= end || p[i] != '"' {
			return nil, fmt.Errorf("byte %d: want a member's name", i)
		}
		j := stringEnd(p, i)
		if j < 0 || j >= end || p[j] != ':' {
			return nil, fmt.Errorf("byte %d: want a member's name and a colon", i)
		}
		name := p[i+1 : j-1]
		i = j + 1
		if string(name) == "message" {
			return append(out, member{name, p[i:end:end]}), nil
		}
		for _, m := range out {
			if string(m.name) == string(name) {
				return nil, fmt.Errorf("member %s is there twice", name)
			}
		}
		if i < end && p[i] == '"' {
			j = stringEnd(p, i)
		} else {
			j = valueEnd(p, i)
		}
		if j < 0 || j > end {
			return nil, fmt.Errorf("member %s has no whole value", name)
		}
		out = append(out, member{name, p[i:j:j]})
		if len(out) > 64 {
			return nil, fmt.Errorf("has over 64 members")
		}
		if j == end {
			return out, nil
		}
		if p[j] != ',' {
			return nil, fmt.Errorf("byte %d: want a comma", j)
		}
		i = j + 1
	}
}

// stringEnd is the offset behind the string that begins at i, or -1.
func stringEnd(p []byte, i int) int {
	for i++; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd is the offset behind the value at i that is no string, or -1. What is
// inside is for the value's own parser to judge.
func valueEnd(p []byte, i int) int {
	depth := 0
	for i < len(p) {
		switch p[i] {
		case '"':
			if i = stringEnd(p, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

func parseInt(p []byte) (int64, error) {
	if len(p) > 20 {
		return 0, fmt.Errorf("is no integer of at most 19 digits")
	}
	n, err := strconv.ParseInt(string(p), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("is no integer from 0 on: %.40q", p)
	}
	return n, nil
}

func parseBool(p []byte) (bool, error) {
	switch string(p) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("is neither true nor false")
}

// unmarshal reads a line of our own into v; members that v has not are ignored.
func unmarshal(line []byte, v any) error {
	return json.Unmarshal(line, v, jsontext.AllowInvalidUTF8(true))
}
