package har

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/textproto"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/mask"
)

// Made says what a recording was made of.
type Made struct {
	Origin string
	Start  time.Time
	// Exchanges are those in the recording. Of NoResponse of them the capture has no
	// response, of NoBody the response without its body or its end, of NoRequest not
	// all of the request's body.
	Exchanges, NoResponse, NoBody, NoRequest int
	// LeftOut counts the entries that are no exchange of MCP with this origin;
	// WebSockets among them those of WebSockets.
	LeftOut, WebSockets int
}

// OriginError says that a capture has MCP of several origins, or not of the one that
// was asked for.
type OriginError struct {
	Asked string
	Has   []Origin
}

func (e *OriginError) Error() string {
	var names []string
	for _, o := range e.Has {
		names = append(names, o.Name)
	}
	all := strings.Join(names, ", ")
	if e.Asked != "" {
		return fmt.Sprintf("no MCP with %q in this capture; it has %s", e.Asked, all)
	}
	return fmt.Sprintf("MCP with %d origins, and a recording is of one: choose with --origin among %s", len(names), all)
}

// pick is the origin that is asked for; "": the only one.
func (c *Capture) pick(origin string) (Origin, error) {
	if origin == "" && len(c.Origins) == 1 {
		return c.Origins[0], nil
	}
	if u := address(origin); u != nil {
		for _, o := range c.Origins {
			if o.Name == originOf(u) {
				return o, nil
			}
		}
	}
	return Origin{}, &OriginError{Asked: origin, Has: c.Origins}
}

// Write writes the exchanges of MCP with one origin as a sealed recording; origin
// may be empty where the capture has only one. Known credentials are replaced, as
// a recorder does at level full, with hashes under key. tool names the program
// that writes.
func (c *Capture) Write(w io.Writer, origin string, tool record.Software, maskKey mask.Key) (*Made, error) {
	o, err := c.pick(origin)
	if err != nil {
		return nil, err
	}
	m := &maker{c: c, off: map[int]int64{}}
	own := keyOf(o.Name)
	for _, p := range c.places {
		if p.origin == own {
			m.places = append(m.places, p)
		}
	}
	m.made = Made{Origin: o.Name, Start: time.Unix(0, m.places[0].start).UTC(), Exchanges: len(m.places), LeftOut: c.Entries - len(m.places), WebSockets: c.WebSockets}
	for i, p := range m.places {
		m.steps = append(m.steps, step{p.start, int32(i), asks}, step{p.head, int32(i), heads}, step{p.end, int32(i), ends})
	}
	slices.SortFunc(m.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i), cmp.Compare(a.phase, b.phase))
	})
	first, err := m.entry(0)
	if err != nil {
		return nil, err
	}
	id := sha256.Sum256([]byte("har\x00" + c.sha256 + "\x00" + o.Name))
	head := record.Header{
		Format: [2]int{record.FormatMajor, record.FormatMinorHTTP}, Needs: []string{record.NeedHTTP}, ID: hex.EncodeToString(id[:16]), FirstSeq: 1,
		Start: record.Time{Time: m.made.Start}, Recorder: tool, Transport: "http", Level: record.LevelFull, MaskKey: maskKey.ID(),
		// The browser's view: bodies without their content coding, no framing, order by clock.
		Labels:      map[string]string{"importedFrom": "har", "bodies": "as the browser decoded them"},
		DerivedFrom: &record.Derived{SHA256: c.sha256, Tool: tool.Name + " " + tool.Version + " import har"},
		Upstream:    o.Name + clip(address(first.request.url).EscapedPath(), 1000),
	}
	if c.Creator != "" {
		head.Labels["capturedBy"] = c.Creator
	}
	if err := record.WriteSealed(w, head, record.MaskHTTP(mask.New(maskKey), m.next)); err != nil {
		return nil, err
	}
	return &m.made, nil
}

// phase is a time of an exchange at which something is recorded.
type phase uint8

const (
	asks  phase = iota // the request, with its body
	heads              // the response's head
	ends               // the response's body
)

type step struct {
	at    int64 // nanoseconds since 1970
	i     int32 // in places
	phase phase
}

// maker makes the records, one step after the other. It holds one entry.
type maker struct {
	c      *Capture
	places []place
	steps  []step
	made   Made
	queue  []*record.Record
	seq    int64
	now    step
	off    map[int]int64 // bytes of a response's body that stood before its end
	last   *entry
	lastI  int
}

func (m *maker) next() (*record.Record, error) {
	for len(m.queue) == 0 {
		if len(m.steps) == 0 {
			return nil, io.EOF
		}
		m.now, m.steps = m.steps[0], m.steps[1:]
		e, err := m.entry(int(m.now.i))
		if err != nil {
			return nil, err
		}
		switch m.now.phase {
		case asks:
			err = m.asks(e)
		case heads:
			err = m.heads(e)
		case ends:
			m.ends(e)
		}
		if err != nil {
			var own *Error
			if errors.As(err, &own) {
				own.Entry = int(m.places[m.now.i].n)
			}
			return nil, err
		}
	}
	rec := m.queue[0]
	m.queue = m.queue[1:]
	return rec, nil
}

// entry reads an entry again.
func (m *maker) entry(i int) (*entry, error) {
	if m.last != nil && m.lastI == i {
		return m.last, nil
	}
	m.last = nil // before the next one is read: either may be large
	p := m.places[i]
	r := bufio.NewReaderSize(io.NewSectionReader(m.c.r, p.off, p.len), 64<<10)
	for b, err := r.ReadByte(); err == nil; b, err = r.ReadByte() {
		if strings.IndexByte(" \t\r\n,", b) < 0 { // what parts it from the entry before
			_ = r.UnreadByte() // it was just read
			break
		}
	}
	e, err := newWalker(r).entry(false)
	var own *Error
	if errors.As(err, &own) {
		own.Entry = int(p.n)
	}
	if err == nil && address(e.request.url) == nil {
		err = &Error{Entry: int(p.n), What: "the file changed while it was read"}
	}
	if err != nil {
		return nil, err
	}
	m.last, m.lastI = e, i
	return e, nil
}

// add queues a record with the next seq.
func (m *maker) add(rec *record.Record) {
	m.seq++
	rec.Seq, rec.At = m.seq, m.now.at-m.places[0].start
	if rec.Exchange == 0 && rec.Kind != record.KindGap {
		rec.Exchange = int64(m.now.i) + 1
	}
	m.queue = append(m.queue, rec)
}

// asks records a request.
func (m *maker) asks(e *entry) error {
	w, why := e.askedBody()
	u := address(e.request.url)
	r := &record.HTTPRequest{Method: e.request.method, Target: u.RequestURI(), Proto: proto(e.request.proto), Host: u.Host, Headers: fields(&e.request),
		Length: int64(len(e.asked.text)), End: w == noBody}
	if a := e.request.get(":authority"); a != "" {
		r.Host = a
	}
	if w == lacking {
		r.Length = -1
	}
	m.add(&record.Record{Kind: record.KindRequest, From: record.Client, Request: r})
	if w == noBody {
		return nil
	}
	end := record.BodyLast
	if w == lacking {
		end = record.BodyMore
	}
	off := m.pieces(record.Client, 0, e.asked.text, end)
	if w == lacking {
		// It may have been a call: a gap says so, since nobody can count on the rest.
		m.made.NoRequest++
		lost := max(0, count(e.askedBytes)-off)
		rec := &record.Record{Kind: record.KindGap}
		m.add(rec)
		rec.Gap = &record.Gap{FirstSeq: rec.Seq, LastSeq: rec.Seq, Why: why, HTTP: map[record.From]record.GapHTTP{record.Client: {Records: 1, Bytes: lost}}}
		m.add(&record.Record{Kind: record.KindBody, From: record.Client, Off: off + lost, End: record.BodyLast})
	}
	return nil
}

// count is a number of bytes as a capture gives it.
func count(f float64) int64 {
	if !(f > 0 && f < 1<<50) {
		return 0
	}
	return int64(f)
}

// heads records a response's head, and of an event stream what has to stand before
// what follows: nothing in a capture tells when an event came.
func (m *maker) heads(e *entry) error {
	if !e.answer || e.status == 0 {
		return nil
	}
	if e.status != math.Trunc(e.status) || e.status < 100 || e.status > 999 {
		return &Error{Field: "response.status", What: "no status of HTTP"}
	}
	w, _ := e.answerBody()
	r := &record.HTTPResponse{Status: int(e.status), Reason: clip(e.reason, 1000), Proto: proto(e.response.proto), Headers: fields(&e.response), Length: -1}
	if e.response.get("content-type") == "" && e.mime != "" && mediaType(e.mime) != "x-unknown" {
		if r.Headers == nil {
			r.Headers = record.Fields{}
		}
		r.Headers["Content-Type"] = []string{clip(e.mime, 1000)}
	}
	switch {
	case w == noBody:
		r.Length, r.End = 0, true
	case w == lacking && e.status >= 300 && len(e.answered.text) == 0:
		// The status alone is an answer; only its words are missing.
		m.made.NoBody++
		r.End = true
	}
	m.add(&record.Record{Kind: record.KindResponse, From: record.Server, Response: r})
	if e.kind() == eventStream && !r.End {
		if early := e.early(); early > 0 {
			m.off[int(m.now.i)] = m.pieces(record.Server, 0, e.answered.text[:early], record.BodyMore)
		}
	}
	return nil
}

// early is how much of an event stream is put to its beginning: of a POST's all
// but the last event, which is the answer; of a GET's all, since a client answers
// what it asks; but of the old transport, whose one stream has all answers, the
// first event, which names the endpoint.
func (e *entry) early() int {
	b := e.answered.text
	switch {
	case e.request.method != "GET":
		return lastEvent(b)
	case strings.HasPrefix(string(b[:min(len(b), 64)]), "event: endpoint"), strings.HasPrefix(string(b[:min(len(b), 64)]), "event:endpoint"):
		return firstEvent(b)
	}
	return len(b)
}

// ends records a response's body, and that something is missing.
func (m *maker) ends(e *entry) {
	off := m.off[int(m.now.i)]
	delete(m.off, int(m.now.i))
	unknown := func(why string) {
		m.add(&record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByProxy, What: record.ResponseBody, Why: why}})
	}
	if !e.answer || e.status == 0 {
		m.made.NoResponse++
		why := "the capture has no response"
		if e.failed != "" {
			why += ": " + clip(e.failed, 200)
		}
		unknown(why)
		return
	}
	w, why := e.answerBody()
	switch {
	case w == noBody, w == lacking && e.status >= 300 && len(e.answered.text) == 0:
	case w == wholeBody:
		m.pieces(record.Server, off, e.answered.text[off:], record.BodyLast)
	default:
		m.made.NoBody++
		m.pieces(record.Server, off, e.answered.text[off:], record.BodyCut)
		unknown(why)
	}
}

// maxPiece bounds a piece of a body, in bytes (record/FORMAT.md 10).
const maxPiece = 64 << 10

// pieces records bytes of a body and returns the offset behind them.
func (m *maker) pieces(from record.From, off int64, b []byte, end record.BodyEnd) int64 {
	for len(b) > 0 || end != record.BodyMore {
		n := min(len(b), maxPiece)
		for n < len(b) && n > maxPiece-utf8.UTFMax && !utf8.RuneStart(b[n]) {
			n--
		}
		rec := &record.Record{Kind: record.KindBody, From: from, Off: off, Data: slices.Clone(b[:n])} // masked in place
		off, b = off+int64(n), b[n:]
		if len(b) == 0 {
			rec.End = end
			end = record.BodyMore
		}
		m.add(rec)
	}
	return off
}

// proto is a protocol version, as browsers call it.
func proto(s string) string {
	switch s = strings.ToUpper(clip(s, 20)); s {
	case "H2", "HTTP/2.0":
		return "HTTP/2"
	case "H3", "HTTP/3.0":
		return "HTTP/3"
	}
	return s
}

// fields are the header fields that a recorder would have seen: no pseudo headers
// of HTTP/2, nothing of the framing, and no content coding, since the body was
// decoded.
func fields(h *head) record.Fields {
	var out record.Fields
	for _, f := range h.fields {
		name := textproto.CanonicalMIMEHeaderKey(f.name)
		switch {
		case !isToken(f.name), name == "Content-Length", name == "Transfer-Encoding", name == "Connection", name == "Keep-Alive", name == "Host",
			name == "Content-Encoding":
			continue
		}
		if out == nil {
			out = record.Fields{}
		}
		values := []string{f.value}
		if name == "Set-Cookie" {
			values = strings.Split(f.value, "\n") // Chrome puts all into one
		}
		out[name] = append(out[name], values...)
	}
	return out
}

func isToken(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}
