package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// DefaultMaxRecording is the cap of a recording in packed bytes.
	DefaultMaxRecording = 1 << 30
	// MinMaxRecording is the smallest cap that makes sense.
	MinMaxRecording = 16 << 10

	maxSegment  = 64 << 20
	floorBytes  = 256 << 20 // free space to leave, or …
	floorShare  = 20        // … a twentieth of the file system, if that is less
	endReserve  = 4 << 10   // what the last gap, closing and checks may take under the cap
	retryPeriod = time.Second
	statPeriod  = 250 * time.Millisecond
	patience    = 100 * time.Millisecond
	bufferBytes = 1 << 20 // packed bytes are written at the latest then
	// What one write may take on a slow disk: the end must not wait long for the write
	// that is under way (drainLimit, endLimit), so such a disk gets smaller ones.
	firstStep = 128 << 10
	leastStep = 32 << 10
	quickStep = 20 * time.Millisecond
	slowStep  = 200 * time.Millisecond
)

const overLimits = "a record was over the format's limits"

// writer writes a recording's lines to its files. It survives a full disk, a
// folder that vanishes and its own cap: what it cannot keep becomes a gap.
type writer struct {
	dir, name string // the folder, and the first file's name in it
	cap       int64
	now       func() int64
	notice    func(string)
	patient   func() bool // a failed write is tried again (lossless)
	head      Header      // of the next segment

	root   *os.Root
	file   *os.File
	out    io.WriterAt // file, or what a test puts before it
	wrap   func(*os.File) io.WriterAt
	sync   func(*os.File) error
	pk     *packer
	buf    []byte // packed, not written yet
	one    [1][]byte
	pos    int64 // bytes of the file that are written
	good   int64 // bytes of the file up to the last flush
	total  int64 // bytes of earlier files of this recording
	begin  int64 // pos where the segment began
	state  writerState
	why    string    // why the state is not writing
	retry  time.Time // when to try again
	stat   time.Time // when to look at the file next
	fresh  loss      // since the last flush: lost if the next write fails
	whole  loss      // since the file began: lost if the file is removed
	missed loss      // lost, and not in a gap record yet
	noted  atomic.Bool
	lost   atomic.Bool // anything was lost at all
	down   atomic.Bool // nothing is written at the moment
	gaps   atomic.Int64
	runs   int       // bytes of runs since the last check
	step   int       // packed bytes are written at the latest then (see put)
	rot    *rotation // nil: the recording is one file
}

type writerState uint8

const (
	writing writerState = iota
	stopped             // at the cap, or under the floor; the file is whole
	failed              // a write failed: the file is not touched any more
)

// loss adds up records that are not kept.
type loss struct {
	first, last int64
	at          int64 // of the last
	streams     [3]GapStream
	http        [2]GapHTTP // from the client, from the server
}

func (l *loss) add(m *meta) {
	if m.gap != nil {
		// A gap that is lost itself takes along what it stands for.
		g := loss{first: m.gap.FirstSeq, last: m.seq, at: m.at}
		for from, s := range m.gap.Streams {
			g.streams[index(from)] = s
		}
		for i := range g.http {
			g.http[i] = m.gap.HTTP[directions[i]]
		}
		l.join(g)
		return
	}
	if l.first == 0 {
		l.first = m.seq
	}
	l.last, l.at = max(m.seq, m.last), m.at
	if m.from == "" {
		return
	}
	if m.http {
		h := &l.http[min(index(m.from), 1)]
		h.Records += m.ends
		h.Bytes += m.bytes
		return
	}
	s := &l.streams[index(m.from)]
	if *s == (GapStream{}) {
		s.Off = m.off
	}
	s.Bytes += m.bytes
	s.Frames += m.ends
}

func (l *loss) join(o loss) {
	if o.first == 0 {
		return
	}
	if l.first == 0 {
		*l = o
		return
	}
	l.last, l.at = o.last, o.at
	for i, s := range o.streams {
		if l.streams[i] == (GapStream{}) {
			l.streams[i] = s
			continue
		}
		l.streams[i].Bytes += s.Bytes
		l.streams[i].Frames += s.Frames
	}
	for i, h := range o.http {
		l.http[i].Records += h.Records
		l.http[i].Bytes += h.Bytes
	}
}

// gap is the record that stands for the loss; its seq is the last that was lost.
func (l *loss) gap(why string) *Record {
	g := &Gap{FirstSeq: l.first, LastSeq: l.last, Why: why, Streams: map[From]GapStream{}}
	for i, s := range l.streams {
		if s != (GapStream{}) {
			g.Streams[directions[i]] = s
		}
	}
	for i, h := range l.http {
		if h != (GapHTTP{}) {
			if g.HTTP == nil {
				g.HTTP = map[From]GapHTTP{}
			}
			g.HTTP[directions[i]] = h
		}
	}
	return &Record{Kind: KindGap, Seq: l.last, At: l.at, Gap: g}
}

// meta is what the writer must know of a record, or of some in a row, that it
// may lose. last is 0 for one record.
type meta struct {
	seq, last, at, off, bytes, ends int64
	from                            From
	gap                             *Gap // the record is one
	http                            bool // of HTTP: bytes are a body's
}

// openWriter makes the first file. taken is the name that it got.
func openWriter(cfg *Config, head Header, now func() int64) (w *writer, err error) {
	dir, name, notice := cfg.Dir, cfg.Name, cfg.Notice
	w = &writer{dir: dir, name: name, cap: cfg.Max, head: head, now: now, notice: notice,
		patient: func() bool { return false }, wrap: cfg.wrap, sync: cfg.sync, step: firstStep}
	if w.sync == nil {
		w.sync = (*os.File).Sync
	}
	root, open, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	w.root = root
	f, taken, err := createFree(root, name)
	if err != nil {
		root.Close()
		return nil, err
	}
	if taken != name {
		notice(fmt.Sprintf("%s is there already: recording to %s", name, taken))
		w.name = taken
	}
	if open {
		notice(fmt.Sprintf("folder %s is writable by everybody: others can remove or replace recordings in it", dir))
	}
	w.rot = newRotation(cfg, w)
	if err = w.begun(f); err == nil {
		err = w.flush()
	}
	if err != nil {
		w.rot.end()
		f.Close()
		root.Remove(w.name)
		root.Close()
		return nil, err
	}
	return w, nil
}

// begun starts the head's segment in a new file.
func (w *writer) begun(f *os.File) error {
	if err := lock(f); err != nil {
		return err
	}
	w.out = f
	if w.wrap != nil {
		w.out = w.wrap(f)
	}
	w.file, w.pos, w.good, w.begin, w.buf = f, 0, 0, 0, w.buf[:0]
	w.fresh, w.whole = loss{}, loss{}
	var err error
	if w.pk, err = newPacker((*sink)(w), zstd.SpeedFastest); err != nil {
		return err
	}
	w.pk.last = w.head.FirstSeq - 1
	w.state, w.why = writing, ""
	return w.header()
}

func (w *writer) header() error {
	h := w.head
	line, err := appendEvent(nil, &Record{Kind: KindHeader, Header: &h})
	if err != nil {
		return err
	}
	w.head.Segment++
	return w.pk.line(line, 0)
}

// sink collects what the packer gives out; files are written by the writer.
type sink writer

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// add writes a record's line, or counts it as lost.
func (w *writer) add(m meta, line []byte) {
	if w.state != writing && !w.resume() {
		w.miss(&m)
		return
	}
	if !w.writeGap(overLimits) {
		w.miss(&m)
		return
	}
	if !w.roomFor(len(line)) {
		w.stop(fmt.Sprintf("the recording is at its cap of %d bytes", w.cap), w.rot != nil)
		w.miss(&m)
		return
	}
	if err := w.pk.line(line, m.seq); err != nil {
		// Only a line over the format's limit, which no frame can make.
		w.miss(&m)
		w.note("recording lost a record: " + overLimits + "; traffic goes on")
		return
	}
	w.fresh.add(&m)
	w.whole.add(&m)
	w.rot.saw(line)
	if len(w.buf) > w.step {
		w.write()
	}
	w.maybeNextSegment()
}

// maybeNextSegment begins another segment where no zstd frame is open.
func (w *writer) maybeNextSegment() {
	if w.rot != nil {
		w.maybeRotate(false)
		return
	}
	if w.state == writing && !w.pk.open && w.pos+int64(len(w.buf))-w.begin >= min(maxSegment, w.cap/4) {
		w.nextSegment()
	}
}

// addRun writes a chunk run (see sealRun), or counts what is in it as lost.
func (w *writer) addRun(run [][]byte, records int64, l loss) {
	size := 0
	for _, p := range run {
		size += len(p)
	}
	lose := func() {
		w.missed.join(l)
		w.lost.Store(true)
	}
	if w.state != writing && !w.resume() || !w.writeGap(overLimits) {
		lose()
		return
	}
	if !w.roomFor(size) {
		w.stop(fmt.Sprintf("the recording is at its cap of %d bytes", w.cap), w.rot != nil)
		lose()
		return
	}
	if err := w.pk.run(size, le.Uint32(run[len(run)-1]), records, l.last); err != nil {
		w.fail(err)
		lose()
		return
	}
	w.fresh.join(l)
	w.whole.join(l)
	w.runs += size
	w.rot.saw(nil)
	if w.write() == nil && w.put(run) == nil && w.runs >= runLimit {
		w.flush() // a check now and then: what stands between two is bounded for readers
	}
	w.maybeNextSegment()
}

func (w *writer) miss(m *meta) {
	w.missed.add(m)
	w.lost.Store(true)
}

// roomFor tells whether n more bytes of lines are certain to fit under the cap.
// Packed sizes are only known after a flush, so it assumes that nothing shrinks,
// and flushes before it says no.
func (w *writer) roomFor(n int) bool {
	fits := func() bool {
		return w.total+w.pos+int64(len(w.buf))+int64(w.pk.pending())+int64(n)+endReserve <= w.cap
	}
	if fits() {
		return true
	}
	if w.flush() != nil || w.state != writing {
		return false
	}
	return fits() || w.makeRoom(int64(n)) && fits()
}

// nextSegment ends the segment where a zstd frame ended and begins another one
// in the same file.
func (w *writer) nextSegment() {
	sum, err := w.pk.endSegment(false, false)
	if err != nil {
		w.fail(err)
		return
	}
	w.head.Prev, w.head.FirstSeq, w.head.At = sum, w.pk.last+1, w.now()
	w.begin = w.pos + int64(len(w.buf))
	if err := w.header(); err != nil {
		w.fail(err)
	}
}

// flush makes what was added readable by others.
func (w *writer) flush() error {
	if w.state != writing {
		return nil
	}
	if err := w.pk.flush(); err != nil {
		w.fail(err)
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	w.good, w.fresh, w.runs = w.pos, loss{}, 0
	if t := time.Now(); !t.Before(w.stat) {
		w.stat = t.Add(statPeriod)
		w.look()
	}
	w.maybeRotate(true)
	return nil
}

// write puts what is packed into the file.
func (w *writer) write() error {
	if len(w.buf) == 0 {
		return nil
	}
	w.one[0] = w.buf
	n, began := len(w.buf), time.Now()
	err := w.put(w.one[:])
	if took := time.Since(began); took > slowStep {
		w.step = max(w.step/2, leastStep)
	} else if took < quickStep && n >= w.step/2 {
		w.step = min(w.step*2, bufferBytes)
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > 4*bufferBytes {
		w.buf = nil
	}
	return err
}

// put writes vec at the end of the file. It changes vec.
func (w *writer) put(vec [][]byte) error {
	for len(vec) > 0 {
		n, err := writeVec(w.out, vec, w.pos)
		w.pos += int64(n)
		for len(vec) > 0 && n >= len(vec[0]) {
			n -= len(vec[0])
			vec = vec[1:]
		}
		if len(vec) > 0 {
			vec[0] = vec[0][n:]
		}
		if err != nil && w.patient() {
			// The same bytes go to the same place when there is room again.
			w.note("recording waits, and traffic with it (--lossless): " + err.Error())
			time.Sleep(patience)
			continue
		}
		if err != nil {
			w.fail(err)
			return err
		}
	}
	return nil
}

// writeVec is WriteAt for several pieces; in one call where the system has one.
func writeVec(out io.WriterAt, vec [][]byte, at int64) (done int, err error) {
	if f, ok := out.(*os.File); ok && len(vec) > 1 {
		if n, err := pwritev(f, vec, at); err != errNoVec {
			return n, err
		}
	}
	for _, p := range vec {
		n, err := out.WriteAt(p, at+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// gone finds out whether the file still has a name.
func (w *writer) gone() bool {
	if !removed(w.file) {
		return false
	}
	w.fresh = w.whole // nothing of this file will be found
	w.good = 0
	w.fail(errors.New("the recording's file was removed"))
	return true
}

// look finds out whether the file still has a name and the disk has space.
func (w *writer) look() {
	if w.gone() {
		return
	}
	if free, floor, ok := w.floor(); ok && free < floor {
		w.stop(fmt.Sprintf("%d bytes are free on the disk, %d are left to others", free, floor), true)
	}
}

func (w *writer) floor() (free, floor int64, ok bool) { return floorOf(w.file) }

func floorOf(f *os.File) (free, floor int64, ok bool) {
	free, total, err := space(f)
	return free, min(floorBytes, total/floorShare), err == nil
}

// stop leaves the file whole and keeps nothing more, for ever or until there is space.
func (w *writer) stop(why string, again bool) {
	if w.state != writing {
		return // a file that was given up stays so: its encoder has bytes that are nowhere
	}
	w.state, w.why = stopped, why
	w.down.Store(true)
	w.gaps.Add(1)
	w.retry = time.Time{}
	if again {
		w.retry = time.Now().Add(retryPeriod)
	}
	w.say()
}

// fail gives the file up at its last flush (recorder.md 2.9: never go on in
// that stream).
func (w *writer) fail(err error) {
	if w.state == failed {
		return
	}
	w.state, w.why = failed, err.Error()
	if !w.down.Swap(true) {
		w.gaps.Add(1)
	}
	w.fresh.join(w.missed) // what is missed already came after it
	w.missed = w.fresh
	w.lost.Store(true)
	w.fresh, w.buf = loss{}, w.buf[:0]
	// The file stays open: its lock says that the recorder lives.
	w.file.Truncate(w.good)
	w.total += w.good
	w.retry = time.Now().Add(retryPeriod)
	w.say()
}

// say tells the user once that something is lost.
func (w *writer) say() { w.note("recording stopped: " + w.why + "; traffic goes on") }

func (w *writer) note(s string) {
	if !w.noted.Swap(true) {
		w.notice(s)
	}
}

// resume tries to write again, when it is time to.
func (w *writer) resume() bool {
	if w.retry.IsZero() || time.Now().Before(w.retry) {
		return false
	}
	return w.again()
}

// again begins with the gap: in the same stream when the file is whole, else in
// a new segment's file.
func (w *writer) again() bool {
	w.retry = time.Now().Add(retryPeriod)
	why := w.why
	switch w.state {
	case stopped:
		if free, floor, ok := w.floor(); !ok || free < floor {
			return false
		}
		w.state, w.why = writing, ""
	case failed:
		if !w.reopen() {
			w.state, w.why = failed, why
			return false
		}
	}
	if !w.writeGap(why) || w.flush() != nil || w.state != writing {
		return false
	}
	w.down.Store(false)
	return true
}

// writeGap writes what is missing, if anything is.
func (w *writer) writeGap(why string) bool {
	if w.missed.first == 0 {
		return true
	}
	r := w.missed.gap(why)
	line, err := appendEvent(nil, r)
	if err != nil || w.pk.line(line, r.Seq) != nil {
		return false
	}
	// If this is lost too, it is lost together with what it stands for.
	w.fresh.join(w.missed)
	w.whole.join(w.missed)
	w.missed = loss{}
	return true
}

// reopen begins the next segment in a file of its own.
func (w *writer) reopen() bool {
	root, _, err := openDir(w.dir)
	if err != nil {
		return false
	}
	f, name, err := w.createSegment(root)
	if err != nil {
		root.Close()
		return false
	}
	old, oldRoot, head := w.file, w.root, w.head
	w.root = root
	w.head.Prev, w.head.At = w.rot.prev("torn"), w.now()
	w.head.FirstSeq = w.pk.last + 1
	if w.missed.first > 0 {
		w.head.FirstSeq = w.missed.first
	}
	last := w.pk.last
	if err := w.begun(f); err != nil || w.flush() != nil || w.state != writing {
		f.Close()
		root.Remove(name)
		root.Close()
		w.file, w.root, w.head = old, oldRoot, head
		w.fresh, w.whole, w.buf, w.pos, w.good = loss{}, loss{}, w.buf[:0], 0, 0
		if w.pk != nil {
			w.pk.last = last
		}
		return false
	}
	w.rot.left(w, old)
	old.Close()
	oldRoot.Close()
	return true
}

// createSegment makes the file of the head's segment, under the first number that no
// stranger's file has.
func (w *writer) createSegment(root *os.Root) (f *os.File, name string, err error) {
	for n := w.head.Segment; n < w.head.Segment+nameTries; n++ {
		name = segmentName(w.name, n)
		if f, err = create(root, name); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, err
}

// giveUp keeps nothing more: the process is to end, and the disk is too slow.
func (w *writer) giveUp() {
	if w.state == writing {
		w.stop("the disk is too slow for what was left at the end", false)
	}
}

// end writes what is still to say, the closing record, and seals.
func (w *writer) end(limit time.Duration) {
	defer func() {
		w.file.Close()
		w.root.Close()
	}()
	w.rot.over()
	defer w.rot.end()
	if w.flush() == nil && w.state == writing {
		w.look() // a last time: a file that was removed is no recording
	}
	why := w.why
	if w.state == stopped {
		// The reserve under the cap is for this. Under the floor it may fail.
		w.state = writing
		w.gone()
	} else if w.state == writing {
		why = overLimits
	}
	if w.state == failed {
		if !w.again() {
			return
		}
	}
	w.writeGap(why)
	if _, err := w.pk.endSegment(true, false); err != nil {
		w.fail(err)
	} else if w.write() == nil {
		w.good = w.pos
		if w.rot != nil {
			w.rot.sealLast(w, limit)
		} else {
			w.seal(limit)
		}
	}
}
