// Package report writes verdicts and chains: as text for people and as JSON for
// programs. Whatever came from a recording is printed with control and bidi
// characters made visible.
//
// It must not decide anything: it shows what packages grade and chain decided.
package report

// Options say how text looks.
type Options struct {
	// Color allows ANSI colours.
	Color bool
	// Verbose shows every trial and every row, passed ones too.
	Verbose bool
}
