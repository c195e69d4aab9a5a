package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the name and version of the neutral format (docs/conversation.md).
// A reader takes every version with the same number before the dot.
const Schema = "sixlink-conversation/1.0"

// MaxFile bounds a file in the neutral format, in bytes: unlike a transcript it
// is kept whole.
const MaxFile = 256 << 20

const schemaMajor = "sixlink-conversation/1"

// Kinds of lines.
const (
	kindConversation = "conversation"
	kindTurn         = "turn"
	kindMessage      = "message"
	kindCall         = "call"
)

// writeOptions make the same bytes of the same conversation: maps are sorted.
var writeOptions = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// Each line's object begins with its kind.
type (
	conversationLine struct {
		Kind   string `json:"kind"`
		Schema string `json:"schema"`
		// Lines is how many lines follow it, so that an end that is cut off is seen.
		Lines        int64 `json:"lines,omitzero"`
		Conversation `json:",inline"`
	}
	turnLine struct {
		Kind string `json:"kind"`
		Turn `json:",inline"`
	}
	messageLine struct {
		Kind    string `json:"kind"`
		Message `json:",inline"`
	}
	callLine struct {
		Kind string `json:"kind"`
		Call `json:",inline"`
	}
)

// Write writes conversations in the neutral format: one line for each, followed
// by its turns, messages and calls. The same conversations give the same bytes.
func Write(w io.Writer, cs ...*Conversation) error {
	bw := bufio.NewWriter(w)
	line := func(v any) error {
		if err := json.MarshalWrite(bw, v, writeOptions); err != nil {
			return err
		}
		return bw.WriteByte('\n')
	}
	for _, c := range cs {
		if err := line(&conversationLine{kindConversation, Schema, int64(len(c.Turns) + len(c.Messages) + len(c.Calls)), *c}); err != nil {
			return err
		}
		for i := range c.Turns {
			if err := line(&turnLine{kindTurn, c.Turns[i]}); err != nil {
				return err
			}
		}
		for i := range c.Messages {
			if err := line(&messageLine{kindMessage, c.Messages[i]}); err != nil {
				return err
			}
		}
		for i := range c.Calls {
			if err := line(&callLine{kindCall, c.Calls[i]}); err != nil {
				return err
			}
		}
	}
	return bw.Flush()
}

// A FormatError says which line of a file in the neutral format is wrong. A file
// of that format is written on purpose, so it is refused, not guessed at.
type FormatError struct {
	Line int64
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Read reads a file in the neutral format. Lines of kinds and members that it
// does not know are left alone, so that a later minor version can be read.
func Read(r io.Reader) ([]*Conversation, error) { return read(r, new(Source)) }

// read is Read; it counts the lines in src.
func read(r io.Reader, src *Source) ([]*Conversation, error) {
	lines := NewLines(r, 0)
	rd := formatReader{}
	for lines.Next() {
		if lines.Read() > MaxFile {
			return nil, &FormatError{lines.Number(), fmt.Sprintf("the file is larger than %d bytes", int64(MaxFile))}
		}
		if lines.Blank() {
			continue
		}
		if lines.TooLong() {
			return nil, &FormatError{lines.Number(), fmt.Sprintf("longer than %d bytes", DefaultMaxLine)}
		}
		kind, known, err := rd.line(lines.Bytes())
		if err != nil {
			return nil, &FormatError{lines.Number(), err.Error()}
		}
		if known {
			src.Took(kind)
		} else {
			src.Skip(kind)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	src.Lines = lines.Number()
	src.Bytes, src.SHA256 = lines.Sum()
	if len(rd.cs) == 0 {
		return nil, &FormatError{lines.Number(), `no line of kind "conversation"`}
	}
	rd.finish()
	return rd.cs, nil
}

// formatReader puts lines together.
type formatReader struct {
	cs   []*Conversation
	cur  *Conversation
	caps bool // the current conversation states its caps
	// said is how many lines it says that it has, 0 where it does not; lines those that
	// are there.
	said, lines int64
}

// line reads one line and returns its kind, and whether that is known.
func (f *formatReader) line(b []byte) (kind string, known bool, err error) {
	var head struct {
		Kind   string         `json:"kind"`
		Schema string         `json:"schema"`
		Caps   jsontext.Value `json:"caps"`
		// Turn and Index default to the last turn, Status to complete.
		Turn  *int `json:"turn"`
		Index *int `json:"index"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return "", false, oneLine(err)
	}
	if head.Kind == kindConversation {
		if s := head.Schema; s != schemaMajor && !strings.HasPrefix(s, schemaMajor+".") {
			return "", false, fmt.Errorf("schema %q is not one that this version reads (%q)", s, Schema)
		}
		var l conversationLine
		if err := json.Unmarshal(b, &l); err != nil {
			return "", false, oneLine(err)
		}
		f.finish()
		f.cur, f.caps, f.said, f.lines = &l.Conversation, head.Caps != nil, l.Lines, 0
		f.cs = append(f.cs, f.cur)
		return head.Kind, true, nil
	}
	if f.cur == nil {
		return "", false, errors.New(`the first line must be of kind "conversation"`)
	}
	f.lines++
	last := len(f.cur.Turns) - 1
	switch head.Kind {
	case kindTurn:
		var l turnLine
		if err := json.Unmarshal(b, &l); err != nil {
			return "", false, oneLine(err)
		}
		if head.Index != nil && *head.Index != last+1 {
			return "", false, fmt.Errorf("index is %d, want %d: turns are numbered from 0 in their order", *head.Index, last+1)
		}
		t := l.Turn
		t.Index = last + 1
		if t.Status == "" {
			t.Status = Complete
		}
		if t.Origin == "" {
			t.Origin = Human
		}
		if t.FinalText.State == "" {
			t.FinalText.State = AbsentText
			if t.FinalText.Text.Text != "" {
				t.FinalText.State = HasText
			}
		}
		f.cur.Turns = append(f.cur.Turns, t)
	case kindMessage:
		var l messageLine
		if err := json.Unmarshal(b, &l); err != nil {
			return "", false, oneLine(err)
		}
		if l.Turn, err = turnOf(head.Turn, last); err != nil {
			return "", false, err
		}
		if len(f.cur.Messages) == MaxItems {
			return "", false, fmt.Errorf("more than %d messages", MaxItems)
		}
		f.cur.Messages = append(f.cur.Messages, l.Message)
	case kindCall:
		var l callLine
		if err := json.Unmarshal(b, &l); err != nil {
			return "", false, oneLine(err)
		}
		if l.Call.Turn, err = turnOf(head.Turn, last); err != nil {
			return "", false, err
		}
		if len(f.cur.Calls) == MaxItems {
			return "", false, fmt.Errorf("more than %d calls", MaxItems)
		}
		f.cur.Calls = append(f.cur.Calls, normalCall(l.Call))
	case "":
		return "", false, errors.New(`member "kind" is missing`)
	default:
		return head.Kind, false, nil
	}
	return head.Kind, true, nil
}

// turnOf is the turn that a line belongs to: the one it names, which must have
// come before it, else the last one; -1 where there is none.
func turnOf(named *int, last int) (int, error) {
	if named == nil {
		return last, nil
	}
	if *named < -1 || *named > last {
		return 0, fmt.Errorf("turn is %d, and the turns so far are 0 to %d", *named, last)
	}
	return *named, nil
}

// normalCall fills in what an author may leave out.
func normalCall(c Call) Call {
	if c.Kind == "" {
		c.Kind = UnknownCall
		if c.Server != "" {
			c.Kind = MCPCall
		}
	}
	if c.Result != nil && c.Result.Text.Text != "" {
		c.Result.HasText = true
	}
	return c
}

// finish fills in what the lines of the current conversation left out: the ids
// of the turns' calls, and the caps.
func (f *formatReader) finish() {
	if f.cur == nil {
		return
	}
	f.cur.FillCallIDs()
	if !f.caps {
		f.cur.Caps = f.cur.derivedCaps()
	}
	if f.lines < f.said {
		f.cur.cutAt(f.lines, f.said)
	}
	f.cur = nil
}

// cutAt says that lines of the conversation are missing at its end: nothing of which
// there is some is there for certain.
func (c *Conversation) cutAt(lines, of int64) {
	for _, p := range []*Cap{&c.Caps.Turns, &c.Caps.Prompts, &c.Caps.FinalText, &c.Caps.Tokens, &c.Caps.Times, &c.Caps.Calls, &c.Caps.CallIDs} {
		if *p == Present {
			*p = Partial
		}
	}
	c.Notes = append(c.Notes, Note{Kind: "cut", Text: fmt.Sprintf("%d of its %d lines are there", lines, of)})
}

// FillCallIDs gives the turns that name no calls the ids of theirs, in order.
func (c *Conversation) FillCallIDs() {
	named := make([]bool, len(c.Turns))
	for i := range c.Turns {
		named[i] = len(c.Turns[i].CallIDs) > 0
	}
	for i := range c.Calls {
		k := &c.Calls[i]
		if k.Turn >= 0 && k.Turn < len(c.Turns) && !named[k.Turn] && k.HostCallID != "" {
			c.Turns[k.Turn].CallIDs = append(c.Turns[k.Turn].CallIDs, k.HostCallID)
		}
	}
}

// derivedCaps are the caps of a conversation that states none: a kind of
// knowledge is present when every item has it, partial when some have.
func (c *Conversation) derivedCaps() Caps {
	var prompts, final, tokens, model share
	times, ids := share{}, share{}
	for i := range c.Turns {
		t := &c.Turns[i]
		prompts.count(len(t.Prompts) > 0)
		final.count(t.FinalText.State != AbsentText)
		tokens.count(len(t.Usage) > 0)
	}
	if len(c.Usage) > 0 {
		tokens = share{1, 1}
	}
	for i := range c.Calls {
		times.count(!c.Calls[i].At.IsZero())
		ids.count(c.Calls[i].HostCallID != "")
	}
	model.count(len(c.Models) > 0)
	caps := Caps{Turns: Absent, Prompts: prompts.cap(), FinalText: final.cap(), Tokens: tokens.cap(),
		Times: times.cap(), Calls: Present, CallIDs: ids.cap(), Model: model.cap()}
	if len(c.Turns) > 0 {
		caps.Turns = Present
	}
	return caps
}

// share counts how many of all items have something.
type share struct{ have, all int }

func (s *share) count(has bool) {
	s.all++
	if has {
		s.have++
	}
}

func (s share) cap() Cap {
	switch {
	case s.have == 0:
		return Absent
	case s.have < s.all:
		return Partial
	}
	return Present
}

// oneLine keeps an error's text to one line.
func oneLine(err error) error {
	s := err.Error()
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return errors.New(strings.TrimPrefix(s, "json: "))
}

// isNeutral says that a file begins as one of the neutral format.
func isNeutral(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"`+schemaMajor))
}
