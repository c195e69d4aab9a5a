package session

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// line is one stdio line with where it stands in the recording.
type line struct {
	from record.From
	// seq is the first part's record, last the last part's; since is the lowest
	// seq that ended after the line's first byte was read: a server may answer
	// before the newline.
	seq, last, since int64
	at               int64 // when the last byte was read
	off, end         int64 // in the direction; end is behind the line's end
	data             []byte
	ref              record.Ref
	refs             []record.Ref  // of all parts, of a line that has several
	hold             bool          // data stays as it is (Options.Hold)
	masks            []record.Mask // by offset in data
	form             record.Form   // the least regular of its parts
	headless         bool
	long             bool
	ended            bool // it has an end of line
	made             bool // by sixlink: the server did not say this
	size             int64

	frame *frameData // shared by its values; made when the first is wanted

	// Over HTTP: the exchange that it came in; the index of the event whose data it
	// is (-1: it was a body), and the stream's last event id there.
	x       *httpExchange
	event   int
	eventID string
	fix     *derived // how it comes out of its records; nil: they are it
}

// allRefs is where the line's parts stand; none when it is too long.
func (l *line) allRefs() []record.Ref {
	if l.refs == nil && !l.long && l.ref.Len > 0 {
		return []record.Ref{l.ref}
	}
	return l.refs
}

// partial is a line whose parts are being put together.
type partial struct {
	line
	open bool
}

// tooLongPrefix is how many bytes of a line that is too long are kept, to learn
// its id and method when they stand in front.
const tooLongPrefix = 64 << 10

// join takes a part and returns the line when it is whole, until the next one.
func (p *process) join(rec *record.Record) *line {
	part := p.lines[rec.From]
	if part == nil {
		part = &partial{}
		p.lines[rec.From] = part
	}
	if !rec.Cont && part.open {
		p.cut(part, "its next part is not on record")
	}
	since := rec.Seq
	if rec.Since != nil {
		since = min(rec.Since.After+1, rec.Seq)
	}
	l := &p.d.line
	*l = line{from: rec.From, seq: rec.Seq, last: rec.Seq, since: since, at: rec.At, off: rec.Off,
		end: rec.Off + int64(len(rec.Data)+len(rec.EOL)), data: rec.Data, ref: rec.Ref, masks: rec.Masked,
		form: rec.Form, ended: len(rec.EOL) > 0, hold: p.d.opts.Hold && p.d.read <= heldBytes, size: int64(len(rec.Data)),
		headless: rec.Headless || rec.Cont && !part.open}
	if !rec.More && !part.open {
		if l.size > p.d.opts.MaxLine {
			l.long, l.data = true, l.data[:min(len(l.data), tooLongPrefix)]
		}
		return l
	}
	if !part.open {
		// The parts' bytes are copied: a part is the caller's.
		l.data = bytes.Clone(rec.Data)
		part.line, part.open = *l, true
		if rec.More {
			p.measure(part)
			return nil
		}
	} else {
		w := &part.line
		for _, m := range rec.Masked {
			m.Off += w.size
			w.masks = append(w.masks[:len(w.masks):len(w.masks)], m)
		}
		w.last, w.at, w.end, w.ended = rec.Seq, rec.At, l.end, l.ended
		w.size += l.size
		w.form = max(w.form, rec.Form)
		w.headless = w.headless || rec.Headless
		if !w.long {
			w.data = append(w.data, rec.Data...)
			w.refs = append(w.allRefs(), rec.Ref)
		}
		p.measure(part)
	}
	if rec.More {
		return nil
	}
	*l = part.line
	*part = partial{}
	return l
}

func (p *process) measure(part *partial) {
	if w := &part.line; !w.long && w.size > p.d.opts.MaxLine {
		w.long, w.refs = true, nil
		w.data = bytes.Clone(w.data[:min(len(w.data), tooLongPrefix)])
	}
}

// cut ends a line whose end is not on record. It is a line, and no message.
func (p *process) cut(part *partial, why string) {
	s := p.cur
	s.Lines[part.from]++
	s.touch(part.last, part.at)
	s.remark(FlagUnfinished, part.seq, part.from, why)
	p.seen[part.from] = true
	*part = partial{}
}

// where says where in a line a message stands.
type where struct {
	*line
	index int // in a batch, else -1
}

// line reads a whole line of the client or the server.
func (p *process) line(l *line) {
	first := !p.seen[l.from] && l.off == 0
	p.seen[l.from] = true
	if l.from == record.Client && p.firstSignal {
		// The process survived the signal: the host goes on talking to it.
		p.first, p.firstSeq, p.firstSignal = "", 0, false
	}
	s := p.read(l, first)
	s.Lines[l.from]++
	s.touch(l.last, l.at)
	if !l.ended && !l.headless {
		s.remark(FlagUnterminated, l.seq, l.from, "the last line has no end of line: most peers never process it")
	}
}

// read reads the messages of a line and returns the session that it belongs to.
func (p *channel) read(l *line, first bool) *sess {
	s := p.cur
	i := 0
	if first && bytes.HasPrefix(l.data, []byte("\xef\xbb\xbf")) {
		i = 3
		s.remark(FlagBOM, l.seq, l.from, "a byte order mark stands before the first message: it was skipped")
	}
	i = jsonscan.Space(l.data, i)
	switch {
	case l.headless:
		return p.nonmessage(l, FlagHeadless, "the beginning of the line was lost")
	case l.long:
		return p.tooLong(l, i)
	case i == len(l.data):
		s.Blank[l.from]++
		return s
	case l.form == record.FormRaw && !utf8.Valid(l.data):
		s.remark(FlagInvalidUTF8, l.seq, l.from, "the line is no UTF-8: peers read U+FFFD where it is broken")
	}
	switch l.data[i] {
	case '{':
		m := &p.d.msg
		span, err := m.peek(l.data, i)
		if err != nil {
			return p.nonmessage(l, FlagNonmessage, err.Error())
		}
		if rest := jsonscan.Space(l.data, span.End); rest < len(l.data) {
			return p.stuck(l, span.End)
		}
		if m.kind == kNone {
			return p.nonmessage(l, FlagNonmessage, m.why)
		}
		return p.message(m, where{l, -1})
	case '[':
		return p.batch(l, i)
	case 'C', 'c':
		if headerLine(l.data[i:]) {
			s.remark(FlagHeaderFraming, l.seq, l.from, "the peer writes header lines in front of its messages")
		}
	}
	return p.nonmessage(l, FlagNonmessage, jsonscan.ErrSyntax.Error())
}

// headerLine tells whether b begins like the header of a message framed by length.
func headerLine(b []byte) bool {
	for _, h := range []string{"content-length:", "content-type:"} {
		if len(b) >= len(h) && strings.EqualFold(string(b[:len(h)]), h) {
			return true
		}
	}
	return false
}

func (p *channel) nonmessage(l *line, flag, detail string) *sess {
	p.cur.Nonmessage[l.from]++
	p.cur.remark(flag, l.seq, l.from, detail)
	return p.cur
}

// batch reads an array of messages. Only a whole array counts, and only if one
// of its elements is a message.
func (p *channel) batch(l *line, i int) *sess {
	whole, err := jsonscan.Skip(l.data, i)
	switch {
	case err != nil:
		return p.nonmessage(l, FlagNonmessage, err.Error())
	case jsonscan.Space(l.data, whole.End) < len(l.data):
		return p.stuck(l, whole.End)
	}
	s, found := p.cur, false
	m := &p.d.msg
	_, _ = jsonscan.Elements(l.data, i, func(index, at int) (jsonscan.Span, error) {
		at = jsonscan.Space(l.data, at)
		if l.data[at] != '{' {
			p.cur.remark(FlagNonmessage, l.seq, l.from, fmt.Sprintf("element %d of the batch is no object", index))
			return jsonscan.Skip(l.data, at)
		}
		span, err := m.peek(l.data, at)
		if err == nil && m.kind == kNone {
			p.cur.remark(FlagNonmessage, l.seq, l.from, fmt.Sprintf("element %d of the batch: %s", index, m.why))
		} else if err == nil {
			s, found = p.message(m, where{l, index}), true
		}
		return span, err
	})
	if !found {
		return p.nonmessage(l, FlagNonmessage, "an array without a message")
	}
	s.remark(FlagBatch, l.seq, l.from, "an array of messages: legal in 2025-03-26 only")
	return s
}

// maxGlued is how many values of a line with several are looked at.
const maxGlued = 16

// stuck remarks a line with more behind its first value. None of it is used:
// peers that read lines refuse the whole line. When the values look like
// answers, the calls that they were probably meant for name the line.
func (p *channel) stuck(l *line, end int) *sess {
	if headerLine(l.data[jsonscan.Space(l.data, end):]) {
		p.cur.remark(FlagHeaderFraming, l.seq, l.from, "the next message's header stands behind the message")
		return p.nonmessage(l, FlagNonmessage, "more behind the JSON value")
	}
	if _, err := jsonscan.Skip(l.data, end); err != nil {
		return p.nonmessage(l, FlagNonmessage, "more behind the JSON value")
	}
	var seqs []string
	var m message
	i := jsonscan.Space(l.data, 0)
	if bytes.HasPrefix(l.data, []byte("\xef\xbb\xbf")) {
		i = 3
	}
	for range maxGlued {
		span, err := m.peek(l.data, i)
		if err != nil {
			break
		}
		if m.kind == kReply && m.id.Pairs() {
			if o := p.asked[other(l.from)].find(m.id.key(), p.cur); o != nil {
				if seq := fmt.Sprintf("%d (id %s)", o.ex.Seq, clip(o.ex.ID.Raw, 100)); !slices.Contains(seqs, seq) {
					seqs = append(seqs, seq)
					o.tell(FlagTwoValues, l.seq, l.from, "probably answered on a line that holds several values")
				}
			}
		}
		i = span.End
	}
	detail := "several JSON values on one line: none of them is used"
	if len(seqs) > 0 {
		detail += "; it probably answered the requests " + strings.Join(seqs, ", ")
	}
	return p.nonmessage(l, FlagTwoValues, detail)
}

// tooLong remarks a line that was not put together. An answer among such lines
// leaves its request unmeasured, since nobody here has read it.
func (p *channel) tooLong(l *line, i int) *sess {
	detail := fmt.Sprintf("a line of %d bytes, more than %d", l.size, p.d.opts.MaxLine)
	p.cur.unread = true
	if i < len(l.data) && l.data[i] == '{' {
		m := &p.d.msg
		_, _ = m.peek(l.data, i)
		if m.has(fMethod) {
			detail += ", method " + clip(m.method, 100)
		}
		if m.has(fID) {
			detail += ", id " + clip(m.id.Raw, 100)
		}
		if !m.has(fMethod) && m.id.Pairs() {
			if o := p.asked[other(l.from)].find(m.id.key(), p.cur); o != nil {
				o.tell(FlagTooLong, l.seq, l.from, "its answer is too long to be read here")
				detail += fmt.Sprintf(", the answer to %d", o.ex.Seq)
				o.unread = true
			}
		}
	}
	return p.nonmessage(l, FlagTooLong, detail)
}

func other(from record.From) record.From {
	if from == record.Client {
		return record.Server
	}
	return record.Client
}

// value returns the value at span of the line.
func (p *channel) value(l *line, span jsonscan.Span) Value {
	n := span.End - span.Start
	if p.d.opts.Settled != nil {
		if p.d.bare == nil {
			p.d.bare = &frameData{}
		}
		return Value{frame: p.d.bare, off: int64(span.Start), n: int64(n), depth: int32(span.Depth)}
	}
	if l.frame == nil && l.hold {
		l.frame = &frameData{held: l.data}
	}
	if l.frame != nil && l.frame.held != nil {
		return Value{frame: l.frame, off: int64(span.Start), n: int64(n), depth: int32(span.Depth)}
	}
	if n <= heldValue && p.d.held+n <= heldBytes || p.d.src == nil {
		p.d.held += n
		held := make([]byte, n)
		copy(held, l.data[span.Start:span.End])
		return Value{frame: &frameData{held: held}, n: int64(n), depth: int32(span.Depth)}
	}
	if l.frame == nil {
		l.frame = &frameData{src: p.d.src, refs: l.allRefs(), fix: l.fix}
	}
	return Value{frame: l.frame, off: int64(span.Start), n: int64(n), depth: int32(span.Depth)}
}
