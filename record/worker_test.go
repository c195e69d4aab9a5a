package record

import (
	"testing"
	"time"
)

// What there is much of while a yielding thread works is not in its job: the signal
// is still there afterwards, or the recorder would wait for its next tick, and the
// queue run over meanwhile.
func TestWorkerKeepsTheAlarm(t *testing.T) {
	w := newWorker()
	defer w.close()
	if !w.yields {
		t.Skip("this thread cannot be made to yield and brought back")
	}
	much, late := make(chan struct{}, 1), time.NewTimer(time.Hour)
	w.do(func() {}, false, much, late)
	// The worker's own clock may end the yielding before the signal does, and then
	// the signal was never taken.
	w.do(func() { much <- struct{}{}; time.Sleep(5 * time.Millisecond) }, false, much, late)
	if w.idle {
		t.Error("the thread still yields")
	}
	if len(much) != 1 {
		t.Error("nobody will know that there is much")
	}
}
