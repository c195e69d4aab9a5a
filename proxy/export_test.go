package proxy

import (
	"os"
	"syscall"
	"time"
)

// ReapOrphans makes s reap as PID 1 does.
func (s *Stdio) ReapOrphans() { s.reapOrphans = true }

// PipeSize is pipeSize.
func PipeSize(f *os.File) int64 { return pipeSize(f) }

// LargePipe is the most that a pipe of a relay holds.
const LargePipe = largePipe

// SignalStep is one signal for DecideSignals.
type SignalStep struct {
	Sig        syscall.Signal
	At         time.Duration
	Foreground bool
	Exited     bool
}

// DecideSignals runs steps through one policy.
func DecideSignals(shared bool, steps []SignalStep) (to []string) {
	p := &signalPolicy{shared: shared, repeat: 250 * time.Millisecond}
	t0 := time.Unix(1000, 0)
	for _, s := range steps {
		to = append(to, p.decide(s.Sig, t0.Add(s.At), s.Foreground, s.Exited))
	}
	return to
}
