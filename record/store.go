package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// storeFrames is how many unpacked zstd frames a store keeps.
const storeFrames = 2

// Store fetches the data of single records by their Ref, so that what reads a
// recording need not keep its values. It is not safe for several goroutines.
type Store struct {
	files    []string
	open     []*os.File
	frames   []storedFrame // most recently used last
	run      storedRun
	decoders *Decoders
	rec      Record // of Fetch
}

// storedRun is the chunk run that was read last, where it stands.
type storedRun struct {
	file  int32
	at    int64
	bytes []byte
	r     *runReader
}

type storedFrame struct {
	file int32
	at   int64
	data []byte
}

// NewStore is a store over the files of a recording, as [Reader.Files] lists them.
func NewStore(files []string) *Store {
	return &Store{files: slices.Clone(files), open: make([]*os.File, len(files))}
}

// Files tells the store of files that the reader has found since.
func (s *Store) Files(files []string) {
	for len(s.files) < len(files) {
		s.files = append(s.files, files[len(s.files)])
		s.open = append(s.open, nil)
	}
}

// Keep takes over the zstd frame that r unpacked last, if it has it in one piece:
// the frame of a small recording need not be unpacked again. It uses r's Decoders, too.
func (s *Store) Keep(r *Reader) {
	s.decoders = r.opts.Decoders
	if f := r.lr.piece; f.data != nil && len(s.frames) < storeFrames {
		s.frames = append(s.frames, f)
	}
}

// Close lets go of the files.
func (s *Store) Close() error {
	var errs []error
	for _, f := range s.open {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Record reads the record at ref again.
func (s *Store) Record(ref Ref) (*Record, error) {
	rec := new(Record)
	if err := s.read(ref, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

func (s *Store) read(ref Ref, rec *Record) error {
	line, err := s.line(ref)
	if err != nil {
		return err
	}
	if err := decodeLine(line, rec); err != nil {
		return fmt.Errorf("%s: %w", s.files[ref.File], err)
	}
	rec.Ref = ref
	return nil
}

// Fetch returns the data of the records at refs, one after the other: the whole
// line when refs are the parts of one.
func (s *Store) Fetch(refs []Ref) ([]byte, error) {
	if len(refs) == 1 {
		if err := s.read(refs[0], &s.rec); err != nil {
			return nil, err
		}
		return s.rec.Data, nil
	}
	var all []byte
	for _, ref := range refs {
		rec, err := s.Record(ref)
		if err != nil {
			return nil, err
		}
		all = append(all, rec.Data...)
	}
	return all, nil
}

func (s *Store) line(ref Ref) ([]byte, error) {
	if ref.File < 0 || int(ref.File) >= len(s.files) {
		return nil, fmt.Errorf("no file %d in this recording", ref.File)
	}
	end := ref.Off + int64(ref.Len)
	for i, f := range s.frames {
		if f.file == ref.File && f.at == ref.Frame && int64(len(f.data)) >= end {
			s.frames = append(append(s.frames[:i], s.frames[i+1:]...), f)
			return f.data[ref.Off:end:end], nil
		}
	}
	if r := &s.run; r.bytes != nil && r.file == ref.File && r.at == ref.Frame {
		return s.runLine(ref)
	}
	data, err := s.unpack(ref, end)
	if err == errIsRun {
		return s.runLine(ref)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: zstd frame at byte %d: %w", s.files[ref.File], ref.Frame, err)
	}
	if len(s.frames) == storeFrames {
		s.frames = s.frames[:copy(s.frames, s.frames[1:])]
	}
	s.frames = append(s.frames, storedFrame{ref.File, ref.Frame, data})
	return data[ref.Off:end:end], nil
}

var errIsRun = errors.New("is a chunk run")

// runLine returns a line of the run at hand. Lines asked for in order are made
// once; going back begins again.
func (s *Store) runLine(ref Ref) ([]byte, error) {
	r := &s.run
	if r.r == nil || r.r.n > ref.Off {
		var err error
		if r.r, _, err = openRun(r.bytes); err != nil {
			return nil, err
		}
	}
	for {
		line, err := r.r.next()
		if err != nil {
			return nil, err
		}
		if line == nil {
			return nil, fmt.Errorf("no line %d in the chunk run at byte %d", ref.Off, ref.Frame)
		}
		if r.r.n == ref.Off+1 {
			return line, nil
		}
	}
}

// unpack reads a frame from its beginning to its end, or to where it is cut
// off, if that is behind end. Plain files are one frame without an end: there,
// and in any frame over the format's size, only what is needed is read.
func (s *Store) unpack(ref Ref, end int64) ([]byte, error) {
	f := s.open[ref.File]
	if f == nil {
		var err error
		if f, err = os.Open(s.files[ref.File]); err != nil {
			return nil, err
		}
		s.open[ref.File] = f
	}
	src := io.NewSectionReader(f, ref.Frame, 1<<62)
	z := newZframes(src, ref.Frame, 1<<20)
	typ, magic, r, err := z.next()
	if err == nil && typ == skipFrame && magic == runMagic {
		run, err := io.ReadAll(io.LimitReader(r, maxRun))
		if err != nil {
			return nil, err
		}
		s.run = storedRun{file: ref.File, at: ref.Frame, bytes: run}
		return nil, errIsRun
	}
	if errors.Is(err, errNotZstd) && ref.Frame == 0 {
		data := make([]byte, end)
		_, err := f.ReadAt(data, 0)
		return data, err
	}
	if err != nil {
		return nil, err
	}
	if typ != zstdFrame {
		return nil, errNotZstd
	}
	dec, err := s.decoders.take()
	if err != nil {
		return nil, err
	}
	defer s.decoders.give(dec)
	if err := dec.Reset(r); err != nil {
		return nil, err
	}
	limit := max(end, maxBatch)
	// A frame of the format's size fits at once: a line more may be in it, and its checks.
	buf := bytes.NewBuffer(make([]byte, 0, max(end, frameLines)+frameLines/8))
	_, err = buf.ReadFrom(io.LimitReader(dec, limit))
	data := buf.Bytes()
	if int64(len(data)) < end {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return data, nil
}
