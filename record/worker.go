package record

import (
	"runtime"
	"sync/atomic"
	"time"
)

// worker does the recorder's work on a thread of its own that only gets
// processor time nobody else wants, so that the relay never waits for it
// (recorder.md 1.2). Work that such a thread does not get done in time is done
// on an ordinary one: it would starve on a busy machine.
type worker struct {
	jobs chan func()
	done chan struct{}
	stop atomic.Bool // the job is to return after the piece at hand
	busy time.Time   // until then, work is done without it
}

const (
	// workerLimit is how long the worker may take. With flushPeriod it is the 60
	// ms of recorder.md 1.2.
	workerLimit = 20 * time.Millisecond
	// workerPause is how long a worker that was late is left out.
	workerPause = time.Second
)

// newWorker returns nil where threads have no such priority.
func newWorker() *worker {
	if !canIdle {
		return nil
	}
	w := &worker{jobs: make(chan func()), done: make(chan struct{}, 1)}
	go func() {
		// The thread ends with the goroutine: an unlocked one would be used for
		// others, and an unprivileged process cannot raise its priority again.
		runtime.LockOSThread()
		if !idle() {
			runtime.UnlockOSThread()
		}
		for job := range w.jobs {
			job()
			w.done <- struct{}{}
		}
	}()
	return w
}

// do has the worker run job, unless there is reason to hurry, and reports
// whether it did. When the worker is late, job is told to stop by w.stop and do
// returns once it has, with what is left to be done by the caller.
func (w *worker) do(job func(), t *time.Timer) bool {
	if w == nil || time.Now().Before(w.busy) {
		return false
	}
	w.stop.Store(false)
	w.jobs <- job
	t.Reset(workerLimit)
	select {
	case <-w.done:
		t.Stop()
		return true
	case <-t.C:
	}
	w.stop.Store(true)
	w.busy = time.Now().Add(workerPause)
	<-w.done
	return true
}

func (w *worker) close() {
	if w != nil {
		close(w.jobs)
	}
}
