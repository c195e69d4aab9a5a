package record

import (
	"runtime"
	"time"
)

// worker is the thread that the recorder's work is done on. Where the system
// lets it, the thread only gets processor time that nobody else wants, so that
// the relay never waits for it, and is given its ordinary share again when that
// is not enough: it would starve on a busy machine (recorder.md 1.2).
type worker struct {
	jobs chan func()
	done chan struct{}
	tid  int
	// yields says that the thread can be made to yield and brought back.
	yields bool
	idle   bool      // it yields now
	until  time.Time // it does not before
	pause  time.Duration
}

const (
	// workerLimit is how long a yielding thread may take. With flushPeriod it is
	// the 60 ms of recorder.md 1.2.
	workerLimit = 20 * time.Millisecond
	// A thread that was late does not yield for workerPause, and for twice as long as
	// before, up to mostPause, if it is late again soon: one hiccup of the machine must
	// not make the relay share its processors for a second, and where there is no time to
	// spare at all, trying again must not cost much.
	workerPause = 100 * time.Millisecond
	mostPause   = 1600 * time.Millisecond
)

func newWorker() *worker {
	w := &worker{jobs: make(chan func()), done: make(chan struct{}, 1)}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and its priority
		// with it.
		runtime.LockOSThread()
		w.tid, w.yields = yielding()
		w.done <- struct{}{}
		for job := range w.jobs {
			job()
			w.done <- struct{}{}
		}
	}()
	<-w.done
	return w
}

// do has job done. hurry says that there is no time to yield; much says so while
// the job is under way.
func (w *worker) do(job func(), hurry bool, much chan struct{}, t *time.Timer) {
	hurry = hurry || w.yields && time.Now().Before(w.until)
	if w.yields && w.idle == hurry {
		if yield(w.tid, !hurry) {
			w.idle = !hurry
		}
	}
	w.jobs <- job
	if !w.idle {
		<-w.done
		return
	}
	t.Reset(workerLimit)
	told := false
	select {
	case <-w.done:
		t.Stop()
		return
	case <-t.C:
	case <-much:
		told = true
	}
	w.idle = !yield(w.tid, false)
	w.rest(time.Now())
	<-w.done
	if told {
		// What there was much of is not in this job: whoever gives the next one
		// must not wait for a tick, in which the queue would run over.
		select {
		case much <- struct{}{}:
		default:
		}
	}
}

// rest sets until when the thread does not yield, now that it was late.
func (w *worker) rest(now time.Time) {
	if now.Sub(w.until) > mostPause {
		w.pause = 0
	}
	w.pause = min(max(2*w.pause, workerPause), mostPause)
	w.until = now.Add(w.pause)
}

func (w *worker) close() { close(w.jobs) }
