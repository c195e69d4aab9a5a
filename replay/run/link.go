package run

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Link is a connection with the new server, through the relay: lines of JSON-RPC
// messages both ways, whatever the server itself speaks.
type Link struct {
	io.Reader
	io.Writer
	// Close ends the client's side and waits until the server has ended, for a bounded
	// time; Reader is at its end then. how tells of an end that is worth telling.
	Close func() (how string)
}

// Opener connects with the new server for one session of the recording.
type Opener func(ctx context.Context, session string) (*Link, error)

// maxLine is how long a line of the new server's may be, in bytes: as in record/session.
const maxLine = 64 << 20

// message is one of the new server's.
type message struct {
	id                            []byte // JSON text; nil: a notification
	method                        string
	params, result, err           []byte
	isRequest, isReply, isMessage bool
}

// lines is a link with its two goroutines.
type lines struct {
	link *Link
	in   chan message
	out  *outbox
	stop chan struct{}
	both sync.WaitGroup
	// written is closed when the last line is, or nobody takes it.
	written chan struct{}
}

// flushTime is how long the server may take for what was sent when the session ends.
const flushTime = 200 * time.Millisecond

func newLines(l *Link) *lines {
	s := &lines{link: l, in: make(chan message, 16), out: newOutbox(), stop: make(chan struct{}), written: make(chan struct{})}
	s.both.Go(s.read)
	s.both.Go(func() {
		defer close(s.written)
		s.out.run(l)
	})
	return s
}

// close ends the session and returns how the server ended. What it still said is
// dropped: the relay has recorded it.
func (s *lines) close() string {
	s.out.close()
	t := time.NewTimer(flushTime)
	select {
	case <-s.written:
	case <-t.C: // the server does not read
	}
	t.Stop()
	close(s.stop)
	how := s.link.Close()
	s.both.Wait()
	return how
}

// read splits what the server sends into messages. Lines that are none are skipped,
// as clients do; they are in the recording.
func (s *lines) read() {
	defer close(s.in)
	r := bufio.NewReaderSize(s.link, 64<<10)
	for {
		line, err := readLine(r)
		for _, m := range messages(line) {
			select {
			case s.in <- m:
			case <-s.stop:
				io.Copy(io.Discard, r) // a server that cannot write does not end
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line; of one that is too long it returns nothing.
func readLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if long = long || len(line)+len(piece) > maxLine; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// messages reads a line: one message, or a batch.
func messages(line []byte) []message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if line[0] != '[' {
		if m := parse(line); m.isMessage {
			return []message{m}
		}
		return nil
	}
	var all []message
	d := jsontext.NewDecoder(bytes.NewBuffer(line), anyJSON...)
	d.ReadToken()
	for d.PeekKind() == '{' {
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if m := parse(bytes.Clone(v)); m.isMessage {
			all = append(all, m)
		}
	}
	return all
}

func parse(text []byte) (m message) {
	if !jsontext.Value(text).IsValid(anyJSON...) {
		return m
	}
	all, ok := members(text)
	if !ok {
		return m
	}
	for _, f := range all {
		v := text[f.start:f.end]
		switch f.name {
		case "id":
			m.id = v
		case "method":
			m.method, _ = getText(text, "method")
		case "params":
			m.params = v
		case "result":
			m.result = v
		case "error":
			m.err = v
		}
	}
	m.isRequest = m.method != "" && m.id != nil
	m.isReply = m.method == "" && m.id != nil && (m.result != nil || m.err != nil)
	m.isMessage = m.method != "" || m.result != nil || m.err != nil
	return m
}

// outbox takes lines without waiting: a server that does not read must not hold up
// who has to notice that. What it holds is bounded by the recording's own requests.
type outbox struct {
	mu     sync.Mutex
	lines  [][]byte
	closed bool
	more   chan struct{}
}

func newOutbox() *outbox { return &outbox{more: make(chan struct{}, 1)} }

func (o *outbox) put(line []byte) {
	o.mu.Lock()
	o.lines = append(o.lines, line)
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// run writes the lines until the outbox is closed, or nobody reads any more.
func (o *outbox) run(w io.Writer) {
	for {
		o.mu.Lock()
		todo, closed := o.lines, o.closed
		o.lines = nil
		o.mu.Unlock()
		for _, l := range todo {
			if _, err := w.Write(l); err != nil {
				return
			}
		}
		if len(todo) == 0 {
			if closed {
				return
			}
			<-o.more
		}
	}
}
