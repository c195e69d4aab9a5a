package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Options of a reader. The zero value reads what is there and bounds it by the
// defaults of FORMAT.md 8.
type Options struct {
	// MaxDecompressed bounds the unpacked bytes of the recording; 0: DefaultMaxDecompressed.
	MaxDecompressed int64
	// Verify compares each segment's SHA-256 too. Checks (CRC) are always compared.
	Verify bool
	// Follow waits for more while a writer holds the recording, until Stop is closed.
	Follow bool
	Stop   <-chan struct{}
	// Decoders are shared by the readers of many recordings; it may be nil. With
	// them, what a reader or its store handed out is gone when the reader is closed.
	Decoders *Decoders
	// Reuse says that the record of a call of Next is not used any more at the next
	// call. What its slices point to stays.
	Reuse bool
}

// Reader reads a recording: only what stands before a good check, in order,
// over all of its files. It is strict: what breaks FORMAT.md ends it.
type Reader struct {
	path  string
	opts  Options
	files []string
	f     *os.File
	lr    *lineReader
	left  int64

	pending []item // not under a good check yet
	bytes   int    // of pending
	crc     uint32
	count   int64
	runs    []string
	ready   []item

	head     *Header
	segment  int   // the number of the one at hand
	last     int64 // seq
	records  int64 // of the segment
	sha      hash.Hash
	closing  *Closing
	prevSum  string // of the segment that was closed
	sawRun   bool   // a chunk run is in the segment
	next     [3]int64
	open     [3]bool // a line of parts is open
	end      End
	finished bool
	queue    []*Record // made by the reader itself
	rec      Record    // with Options.Reuse
	spare    []item    // of pending, when all of ready was taken
}

// End says how a recording ended, once Next has returned io.EOF.
type End struct {
	State State
	// Torn says that the recorder did not finish: the state is torn, or a repair
	// ended it. The last session may go on behind the end.
	Torn bool
	// Damage says what is wrong, where a recording is not just cut off.
	Damage error
	// Records counts what was read; Gaps the gap records among them, and Lost how
	// many records the gaps stand for.
	Records, Gaps, Lost int64
	// Unchecked counts lines behind the last good check, which nobody may believe.
	Unchecked int
	// Unknown counts records by kinds that this version does not know.
	Unknown map[Kind]int
	// Segments counts segments.
	Segments int
	// Runs counts chunk runs, which other programs than sixlink skip.
	Runs int
}

// NotRecordingError says why a file cannot be read as a recording at all.
type NotRecordingError struct {
	Path string
	What string
	// Torn says that it may be the beginning of one: it ends before its first check.
	Torn bool
	// Live says that a writer holds it.
	Live bool
}

func (e *NotRecordingError) Error() string {
	return fmt.Sprintf("%s: %s", e.Path, e.What)
}

// Open opens the recording that path stands for (see [Locate]): its first file, or one
// of its later ones, from which on it is read.
func Open(path string, opts Options) (*Reader, error) {
	path, err := Locate(path)
	if err != nil {
		return nil, err
	}
	return openAt(path, opts)
}

// openAt opens the recording whose file is at path.
func openAt(path string, opts Options) (*Reader, error) {
	if opts.MaxDecompressed <= 0 {
		opts.MaxDecompressed = DefaultMaxDecompressed
	}
	r := &Reader{path: path, opts: opts, left: opts.MaxDecompressed}
	if opts.Verify {
		r.sha = sha256.New()
	}
	r.end.Unknown = map[Kind]int{}
	if err := r.openFile(path); err != nil {
		return nil, err
	}
	if err := r.first(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) openFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		f.Close()
		return &NotRecordingError{Path: path, What: "is no regular file"}
	}
	var src io.Reader = f
	size := fi.Size()
	if r.opts.Follow {
		size = 1 << 20 // it grows
		src = &follower{f: f, stop: r.opts.Stop}
	}
	lr, err := newLineReader(src, size, int32(len(r.files)), &r.left, r.opts.Decoders)
	if err != nil {
		f.Close()
		return err
	}
	if r.lr != nil {
		r.lr.close()
		r.f.Close()
		lr.max = maxHeader
		lr.used = r.lr.used // lines of the file before are still in use
	}
	r.f, r.lr = f, lr
	r.files = append(r.files, path)
	return nil
}

// first reads to the first good check and looks at the header.
func (r *Reader) first() error {
	err := r.batch()
	bad := &NotRecordingError{Path: r.path}
	var limit *limitError
	switch {
	case errors.As(err, &limit):
		bad.What = limit.what
		return bad
	case len(r.ready) == 0 && errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		bad.Torn, bad.Live = true, locked(r.f)
		bad.What = "is torn before its first check: nothing in it can be believed"
		if bad.Live {
			bad.What = "has just been begun: nothing is in it yet"
		}
		return bad
	case err != nil && r.lr.z.off <= 4 && !r.lr.plain:
		bad.What = "is no recording: it is neither zstd nor the JSON Lines of a recording"
		return bad
	case err != nil:
		bad.What = "cannot be read as a recording: " + err.Error()
		return bad
	}
	var rec Record
	if err := decodeLine(r.ready[0].line, &rec); r.ready[0].run != nil || err != nil || rec.Kind != KindHeader {
		bad.What = "is no recording: its first line is no header"
		return bad
	}
	if bad.What = unfit(rec.Header); bad.What != "" {
		return bad
	}
	r.head = rec.Header
	if r.head.FirstSeq > 1 {
		r.queue = append(r.queue, missing(1, r.head))
		r.next = [3]int64{-1, -1, -1}
	}
	return nil
}

// unfit says why a header's segment is not for this reader; empty: it is.
func unfit(h *Header) string {
	switch {
	case h.Format[0] != FormatMajor:
		return fmt.Sprintf("has the recording format version %d.%d, this sixlink reads version %d.x: use a sixlink that fits",
			h.Format[0], h.Format[1], FormatMajor)
	case slices.ContainsFunc(h.Needs, func(need string) bool { return need != NeedHTTP }):
		return fmt.Sprintf("needs %q, which this version does not know: upgrade sixlink", h.Needs)
	case h.ID == "" || h.FirstSeq < 1:
		return "is no recording: its header has no id or no firstSeq"
	}
	return ""
}

// missing stands for segments that are not there (recorder.md 2.10).
func missing(first int64, h *Header) *Record {
	return &Record{Kind: KindGap, Seq: h.FirstSeq - 1, At: h.At,
		Gap: &Gap{FirstSeq: first, LastSeq: h.FirstSeq - 1, Why: "segments before this one are missing"}}
}

// Header is the first header of the recording.
func (r *Reader) Header() *Header { return r.head }

// Files lists the files read so far, in the order that Ref.File counts.
func (r *Reader) Files() []string { return r.files }

// End says how the recording ended; it is complete when Next has returned io.EOF.
func (r *Reader) End() End { return r.end }

// Close lets go of the file.
func (r *Reader) Close() error {
	r.lr.close()
	r.lr.free()
	return r.f.Close()
}

// Next returns the next record, headers and closings included, checks not. It
// returns io.EOF at the last good check; [Reader.End] tells whether that is the
// end. Any other error is a limit that was hit, and final.
func (r *Reader) Next() (*Record, error) {
	for {
		if r.finished {
			return nil, io.EOF
		}
		if len(r.queue) > 0 {
			rec := r.queue[0]
			r.queue = r.queue[1:]
			r.tally(rec)
			return rec, nil
		}
		if len(r.ready) == 0 {
			if err := r.batch(); err != nil {
				if err := r.ended(err); err != nil {
					return nil, err
				}
			}
			continue
		}
		l, err := r.line()
		if err != nil {
			r.damage(l, err)
			continue
		}
		if l.line == nil {
			continue // a run is at its end
		}
		rec := &r.rec
		if !r.opts.Reuse {
			rec = new(Record)
		}
		if err := decodeLine(l.line, rec); err != nil {
			r.damage(l, err)
			continue
		}
		rec.Ref = l.ref
		if err := r.accept(rec); err != nil {
			var n *NotRecordingError
			if errors.As(err, &n) {
				r.finished = true
				return nil, err
			}
			r.damage(l, err)
			continue
		}
		if len(r.queue) > 0 {
			if r.opts.Reuse {
				kept := *rec
				rec = &kept
			}
			r.queue = append(r.queue, rec)
			continue
		}
		r.tally(rec)
		return rec, nil
	}
}

// line takes the next line off what is ready.
func (r *Reader) line() (item, error) {
	l := r.ready[0]
	if l.run == nil {
		r.ready = r.ready[1:]
		return l, nil
	}
	line, err := l.run.next()
	r.sawRun = true
	if line == nil {
		r.ready = r.ready[1:]
		r.end.Runs++
		return l, err
	}
	ref := l.ref
	ref.Off, ref.Len = l.run.n-1, int32(len(line))
	if kind, _ := kindOf(line); l.run.verbatim && (kind == KindFrame || kind == KindHeader || kind == KindCheck || kind == KindClosing) {
		return l, fmt.Errorf("a chunk run has a %s line, which cannot stand there", kind)
	}
	return item{line: line, ref: ref}, nil
}

func (r *Reader) tally(rec *Record) {
	if rec.Kind == KindGap {
		r.end.Gaps++
		r.end.Lost += rec.Gap.LastSeq - rec.Gap.FirstSeq + 1
	}
	if rec.Seq > 0 {
		r.end.Records++
	}
}

// batch reads up to and including the next check.
func (r *Reader) batch() error {
	for {
		it, err := r.lr.next()
		if err != nil {
			return err
		}
		if it.run != nil {
			r.pending = append(r.pending, it)
			r.runs = append(r.runs, fmt.Sprintf("%08x", it.crc))
			r.bytes += it.size
		} else {
			kind, ok := kindOf(it.line)
			if !ok {
				return &DamageError{Offset: it.ref.Frame, What: "a line does not begin with its kind"}
			}
			if kind == KindCheck {
				if err := r.check(it); err != nil {
					return err
				}
				if len(r.ready) > 0 {
					return nil
				}
				continue
			}
			r.crc = crc32.Update(crc32.Update(r.crc, castagnoli, it.line), castagnoli, newline)
			r.count++
			r.pending = append(r.pending, it)
			r.bytes += len(it.line) + 1
		}
		if r.bytes > maxBatch {
			return &limitError{fmt.Sprintf("has %d bytes without a check", r.bytes)}
		}
	}
}

// check releases what is pending, if it is what the check says.
func (r *Reader) check(it item) error {
	var c check
	if err := unmarshal(it.line, &c); err != nil {
		return &DamageError{Offset: it.ref.Frame, What: "check line: " + err.Error()}
	}
	if c.Count != r.count || c.CRC != fmt.Sprintf("%08x", r.crc) || !slices.Equal(c.Runs, r.runs) {
		return &DamageError{Offset: it.ref.Frame, What: fmt.Sprintf("a check says %d lines with CRC %s and runs %q, there are %d with %08x and %q",
			c.Count, c.CRC, c.Runs, r.count, r.crc, r.runs)}
	}
	// All that was ready before is taken, so that its slice can be filled again.
	r.ready, r.pending, r.spare = r.pending, r.spare, r.pending
	r.unpend()
	return nil
}

// unpend forgets what no check has confirmed.
func (r *Reader) unpend() {
	r.pending, r.runs, r.crc, r.count, r.bytes = r.pending[:0], nil, 0, 0, 0
}

// accept holds a record against the rules of order.
func (r *Reader) accept(rec *Record) error {
	if r.closing != nil && rec.Kind != KindHeader {
		return fmt.Errorf("a %s line follows the closing line", rec.Kind)
	}
	if r.opts.Verify {
		if rec.Kind == KindHeader {
			r.sha.Reset() // the segment before may have been cut off
		}
		if rec.Kind != KindClosing {
			r.sha.Write(rec.Line)
			r.sha.Write(newline)
		}
	}
	switch rec.Kind {
	case KindHeader:
		return r.header(rec)
	case KindClosing:
		return r.close(rec.Closing)
	}
	first := rec.Seq
	if rec.Kind == KindGap {
		first = rec.Gap.FirstSeq
		if rec.Gap.LastSeq != rec.Seq || first > rec.Seq {
			return fmt.Errorf("gap of seq %d says it stands for %d to %d", rec.Seq, first, rec.Gap.LastSeq)
		}
	}
	if first != r.last+1 {
		return fmt.Errorf("seq %d follows %d", first, r.last)
	}
	r.last = rec.Seq
	r.records++
	switch rec.Kind {
	case KindFrame:
		return r.frame(rec)
	case KindGap:
		for from, s := range rec.Gap.Streams {
			if i := index(from); r.next[i] >= 0 && s.Off != r.next[i] {
				return fmt.Errorf("gap of seq %d begins at byte %d of %s, byte %d is next", rec.Seq, s.Off, from, r.next[i])
			}
			r.next[index(from)] = s.Off + s.Bytes
			r.open[index(from)] = false
		}
	case KindBody:
	default:
		if _, known := lineKinds[rec.Kind]; !known {
			r.end.Unknown[rec.Kind]++
		}
	}
	return nil
}

// frame checks the offsets, and marks a part whose beginning is lost.
func (r *Reader) frame(rec *Record) error {
	i := index(rec.From)
	if r.next[i] >= 0 && rec.Off != r.next[i] {
		return fmt.Errorf("frame of seq %d is at byte %d of %s, byte %d is next", rec.Seq, rec.Off, rec.From, r.next[i])
	}
	r.next[i] = rec.Off + int64(len(rec.Data)) + int64(len(rec.EOL))
	if rec.Cont && !r.open[i] {
		rec.Cont, rec.Headless = false, true
	}
	r.open[i] = rec.More
	return nil
}

func (r *Reader) header(rec *Record) error {
	h := rec.Header
	if r.end.Segments == 0 {
		r.end.Segments++
		r.segment = h.Segment
		r.last = h.FirstSeq - 1
		return nil
	}
	if h.ID != r.head.ID || h.Segment == 0 {
		return &NotRecordingError{Path: r.files[len(r.files)-1],
			What: fmt.Sprintf("has a second header (id %.40q, segment %d) that does not continue recording %.40q: split the file", h.ID, h.Segment, r.head.ID)}
	}
	if why := unfit(h); why != "" {
		return &NotRecordingError{Path: r.files[len(r.files)-1], What: why}
	}
	if r.closing != nil && r.closing.Last {
		return fmt.Errorf("segment %d follows the closing line that says it is the last", h.Segment)
	}
	if h.Segment <= r.segment {
		return fmt.Errorf("segment %d follows segment %d", h.Segment, r.segment)
	}
	// Behind a chunk run the next file's header cannot name the hash yet (FORMAT.md 4).
	bare := h.Prev == "" && rec.Ref.Frame == 0 && rec.Ref.Off == 0
	if r.closing != nil && h.Segment == r.segment+1 && h.Prev != r.prevSum && !bare {
		return fmt.Errorf("segment %d does not continue the segment before it (prev %.16s, not %.16s)", h.Segment, h.Prev, r.prevSum)
	}
	if h.FirstSeq <= r.last {
		return fmt.Errorf("segment %d begins at seq %d, after %d", h.Segment, h.FirstSeq, r.last)
	}
	r.closing, r.segment = nil, h.Segment
	r.end.Segments++
	r.records = 0
	if h.FirstSeq > r.last+1 {
		r.queue = append(r.queue, missing(r.last+1, h))
		r.last, r.next, r.open = h.FirstSeq-1, [3]int64{-1, -1, -1}, [3]bool{}
	}
	return nil
}

func (r *Reader) close(c *Closing) error {
	if c.Records != r.records || c.LastSeq != r.last {
		return fmt.Errorf("closing line says %d records up to seq %d, there are %d up to %d", c.Records, c.LastSeq, r.records, r.last)
	}
	if r.opts.Verify {
		// A segment with chunk runs gets its hash when it is sealed.
		if sum := hex.EncodeToString(r.sha.Sum(nil)); sum != c.SHA256 && (c.SHA256 != "" || !r.sawRun) {
			return fmt.Errorf("closing line says SHA-256 %.16s…, it is %.16s…", c.SHA256, sum)
		}
	}
	r.closing, r.prevSum, r.sawRun = c, c.SHA256, false
	if c.Torn && c.Last { // else it was a file that a write error ended, and the recorder went on
		r.end.Torn = true
	}
	return nil
}

// damage ends the recording before a line that cannot be right.
func (r *Reader) damage(l item, err error) {
	r.end.Damage = &DamageError{Offset: l.ref.Frame, What: err.Error()}
	r.end.Unchecked = len(r.ready) + 1
	r.finish(r.unfinished())
}

// unfinished is the state of a recording that ends without its closing record.
func (r *Reader) unfinished() State {
	if locked(r.f) {
		return Live
	}
	return Torn
}

func (r *Reader) finish(s State) {
	r.finished = true
	r.end.State = s
	if s != Sealed {
		r.end.Torn = true
	}
}

// ended decides what the end of a file means. A returned error is a limit.
func (r *Reader) ended(err error) error {
	var limit *limitError
	if errors.As(err, &limit) {
		r.finished = true
		return &NotRecordingError{Path: r.files[len(r.files)-1], What: limit.what}
	}
	var damage *DamageError
	if errors.As(err, &damage) {
		r.end.Damage = damage
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	rest := len(r.pending)
	r.end.Unchecked += rest
	r.unpend()
	// What an earlier file ended with is in a gap; the state is the last file's.
	if errors.Is(err, io.EOF) && rest == 0 && r.closing != nil && r.closing.Last {
		r.finish(Sealed)
		return nil
	}
	if ok, err := r.nextFile(); ok || err != nil {
		return err
	}
	r.finish(r.unfinished())
	return nil
}

// nextFile goes on with the file of the next segment, if there is one beside
// this one. A file of that name that is something else is not ours to judge.
func (r *Reader) nextFile() (bool, error) {
	for {
		path := r.nextPath()
		if path == "" {
			return false, nil
		}
		err := r.openFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a limit took it away meanwhile; others follow
		}
		if err != nil {
			return false, err
		}
		if err := r.batch(); err != nil {
			return true, r.ended(err)
		}
		return true, nil
	}
}
