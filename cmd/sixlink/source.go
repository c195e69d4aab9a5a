package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
)

// recordingSource reads the recordings of a report when it asks for them.
type recordingSource struct {
	paths map[string]string // by the recordings' ids
	opts  record.Options
	key   string     // of sessions over HTTP
	talks *talkFlags // what was joined beside the recordings
}

// sourceOf finds the recordings that a verdict names among files. What none of its trials
// is of is told, and so is what cannot be read.
func sourceOf(s stdio, name string, v *report.Verdict, files []string, opts record.Options, key string) *recordingSource {
	src := &recordingSource{paths: map[string]string{}, opts: opts, key: key}
	known, err := v.Recordings()
	if err != nil {
		fail(s, name, err, 0)
	}
	for _, path := range files {
		r, err := record.Open(path, opts)
		if err != nil {
			fail(s, name, err, 0)
			continue
		}
		h := r.Header()
		if !known[h.ID] {
			fmt.Fprintf(s.err, "sixlink %s: %s: the verdict does not name this recording\n", name, path)
		}
		if h.Segment == 0 || src.paths[h.ID] == "" {
			src.paths[h.ID] = path
		}
		r.Close()
	}
	return src
}

func (s *recordingSource) Recording(id string) (*report.Recording, func(), error) {
	path := s.paths[id]
	if path == "" {
		return nil, nil, nil
	}
	l, err := loadByKey(path, s.opts, s.key)
	if err != nil {
		return nil, nil, err
	}
	if l.header.ID != id {
		l.Close()
		return nil, nil, fmt.Errorf("%s: is another recording now", path)
	}
	out := &report.Recording{Path: path, Header: l.header, End: l.end, Sessions: l.sessions, Clock: l.clock}
	lines, err := l.talk.Lines()
	if err != nil {
		lines = nil // one that is not whole tells no story
	}
	if named := s.talks.of(id); lines == nil && len(named) > 0 {
		var b bytes.Buffer
		if err := host.Write(&b, named...); err != nil {
			l.Close()
			return nil, nil, err
		}
		lines = b.Bytes()
	}
	if lines != nil {
		out.Conversation = bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"))
	}
	if err := s.stderr(out); err != nil {
		l.Close()
		return nil, nil, err
	}
	return out, l.Close, nil
}

// stderr reads what the server wrote to stderr: the reader of sessions leaves it out.
func (s *recordingSource) stderr(out *report.Recording) error {
	r, err := record.Open(out.Path, s.opts)
	if err != nil {
		return err
	}
	defer r.Close()
	left := report.MaxStderr
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return nil // what is readable was read: the sessions tell of the rest
		case rec.Kind != record.KindFrame || rec.From != record.Stderr:
			continue
		case len(rec.Data) > left:
			out.StderrCut = true
			return nil
		}
		left -= len(rec.Data)
		if n := len(out.Stderr); rec.Cont && n > 0 { // a line that came in parts
			out.Stderr[n-1].Text += string(rec.Data)
			continue
		}
		out.Stderr = append(out.Stderr, report.Line{Seq: rec.Seq, At: rec.At, Text: string(rec.Data)})
	}
}
