package main

import (
	"io"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/grade/report/html"
	"github.com/sixlink/sixlink/record"
)

// showHTML writes one recording as a page.
func showHTML(w io.Writer, l *loaded, limit int64) error {
	h := *l.header
	h.Command = l.command // whole, where it was continued
	rec := &report.Recording{Path: l.path, Header: &h, End: l.end, Sessions: l.sessions, Clock: l.clock}
	src := &recordingSource{opts: record.Options{MaxDecompressed: limit}}
	if err := src.stderr(rec); err != nil {
		return err
	}
	return html.WriteRecording(w, rec, html.Options{})
}
