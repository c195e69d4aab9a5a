package grade

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// rawResult is the basis of sizes that are measured on the wire (grading.md 0.1).
const rawResult = "raw_result"

// keptResults bounds the results of one session that are held between its checks,
// in bytes of memory, so that several checks read a small one once. What does not
// fit is read anew by each: a large result is never held.
const keptResults = 1 << 20

// resultReader reads the result of one call when a check asks for it.
type resultReader struct {
	call *session.Call
	room *int64 // what is left of keptResults, shared by the session's results
	kept *predicate.ResultContent
	at   *parts // kept as well
	size int64  // -1: not measured yet
}

// results adds a call's result to the evidence: the row toolResults of the table
// in grading.md 0.1. Tool errors have one; protocol errors, malformed answers,
// cancelled calls, and tasks that are not done have none.
func results(ev *predicate.Evidence, c *session.Call, room *int64) {
	if c.Result.IsZero() || c.Late || c.State != session.CallResult && c.State != session.CallToolError {
		return
	}
	r := &resultReader{call: c, room: room, size: -1}
	ev.Results = append(ev.Results, predicate.ToolResult{
		Tool: c.Tool, Seq: c.Seq, Index: c.Index, ToolUseID: c.ToolUseID, Record: c.AnswerSeq,
		IsError: c.State == session.CallToolError,
		Content: r.content, Size: r.measure,
	})
}

func (r *resultReader) content() (*predicate.ResultContent, error) {
	if r.kept != nil {
		return r.kept, nil
	}
	p, err := r.read()
	if err != nil {
		return nil, err
	}
	c := &predicate.ResultContent{}
	c.Text, c.HasText = p.text()
	if s := p.structured(); s != nil {
		c.StructuredLen = len(s)
		c.Structured, c.Unread = predicate.ParseResult(s)
	}
	if n := memory(c); n <= *r.room {
		*r.room -= n
		r.kept = c
	}
	return c, nil
}

// measure is the size as the model would see the result: content, and
// structuredContent unless a text block is its JSON twin, written as JSON without
// spaces, so that the server's own spelling does not count.
func (r *resultReader) measure() (predicate.ResultSize, error) {
	if r.size < 0 {
		p, err := r.read()
		if err != nil {
			return predicate.ResultSize{}, err
		}
		n := value.PlainLen(p.raw[p.content.Start:p.content.End])
		if s := p.structured(); s != nil {
			twin, err := p.twin()
			if err != nil {
				return predicate.ResultSize{}, err
			}
			if !twin {
				n += value.PlainLen(s)
			}
		}
		r.size = n
	}
	return predicate.ResultSize{Bytes: r.size, Complete: true, Basis: rawResult}, nil
}

// parts is where the members of a CallToolResult stand in its JSON text. An empty
// span is one that is not there; of duplicates the last holds.
type parts struct {
	raw                   []byte
	content, structuredAt jsonscan.Span
}

func (r *resultReader) read() (p parts, err error) {
	if r.at != nil {
		return *r.at, nil
	}
	raw, err := r.call.Result.Bytes()
	if err != nil {
		return p, err
	}
	if n := int64(len(raw)); n <= *r.room {
		*r.room -= n
		raw = bytes.Clone(raw) // it may be a part of something larger
		if p, err = partsOf(raw); err == nil {
			r.at = &p
		}
		return p, err
	}
	return partsOf(raw)
}

func partsOf(raw []byte) (p parts, err error) {
	if !utf8.Valid(raw) {
		return p, errors.New("it is no valid UTF-8")
	}
	p.raw = raw
	_, err = jsonscan.Members(raw, jsonscan.Space(raw, 0), func(name []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(raw, at)
		if err == nil {
			switch string(name) {
			case "content":
				p.content = s
			case "structuredContent":
				p.structuredAt = s
			}
		}
		return s, err
	})
	if err != nil {
		return p, fmt.Errorf("it cannot be read: %w", err)
	}
	return p, nil
}

// structured is the JSON text of structuredContent; nil when there is none.
func (p *parts) structured() []byte {
	if p.structuredAt.End == 0 {
		return nil
	}
	return p.raw[p.structuredAt.Start:p.structuredAt.End]
}

// texts yields the JSON strings of the text blocks, in order.
func (p *parts) texts(yield func(quoted []byte)) {
	if p.content.End == 0 || p.raw[p.content.Start] != '[' {
		return
	}
	_, _ = jsonscan.Elements(p.raw, p.content.Start, func(_, at int) (jsonscan.Span, error) {
		at = jsonscan.Space(p.raw, at)
		if p.raw[at] != '{' {
			return jsonscan.Skip(p.raw, at)
		}
		var kind, text []byte
		s, err := jsonscan.Members(p.raw, at, func(name []byte, at int) (jsonscan.Span, error) {
			s, err := jsonscan.Skip(p.raw, at)
			if err == nil {
				switch string(name) {
				case "type":
					kind = p.raw[s.Start:s.End]
				case "text":
					text = p.raw[s.Start:s.End]
				}
			}
			return s, err
		})
		if word, ok := jsonscan.String(kind); ok && word == "text" && len(text) > 0 && text[0] == '"' {
			yield(text)
		}
		return s, err
	})
}

// text joins the text blocks without a separator; has tells that there was one.
func (p *parts) text() (text string, has bool) {
	var only []byte
	blocks, size := 0, 0
	p.texts(func(quoted []byte) {
		blocks++
		only = quoted
		size += len(quoted)
	})
	if blocks == 0 || blocks == 1 && bytes.IndexByte(only, '\\') < 0 {
		return jsonscan.String(only) // one copy
	}
	out := make([]byte, 0, size)
	p.texts(func(quoted []byte) { out = jsonscan.AppendString(out, quoted) })
	return string(out), true
}

// twin tells whether a text block is structuredContent once more, as JSON.
func (p *parts) twin() (is bool, err error) {
	s := p.structured()
	var v *value.Value
	p.texts(func(quoted []byte) {
		if is || err != nil {
			return
		}
		text, _ := jsonscan.String(quoted)
		if first := strings.TrimLeft(text, " \t\r\n"); first == "" || first[0] != s[0] && !number(first[0], s[0]) {
			return // another type: no need to read either
		}
		t, e := predicate.ParseResultText(text)
		if t == nil && e == nil {
			return
		}
		if v == nil && e == nil {
			v, e = predicate.ParseResult(s)
		}
		if e != nil {
			err = fmt.Errorf("whether a text block repeats structuredContent cannot be told: %w", e)
			return
		}
		is = value.Equal(v, t)
	})
	return is, err
}

// number tells whether both bytes begin a number: 1e1 and 10 are one.
func number(a, b byte) bool {
	digit := func(c byte) bool { return c == '-' || '0' <= c && c <= '9' }
	return digit(a) && digit(b)
}

// memory is how much a result takes, in bytes: about.
func memory(c *predicate.ResultContent) int64 {
	n := int64(len(c.Text)) + 128
	if c.Structured != nil {
		n += weight(c.Structured)
	}
	return n
}

func weight(v *value.Value) int64 {
	n := int64(len(v.Str)) + 100
	for i := range v.Arr {
		n += weight(&v.Arr[i])
	}
	for i := range v.Obj {
		n += int64(len(v.Obj[i].Key)) + 32 + weight(&v.Obj[i].Value)
	}
	return n
}
