package record

import (
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// sealSuffix ends the name of a file that is being sealed. One that is left
// over from a kill is no recording and may be removed.
const sealSuffix = ".sealing"

var errNoTime = errors.New("sealing takes too long")

// seal writes the whole file's lines again, without flushes, and puts the result in
// the file's place. It is given up when it takes longer than limit or anything
// goes wrong: the file is valid as it is, and repair seals it later.
func (w *writer) seal(limit time.Duration) error {
	if free, floor, ok := w.floor(); ok && free-w.pos < floor {
		return errors.New("no space to seal")
	}
	// The lock stays with the open file, which is what a reader finds until the rename.
	name := filepath.Base(w.file.Name())
	tmp := name + sealSuffix
	f, err := create(w.root, tmp)
	if err != nil {
		return err
	}
	err = repack(io.NewSectionReader(w.file, 0, w.pos), f, time.Now().Add(limit))
	if err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil && removed(w.file) {
		err = errors.New("the recording's file was removed")
	}
	if err == nil {
		err = w.root.Rename(tmp, name)
	}
	if err != nil {
		w.root.Remove(tmp)
	}
	return err
}

// repack copies the lines of a whole file, checks made anew. A zero deadline
// means none.
func repack(src io.Reader, dst io.Writer, deadline time.Time) error {
	left := int64(1) << 62
	lr, err := newLineReader(src, 0, &left)
	if err != nil {
		return err
	}
	defer lr.close()
	pk, err := newPacker(dst, zstd.SpeedDefault)
	if err != nil {
		return err
	}
	var buf []byte
	for n := 0; ; n++ {
		line, _, err := lr.next()
		if err == io.EOF {
			return pk.endFrame()
		}
		if err != nil {
			return err
		}
		kind, ok := kindOf(line)
		if !ok {
			return errors.New("a line does not begin with its kind")
		}
		if kind == KindCheck {
			continue
		}
		if n%256 == 0 && !deadline.IsZero() && time.Now().After(deadline) {
			return errNoTime
		}
		// A check tells the last seq, so it is read off the line again.
		if kind != KindHeader && kind != KindClosing {
			var rec Record
			if err := decodeLine(line, &rec); err != nil {
				return err
			}
			pk.last = rec.Seq
		}
		buf = append(append(buf[:0], line...), '\n')
		if pk.frame > 0 && pk.frame+len(buf) > frameLines {
			if err := pk.endFrame(); err != nil {
				return err
			}
		}
		if err := pk.raw(buf); err != nil {
			return err
		}
	}
}
