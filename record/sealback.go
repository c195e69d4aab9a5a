package record

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// sealBehind is how many closed files may wait to be sealed. More are left as they
	// are: valid, only larger.
	sealBehind = 16
	// sealShare: for each moment of sealing so many pass in which it rests, so that it
	// takes a fifth of a processor. A thread that only gets time that nobody wants would
	// hold up the collector on a busy machine.
	sealShare = 4
	sealPause = 250 * time.Millisecond // at most, at a time
)

// backSealer seals closed segments, in their order, while the next ones are written.
type backSealer struct {
	shelf *shelf
	sync  func(*os.File) error
	jobs  chan sealJob
	hurry chan struct{} // closed: no rest any more
	stop  chan struct{} // closed: nothing is sealed any more
	done  chan struct{}
	once  [3]sync.Once

	prev  string // the hash of the segment prevN, as its file has it now
	prevN int
}

type sealJob struct {
	sealing
	file closedFile
	keep bool // the file is the writer's to close
}

func newBackSealer(s *shelf, sync func(*os.File) error) *backSealer {
	b := &backSealer{shelf: s, sync: sync, jobs: make(chan sealJob, sealBehind), prevN: -1,
		hurry: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		for j := range b.jobs {
			b.one(&j)
		}
	}()
	return b
}

// give has a closed file sealed, and closed, some time.
func (b *backSealer) give(w *writer, f *os.File, file closedFile) {
	j, err := b.job(w, f, file)
	if err != nil {
		f.Close()
		return
	}
	select {
	case b.jobs <- j:
	default: // it stays as it is
		f.Close()
		j.root.Close()
	}
}

func (b *backSealer) job(w *writer, f *os.File, file closedFile) (sealJob, error) {
	root, err := w.root.OpenRoot(".") // a folder that vanishes gives the writer another one
	j := sealJob{file: file}
	j.sealing = sealing{root: root, f: f, size: file.size, sync: b.sync,
		src: &restful{b: b, r: io.NewSectionReader(f, 0, file.size)}}
	return j, err
}

// one seals a file, if there is time for it.
func (b *backSealer) one(j *sealJob) {
	defer func() {
		if recover() != nil { // the file is valid as it is
			b.prevN = -1
		}
		j.root.Close()
		if !j.keep {
			j.f.Close()
		}
	}()
	if b.stopped() {
		return
	}
	if j.file.bare && b.prevN == j.file.n-1 {
		j.prev = b.prev
	}
	if j.deadline.IsZero() {
		j.deadline = time.Now().Add(time.Hour)
	}
	b.prevN = -1
	if j.do() != nil {
		return // its own hash may not be known: the next header stays as it is
	}
	b.prev, b.prevN = j.sum, j.file.n
	b.shelf.resize(j.file.name, j.packed)
}

func (b *backSealer) stopped() bool {
	select {
	case <-b.stop:
		return true
	default:
		return false
	}
}

// last seals the writer's file behind the others. After limit what is not done is
// left as it is.
func (b *backSealer) last(w *writer, limit time.Duration) {
	b.once[0].Do(func() { close(b.hurry) })
	if limit <= 0 {
		b.end(0)
		return
	}
	if j, err := b.job(w, w.file, closedFile{filepath.Base(w.file.Name()), w.pos, w.head.Segment - 1, w.rot.bare}); err == nil {
		j.keep, j.deadline = true, time.Now().Add(limit)
		select {
		case b.jobs <- j:
		default:
			j.root.Close() // there are so many before it that there is no time for it
		}
	}
	b.end(limit)
}

// end waits for what is under way for at most limit and a step of the disk.
func (b *backSealer) end(limit time.Duration) {
	b.once[0].Do(func() { close(b.hurry) })
	b.once[1].Do(func() { close(b.jobs) })
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case <-b.done:
		case <-t.C:
		}
	}
	b.once[2].Do(func() { close(b.stop) })
	<-b.done
}

// restful reads a file for the sealer, which rests after each piece.
type restful struct {
	b     *backSealer
	r     io.Reader
	began time.Time
}

func (r *restful) Read(p []byte) (int, error) {
	if r.b.stopped() {
		return 0, errNoTime
	}
	if !r.began.IsZero() {
		t := time.NewTimer(min(sealShare*time.Since(r.began), sealPause))
		select {
		case <-t.C:
		case <-r.b.hurry:
		}
		t.Stop()
	}
	r.began = time.Now()
	return r.r.Read(p)
}
