package run

import (
	"slices"
	"time"
)

// Options say what may be sent, and how. The zero value sends only what cannot
// write (recorder.md 5.1), as fast as the server answers.
type Options struct {
	// Allow names tools (or methods, "logging/setLevel") that are sent whatever the
	// catalogs say of them. For such tools a recorded consent is replayed, too.
	Allow []string
	// AllowIdempotent sends tools that both catalogs call idempotent and not destructive.
	AllowIdempotent bool
	// AllowAll sends everything.
	AllowAll bool
	// Only names the tools whose calls are sent; calls of others are left out. Empty: all.
	Only []string
	// Session is the only session that is sent ("s2"); empty: all.
	Session string
	// Sequential waits for each answer before the next request.
	Sequential bool
	// Rate is how many requests a second are sent at most; 0: no limit. Requests that
	// were sent together are sent together, and are paid for afterwards.
	Rate float64
	// Timeout is how long an answer is waited for; 10 times the recorded duration
	// where that is longer (recorder.md 5.5). 0: 30 s.
	Timeout time.Duration
	// Client names us where the recording does not have the handshake.
	Client, Version string
}

const (
	defaultTimeout = 30 * time.Second
	// maxTimeout bounds what 10 times a recorded duration may come to.
	maxTimeout = 10 * time.Minute
	// leaveAfter bounds the wait for an answer that the recorded host did not wait
	// for either, where the recording ends right behind the request.
	leaveAfter = time.Second
)

func (o *Options) timeout() time.Duration {
	if o.Timeout <= 0 {
		return defaultTimeout
	}
	return o.Timeout
}

// named tells whether the user allowed a tool, or a method, by name or with all others.
func (o *Options) named(name string) bool { return o.AllowAll || slices.Contains(o.Allow, name) }

// leftOut tells whether the user wants other tools than this one.
func (o *Options) leftOut(tool string) bool {
	return len(o.Only) > 0 && !slices.Contains(o.Only, tool)
}
