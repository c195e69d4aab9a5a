package main

import (
	"bytes"
	"io"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/grade/report/html"
	"github.com/sixlink/sixlink/record"
)

// earlierFlag asks for runs before this one.
func earlierFlag(fs *pflag.FlagSet, o *reportOutput) {
	fs.StringArrayVar(&o.earlier, "earlier", nil, "a `VERDICT` of a run before, or a folder of them: html shows the accuracy of the last three")
}

// earlierRuns are those of the runs in paths that began before this one.
func earlierRuns(s stdio, v *report.Verdict, paths []string) ([]report.RunPoint, error) {
	files, err := verdictFiles(paths)
	if err != nil {
		return nil, err
	}
	now, err := report.RunOf(v, "")
	if err != nil {
		return nil, err
	}
	var runs []*report.RunPoint
	for _, path := range files {
		r, err := runOf(s, path)
		switch {
		case err != nil:
			return nil, err
		case r.SuiteID != now.SuiteID || now.At > 0 && r.At >= now.At:
			continue // of something else, or this run itself
		}
		runs = append(runs, r)
	}
	return report.HistoryOf(runs).Runs, nil
}

// showHTML writes one recording as a page.
func showHTML(w io.Writer, l *loaded, limit int64) error {
	h := *l.header
	h.Command = l.command // whole, where it was continued
	rec := &report.Recording{Path: l.path, Header: &h, End: l.end, Sessions: l.sessions, Clock: l.clock}
	if lines, err := l.talk.Lines(); err == nil && lines != nil {
		rec.Conversation = bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"))
	}
	src := &recordingSource{opts: record.Options{MaxDecompressed: limit}}
	if err := src.stderr(rec); err != nil {
		return err
	}
	return html.WriteRecording(w, rec, html.Options{})
}
