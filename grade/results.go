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

// resultReader reads the result of one call when a check asks for it.
type resultReader struct {
	call *session.Call
	last *lastResult
}

// lastResult is the result that was read last: all checks of a trial look at one
// result after the other, so that none but one is in memory. A size is a number.
type lastResult struct {
	call    *session.Call
	at      parts
	content *predicate.ResultContent
	err     error
}

// results adds a call's result to the evidence: the row toolResults of the table
// in grading.md 0.1. Tool errors have one; protocol errors, malformed answers,
// cancelled calls, and tasks that are not done have none.
func results(ev *predicate.Evidence, c *session.Call, last *lastResult) {
	if c.Result.IsZero() || c.Late || c.State != session.CallResult && c.State != session.CallToolError {
		return
	}
	r := &resultReader{call: c, last: last}
	ev.Results = append(ev.Results, predicate.ToolResult{
		Tool: c.Tool, Seq: c.Seq, Index: c.Index, ToolUseID: c.ToolUseID, Record: c.AnswerSeq,
		IsError: c.State == session.CallToolError,
		Content: r.content, Size: r.measure,
	})
}

func (r *resultReader) content() (*predicate.ResultContent, error) {
	p, err := r.read()
	if err != nil {
		return nil, err
	}
	if r.last.content == nil {
		c := &predicate.ResultContent{}
		c.Text, c.HasText = p.text()
		if s := p.structured(); s != nil {
			c.StructuredLen = len(s)
			c.Structured, c.Unread = predicate.ParseResult(s)
		}
		r.last.content = c
	}
	return r.last.content, nil
}

// measure is the size as the model would see the result: content, and
// structuredContent unless a text block is its JSON twin, written as JSON without
// spaces, so that the server's own spelling does not count.
func (r *resultReader) measure() (predicate.ResultSize, error) {
	p, err := r.read()
	if err != nil {
		return predicate.ResultSize{}, err
	}
	n := value.PlainLen(p.raw[p.content.Start:p.content.End])
	if s := p.structured(); s != nil {
		twin, err := p.twin(r.last.content)
		if err != nil {
			return predicate.ResultSize{}, err
		}
		if !twin {
			n += value.PlainLen(s)
		}
	}
	return predicate.ResultSize{Bytes: n, Complete: true, Basis: rawResult}, nil
}

// parts is where the members of a CallToolResult stand in its JSON text. An empty
// span is one that is not there; of duplicates the last holds.
type parts struct {
	raw                   []byte
	content, structuredAt jsonscan.Span
}

func (r *resultReader) read() (*parts, error) {
	l := r.last
	if l.call == r.call {
		return &l.at, l.err
	}
	*l = lastResult{call: r.call}
	raw, err := r.call.Result.Bytes()
	if err == nil {
		l.at, err = partsOf(raw)
	}
	l.err = err
	return &l.at, err
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

// twin tells whether a text block is structuredContent once more, as JSON. c is what
// was read of the result; it may be nil.
func (p *parts) twin(c *predicate.ResultContent) (is bool, err error) {
	s := p.structured()
	var v *value.Value
	if c != nil {
		v = c.Structured // it was read already
	}
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
