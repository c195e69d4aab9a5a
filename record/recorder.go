package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
)

// Config is what a recording is made with.
type Config struct {
	// Dir is the folder, Name the file in it; an empty Name makes a unique one.
	Dir, Name string
	Version   string // of sixlink
	Transport string
	Level     Level
	Labels    map[string]string
	Command   []string
	Cwd       string
	Env       []string // NAME=value, as the server gets it
	PID       int
	// Max is the cap in packed bytes; 0: DefaultMaxRecording.
	Max int64
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
	press func() bool
}

// Recorder takes copies of what a relay moves and writes the recording. Its
// methods may be called from several goroutines; none of them returns an error,
// since traffic must not depend on the recording. A nil Recorder records nothing.
type Recorder struct {
	q      *queue
	w      *writer
	cfg    Config
	start  time.Time
	flush  chan flushRequest
	stop   chan time.Duration
	done   chan struct{}
	broken atomic.Bool

	// Of the recorder's goroutine, and of its worker while it waits for that.
	pressure
	frames    [3]framer
	spans     []mask.Span
	line      []byte
	whole     bool // the block at hand ends where its direction does, or a gap begins
	scratch   frame
	giveBlock func(*block)
	giveFrame func(*frame)
	taken     []*slab
	next      int // of taken
	worker    *worker
	workerJob func()
	late      *time.Timer
	panicked  any
	clock     time.Time // of the last clock record
	offset    int64     // that it told
}

type flushRequest struct{ done chan struct{} }

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
	r := &Recorder{cfg: cfg, start: start, clock: start, flush: make(chan flushRequest), stop: make(chan time.Duration, 1), done: make(chan struct{})}
	head := Header{
		Format: [2]int{FormatMajor, FormatMinor}, ID: id, FirstSeq: 1, Start: Time{start.UTC().Round(0)},
		Recorder: Software{"sixlink", cfg.Version}, Transport: cfg.Transport, Level: cfg.Level, Labels: cfg.Labels,
		MaskKey: cfg.MaskKey,
	}
	more := r.describe(&head)
	w, err := openWriter(&r.cfg, head, r.now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(cfg.Dir, cfg.Name), err)
	}
	r.w = w
	r.giveBlock, r.giveFrame, r.workerJob = r.block, r.frame, r.onWorker
	r.worker, r.late = newWorker(), time.NewTimer(time.Hour)
	r.q = newQueue(r.now, !cfg.Lossless)
	w.patient = func() bool { return !r.q.isLossy() }
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

// describe fills in what was started. What does not fit into the header's line
// is returned as start records.
func (r *Recorder) describe(h *Header) (more []*Record) {
	argv := r.cfg.Command
	if m := r.cfg.Masker; m != nil {
		argv = m.Argv()
		h.Cwd = m.String(r.cfg.Cwd)
	} else {
		h.Cwd = r.cfg.Cwd
	}
	names := make([]string, 0, len(r.cfg.Env))
	for _, kv := range r.cfg.Env {
		name, value, _ := strings.Cut(kv, "=")
		names = append(names, name)
		for _, keep := range envValues {
			if name == keep && len(value) <= 4<<10 {
				if h.EnvValues == nil {
					h.EnvValues = map[string]string{}
				}
				if r.cfg.Masker != nil {
					value = r.cfg.Masker.String(value)
				}
				h.EnvValues[name] = value
			}
		}
	}
	sort.Strings(names)
	const room = 16 << 10
	h.Command, argv = split(argv, room)
	h.Env, names = split(names, room)
	for len(argv) > 0 || len(names) > 0 {
		s := &Start{}
		s.Command, argv = split(argv, 1<<20)
		s.Env, names = split(names, 1<<20)
		more = append(more, &Record{Kind: KindStart, Start: s})
	}
	return more
}

// split takes words from the front while they stay under n bytes, one at least.
func split(words []string, n int) (front, rest []string) {
	for i, w := range words {
		// Six bytes is the longest escape of one.
		if n -= 6*len(w) + 3; n < 0 && i > 0 {
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
	r.q.event(&rec)
}

// Flush waits until all that was offered before is in the file, or limit has
// passed. A lossless recorder that cannot write in that time stops waiting for
// good, so that a full disk does not hold up a signal.
func (r *Recorder) Flush(limit time.Duration) bool {
	if r == nil {
		return true
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	req := flushRequest{make(chan struct{})}
	select {
	case r.flush <- req:
		select {
		case <-req.done:
			return true
		case <-r.done:
			return false
		case <-t.C:
		}
	case <-r.done:
		return false
	case <-t.C:
	}
	r.q.giveUp()
	return false
}

// Close writes what is queued and the closing record, then seals for at most
// seal. Nothing may be offered afterwards.
func (r *Recorder) Close(seal time.Duration) {
	if r == nil {
		return
	}
	r.q.close()
	r.stop <- seal
	<-r.done
}

// Lossy tells whether anything was not kept.
func (r *Recorder) Lossy() bool { return r != nil && (r.broken.Load() || r.w.lost) }

// run is the recorder's own goroutine. The relay never waits for it.
func (r *Recorder) run() {
	defer close(r.done)
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
			r.work(true)
			close(req.done)
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
			r.work(true)
			close(req.done)
			continue
		case seal := <-r.stop:
			return seal, true
		}
		open := r.q.cutOld() > 0
		if r.work(hurry) == 0 && !open {
			return 0, false
		}
		r.tellClock()
	}
}

// work writes all that is queued and flushes, on the worker's thread unless there
// is reason to hurry. It returns how many entries there were.
func (r *Recorder) work(hurry bool) int {
	r.taken, r.next = r.q.take(r.taken[:0]), 0
	n := 0
	for _, s := range r.taken {
		n += len(s.entries)
	}
	r.press(r.taken)
	if !hurry && !r.pressed && n > 0 {
		r.worker.do(r.workerJob, r.late)
		if r.panicked != nil {
			panic(r.panicked)
		}
	}
	r.steps(nil)
	return n
}

// steps writes what was taken and flushes; stop ends it between two slabs.
func (r *Recorder) steps(stop *atomic.Bool) {
	for r.next < len(r.taken) {
		if stop != nil && stop.Load() {
			return
		}
		s := r.taken[r.next]
		for j := range s.entries {
			r.entry(&s.entries[j])
		}
		r.q.release(s)
		r.taken[r.next] = nil
		r.next++
	}
	r.endRun()
	r.w.flush()
	if cap(r.line) > bufferBytes {
		r.line = nil
	}
}

// onWorker is the worker's job.
func (r *Recorder) onWorker() {
	defer func() { r.panicked = recover() }()
	r.steps(&r.worker.stop)
}

func (r *Recorder) entry(e *entry) {
	if e.typ != entryEvent {
		r.whole = e.whole || e.typ == entryEnd
		r.frames[index(e.from)].add(e, r.giveBlock)
		return
	}
	if g := e.event.Gap; g != nil {
		for from := range g.Streams {
			r.frames[index(from)].lost()
		}
		r.w.lost = true
	}
	m := meta{seq: e.event.Seq}
	line, err := appendEvent(r.line[:0], e.event)
	if err != nil {
		r.w.miss(&m)
		return
	}
	r.line = line
	if r.pressed {
		r.chunks = appendRunLine(r.chunks, line)
		r.inRun(m, 1)
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
		for _, s := range r.spans {
			b.masked = append(b.masked, Mask(s))
		}
	}
	if !r.pressed {
		b.frames(&r.scratch, r.giveFrame)
		return
	}
	r.chunks = appendBlock(r.chunks, b)
	ends := countLF(b.data)
	m := meta{seq: b.seq, from: b.from, off: b.off, bytes: int64(len(b.data)), ends: ends}
	if b.last {
		ends++
	}
	m.last = b.seq + ends - 1
	r.inRun(m, ends)
}

func (r *Recorder) frame(f *frame) {
	r.line = appendFrame(r.line[:0], f)
	ends := int64(0)
	if n := len(f.data); n > 0 && f.data[n-1] == '\n' {
		ends = 1
	}
	r.w.add(meta{seq: f.seq, from: f.from, off: f.off, bytes: int64(len(f.data)), ends: ends}, r.line)
}

// tellClock writes a clock record every clockPeriod, and when the wall clock
// and the monotonic one have moved apart (recorder.md 2.11).
func (r *Recorder) tellClock() {
	wall := time.Now()
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

func (r *Recorder) finish(seal time.Duration) {
	r.work(true)
	r.w.end(seal)
}
