package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

const (
	// flushPeriod is how long lines may wait for each other. With tailTime and
	// the time to write it keeps "on disk at most 100 ms after it passed".
	flushPeriod = 40 * time.Millisecond
	clockPeriod = time.Minute
	clockJump   = 50 * time.Millisecond

	// SealLimit and SealLimitSignal bound the time that Close seals: hosts wait
	// two seconds after closing stdin before they send TERM (wire.md 1.2).
	SealLimit       = 1500 * time.Millisecond
	SealLimitSignal = 500 * time.Millisecond

	// drainLimit is how long Close may write what is queued, at least; endLimit
	// what the end may take when that was not enough.
	drainLimit = 1500 * time.Millisecond
	endLimit   = time.Second
)

// Config is what a recording is made with.
type Config struct {
	// Dir is the folder, Name the file in it; an empty Name makes a unique one.
	Dir, Name string
	Version   string // of sixlink
	Transport string
	Level     Level
	Labels    map[string]string
	// Listen, Upstream and Bridge are the header's, for HTTP.
	Listen, Upstream string
	Bridge           bool
	Command          []string
	Cwd              string
	Env              []string // NAME=value, as the server gets it
	PID              int
	// Max is the cap in packed bytes; 0: DefaultMaxRecording.
	Max int64
	// RotateSize (packed bytes) and RotateEvery say when another file is begun; 0: never
	// for that reason.
	RotateSize  int64
	RotateEvery time.Duration
	// MaxTotal (bytes) and MaxAge limit the folder: the oldest closed files of recordings
	// go, whichever recorder they are of, but none of one that somebody still writes. A
	// limit makes this recording rotate. 0: there is none.
	MaxTotal int64
	MaxAge   time.Duration
	// MaxMessage cuts longer messages in the recording; 0: none is cut. At least MinMaxMessage.
	MaxMessage int64
	// Lossless makes Data wait when the recorder cannot keep up.
	Lossless bool
	// Masker replaces known credentials; nil at level raw.
	Masker *mask.Masker
	// MaskKey is the id of the masker's key.
	MaskKey string
	// Notice gets each thing that the user should be told once, as a line without
	// its end. It must not block.
	Notice func(string)

	// Tests put faults here, and say when there is pressure.
	wrap  func(*os.File) io.WriterAt
	sync  func(*os.File) error // in the place of (*os.File).Sync
	press func() bool
	wall  func() time.Time // in the place of time.Now, for clock records
}

// Recorder takes copies of what a relay moves and writes the recording. Its
// methods may be called from several goroutines; none of them returns an error,
// since traffic must not depend on the recording. A nil Recorder records nothing.
type Recorder struct {
	q       *queue
	w       *writer
	cfg     Config
	start   time.Time
	flush   chan flushRequest
	stop    chan time.Duration
	done    chan struct{}
	broken  atomic.Bool
	expired atomic.Bool // what is still queued is not written any more
	stuck   atomic.Bool // a lossless recorder waits for the disk

	// Of the recorder's goroutine, and of its worker while it waits for that.
	pressure
	frames    [3]framer
	bodies    bodies
	spans     []mask.Span
	line      []byte
	whole     bool // the block at hand ends where its direction does, or a gap begins
	scratch   frame
	giveBlock func(*block)
	giveFrame func(*frame)
	taken     []*slab
	worker    *worker
	workerJob func()
	late      *time.Timer
	panicked  any
	clock     time.Time // of the last clock record
	offset    int64     // that it told
}

// flushRequest is answered with whether all is in the file.
type flushRequest struct{ done chan bool }

// envValues are the variables whose values are kept (DESIGN.md "The recording").
var envValues = []string{"SIXLINK_LABELS", "CLAUDE_CODE_SESSION_ID"}

// Begin begins a recording. Its error says why there is none.
func Begin(cfg Config) (*Recorder, error) {
	start := time.Now()
	id := randomHex(16)
	if cfg.Name == "" {
		cfg.Name = newName(start, cfg.PID, id[:8])
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMaxRecording
	}
	if cfg.Notice == nil {
		cfg.Notice = func(string) {}
	}
	if cfg.wall == nil {
		cfg.wall = time.Now
	}
	r := &Recorder{cfg: cfg, start: start, clock: start, bodies: newBodies(), flush: make(chan flushRequest), stop: make(chan time.Duration, 1), done: make(chan struct{})}
	head := Header{
		Format: [2]int{FormatMajor, FormatMinor}, ID: id, FirstSeq: 1, Start: Time{start.UTC().Round(0)},
		Recorder: Software{"sixlink", cfg.Version}, Transport: cfg.Transport, Level: cfg.Level, Labels: cfg.Labels,
		MaskKey: cfg.MaskKey, Listen: cfg.Listen, Upstream: upstream(&cfg), Bridge: cfg.Bridge,
	}
	if cfg.Upstream != "" {
		head.Format, head.Needs = [2]int{FormatMajor, FormatMinorHTTP}, []string{NeedHTTP}
	}
	more := r.describe(&head)
	w, err := openWriter(&r.cfg, head, r.now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(cfg.Dir, cfg.Name), err)
	}
	r.w = w
	r.giveBlock, r.giveFrame, r.workerJob = r.block, r.frame, r.steps
	r.worker, r.late = newWorker(), time.NewTimer(time.Hour)
	r.behind.start(r.writeRun)
	r.q = newQueue(r.now, !cfg.Lossless)
	r.q.longest, r.q.hashes = cfg.MaxMessage, cfg.Level == LevelFull || cfg.Level == LevelRaw
	r.q.longBodies = map[bodyKey]*long{}
	w.patient = func() bool {
		patient := !r.q.isLossy()
		r.stuck.Store(patient)
		return patient
	}
	w.rot.start(&r.cfg, w.name, r.q.event)
	for i := range r.frames {
		r.frames[i] = framer{from: directions[i]}
		if cfg.Masker != nil && !cfg.Masker.Empty() {
			r.frames[i].held = cfg.Masker.Held
		}
	}
	for _, rec := range more {
		r.q.event(rec)
	}
	go r.run()
	return r, nil
}

// The header's line has 64 KiB (FORMAT.md 4): so many bytes of it, as JSON, may
// go to each of the parts whose size others decide.
const (
	headLabels = 8 << 10
	headValue  = 4 << 10
	headCwd    = 8 << 10
	headWords  = 14 << 10
	startWords = 1 << 20 // of a start record
)

// LabelsFit tells whether labels fit into a header.
func LabelsFit(labels map[string]string) bool {
	n := 0
	for k, v := range labels {
		n += stringLen([]byte(k)) + stringLen([]byte(v)) + 2
	}
	return n <= headLabels
}

// describe fills in what was started. What does not fit into the header's line
// is returned as start records.
func (r *Recorder) describe(h *Header) (more []*Record) {
	argv, clear := r.cfg.Command, func(s string) string { return s }
	if m := r.cfg.Masker; m != nil {
		if clear = m.String; argv != nil {
			argv = m.Argv() // an HTTP recording has no command; its masker may be made of sixlink's own
		}
	}
	fit := func(s string, n int) bool { return stringLen([]byte(s)) <= n }
	if cwd := clear(r.cfg.Cwd); fit(cwd, headCwd) {
		h.Cwd = cwd
	}
	if !LabelsFit(h.Labels) {
		h.Labels = nil
	}
	for k, v := range h.Labels {
		h.Labels[k] = clear(v)
	}
	names := make([]string, 0, len(r.cfg.Env))
	for _, kv := range r.cfg.Env {
		name, value, _ := strings.Cut(kv, "=")
		names = append(names, name)
		if value = clear(value); slices.Contains(envValues, name) && fit(value, headValue) {
			if h.EnvValues == nil {
				h.EnvValues = map[string]string{}
			}
			h.EnvValues[name] = value
		}
	}
	sort.Strings(names)
	h.Command, argv = split(argv, headWords, 0)
	h.Env, names = split(names, headWords, 0)
	for len(argv) > 0 || len(names) > 0 {
		s := &Start{}
		s.Command, argv = split(argv, startWords, 1)
		s.Env, names = split(names, startWords, 1)
		more = append(more, &Record{Kind: KindStart, Start: s})
	}
	return more
}

// upstream is the server's URL without credentials, and no longer than a header
// has room for.
func upstream(cfg *Config) string {
	u := cfg.Upstream
	if cfg.Masker != nil {
		u, _ = cfg.Masker.Target(u)
	}
	if stringLen([]byte(u)) > headValue {
		u, _, _ = strings.Cut(u, "?")
		u = strings.ToValidUTF8(u[:min(len(u), headValue/8)], "")
	}
	return u
}

// split takes words from the front that have at most n bytes as JSON, and least
// of them whatever their size. (The system's limit of a word, 128 KiB, is far
// under that of a line.)
func split(words []string, n, least int) (front, rest []string) {
	for i, w := range words {
		if n -= stringLen([]byte(w)) + 1; n < 0 && i >= least {
			return words[:i], words[i:]
		}
	}
	return words, nil
}

func (r *Recorder) now() int64 { return int64(time.Since(r.start)) }

// Path is where the recording began; empty for a nil Recorder.
func (r *Recorder) Path() string {
	if r == nil {
		return ""
	}
	return filepath.Join(r.cfg.Dir, r.w.name)
}

// Data takes a copy of bytes that were read and not yet written on, stamps their
// seq and time, and returns without waiting (lossless: when there is room).
func (r *Recorder) Data(from From, p []byte) {
	if r != nil {
		r.q.data(from, p)
	}
}

// End tells that a direction is at its end of file.
func (r *Recorder) End(from From) {
	if r != nil {
		r.q.end(from)
	}
}

// Event takes a record that is no frame: Kind and the payload that belongs to it.
func (r *Recorder) Event(rec Record) {
	if r == nil {
		return
	}
	if m := r.cfg.Masker; m != nil {
		switch {
		case rec.Close != nil:
			c := *rec.Close
			c.Error, rec.Close = m.String(c.Error), &c
		case rec.Error != nil:
			e := *rec.Error
			e.Error, rec.Error = m.String(e.Error), &e
		case rec.Lost != nil:
			l := *rec.Lost
			l.Error, rec.Lost = m.String(l.Error), &l
		}
	}
	if from, ok := httpFrom(&rec); ok {
		n := maskHead(r.cfg.Masker, &rec)
		r.q.http(&rec, from, n, r.cfg.Masker != nil)
		return
	}
	r.q.event(&rec)
}

// Body takes a copy of a piece of a body that was read and not yet written on.
// Like [Recorder.Data] it does not wait, unless lossless.
func (r *Recorder) Body(b *Body) {
	if r != nil {
		x, size := extraOf(r.cfg.Masker, b)
		r.q.body(b, x, size)
	}
}

// Done tells that nothing more comes of an HTTP exchange. A body of it that had no
// end counts as cut.
func (r *Recorder) Done(exchange int64) {
	if r != nil {
		r.q.done(exchange)
	}
}

// Flush waits until all that was offered before is in the file, or limit has
// passed, and reports which.
func (r *Recorder) Flush(limit time.Duration) bool {
	if r == nil {
		return true
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	req := flushRequest{make(chan bool, 1)}
	select {
	case r.flush <- req:
		select {
		case ok := <-req.done:
			return ok
		case <-r.done:
		case <-t.C:
		}
	case <-r.done:
	case <-t.C:
	}
	return false
}

// GiveUp ends the waiting of a lossless recorder that cannot write: the process
// is to end, and a full disk must not hold that up. It does nothing while
// recording works.
func (r *Recorder) GiveUp() {
	if r != nil && r.stuck.Load() {
		r.q.giveUp()
	}
}

// Broke is told that nothing more will be offered, though there is more: a caller's
// side of the recorder panicked. The recording is left without its closing record: it
// must not look like a whole one.
func (r *Recorder) Broke() {
	if r != nil {
		r.broken.Store(true)
	}
}

// Close writes what is queued and the closing record, then seals for at most
// seal. Nothing may be offered afterwards.
func (r *Recorder) Close(seal time.Duration) {
	if r == nil {
		return
	}
	r.q.close()
	r.stop <- seal
	// The host may be waiting for us. A disk that is slow, full or hung gets this
	// long for what is queued, and then a little for the end.
	t := time.NewTimer(max(seal, drainLimit))
	defer t.Stop()
	select {
	case <-r.done:
		return
	case <-t.C:
	}
	r.expired.Store(true)
	r.q.giveUp()
	t.Reset(max(seal, 0) + endLimit)
	select {
	case <-r.done:
	case <-t.C:
		r.cfg.Notice("recording is left as it is: the disk did not answer")
	}
}

// Lossy tells whether anything was not kept.
func (r *Recorder) Lossy() bool { return r != nil && (r.broken.Load() || r.w.lost.Load()) }

// run is the recorder's own goroutine. The relay never waits for it.
func (r *Recorder) run() {
	defer close(r.done)
	defer r.w.rot.end()
	defer r.behind.end()
	defer r.worker.close()
	defer r.late.Stop()
	defer func() {
		if p := recover(); p != nil {
			r.broken.Store(true)
			r.q.abandon()
			r.cfg.Notice(fmt.Sprintf("recording stopped: internal error: %v; traffic goes on", p))
		}
	}()
	idle := time.NewTimer(clockPeriod)
	defer idle.Stop()
	for {
		idle.Reset(clockPeriod)
		select {
		case <-r.q.wake:
			if seal, stop := r.busy(); stop {
				r.finish(seal)
				return
			}
		case req := <-r.flush:
			r.answer(req)
		case seal := <-r.stop:
			r.finish(seal)
			return
		case <-idle.C:
		}
		r.tellClock()
	}
}

// busy works until nothing is queued and no line is open.
func (r *Recorder) busy() (seal time.Duration, stop bool) {
	t := time.NewTimer(flushPeriod)
	defer t.Stop()
	for {
		wait := flushPeriod
		if next := r.q.cutOld(); next > 0 && next < wait {
			wait = next
		}
		t.Reset(wait)
		hurry := false
		select {
		case <-t.C:
		case <-r.q.wake:
			hurry = true // there is much
		case req := <-r.flush:
			r.answer(req)
			continue
		case seal := <-r.stop:
			return seal, true
		}
		open := r.q.cutOld() > 0
		if r.work(hurry) == 0 && !open && r.q.sleep() {
			return 0, false
		}
		r.tellClock()
	}
}

// work has all that is queued written and flushed. It returns how many entries
// there were.
func (r *Recorder) work(hurry bool) int {
	r.taken = r.q.take(r.taken[:0])
	n := 0
	for _, s := range r.taken {
		n += len(s.entries)
	}
	r.press(r.taken)
	r.worker.do(r.workerJob, hurry, r.q.wake, r.late)
	if r.panicked != nil {
		panic(r.panicked)
	}
	return n
}

// steps writes what was taken and flushes.
func (r *Recorder) steps() {
	defer func() { r.panicked = recover() }()
	if !r.pressed {
		r.behind.wait() // lines are written here
	}
	for i, s := range r.taken {
		if r.expired.Load() && !r.pressed {
			r.w.giveUp()
		}
		for j := range s.entries {
			r.entry(&s.entries[j])
		}
		r.passed(s)
		r.taken[i] = nil
	}
	if r.pressed {
		r.endPressed()
	} else {
		r.w.flush()
		r.stuck.Store(false)
	}
	if cap(r.line) > bufferBytes {
		r.line = nil
	}
}

func (r *Recorder) entry(e *entry) {
	switch e.typ {
	case entryEvent:
	case entryBody:
		r.body(e)
		return
	default:
		r.whole = e.whole || e.typ == entryEnd
		r.frames[index(e.from)].add(e, r.giveBlock)
		return
	}
	if g := e.event.Gap; g != nil && g.Cut != nil {
		for from := range g.Streams {
			r.frames[index(from)].lost()
		}
	} else if g != nil {
		for from := range g.Streams {
			r.frames[index(from)].lost()
		}
		if g.HTTP != nil {
			var gone []bodyKey
			if e.extra != nil {
				gone = e.extra.gone
			}
			r.bodies.lost(g, gone)
		}
		r.w.lost.Store(true)
		r.w.note("recording lost records: " + g.Why + "; traffic goes on")
	}
	m := meta{seq: e.event.Seq, at: e.event.At, gap: e.event.Gap}
	if from, ok := httpFrom(e.event); ok {
		m.from, m.http, m.ends = from, true, 1
	}
	line, err := appendEvent(r.line[:0], e.event)
	if err != nil {
		line = nil // there is no record that cannot be written
	} else {
		r.line = line
	}
	r.add(m, line)
}

// add writes a record's line. One that the format has no room for becomes a gap.
func (r *Recorder) add(m meta, line []byte) {
	if n := len(line); n == 0 || n > maxLine+1 {
		var l loss
		l.add(&m)
		gap := l.gap(fmt.Sprintf("a record of %d bytes is over the format's limit", n))
		m.gap = gap.Gap
		r.w.lost.Store(true)
		line, _ = appendEvent(nil, gap)
	}
	if r.pressed {
		r.storeLine(m, line)
		return
	}
	r.w.add(m, line)
}

// block masks whole frames, and writes them as lines or, under pressure, as they
// are. The bytes are the recorder's own copy.
func (r *Recorder) block(b *block) {
	if m := r.cfg.Masker; m != nil && !m.Empty() {
		if b.headless || r.whole {
			// Half a credential is all there will be of it.
			r.spans = m.Torn(b.data, b.headless, r.whole, r.spans[:0])
		} else {
			r.spans = m.Mask(b.data, r.spans[:0])
		}
		if len(r.spans) > maxMasks && b.copied { // others are small, and many lines
			r.spans = hideAll(m, b.data)
		}
		for _, s := range r.spans {
			b.masked = append(b.masked, Mask(s))
		}
	}
	if !r.pressed {
		b.frames(&r.scratch, r.giveFrame)
		return
	}
	r.store(b)
}

// maxMasks is how many credentials may be told of in one line or part. With 4 MiB of
// bytes more of them would not fit into a line or a chunk run, and only a line that
// was made for that has so many.
const maxMasks = 32 << 10

// hideAll makes one credential of a line, but for its end.
func hideAll(m *mask.Masker, p []byte) []mask.Span {
	body, _ := splitEOL(p)
	return m.All(body, nil)
}

func (r *Recorder) frame(f *frame) {
	r.line = appendFrame(r.line[:0], f)
	ends := int64(0)
	if n := len(f.data); n > 0 && f.data[n-1] == '\n' {
		ends = 1
	}
	r.w.add(meta{seq: f.seq, at: f.at, from: f.from, off: f.off, bytes: int64(len(f.data)), ends: ends}, r.line)
}

// tellClock writes a clock record every clockPeriod, and when the wall clock
// and the monotonic one have moved apart (recorder.md 2.11).
func (r *Recorder) tellClock() {
	wall := r.cfg.wall()
	offset := int64(wall.Round(0).Sub(r.start.Round(0))) - r.now()
	jump := offset - r.offset
	if jump < 0 {
		jump = -jump
	}
	if jump <= int64(clockJump) && wall.Sub(r.clock) < clockPeriod {
		return
	}
	r.clock, r.offset = wall, offset
	r.q.event(&Record{Kind: KindClock, Clock: &Clock{Wall: Time{wall.UTC().Round(0)}, Offset: offset}})
}

// answer flushes for somebody who waits.
func (r *Recorder) answer(req flushRequest) {
	r.work(true)
	r.behind.wait()
	req.done <- r.w.state == writing
}

func (r *Recorder) finish(seal time.Duration) {
	r.work(true)
	r.behind.wait()
	r.pressed = false // what was pressed is with the writer
	if r.broken.Load() {
		return
	}
	r.leave()
	if r.expired.Load() {
		seal = -1 // all of it again, on a disk that was too slow for the rest of it
	}
	r.w.end(seal)
}
