package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// Format is one way to show a verdict. The verbs hold the table of all formats: that of
// this package, [Formats], and those of packages below it, which may bring much with them.
type Format struct {
	Name string
	// Write renders. It must read every trial by [Case.Each] alone, and take memory that
	// does not grow with their number, save for what a reader needs an index of.
	Write func(w io.Writer, v *Verdict, o Options) error
}

// Formats are the formats of this package.
func Formats() []Format {
	return []Format{
		{"text", Text},
		{"json", func(w io.Writer, v *Verdict, _ Options) error { return JSON(w, v) }},
		{"junit", JUnit},
		{"sarif", SARIF},
		{"github", GitHub},
		{"markdown", Markdown},
	}
}

// FormatOf finds a format by its name; the error names those that there are.
func FormatOf(formats []Format, name string) (Format, error) {
	var names []string
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("--format %q is none of %s", name, strings.Join(names, ", "))
}

// Options are what a renderer gets beside the verdict.
type Options struct {
	// Color allows ANSI colours.
	Color bool
	// Verbose shows every trial and every row, passed ones too.
	Verbose bool
	// Source has the recordings of the verdict, for reports that show arguments,
	// results and stderr; nil: none are at hand.
	Source Source
	// By is what a matrix over the trials is asked for by; empty: none is.
	By By
	// Earlier are runs before this one, the oldest first, for reports that show them.
	Earlier []RunPoint
}

// Source reads recordings that a verdict names by their id.
type Source interface {
	// Recording reads one recording whole; it is nil without an error where the source
	// does not have it. done, which is nil then too, lets go of it: values must not be
	// asked for afterwards.
	Recording(id string) (r *Recording, done func(), err error)
}

// Recording is a recording as a report shows it. Its values stay in the file until they
// are asked for.
type Recording struct {
	Path     string
	Header   *record.Header
	End      record.End
	Sessions []*session.Session // with all requests and attempts
	Clock    session.Clock
	// Stderr are the first bytes that the server wrote to stderr, by record, at most
	// [MaxStderr] of them; StderrCut says that there were more.
	Stderr    []Line
	StderrCut bool
	// Conversation are the lines of the transcript that is attached, in the neutral format
	// (docs/conversation.md); nil: none.
	Conversation [][]byte
}

// MaxStderr bounds the bytes of stderr that a [Recording] holds.
const MaxStderr = 1 << 20

// Line is what one record of stderr holds: when it was read, in nanoseconds since the
// recording's start.
type Line struct {
	Seq, At int64
	Text    string
}
