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
	// texts are the JSON strings of the text blocks, in order.
	texts [][]byte
	block block
}

func (r *resultReader) read() (*parts, error) {
	l := r.last
	if l.call == r.call {
		return &l.at, l.err
	}
	l.call, l.content = r.call, nil
	raw, err := r.call.Result.Bytes()
	if err == nil {
		err = l.at.of(raw)
	}
	l.err = err
	return &l.at, err
}

func partsOf(raw []byte) (p parts, err error) {
	err = p.of(raw)
	return p, err
}

func (p *parts) of(raw []byte) error {
	*p = parts{texts: p.texts[:0]}
	if !utf8.Valid(raw) {
		return errors.New("it is no valid UTF-8")
	}
	p.raw = raw
	_, err := jsonscan.Members(raw, jsonscan.Space(raw, 0), func(name []byte, at int) (s jsonscan.Span, err error) {
		switch string(name) {
		case "content":
			p.texts = p.texts[:0]
			if at = jsonscan.Space(raw, at); at < len(raw) && raw[at] == '[' {
				s, err = jsonscan.Elements(raw, at, p.element)
			} else {
				s, err = jsonscan.Skip(raw, at)
			}
			p.content = s
		case "structuredContent":
			s, err = jsonscan.Skip(raw, at)
			p.structuredAt = s
		default:
			s, err = jsonscan.Skip(raw, at)
		}
		return s, err
	})
	if err != nil {
		p.content, p.structuredAt, p.texts = jsonscan.Span{}, jsonscan.Span{}, nil
		return fmt.Errorf("it cannot be read: %w", err)
	}
	return nil
}

// block is what counts of a content block.
type block struct{ kind, text []byte }

func (p *parts) element(_, at int) (jsonscan.Span, error) {
	at = jsonscan.Space(p.raw, at)
	if at >= len(p.raw) || p.raw[at] != '{' {
		return jsonscan.Skip(p.raw, at)
	}
	p.block = block{}
	s, err := jsonscan.Members(p.raw, at, p.member)
	if kind, text := p.block.kind, p.block.text; err == nil && len(text) > 0 && text[0] == '"' {
		if word, ok := jsonscan.String(kind); ok && word == "text" {
			p.texts = append(p.texts, text)
		}
	}
	return s, err
}

func (p *parts) member(name []byte, at int) (jsonscan.Span, error) {
	s, err := jsonscan.Skip(p.raw, at)
	if err == nil {
		switch string(name) {
		case "type":
			p.block.kind = p.raw[s.Start:s.End]
		case "text":
			p.block.text = p.raw[s.Start:s.End]
		}
	}
	return s, err
}

// structured is the JSON text of structuredContent; nil when there is none.
func (p *parts) structured() []byte {
	if p.structuredAt.End == 0 {
		return nil
	}
	return p.raw[p.structuredAt.Start:p.structuredAt.End]
}

// text joins the text blocks without a separator; has tells that there was one.
func (p *parts) text() (text string, has bool) {
	if len(p.texts) == 0 {
		return "", false
	}
	if only := p.texts[0]; len(p.texts) == 1 && bytes.IndexByte(only, '\\') < 0 {
		return jsonscan.String(only) // one copy
	}
	size := 0
	for _, quoted := range p.texts {
		size += len(quoted)
	}
	out := make([]byte, 0, size)
	for _, quoted := range p.texts {
		out = jsonscan.AppendString(out, quoted)
	}
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
	for _, quoted := range p.texts {
		if !mayRepeat(quoted, s[0]) {
			continue // another type: no need to read either
		}
		text, _ := jsonscan.String(quoted)
		t, e := predicate.ParseResultText(text)
		if t == nil && e == nil {
			continue
		}
		if v == nil && e == nil {
			v, e = predicate.ParseResult(s)
		}
		if e != nil {
			return false, fmt.Errorf("whether a text block repeats structuredContent cannot be told: %w", e)
		}
		if value.Equal(v, t) {
			return true, nil
		}
	}
	return false, nil
}

// mayRepeat tells whether a text, given as a JSON string, may be the JSON of a value
// that begins with first.
func mayRepeat(quoted []byte, first byte) bool {
	for i := 1; i < len(quoted)-1; i++ {
		switch c := quoted[i]; c {
		case ' ':
		case '\\':
			text, _ := jsonscan.String(quoted)
			text = strings.TrimLeft(text, " \t\r\n")
			return text != "" && (text[0] == first || number(text[0], first))
		default:
			return c == first || number(c, first)
		}
	}
	return false
}

// number tells whether both bytes begin a number: 1e1 and 10 are one.
func number(a, b byte) bool {
	digit := func(c byte) bool { return c == '-' || '0' <= c && c <= '9' }
	return digit(a) && digit(b)
}
