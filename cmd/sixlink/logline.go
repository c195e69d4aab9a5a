package main

import (
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// logLine is one line of talk of record on stderr.
type logLine struct {
	info bool // nothing is wrong
	text string
}

// write writes the line for people, or as an object for a collector: time, level
// (info or warn) and msg, which is the text.
func (l logLine) write(w io.Writer, asJSON bool, now time.Time) {
	if !asJSON {
		fmt.Fprintf(w, "sixlink: %s\n", l.text)
		return
	}
	level := "warn"
	if l.info {
		level = "info"
	}
	b, err := json.Marshal(struct {
		Time  string `json:"time"`
		Level string `json:"level"`
		Msg   string `json:"msg"`
	}{now.UTC().Format(time.RFC3339Nano), level, l.text}, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		w.Write(append(b, '\n'))
	}
}
