package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress is one line on a terminal that is written over: how far a long run is. Its
// zero value says nothing.
type progress struct {
	w     io.Writer // nil: nobody looks
	from  time.Time // nothing is said before
	next  time.Time
	shown bool
}

const (
	// progressAfter is how long something takes before it is worth a line; progressEvery
	// is how often that is written.
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

// newProgress is a line on w if that is a terminal which can go back in a line.
func newProgress(w io.Writer, now time.Time) *progress {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	return &progress{w: w, from: now.Add(progressAfter)}
}

// tell writes the line, which is text of our own.
func (p *progress) tell(now time.Time, format string, args ...any) {
	if p.w == nil || now.Before(p.from) || now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

// clear makes room for other lines.
func (p *progress) clear() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}
