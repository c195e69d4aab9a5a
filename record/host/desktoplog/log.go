package desktoplog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
)

// Log is a log that was looked through once.
type Log struct {
	// Servers are those whose messages are in it, in order of appearance.
	Servers []string
	open    func() (io.ReadCloser, error)
	sha256  string
}

// ErrNoMessages says that a file holds no message of this host's log.
var ErrNoMessages = errors.New("no line of Claude Desktop's MCP log: want \"TIME [NAME] [info] Message from client: ...\"")

// maxServers bounds the servers of one log.
const maxServers = 200

// Open looks through a log of the machine.
func Open(name string) (*Log, error) {
	return New(func() (io.ReadCloser, error) { return os.Open(name) })
}

// New looks through a log. open must give the same bytes each time.
func New(open func() (io.ReadCloser, error)) (*Log, error) {
	l := &Log{open: open}
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 0)
	for lines.Next() {
		e, ok := parse(lines.Bytes())
		if !ok {
			continue
		}
		if _, _, ok := e.message(); !ok || slices.Contains(l.Servers, e.server) {
			continue
		}
		if len(l.Servers) == maxServers {
			return nil, fmt.Errorf("messages of more than %d servers", maxServers)
		}
		l.Servers = append(l.Servers, e.server)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(l.Servers) == 0 {
		return nil, ErrNoMessages
	}
	_, l.sha256 = lines.Sum()
	return l, nil
}

// Session is what one process of one server did, as the log tells it. What is
// counted is whole only once it was written.
type Session struct {
	Server string
	// Number counts the server's processes in the log, from 1.
	Number int
	Start  time.Time
	// Messages were taken whole; Lost are messages that the log does not have whole.
	Messages, Lost int64
	// Stderr counts lines of the server's own.
	Stderr int64
}

// Sessions are the processes of one server, one after the other.
type Sessions struct {
	log    *Log
	server string
	alone  bool // lines without a name are this server's
	file   io.Closer
	lines  *host.Lines
	number int
	ahead  *step // the next one
	known  bool  // ahead was read
	dump   bool  // inside an object that the host printed
	last   time.Time
	begins bool // the process that comes next was seen to start
}

// Sessions returns the processes of a server. Close them.
func (l *Log) Sessions(server string) (*Sessions, error) {
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	return &Sessions{log: l, server: server, alone: len(l.Servers) == 1, file: f, lines: host.NewLines(f, 0)}, nil
}

// Close closes the log.
func (s *Sessions) Close() error { return s.file.Close() }

// step is one thing that happened.
type step struct {
	at   time.Time
	from record.From // of a message or of output; else empty
	data []byte
	lost int64 // a message of about so many bytes is not in the log
	why  string
	// begins and ends are what the host says of the process.
	begins, ends bool
}

// next reads on to the next step; nil at the end.
func (s *Sessions) next() *step {
	for s.lines.Next() {
		if s.lines.TooLong() {
			return &step{at: s.last, lost: 1, why: fmt.Sprintf("a line of the log is longer than %d bytes", host.DefaultMaxLine)}
		}
		e, ok := parse(s.lines.Bytes())
		if !ok {
			if st := s.output(s.lines.Bytes()); st != nil {
				return st
			}
			continue
		}
		s.dump = false
		if e.server != s.server {
			continue
		}
		s.last = e.at
		from, payload, ok := e.message()
		if !ok {
			switch {
			case e.text == "Initializing server..." || hasWord(e.text, "Initializing server"):
				return &step{at: e.at, begins: true}
			case hasWord(e.text, "Server transport closed unexpectedly"):
				return &step{at: e.at, ends: true}
			}
			s.dump = len(e.text) > 0 && e.text[len(e.text)-1] == '{'
			continue
		}
		msg, lost, ok := verbatim(payload)
		if ok {
			return &step{at: e.at, from: from, data: msg}
		}
		return &step{at: e.at, from: from, lost: lost, why: "the host's log does not have this message whole"}
	}
	return nil
}

func hasWord(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// output takes a line without the host's mark: the server's own stderr, unless it
// is of an object that the host printed over several lines. Its time is that of
// the line before, since it has another clock or none.
func (s *Sessions) output(line []byte) *step {
	if s.dump {
		s.dump = len(line) == 0 || line[0] != '}'
		return nil
	}
	if !s.alone || len(line) == 0 && s.lines.Unended() || s.last.IsZero() {
		return nil
	}
	return &step{at: s.last, from: record.Stderr, data: slices.Clone(line)}
}

func (s *Sessions) peek() *step {
	if !s.known {
		s.ahead, s.known = s.next(), true
	}
	return s.ahead
}

func (s *Sessions) take() *step {
	st := s.peek()
	s.known = false
	return st
}

// Next goes to the next process that exchanged a message; nil at the end.
func (s *Sessions) Next() (*Session, error) {
	for st := s.peek(); st != nil; st = s.peek() {
		switch {
		case st.begins:
			s.begins = true
		case st.from == record.Client || st.from == record.Server:
			s.number++
			return &Session{Server: s.server, Number: s.number, Start: st.at}, nil
		}
		s.take() // output before the first message belongs to a process that may never have spoken
	}
	return nil, s.lines.Err()
}

// Write writes the session that Next gave as a sealed recording. tool names the
// program that does.
func (s *Sessions) Write(w io.Writer, ses *Session, tool record.Software) error {
	id := sha256.Sum256([]byte("claude-desktop-log\x00" + s.log.sha256 + "\x00" + s.server + "\x00" + strconv.Itoa(ses.Number)))
	head := record.Header{
		Format: [2]int{record.FormatMajor, record.FormatMinor}, ID: hex.EncodeToString(id[:16]), FirstSeq: 1, Start: record.Time{Time: ses.Start},
		Recorder: tool, Transport: "stdio", Level: record.LevelFull,
		Labels:      map[string]string{"server": s.server, "importedFrom": "claude-desktop-log"},
		DerivedFrom: &record.Derived{SHA256: s.log.sha256, Tool: tool.Name + " " + tool.Version + " import claude-desktop-log"},
	}
	m := &maker{s: s, ses: ses, off: map[record.From]int64{}, opened: s.begins}
	s.begins = false
	if err := record.WriteSealed(w, head, m.next); err != nil {
		return err
	}
	return s.lines.Err()
}
