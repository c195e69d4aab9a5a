package record

import (
	"bytes"
	"sync"
	"time"
)

// The bounds of the queue (recorder.md 1.5): fixed slabs, so that a burst cannot
// make the heap grow past them.
const (
	slabSize    = 64 << 10
	queueBytes  = 16 << 20 // slabs, and entries counted with entryCost each
	entryCost   = 64
	tailTime    = 80 * time.Millisecond // an open line that old is cut
	wakeBytes   = queueBytes / 4        // the recorder is woken at once above that
	resumeBytes = queueBytes / 2        // after an overflow, nothing is taken above that
)

// slab holds copies of what was read, and the entries that describe them.
type slab struct {
	buf     []byte
	entries []entry
	cost    int  // entries*entryCost, so that many tiny reads are bounded too
	lent    bool // it waits for the file, and does not count any more
}

// queue is where the relay leaves its copies. One lock covers taking a seq and
// queueing, so that the order of the queue is the order of seq (recorder.md 2.6).
type queue struct {
	mu      sync.Mutex
	room    *sync.Cond // lossless writers wait here
	now     func() int64
	wake    chan struct{} // capacity 1: there is something, or there is much
	slabs   []*slab       // filled, oldest first; the last one may have room
	free    []*slab
	used    int // bytes of slabs queued or taken, and the cost of their entries
	seq     int64
	streams [3]stream
	gap     *Gap // what has been lost and is not queued yet
	gaps    int64
	lossy   bool
	asleep  bool // the recorder waits for wake: the next entry signals
	alarmed bool // it was told that there is much
	closed  bool // Close was called: later entries are dropped silently

	// Of HTTP: the bodies of which more is to come, those that ended in the gap that
	// is open, and what is known of exchanges whose bodies may hold credentials.
	open    map[bodyKey]openBody
	gone    []bodyKey
	classes map[int64]class
	most    int // of open and of classes: maxBodies

	// Longer messages are cut (longmessage.go); 0: none is.
	longest    int64
	hashes     bool // and their hashes told
	long       [3]long
	longBodies map[bodyKey]*long
}

// stream is what the queue knows of one direction.
type stream struct {
	off     int64 // bytes seen so far
	part    int64 // bytes of the open line since the last cut
	line    bool  // a line is open
	since   int64 // when the open part's first byte was read
	lost    bool  // the last bytes went into a gap …
	lostMid bool  // … and it ended inside a line
	ended   bool
}

var directions = [3]From{Client, Server, Stderr}

func index(from From) int {
	switch from {
	case Client:
		return 0
	case Server:
		return 1
	}
	return 2
}

func newQueue(now func() int64, lossy bool) *queue {
	q := &queue{now: now, wake: make(chan struct{}, 1), lossy: lossy, asleep: true,
		open: map[bodyKey]openBody{}, classes: map[int64]class{}, most: maxBodies}
	q.room = sync.NewCond(&q.mu)
	return q
}

// data queues a copy of p. It returns at once, unless the queue is lossless and
// full. A full lossy queue counts p into a gap instead.
func (q *queue) data(from From, p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(p) == 0 || q.closed {
		return
	}
	at := q.now()
	for again := false; len(p) > 0; again = true {
		n := min(len(p), slabSize)
		if q.longest > 0 {
			q.limit(from, at, p[:n], again)
		} else {
			q.chunk(from, at, p[:n], again)
		}
		p = p[n:]
	}
}

// chunk queues at most slabSize bytes.
func (q *queue) chunk(from From, at int64, p []byte, again bool) {
	for !q.fits(len(p) + 2*entryCost) {
		if q.lossy {
			q.lose(from, at, p)
			return
		}
		q.signal()
		if q.room.Wait(); q.closed {
			return
		}
		at = q.now() // others have been queued meanwhile
	}
	q.flushGap(at)
	st := &q.streams[index(from)]
	for len(p) > 0 {
		s := q.slab()
		n := min(len(p), cap(s.buf)-len(s.buf))
		start := len(s.buf)
		s.buf = append(s.buf, p[:n]...)
		e := entry{typ: entryData, from: from, again: again, after: q.seq, at: at, off: st.off, data: s.buf[start:len(s.buf):len(s.buf)]}
		again = true
		e.headless = st.lost && st.lostMid
		st.lost = false
		e.seqs = st.count(p[:n], at)
		if st.part >= partLimit {
			e.cut, st.part = true, 0
			e.seqs++
		}
		q.seq += e.seqs
		st.off += int64(n)
		q.push(s, e)
		p = p[n:]
	}
}

// count returns the line ends in p and keeps track of the line that p leaves open.
func (st *stream) count(p []byte, at int64) int64 {
	lines := int64(bytes.Count(p, newline))
	rest := len(p)
	if lines > 0 {
		rest = len(p) - 1 - lastLF(p)
		st.part = 0
	}
	if rest > 0 && st.part == 0 {
		st.since = at
	}
	st.part += int64(rest)
	if lines > 0 || rest > 0 {
		st.line = rest > 0 || lines == 0
	}
	return lines
}

// end queues the direction's end of file.
func (q *queue) end(from From) {
	q.mu.Lock()
	defer q.mu.Unlock()
	st := &q.streams[index(from)]
	if q.closed || st.ended {
		return
	}
	at := q.now()
	q.flushGap(at)
	if q.long[index(from)].over {
		q.endCut(from, at, 0)
	}
	e := entry{typ: entryEnd, from: from, after: q.seq, at: at}
	if st.line && !st.lost {
		e.seqs = 1
		q.seq++
	}
	st.ended, st.line, st.part = true, false, 0
	q.push(q.slab(), e)
}

// event queues a record that is no frame. It is never dropped: such records are few.
func (q *queue) event(r *Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	at := q.now()
	q.flushGap(at)
	q.put(r, at, nil)
}

// http queues a record of HTTP that takes about n bytes, and is counted in the
// direction from when it is lost: strangers decide how many there are, and how
// large. classes says whether credentials are replaced.
func (q *queue) http(r *Record, from From, n int, classes bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if classes {
		q.classify(r)
	}
	n = min(n, queueBytes/4) // else it would wait for ever
	at, ok := q.admit(n)
	if !ok {
		q.loseHTTP(from, 0, at)
		return
	}
	q.put(r, at, nil)
	q.charge(n)
}

// classify notes what a head tells about its bodies. Here, so that a head that is
// lost has told it too.
func (q *queue) classify(r *Record) {
	switch {
	case r.Request != nil:
		if c := classOf(r.Request); c != 0 {
			q.remember(r.Exchange, c)
		}
	case r.Response != nil && (len(q.classes) > 0 || redirects(r.Response)):
		if c, ok := q.classes[r.Exchange]; ok || redirects(r.Response) {
			q.remember(r.Exchange, c|answerClass(r.Response))
		}
	}
}

// remember keeps what is known of an exchange.
func (q *queue) remember(exchange int64, c class) {
	if _, ok := q.classes[exchange]; !ok && len(q.classes) >= q.most {
		for k := range q.classes { // most likely one that nobody called done for
			delete(q.classes, k)
			break
		}
	}
	q.classes[exchange] = c
}

// openBody is what the queue knows of a body of which more is to come.
type openBody struct {
	next int64 // the offset behind what was offered
	// known says that the recorder knows of it too.
	known bool
}

// maxBodies is how many bodies may be open: each takes a connection, or a stream
// of one. Were there more, somebody forgets to say when they end; then one of them
// is forgotten here.
const maxBodies = 128 << 10

// body queues a copy of a piece of a body. It returns at once, unless the queue
// is lossless and full.
func (q *queue) body(b *Body, x *bodyExtra, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := keyOf(b.Exchange, b.From)
	_, from := k.split()
	for p, off := b.Data, b.Off; ; {
		n := min(len(p), slabSize)
		e := entry{typ: entryBody, from: from, exchange: b.Exchange, off: off}
		if n == len(p) {
			e.end, e.extra = b.End, x
		}
		if q.longest > 0 {
			q.limitPiece(k, e, p[:n], size)
		} else {
			q.piece(k, e, p[:n], size)
		}
		if p, off = p[n:], off+int64(n); len(p) == 0 {
			return
		}
	}
}

// piece queues at most slabSize bytes of the body k.
func (q *queue) piece(k bodyKey, e entry, p []byte, size int) {
	if e.extra == nil {
		size = 0
	}
	size = min(size, queueBytes/4)
	at, ok := q.admit(len(p) + size + 2*entryCost)
	if q.closed {
		return
	}
	b, open := q.open[k]
	if e.end != BodyMore {
		delete(q.open, k)
	} else {
		if !open {
			q.oneMore()
		}
		q.open[k] = openBody{e.off + int64(len(p)), ok || b.known}
	}
	if !ok {
		if e.end != BodyMore && b.known {
			q.gone = append(q.gone, k)
		}
		q.loseHTTP(e.from, len(p), at)
		return
	}
	s := q.slab()
	if len(s.buf)+len(p) > cap(s.buf) {
		s = q.fresh() // a piece stays whole
	}
	start := len(s.buf)
	s.buf = append(s.buf, p...)
	e.data = s.buf[start:len(s.buf):len(s.buf)]
	e.after, e.seqs, e.at = q.seq, 1, at
	if len(q.classes) > 0 {
		e.class = q.classes[e.exchange]
	}
	q.seq++
	q.push(s, e)
	if size > 0 {
		q.charge(size)
	}
}

// oneMore makes room for one more open body.
func (q *queue) oneMore() {
	if len(q.open) < q.most {
		return
	}
	for k, b := range q.open {
		delete(q.open, k)
		if b.known {
			e := entry{typ: entryBody, whole: true, off: b.next, after: q.seq, seqs: 1, at: q.now()}
			e.exchange, e.from = k.split()
			if q.gap != nil {
				q.gone = append(q.gone, k)
				q.loseHTTP(e.from, 0, e.at)
				return
			}
			q.seq++
			q.push(q.slab(), e)
		}
		return
	}
}

// done notes that nothing more comes of an exchange. A body without its end was
// broken off.
func (q *queue) done(exchange int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, from := range directions[:2] {
		k := keyOf(exchange, from)
		if b, open := q.open[k]; open {
			e := entry{typ: entryBody, from: from, exchange: exchange, off: b.next, end: BodyCut}
			if q.longest > 0 {
				q.limitPiece(k, e, nil, 0)
			} else {
				q.piece(k, e, nil, 0)
			}
		}
	}
	delete(q.classes, exchange)
}

// admit waits for room where the queue is lossless, ends a gap, and tells the
// time and whether there is room for n bytes.
func (q *queue) admit(n int) (at int64, ok bool) {
	if q.closed {
		return 0, false
	}
	for !q.fits(n) {
		if q.lossy {
			return q.now(), false
		}
		q.signal()
		if q.room.Wait(); q.closed {
			return 0, false
		}
	}
	at = q.now()
	q.flushGap(at)
	return at, true
}

// loseHTTP counts a record of HTTP into the gap that is open.
func (q *queue) loseHTTP(from From, n int, at int64) {
	if q.closed {
		return
	}
	q.openGap(at)
	if q.gap.HTTP == nil {
		q.gap.HTTP = map[From]GapHTTP{}
	}
	g := q.gap.HTTP[from]
	g.Records++
	g.Bytes += int64(n)
	q.gap.HTTP[from] = g
	q.seq++
	q.signal()
}

func (q *queue) put(r *Record, at int64, x *bodyExtra) {
	q.seq++
	r.Seq, r.At = q.seq, at
	q.push(q.slab(), entry{typ: entryEvent, from: r.From, after: q.seq - 1, seqs: 1, at: at, event: r, extra: x})
}

// charge counts n bytes more for the entry that was pushed last.
func (q *queue) charge(n int) {
	q.slabs[len(q.slabs)-1].cost += n
	q.used += n
}

// last takes a seq for the recorder itself, once the queue is closed.
func (q *queue) last() (after, at int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seq++
	return q.seq - 1, q.now()
}

// lose counts p into the gap that is open, opening one if there is none.
func (q *queue) lose(from From, at int64, p []byte) {
	q.openGap(at)
	st := &q.streams[index(from)]
	g, ok := q.gap.Streams[from]
	if !ok {
		g.Off = st.off
	}
	lines := st.count(p, at)
	st.part = 0 // lost bytes cannot be cut off later
	g.Bytes += int64(len(p))
	g.Frames += lines
	q.gap.Streams[from] = g
	q.seq += lines
	st.off += int64(len(p))
	st.lost, st.lostMid = true, p[len(p)-1] != '\n'
	q.signal()
}

// openGap begins a gap, if none is open.
func (q *queue) openGap(at int64) {
	if q.gap != nil {
		return
	}
	// What is open is cut off here, so that nothing waits for bytes that will
	// not come.
	for i := range q.streams {
		// Also where the part that is open has no bytes: some may be held
		// back (framer.held), and would be lost without a word.
		if q.streams[i].line && !q.streams[i].lost && !q.long[i].over {
			q.cut(i, at, true)
		}
	}
	q.gaps++
	q.gap = &Gap{FirstSeq: q.seq + 1, Streams: map[From]GapStream{}, Why: "queue full: the recorder could not keep up"}
	q.leaveCuts()
}

// flushGap queues the record of a loss that is over.
func (q *queue) flushGap(at int64) {
	if q.gap == nil {
		return
	}
	g := q.gap
	q.gap = nil
	g.LastSeq = q.seq + 1
	var x *bodyExtra
	if len(q.gone) > 0 {
		x = &bodyExtra{gone: q.gone}
		q.gone = nil
	}
	q.put(&Record{Kind: KindGap, Gap: g}, at, x)
}

// cut ends the open part of a direction.
func (q *queue) cut(i int, at int64, whole bool) {
	st := &q.streams[i]
	e := entry{typ: entryCut, from: directions[i], whole: whole, after: q.seq, seqs: 1, at: at}
	q.seq++
	st.part = 0
	q.push(q.slab(), e)
}

// cutOld cuts every open line whose part is tailTime old and returns how long
// the next one has (0: none is open).
func (q *queue) cutOld() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, next := q.now(), time.Duration(0)
	for i := range q.streams {
		st := &q.streams[i]
		if st.part == 0 || st.lost {
			continue
		}
		left := tailTime - time.Duration(now-st.since)
		if left <= 0 {
			q.cut(i, now, false)
			continue
		}
		if next == 0 || left < next {
			next = left
		}
	}
	return next
}

// fits tells whether n more bytes are within the bound. After an overflow it
// wants more room than that, so that a loss is one gap and not a thousand.
func (q *queue) fits(n int) bool {
	if q.gap != nil {
		return q.used+n <= resumeBytes
	}
	return q.used+n <= queueBytes
}

// slab returns one with room for a byte.
func (q *queue) slab() *slab {
	if n := len(q.slabs); n > 0 {
		if s := q.slabs[n-1]; len(s.buf) < cap(s.buf) && len(s.entries) < slabSize/entryCost {
			return s
		}
	}
	return q.fresh()
}

// fresh returns an empty slab.
func (q *queue) fresh() *slab {
	var s *slab
	if n := len(q.free); n > 0 {
		s, q.free = q.free[n-1], q.free[:n-1]
	} else {
		s = &slab{buf: make([]byte, 0, slabSize)}
	}
	q.slabs = append(q.slabs, s)
	q.used += slabSize
	return s
}

func (q *queue) push(s *slab, e entry) {
	s.entries = append(s.entries, e)
	s.cost += entryCost
	q.used += entryCost
	if q.asleep || q.used > wakeBytes && !q.alarmed {
		q.alarmed = !q.asleep
		q.asleep = false
		q.signal()
	}
}

// sleep tells that the recorder is about to wait for a signal, unless there is
// something. While it is awake it comes by itself, once a tick: waking it up for
// every frame would cost more than the frame (recorder.md 1.3).
func (q *queue) sleep() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asleep = len(q.slabs) == 0
	return q.asleep
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take hands all that is queued to the recorder, which gives it back with
// release.
func (q *queue) take(into []*slab) []*slab {
	q.mu.Lock()
	defer q.mu.Unlock()
	into = append(into, q.slabs...)
	clear(q.slabs)
	q.slabs = q.slabs[:0]
	q.alarmed = false
	return into
}

// much tells that the recorder falls behind.
func (q *queue) much() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used > wakeBytes
}

// lend takes a slab off the queue's bound: it waits for the file now, which has a
// bound of its own. It is given back with release.
func (q *queue) lend(s *slab) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= slabSize + s.cost
	s.lent = true
	q.room.Broadcast()
}

// release returns slabs that the recorder has done with.
func (q *queue) release(s *slab) {
	clear(s.entries) // 120 kB at most: the relay must not wait for that
	q.mu.Lock()
	defer q.mu.Unlock()
	if !s.lent {
		q.used -= slabSize + s.cost
	}
	s.lent = false
	s.buf, s.entries, s.cost = s.buf[:0], s.entries[:0], 0
	if cap(s.entries) > slabSize/entryCost {
		s.entries = nil
	}
	if len(q.free) < 64 {
		q.free = append(q.free, s)
	}
	q.room.Broadcast()
}

// close ends the queue: what is open gets its last record. Nothing is taken any more.
func (q *queue) close() {
	for _, from := range directions {
		q.end(from)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flushGap(q.now())
	q.closed = true
	q.room.Broadcast()
}

// giveUp lets waiting writers go on without being recorded.
func (q *queue) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lossy = true
	q.room.Broadcast()
}

func (q *queue) isLossy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lossy
}

// abandon drops everything, now and later.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.slabs, q.free = true, nil, nil
	q.room.Broadcast()
}
