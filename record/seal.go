package record

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// sealSuffix ends the name of a file that is being sealed. One that is left
// over from a kill is no recording and may be removed.
const sealSuffix = ".sealing-"

var errNoTime = errors.New("sealing takes too long")

// seal writes the whole file's lines again, without flushes, and puts the result in
// the file's place. It is given up when it takes longer than limit (and one step of
// the disk) or anything goes wrong: the file is valid as it is, and repair seals it later.
func (w *writer) seal(limit time.Duration) error {
	s := sealing{root: w.root, f: w.file, src: io.NewSectionReader(w.file, 0, w.pos), size: w.pos, sync: w.sync, deadline: time.Now().Add(limit)}
	return s.do()
}

// sealing is the sealing of one file that is not written any more.
type sealing struct {
	root     *os.Root
	f        *os.File
	src      io.Reader // of its bytes
	size     int64
	sync     func(*os.File) error
	deadline time.Time
	// prev is the hash of the segment in the file before, for a header that could not
	// say it yet; empty: it is left as it stands.
	prev string

	sum    string // of the last segment, when it is done
	packed int64  // bytes of the sealed file
}

func (s *sealing) do() error {
	if free, floor, ok := floorOf(s.f); ok && free-s.size < floor {
		return errors.New("no space to seal")
	}
	// The lock stays with the open file, which is what a reader finds until the rename.
	name := filepath.Base(s.f.Name())
	tmp := name + sealSuffix + randomHex(4)
	f, err := create(s.root, tmp)
	if err != nil {
		return err
	}
	out := &syncer{f: f, sync: s.sync, step: firstSync, deadline: s.deadline}
	s.sum, err = repack(s.src, out, out.deadline, s.prev)
	if err == nil {
		err = out.flush()
	}
	s.packed = out.size
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil && !named(s.root, s.f, name) {
		err = errors.New("the recording's file was moved or removed")
	}
	if err == nil {
		err = s.root.Rename(tmp, name)
	}
	if err != nil {
		s.root.Remove(tmp)
	}
	return err
}

// syncer writes a file that is on the disk as it grows. A sync of all of it at the
// end cannot be limited: on a slow disk it takes as long as it takes, and a process
// that has one under way does not end before.
type syncer struct {
	f        *os.File
	sync     func(*os.File) error
	size     int64 // bytes written
	due      int   // bytes that were not synced yet
	step     int   // are synced at the latest then
	deadline time.Time
}

const (
	firstSync = 256 << 10
	leastSync = 64 << 10
	mostSync  = 8 << 20
)

func (s *syncer) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	s.size += int64(n)
	if s.due += n; err == nil && s.due >= s.step {
		err = s.flush()
	}
	return n, err
}

// flush syncs what is due, unless there is no time for more.
func (s *syncer) flush() error {
	began := time.Now()
	if began.After(s.deadline) {
		return errNoTime
	}
	s.due = 0
	err := s.sync(s.f)
	if took := time.Since(began); took > slowStep {
		s.step = max(s.step/2, leastSync)
	} else if took < quickStep {
		s.step = min(s.step*2, mostSync)
	}
	return err
}

// named tells whether the file is still what its name stands for: somebody may
// have moved it away and begun another recording under the name.
func named(root *os.Root, f *os.File, name string) bool {
	there, err := root.Lstat(name)
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(there, ours)
}

// repack copies the lines of a whole file, checks made anew and chunk runs as
// lines. Nothing else changes, save what a run left open: the hashes of its
// segment. A zero deadline means none. prev, if it is known, is the hash of the segment
// before the first one; that of the last one is returned.
func repack(src io.Reader, dst io.Writer, deadline time.Time, prev string) (sum string, err error) {
	left := int64(1) << 62
	lr, err := newLineReader(src, 1<<20, 0, &left, nil)
	if err != nil {
		return "", err
	}
	defer lr.close()
	pk, err := newPacker(dst, zstd.SpeedDefault)
	if err != nil {
		return "", err
	}
	s := sealer{pk: pk, deadline: deadline, prev: prev}
	for {
		it, err := lr.next()
		if err == io.EOF {
			return s.prev, pk.endFrame()
		}
		if err != nil {
			return "", err
		}
		for line := it.line; ; {
			if it.run != nil {
				if line, err = it.run.next(); err != nil || line == nil {
					break
				}
			}
			if err = s.line(line); err != nil || it.run == nil {
				break
			}
		}
		if err != nil {
			return "", err
		}
	}
}

// sealer writes lines again.
type sealer struct {
	pk       *packer
	deadline time.Time
	n        int
	open     bool   // a segment is
	prev     string // the hash of the segment before
	buf      []byte
	rec      Record
}

func (s *sealer) line(line []byte) error {
	// Packing 64 KiB takes a millisecond at most; a look at the clock nothing.
	if s.n -= 1 + len(line)>>8; s.n < 0 {
		s.n = 256
		if !s.deadline.IsZero() && time.Now().After(s.deadline) {
			return errNoTime
		}
	}
	kind, ok := kindOf(line)
	if !ok {
		return errors.New("a line does not begin with its kind")
	}
	s.buf = append(append(s.buf[:0], line...), '\n')
	switch kind {
	case KindCheck:
		return nil
	case KindHeader:
		if s.open {
			return errors.New("a segment has no closing line")
		}
		s.open = true
		if s.prev != "" {
			var err error
			if s.buf, err = appendHeader(s.buf[:0], line, s.prev, nil); err != nil {
				return err
			}
		}
		return s.pk.line(s.buf, 0)
	}
	// The last seq is in checks, so it is read off the line again.
	if err := decodeLine(line, &s.rec); err != nil {
		return err
	}
	if c := s.rec.Closing; c != nil {
		var err error
		s.open, s.pk.last, s.pk.records = false, c.LastSeq, c.Records
		s.prev, err = s.pk.endSegment(c.Last, c.Torn)
		return err
	}
	return s.pk.line(s.buf, s.rec.Seq)
}
