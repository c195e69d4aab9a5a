package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxAttached is how long a line of a conversation may be to stand in a record as
// it is, in bytes; a longer one is kept in pieces of maxPiece, which as JSON strings
// may take six times that.
const (
	maxAttached = 4 << 20
	maxPiece    = 1 << 20
)

// Attach writes a new sealed recording with all that can be believed of the one at
// path and, behind it, a conversation: the lines of the neutral format that lines
// holds. The id stays, and the header says what it was derived from. A recording
// that was torn stays marked as torn. out must not exist.
func Attach(path, out, tool string, lines []byte, opts Options) (*Repaired, error) {
	return derive("attach", path, out, tool, opts, func(add func(rec *Record) error) error {
		sc := bufio.NewReader(bytes.NewReader(lines))
		for {
			line, err := sc.ReadBytes('\n')
			if len(line) > 0 {
				if err := attachLine(bytes.TrimSuffix(line, newline), add); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

func attachLine(line []byte, add func(rec *Record) error) error {
	if len(line) <= maxAttached {
		if !embeddable(line) {
			return fmt.Errorf("a line of the conversation is no JSON that a recording can hold: %.60q", line)
		}
		return add(&Record{Kind: KindConversation, Attached: &Attached{Entry: line}})
	}
	for len(line) > 0 {
		n := min(len(line), maxPiece)
		for n < len(line) && n > 0 && line[n]&0xC0 == 0x80 { // between characters
			n--
		}
		if n == 0 {
			return errors.New("a line of the conversation is no UTF-8")
		}
		if err := add(&Record{Kind: KindConversation, Attached: &Attached{Part: string(line[:n]), More: n < len(line)}}); err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// Conversation puts the attached lines of a recording together. The zero value is
// ready.
type Conversation struct {
	lines bytes.Buffer
	over  bool
	count int
}

// maxConversation bounds what is put together, in bytes: that of a file in the
// neutral format (record/host.MaxFile).
const maxConversation = 256 << 20

// Add takes a record of kind conversation; others it leaves alone.
func (c *Conversation) Add(rec *Record) {
	a := rec.Attached
	if rec.Kind != KindConversation || a == nil || c.over {
		return
	}
	c.count++
	if c.lines.Len()+len(a.Entry)+len(a.Part) > maxConversation {
		c.over = true
		c.lines.Reset()
		return
	}
	c.lines.Write(a.Entry)
	c.lines.WriteString(a.Part)
	if !a.More {
		c.lines.WriteByte('\n')
	}
}

// Lines are the lines; nil when nothing is attached. An error says that there is
// more than is read.
func (c *Conversation) Lines() ([]byte, error) {
	switch {
	case c.over:
		return nil, fmt.Errorf("the attached conversation is over %d bytes", maxConversation)
	case c.count == 0:
		return nil, nil
	}
	return c.lines.Bytes(), nil
}
