package record

import (
	"sync"
	"time"
)

const (
	// behindRuns is how many runs may wait for the file: with runSize about 12 MiB
	// beside the queue, for a disk that stops for a moment (recorder.md 1.5).
	behindRuns = 40
	// A write that takes slowWrite shows such a disk: for slowPause nothing is
	// written before somebody who has other things to do.
	slowWrite = 10 * time.Millisecond
	slowPause = time.Second
)

// behind writes chunk runs in the order in which they are given: at once, while
// what masking has just looked at is in the processor's cache, or on a goroutine
// of its own while the next ones are made. That one gives the recorder twice the
// share of a busy processor, and a second buffer. The writer is the caller's
// again after wait.
type behind struct {
	write func(*run)
	jobs  chan *run
	free  chan *run
	done  chan struct{}

	mu       sync.Mutex
	idle     *sync.Cond
	under    int // runs that were given and are not written yet
	slow     time.Time
	panicked any
}

// start must come before all else; end after all else.
func (b *behind) start(write func(*run)) {
	b.write, b.idle = write, sync.NewCond(&b.mu)
	b.jobs, b.free, b.done = make(chan *run, behindRuns), make(chan *run, 8), make(chan struct{})
	go func() {
		defer close(b.done)
		for u := range b.jobs {
			b.one(u)
		}
	}()
}

func (b *behind) end() {
	close(b.jobs)
	<-b.done
}

// one writes a run. What panics in that is passed on to whoever gives or waits.
func (b *behind) one(u *run) {
	defer func() {
		p := recover()
		b.mu.Lock()
		defer b.mu.Unlock()
		if p != nil {
			b.panicked = p
		}
		if b.under--; b.under == 0 {
			b.idle.Broadcast()
		}
	}()
	if b.failed() != nil {
		return
	}
	b.write(u)
	select {
	case b.free <- u:
	default:
	}
}

// take gives an empty run.
func (b *behind) take() *run {
	select {
	case u := <-b.free:
		return u
	default:
		return &run{}
	}
}

// give has a run written. late says that there is no time for that now. It waits
// when too many are under way.
func (b *behind) give(u *run, late bool) {
	b.mu.Lock()
	b.under++
	began := time.Now()
	here := !late && b.under == 1 && began.After(b.slow)
	b.mu.Unlock()
	if !here {
		b.jobs <- u
	} else if b.one(u); time.Since(began) > slowWrite {
		b.mu.Lock()
		b.slow = time.Now().Add(slowPause)
		b.mu.Unlock()
	}
	b.check()
}

// wait returns when all that was given is written.
func (b *behind) wait() {
	b.mu.Lock()
	for b.under > 0 {
		b.idle.Wait()
	}
	b.mu.Unlock()
	b.check()
}

func (b *behind) check() {
	if p := b.failed(); p != nil {
		panic(p)
	}
}

func (b *behind) failed() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panicked
}
