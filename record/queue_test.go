package record

import "testing"

// Exchanges that are lost because nothing is taken any more leave nothing behind:
// a disk that hangs for hours must not fill the memory with their ends.
func TestQueueOfLostExchanges(t *testing.T) {
	q := newQueue(func() int64 { return 0 }, true)
	const exchanges = 200_000
	for i := range int64(exchanges) {
		x := i + 1
		q.head(&Record{Kind: KindRequest, From: Client, Exchange: x, Request: &HTTPRequest{}}, 500)
		q.body(&Body{Exchange: x, From: Client, Data: make([]byte, 100), End: BodyLast})
		q.done(x)
	}
	if q.used > queueBytes+2*slabSize || len(q.exchanges) != 0 {
		t.Errorf("%d bytes are queued, the bound is %d; %d exchanges are open", q.used, queueBytes, len(q.exchanges))
	}
	if q.gap == nil || q.gap.HTTP[Client].Records == 0 {
		t.Errorf("nothing was lost: %+v", q.gap)
	}
	// What is there is taken, and the next exchange is recorded whole.
	done := 0
	for _, s := range q.take(nil) {
		for _, e := range s.entries {
			if e.typ == entryDone {
				done++
			}
		}
		q.release(s)
	}
	if done == 0 || done == exchanges {
		t.Errorf("%d ends of exchanges were queued", done)
	}
	q.head(&Record{Kind: KindRequest, From: Client, Exchange: exchanges + 1, Request: &HTTPRequest{}}, 500)
	q.done(exchanges + 1)
	s := q.take(nil)
	if last := s[0].entries[len(s[0].entries)-1]; last.typ != entryDone || last.exchange != exchanges+1 {
		t.Errorf("the last entry is %+v", last)
	}
}
