package record

import (
	"io"
	"os"
	"time"
)

// followPeriod is how often a follower looks for more. A writer flushes every
// 40 ms at most.
const followPeriod = 20 * time.Millisecond

// follower reads a file that is being written: at its end it waits for more,
// until the writer has let go of it.
type follower struct {
	f    *os.File
	stop <-chan struct{}
}

func (l *follower) Read(p []byte) (int, error) {
	for {
		// Asked first: what the writer wrote before it let go is read after.
		held := locked(l.f)
		n, err := l.f.Read(p)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		if !held {
			return 0, io.EOF
		}
		select {
		case <-l.stop:
			return 0, io.EOF
		case <-time.After(followPeriod):
		}
	}
}
