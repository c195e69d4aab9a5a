package har

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Capture is a capture that was looked through once: it knows where its exchanges
// of MCP are, and holds none of them.
type Capture struct {
	// Origins are the servers of which there are exchanges of MCP, in order of
	// appearance.
	Origins []Origin
	// Entries counts all entries, WebSockets those of WebSockets, which are not read.
	Entries, WebSockets int
	// Creator is the program that wrote the capture, as it says itself.
	Creator string

	r      io.ReaderAt
	closer io.Closer
	sha256 string
	places []place // of the exchanges of MCP, in order of their start
}

// Origin is one server of a capture.
type Origin struct {
	Name      string // "https://mcp.example.test"
	Exchanges int
}

// place is where an entry stands, and what has to be known to put it into order.
type place struct {
	off, len         int64
	start, head, end int64 // nanoseconds since 1970
	n                int32 // of the entry, from 1
	class            class
	timeless         bool // no time can be read
	origin, endpoint key
}

// key stands for a text that may be long.
type key [16]byte

func keyOf(s string) key {
	sum := sha256.Sum256([]byte(s))
	return key(sum[:16])
}

const (
	maxOrigins = 100
	maxPlaces  = 500_000 // entries that may be of MCP; each takes about 100 bytes
)

// ErrNoMCP says that a capture has no exchange of MCP.
var ErrNoMCP = errors.New("no exchange of MCP is in this capture")

// Open looks through a capture. Close it.
func Open(name string) (*Capture, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a plain file: a capture is read twice")
	}
	var c *Capture
	if err == nil {
		c, err = New(f, st.Size())
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	c.closer = f
	return c, nil
}

// Close closes the file of Open.
func (c *Capture) Close() error {
	if c.closer == nil {
		return nil
	}
	return c.closer.Close()
}

// New looks through a capture of so many bytes.
func New(r io.ReaderAt, size int64) (*Capture, error) {
	if err := packed(r); err != nil {
		return nil, err
	}
	c := &Capture{r: r}
	sum := sha256.New()
	base := skipMark(r)
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, base)); err != nil {
		return nil, err
	}
	s := &scan{c: c, base: base, w: newWalker(io.TeeReader(io.NewSectionReader(r, base, size-base), sum)), names: map[key]int{}}
	if err := s.all(); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Entry == 0 {
			if e.Entry = s.entry; s.entry == 0 && c.Entries > 0 {
				e.What += fmt.Sprintf(" (behind entry %d)", c.Entries)
			}
		}
		return nil, err
	}
	c.sha256 = hex.EncodeToString(sum.Sum(nil))
	if err := s.choose(); err != nil {
		return nil, err
	}
	return c, nil
}

// packed refuses what has to be unpacked first.
func packed(r io.ReaderAt) error {
	var b [4]byte
	n, _ := r.ReadAt(b[:], 0)
	if s := string(b[:n]); strings.HasPrefix(s, "PK\x03\x04") || strings.HasPrefix(s, "\x1f\x8b") || s == "\x28\xb5\x2f\xfd" {
		return errors.New("it is compressed: unpack it first")
	}
	return nil
}

// scan is the first reading of a capture.
type scan struct {
	c     *Capture
	w     *walker
	base  int64
	entry int         // that is read, from 1; 0: none
	names map[key]int // in Origins
}

func (s *scan) all() error {
	w, found := s.w, false
	if k := w.PeekKind(); k != '{' {
		return w.fail("no capture: want a JSON object with log.entries")
	}
	err := w.object(func(name string) (bool, error) {
		if name != "log" {
			return false, nil
		}
		return true, w.object(func(name string) (bool, error) {
			switch name {
			case "creator":
				return true, s.creator()
			case "entries":
				found = true
				return true, w.array(s.one)
			}
			return false, nil
		})
	})
	if err != nil {
		return err
	}
	if !found {
		return w.fail("no capture: log.entries is missing")
	}
	if _, err := w.ReadToken(); !errors.Is(err, io.EOF) {
		return w.fail("something stands behind the capture")
	}
	return nil
}

func (s *scan) creator() error {
	var name, version string
	err := s.w.object(func(member string) (bool, error) {
		switch member {
		case "name":
			return true, s.w.text(&name)
		case "version":
			return true, s.w.text(&version)
		}
		return false, nil
	})
	s.c.Creator = clip(strings.TrimSpace(strings.ToValidUTF8(clip(name, 60)+" "+clip(version, 40), "")), 100)
	return err
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// one looks at an entry.
func (s *scan) one(i int) error {
	at := s.w.at
	s.w.at, s.entry = nil, i+1
	s.c.Entries++
	// What is peeked at does not count as read: the value begins behind white space and
	// a comma.
	if k := s.w.PeekKind(); k != '{' {
		return s.w.fail("want an object")
	}
	if i >= 1<<31-1 {
		return s.w.fail("more entries than are counted")
	}
	from := s.base + s.w.bound.place(s.w.InputOffset())
	e, err := s.w.entry(true)
	if err != nil {
		return err
	}
	p := place{off: from, len: s.base + s.w.bound.place(s.w.InputOffset()) - from, n: int32(i + 1)}
	s.w.at, s.entry = at, 0
	e.asked.decode()
	u := address(e.request.url)
	switch p.class = e.classify(u); p.class {
	case webSocket:
		s.c.WebSockets++
		return nil
	case other:
		return nil
	}
	if len(s.c.places) == maxPlaces {
		return &Error{Entry: i + 1, What: fmt.Sprintf("more than %d requests that may be MCP's", maxPlaces)}
	}
	origin := originOf(u)
	p.origin, p.endpoint = keyOf(origin), keyOf(origin+u.EscapedPath())
	start, head, end, ok := e.times()
	p.timeless = !ok
	if ok {
		p.start, p.head, p.end = start.UnixNano(), head.UnixNano(), end.UnixNano()
	}
	s.c.places = append(s.c.places, p)
	if _, known := s.names[p.origin]; !known && p.class == certain {
		if len(s.names) == maxOrigins {
			return &Error{Entry: i + 1, Field: "request.url", What: fmt.Sprintf("MCP with more than %d origins", maxOrigins)}
		}
		s.names[p.origin] = len(s.c.Origins)
		s.c.Origins = append(s.c.Origins, Origin{Name: origin})
	}
	return nil
}

// choose leaves the exchanges of MCP, now that all endpoints are known.
func (s *scan) choose() error {
	c := s.c
	if len(c.Origins) == 0 {
		return ErrNoMCP
	}
	endpoints := map[key]bool{}
	for _, p := range c.places {
		if p.class == certain {
			endpoints[p.endpoint] = true
		}
	}
	c.places = slices.DeleteFunc(c.places, func(p place) bool {
		_, known := s.names[p.origin]
		return !endpoints[p.endpoint] && (p.class != stream || !known)
	})
	for _, p := range c.places {
		if p.timeless {
			return &Error{Entry: int(p.n), Field: "startedDateTime", What: "no time in the form of RFC 3339"}
		}
		c.Origins[s.names[p.origin]].Exchanges++
	}
	slices.SortStableFunc(c.places, func(a, b place) int { return cmp.Compare(a.start, b.start) })
	return nil
}
