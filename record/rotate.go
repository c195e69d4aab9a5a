package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// With rotation the first segment ends early and is the last to be removed: it
	// holds the handshake and the catalog (recorder.md 2.10).
	firstSegmentBytes = 1 << 20
	firstSegmentTime  = time.Minute
	// MinRotateSize is the smallest segment that makes sense.
	MinRotateSize = 4 << 10
	// rotateRetry is when another file is tried again where none could be begun.
	rotateRetry = 10 * time.Second
)

// rotation has each segment in a file of its own. Its methods are those of the
// writer's goroutine, and do nothing on a nil one.
type rotation struct {
	size  int64         // packed bytes of a segment
	every time.Duration // how long one goes on; 0: any time
	since time.Time     // its first record that is no clock's; zero: there is none
	retry time.Time     // no other file before
	done  bool          // the recording ends: this is the last segment
	// bare says that the header at hand does not name the segment before it: behind a
	// chunk run it cannot until that is sealed. Then its own segment's hash is not final,
	// and the next header is bare as well.
	bare bool
	// ended says that the segment at hand has its closing line and no other could be
	// begun; sum is its hash.
	ended bool
	sum   string

	shelf   *shelf
	sealer  *backSealer
	keeper  *keeper // nil: nothing is removed for the folder's limits
	rotated atomic.Int64
	event   func(*Record)
}

// newRotation is nil where one file is asked for.
func newRotation(cfg *Config, w *writer) *rotation {
	if !cfg.Rotates() {
		return nil
	}
	r := &rotation{size: cfg.segmentBytes(), every: cfg.RotateEvery, shelf: &shelf{}, event: func(*Record) {}}
	r.sealer = newBackSealer(r.shelf, w.sync)
	return r
}

// start is told where records of the recorder's own go.
func (r *rotation) start(cfg *Config, name string, event func(*Record)) {
	if r == nil {
		return
	}
	r.event = event
	if cfg.MaxTotal > 0 || cfg.MaxAge > 0 {
		r.keeper = newKeeper(cfg, name, r)
	}
}

// Rotates tells whether the recording is to be kept in several files. Limits on the
// folder need files that can go.
func (c *Config) Rotates() bool {
	return c.RotateSize > 0 || c.RotateEvery > 0 || c.MaxTotal > 0 || c.MaxAge > 0
}

// segmentBytes is the size of a segment: at most a quarter of every limit, so that
// there are always some that can go.
func (c *Config) segmentBytes() int64 {
	size := int64(maxSegment)
	if c.RotateSize > 0 {
		size = c.RotateSize
	}
	if size = min(size, c.Max/4); c.MaxTotal > 0 {
		size = min(size, c.MaxTotal/4)
	}
	return size
}

// closedFile is a file of this recording that is not written any more.
type closedFile struct {
	name string
	size int64
	n    int // the number of its segment
	// bare says that its header could not name the segment before it yet.
	bare bool
}

// shelf is what is known of them. Others than the writer remove and shrink them.
type shelf struct {
	mu    sync.Mutex
	files []closedFile // the oldest first

	removed, removedBytes atomic.Int64 // of any recording, by this recorder
}

// first is the size of the first segment, if it is closed.
func (s *shelf) first() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.files) > 0 && s.files[0].n == 0 {
		return s.files[0].size
	}
	return 0
}

func (s *shelf) add(f closedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.files {
		if o.name == f.name {
			return
		}
	}
	s.files = append(s.files, f)
}

func (s *shelf) total() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		n += f.size
	}
	return n
}

func (s *shelf) resize(name string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.files {
		if s.files[i].name == name {
			s.files[i].size = size
		}
	}
}

// drop forgets a file that was removed.
func (s *shelf) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.files {
		if f.name == name {
			s.files = append(s.files[:i], s.files[i+1:]...)
			return
		}
	}
}

// oldest is the file to go first; the first segment never does.
func (s *shelf) oldest() (closedFile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.n > 0 {
			return f, true
		}
	}
	return closedFile{}, false
}

// saw is told of each line (nil: of a chunk run) that was written. A segment's time
// begins with its first record that is no clock's: where nothing passes there are not
// ever more files.
func (r *rotation) saw(line []byte) {
	if r != nil && r.since.IsZero() && !bytes.HasPrefix(line, clockLine) && !bytes.HasPrefix(line, removedLine) {
		r.since = time.Now()
	}
}

var clockLine, removedLine = []byte(`{"kind":"clock"`), []byte(`{"kind":"removed"`)

// prev is what the next header says of the segment before it, which without rotation
// (or when it has no closing line) is otherwise.
func (r *rotation) prev(otherwise string) string {
	if r != nil && r.ended {
		return r.sum
	}
	return otherwise
}

// due tells whether the segment at hand ends, by its size or also by its time.
func (w *writer) due(byTime bool) bool {
	r := w.rot
	size, every := r.size, r.every
	if w.head.Segment == 1 { // the header has counted
		size, every = min(size, firstSegmentBytes), firstSegmentTime
		if r.every > 0 {
			every = min(every, r.every)
		}
	}
	return w.pos+int64(len(w.buf)) >= size && !r.since.IsZero() ||
		byTime && every > 0 && !r.since.IsZero() && time.Since(r.since) >= every
}

// maybeRotate begins another file when it is time to.
func (w *writer) maybeRotate(byTime bool) {
	if r := w.rot; r != nil && w.state == writing && !r.done && w.due(byTime) && !time.Now().Before(r.retry) {
		w.rotate()
	}
}

// rotate ends the segment and begins the next one in another file. The new file is
// there and locked before the old one ends: nobody ever sees a recording that is
// written without a lock, and without a place to go on the old file does.
func (w *writer) rotate() {
	r := w.rot
	f, name, err := w.createSegment(w.root)
	if err == nil {
		err = lock(f)
	}
	drop := func() {
		f.Close()
		w.root.Remove(name)
	}
	if err != nil {
		if f != nil {
			drop()
		}
		r.retry = time.Now().Add(rotateRetry)
		w.note(fmt.Sprintf("another file of the recording could not be begun: %v; it goes on in the one at hand", err))
		return
	}
	sum, err := w.pk.endSegment(false, false)
	if err != nil {
		w.fail(err)
	}
	if err != nil || w.write() != nil {
		drop()
		return
	}
	w.good, w.fresh, w.runs = w.pos, loss{}, 0
	if r.bare {
		sum = ""
	}
	old := closedFile{filepath.Base(w.file.Name()), w.pos, w.head.Segment - 1, r.bare}
	oldFile, head := w.file, w.head
	w.head.Prev, w.head.FirstSeq, w.head.At = sum, w.pk.last+1, w.now()
	r.shelf.add(old)
	w.total = r.shelf.total()
	r.since = time.Time{} // nothing is in the new one: flushing it must not end it
	if err = w.begun(f); err == nil {
		err = w.flush()
	} else {
		w.fail(err)
	}
	if err != nil || w.state != writing {
		// Nothing but its header is in it. The next try is that after a write error.
		drop()
		w.file, w.head = oldFile, head
		r.ended, r.sum = true, sum
		return
	}
	r.bare = sum == ""
	r.next()
	r.rotated.Add(1)
	unlock(oldFile)
	r.sealer.give(w, oldFile, old)
	w.makeRoom(r.size)
	r.keeper.wake()
}

// next is told that another segment has begun.
func (r *rotation) next() { r.since, r.ended, r.retry = time.Time{}, false, time.Time{} }

// left is told that a write error ended a file, and another one has been begun.
func (r *rotation) left(w *writer, old *os.File) {
	if r == nil {
		return
	}
	size := int64(0)
	if fi, err := old.Stat(); err == nil {
		size = fi.Size()
	}
	r.shelf.add(closedFile{filepath.Base(old.Name()), size, w.head.Segment - 2, r.bare})
	w.total = r.shelf.total()
	r.bare = w.head.Prev == ""
	r.next()
}

// makeRoom removes the oldest segments of this recording but the first until n more
// bytes are within its cap (recorder.md 2.16), and tells whether any went.
func (w *writer) makeRoom(n int64) (any bool) {
	r := w.rot
	if r == nil {
		return false
	}
	n += w.pos + int64(len(w.buf)) + int64(w.pk.pending()) + endReserve
	if n+r.shelf.first() > w.cap {
		return false // whatever went, it would be for nothing
	}
	var gone Removed
	for {
		if w.total = r.shelf.total(); w.total+n <= w.cap {
			break
		}
		f, ok := r.shelf.oldest()
		if !ok {
			break
		}
		any = true
		switch err := w.root.Remove(f.name); {
		case err == nil:
			gone.segment(f.n, f.size)
		case !os.IsNotExist(err):
			w.note(fmt.Sprintf("an old segment could not be removed: %v", err))
			return false
		}
		r.shelf.drop(f.name)
	}
	r.tell(&gone, LimitRecording)
	return any
}

// tell counts files that were removed, and says so in the recording.
func (r *rotation) tell(gone *Removed, why string) {
	if gone.Files == 0 {
		return
	}
	gone.Why = why
	r.shelf.removed.Add(gone.Files)
	r.shelf.removedBytes.Add(gone.Bytes)
	r.event(&Record{Kind: KindRemoved, Removed: gone})
}

// over is told that the recording ends: no other segment is begun.
func (r *rotation) over() {
	if r != nil {
		r.done = true
		r.keeper.end()
	}
}

// end lets go of what runs in the background.
func (r *rotation) end() {
	if r != nil {
		r.keeper.end()
		r.sealer.end(0)
	}
}

// sealLast seals the last file behind those that wait for it, within limit.
func (r *rotation) sealLast(w *writer, limit time.Duration) {
	r.sealer.last(w, limit)
}
