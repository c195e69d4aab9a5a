package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"
)

// Repaired says what a repair did.
type Repaired struct {
	Records int64 // that are in the new file
	Dropped int   // lines behind the last good check
	Torn    bool  // the recording had no closing record and got one that says so
	Damage  error // why it was cut, when it was not just cut off
	Joined  int   // files that became one
}

var errHeld = errors.New("is being written by a recorder: wait until it has ended")

// Repair writes the part of a recording that can be believed to a new sealed
// file: all lines up to the last good check, byte for byte, and the closing
// record that may be missing. The id stays; the header says what it was derived
// from. Nothing is written when the source is live, cannot be read, or is out.
func Repair(path, out string, tool string, opts Options) (*Repaired, error) {
	return derive("repair", path, out, tool, opts, nil)
}

// derive writes a new sealed recording of what can be believed of another, and
// behind its records those that more adds. verb is for errors.
func derive(verb, path, out, tool string, opts Options, more func(add func(rec *Record) error) error) (*Repaired, error) {
	r, err := Open(path, opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if same(r.files[0], out) {
		return nil, fmt.Errorf("%s: input and output are the same file: %s writes a new one", out, verb)
	}
	if locked(r.f) {
		return nil, fmt.Errorf("%s: %w", path, errHeld)
	}
	path = r.files[0]
	sum, err := fileSum(path)
	if err != nil {
		return nil, err
	}
	root, _, err := openDir(filepath.Dir(out))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Base(out)
	if _, err := root.Lstat(name); err == nil {
		return nil, fmt.Errorf("%s: is there already: %s overwrites nothing", out, verb)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	tmp := name + sealSuffix + randomHex(4)
	f, err := create(root, tmp)
	if err != nil {
		return nil, err
	}
	done, err := rewrite(r, f, Derived{SHA256: sum, Tool: tool}, more)
	if err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		// Link refuses to overwrite what has come meanwhile; rename would not.
		if err = root.Link(tmp, name); err == nil {
			err = root.Remove(tmp)
		}
	}
	if err != nil {
		root.Remove(tmp)
		if err == errHeld {
			out = path
		}
		return nil, fmt.Errorf("%s: %w", out, err)
	}
	return done, nil
}

// rewrite copies the records that r gives out, and adds those of more to the last
// segment. Segments keep their borders.
func rewrite(r *Reader, dst io.Writer, from Derived, more func(add func(rec *Record) error) error) (*Repaired, error) {
	pk, err := newPacker(dst, zstd.SpeedDefault)
	if err != nil {
		return nil, err
	}
	var (
		line    []byte
		open    bool     // a segment is open
		closing *Closing // its closing line, not written yet: it may have to be the last
		prev    string
		segment = -1  // the number of the one at hand
		at      int64 // of the last record
	)
	end := func(last, torn bool) (err error) {
		open, closing = false, nil
		prev, err = pk.endSegment(last, torn)
		return err
	}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case rec.Kind == KindHeader:
			if open { // without a closing line, the segment before was cut off
				if err := end(false, closing == nil || closing.Torn); err != nil {
					return nil, err
				}
			}
			before := prev
			if rec.Header.Segment != segment+1 {
				before = rec.Header.Prev // the segment before it is not there
			}
			segment = rec.Header.Segment
			if line, err = appendHeader(line[:0], rec.Line, before, &from); err != nil {
				return nil, err
			}
			if len(line) > maxHeader {
				// Readers would refuse it: then it does not say where it comes from.
				if line, err = appendHeader(line[:0], rec.Line, before, nil); err != nil {
					return nil, err
				}
			}
			open, pk.last = true, rec.Header.FirstSeq-1
			err = pk.line(line, 0)
		case rec.Kind == KindClosing:
			closing = rec.Closing
		case rec.Line == nil: // made by the reader: not in the file
			continue
		default:
			line = append(append(line[:0], rec.Line...), '\n')
			err = pk.line(line, rec.Seq)
			at = max(at, rec.At)
		}
		if err != nil {
			return nil, err
		}
	}
	is := r.End()
	if is.State == Live {
		return nil, errHeld // the last of its files
	}
	done := &Repaired{Records: is.Records, Dropped: is.Unchecked, Damage: is.Damage, Joined: len(r.files)}
	done.Torn = closing == nil || !closing.Last || closing.Torn
	if more != nil {
		if err := more(func(rec *Record) error {
			rec.Seq, rec.At = pk.last+1, at
			done.Records++
			var err error
			if line, err = appendEvent(line[:0], rec); err != nil {
				return err
			}
			return pk.line(line, rec.Seq)
		}); err != nil {
			return nil, err
		}
	}
	return done, end(true, done.Torn)
}

// appendHeader appends a header line with another prev and, if from is given,
// derivedFrom; all other members as they stand, those of later versions included.
func appendHeader(dst, line []byte, prev string, from *Derived) ([]byte, error) {
	members, err := frameMembers(line, nil)
	if err != nil {
		return nil, fmt.Errorf("header line: %w", err)
	}
	dst = append(dst, '{')
	add := func(name string, value []byte) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(dst, '"'), name...), '"', ':'), value...)
	}
	for _, m := range members {
		if n := string(m.name); n != "prev" && (n != "derivedFrom" || from == nil) {
			add(n, m.value)
		}
	}
	if prev != "" {
		add("prev", appendString(nil, []byte(prev)))
	}
	if from != nil {
		b, err := json.Marshal(from)
		if err != nil {
			return nil, err
		}
		add("derivedFrom", b)
	}
	return append(dst, '}', '\n'), nil
}

func same(a, b string) bool {
	fa, err := os.Stat(a)
	if err != nil {
		return false
	}
	fb, err := os.Stat(b)
	return err == nil && os.SameFile(fa, fb)
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
