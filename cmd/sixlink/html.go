package main

import (
	"errors"
	"io"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/grade/report/html"
	"github.com/sixlink/sixlink/record"
)

// files are the recordings of a verdict, for reports that show what is in them.
type files struct {
	paths map[string]string // by id
	limit int64
	key   string // of sessions over HTTP
}

// Recording reads one recording.
func (f *files) Recording(id string) (*report.Recording, func(), error) {
	path := f.paths[id]
	if path == "" {
		return nil, nil, nil
	}
	opts := record.Options{MaxDecompressed: f.limit}
	l, err := loadByKey(path, opts, f.key)
	if err != nil {
		return nil, nil, err
	}
	rec, err := toShow(l, opts)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return rec, l.Close, nil
}

// showHTML writes one recording as a page.
func showHTML(w io.Writer, l *loaded, limit int64) error {
	rec, err := toShow(l, record.Options{MaxDecompressed: limit})
	if err != nil {
		return err
	}
	return html.WriteRecording(w, rec, html.Options{})
}

// toShow is a recording as reports take it.
func toShow(l *loaded, opts record.Options) (*report.Recording, error) {
	h := *l.header
	h.Command = l.command
	rec := &report.Recording{Path: l.path, Header: &h, End: l.end, Sessions: l.sessions, Clock: l.clock}
	var err error
	rec.Stderr, rec.StderrCut, err = stderrLines(l.path, opts)
	return rec, err
}

// stderrLines reads what the server wrote to stderr, as far as a report shows it.
// Sessions keep the end of it alone, since no check asks for more; so the recording is
// read once more for it.
func stderrLines(path string, opts record.Options) (lines []report.Line, cut bool, err error) {
	r, err := record.Open(path, opts)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	room := report.MaxStderr
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if rec.Kind != record.KindFrame || rec.From != record.Stderr {
			continue
		}
		if room -= len(rec.Data); room < 0 {
			return lines, true, nil
		}
		if n := len(lines); rec.Cont && n > 0 { // a line in parts
			lines[n-1].Text += string(rec.Data)
			continue
		}
		lines = append(lines, report.Line{Seq: rec.Seq, At: rec.At, Text: string(rec.Data)})
	}
}
