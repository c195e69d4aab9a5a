package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// queue is a sink that somebody else writes from: what is put waits as references
// into the spool, not as bytes, so it takes no memory to speak of.
type queue struct {
	mu      sync.Mutex
	more    sync.Cond
	all     []out
	writing bool
	closed  bool // nothing more comes
	dead    bool // nobody reads any more
}

func newQueue() *queue {
	q := &queue{}
	q.more.L = &q.mu
	return q
}

func (q *queue) put(o out) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && !q.dead {
		q.all = append(q.all, o)
		q.more.Signal()
	}
}

func (q *queue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.writing || len(q.all) > 0
}

func (q *queue) gone() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dead
}

// close ends the queue: what is in it is still written.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Signal()
}

// kill ends it at once.
func (q *queue) kill() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dead, q.all = true, nil
	q.more.Signal()
}

// take waits for what is next; false: nothing more comes. Whoever takes has written
// what it took before.
func (q *queue) take() (out, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing = false; len(q.all) == 0 && !q.closed && !q.dead; {
		q.more.Wait()
	}
	if len(q.all) == 0 || q.dead {
		return out{}, false
	}
	o := q.all[0]
	q.all = q.all[1:]
	q.writing = true
	return o, true
}

// errEnded ends a session as the recorded server ended it.
var errEnded = errors.New("the recorded server ended here")

// Stdio serves one client over lines, until in ends or the recorded server ended.
func (s *Server) Stdio(in io.Reader, w io.Writer) error {
	q := newQueue()
	done := make(chan error, 1)
	go func() { done <- s.writeLines(q, w) }()
	read := make(chan error, 1)
	go func() { read <- s.readLines(in, q) }()
	select {
	case err := <-read: // the client's end
		q.close()
		if werr := <-done; err == nil && !errors.Is(werr, errEnded) {
			err = werr
		}
		return err
	case err := <-done: // stdout is closed
		q.kill()
		if errors.Is(err, errEnded) {
			return nil
		}
		return err
	}
}

func (s *Server) writeLines(q *queue, w io.Writer) error {
	for {
		o, ok := q.take()
		if !ok {
			return nil
		}
		if o.it != nil && o.it.form == itEnd {
			if o.it.x < 0 || s.t.exchanges[o.it.x].dropped {
				return errEnded
			}
			continue
		}
		var b []byte
		if o.it != nil && o.it.form == itLine && o.only == nil {
			var err error
			if b, err = s.bytesOf(o); err != nil {
				return err
			}
		} else {
			lines, err := s.messagesOf(o)
			if err != nil {
				return err
			}
			for _, l := range lines {
				b = append(append(b, l...), '\n')
			}
		}
		if len(b) == 0 {
			continue
		}
		if _, err := w.Write(b); err != nil {
			q.kill()
			return err
		}
	}
}

func (s *Server) readLines(in io.Reader, q *queue) error {
	p := s.newPlay()
	s.joined()
	p.begin(q)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		data, err := readLine(r)
		if len(data) > 0 && err == nil { // a line without an end is never processed (wire.md 1.2)
			if p.anew(data) {
				p.end()
				p = s.newPlay()
				s.joined()
				p.begin(q)
			}
			p.line(data, q)
		}
		if err != nil {
			p.end()
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// readLine reads a line of any length up to maxLine; what is longer is left out.
func readLine(r *bufio.Reader) ([]byte, error) {
	var all []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(all)+len(part) > maxLine {
			long, all = true, nil
		}
		if !long {
			all = append(all, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long {
			all = []byte("too long\n")
		}
		return all, err
	}
}

// anew tells whether a line begins another session: an initialize where the
// recorded one was answered already.
func (p *play) anew(data []byte) bool {
	all, batch := read(data)
	if batch || len(all) != 1 || all[0].method != "initialize" || all[0].kind != kRequest {
		return false
	}
	return p.begun()
}

// begun tells whether the client has shaken hands, and the recording has no second
// handshake for it.
func (p *play) begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	some := false
	for _, i := range p.s.index.Find("initialize", nil) {
		if !p.taken[p.s.events[i].ord] {
			return false
		}
		some = true
	}
	return some
}

// line takes a line of the client's.
func (p *play) line(data []byte, from sink) {
	data = bytes.TrimPrefix(data, bom)
	all, _ := read(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range all {
		switch e.kind {
		case kRequest:
			ev, made := p.request(data, e, from)
			if made == nil {
				made = p.s.statusOnly(ev, p.live[ev])
			}
			if made != nil {
				p.last = from
				from.put(out{made: made})
			}
		default:
			p.said(data, e, from)
		}
	}
	p.pump()
}

func (s *Server) joined() {
	s.mu.Lock()
	s.tally.plays++
	s.mu.Unlock()
}
