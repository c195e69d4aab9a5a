package proxy

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sixlink/sixlink/record"
)

// chunk is the most that is read at once. 64 KiB is a whole Linux pipe.
const chunk = 64 << 10

// The states of a pump. The pump alone moves through the first three; whoever
// abandons it moves it to the last, from which it never calls the tap again.
const (
	reading int32 = iota
	tapping
	writing
	abandoned
)

// A pump copies one direction. Its loop is one read, one offer, one write: no
// allocation, no lock, no look at the bytes.
type pump struct {
	from record.From
	src  *os.File
	dst  *os.File
	tap  *guard
	// stall is how long a write may take before it is recorded as blocked.
	stall time.Duration
	// who and what name the other end of dst for the close record of a write
	// that failed.
	who, what string

	state atomic.Int32
	// total counts the bytes that were read: the offset of the next one. passed
	// counts those that were written on, up to the chunk at hand.
	total, passed atomic.Int64
	// broken says that dst takes no more: bytes are read and dropped.
	broken atomic.Bool
	buf    [chunk]byte
	// grown says that src and dst, where they are pipes, have been made larger: a
	// whole default pipe was read at once.
	grown bool
}

// An ending says how a pump ended.
type ending struct {
	*pump
	// err is what ended the reading when it was not a plain end of file.
	err error
	// left says that the pump was abandoned.
	left bool
}

// drainAfterBreak says what happens to the source once the destination takes
// no more: the server's output is read on, so that the server never blocks; the
// host's is not, so that the host learns it.
func (p *pump) drainAfterBreak() bool { return p.from != record.Client }

// unread tells how many bytes that were written on are known to lie unread in
// the pipe.
type unread func() int64

// run copies until the source ends, the destination breaks (for the host's
// bytes), or the pump is abandoned. broke is called once when the destination
// breaks.
func (p *pump) run(behind unread, broke func()) ending {
	for {
		n, err := readChunk(p.src, p.buf[:])
		if n == chunk && !p.grown {
			p.grown = true
			growPipe(p.src)
			growPipe(p.dst)
		}
		if n > 0 {
			if !p.state.CompareAndSwap(reading, tapping) {
				return ending{pump: p, left: true}
			}
			p.tap.data(p.from, p.buf[:n])
			off := p.total.Add(int64(n)) - int64(n)
			if !p.state.CompareAndSwap(tapping, writing) {
				return ending{pump: p, left: true}
			}
			if !p.broken.Load() {
				if left := p.write(p.buf[:n], off, behind, broke); left {
					return ending{pump: p, left: true}
				}
				if p.broken.Load() && !p.drainAfterBreak() {
					return ending{pump: p}
				}
			}
			if !p.state.CompareAndSwap(writing, reading) {
				return ending{pump: p, left: true}
			}
		}
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) ||
			!p.state.CompareAndSwap(reading, tapping) {
			return ending{pump: p, left: true}
		}
		p.tap.end(p.from)
		if err == io.EOF {
			err = nil
		}
		return ending{pump: p, err: err}
	}
}

// write passes b on, whose first byte is at off, and records what went wrong
// with it. It reports whether the pump was abandoned meanwhile.
func (p *pump) write(b []byte, off int64, behind unread, broke func()) (left bool) {
	began := time.Now()
	n, err := writeAll(p.dst, b)
	took := time.Since(began)
	p.passed.Add(int64(n))
	if took < p.stall && err == nil {
		return false
	}
	if !p.state.CompareAndSwap(writing, tapping) {
		return true
	}
	if took >= p.stall {
		p.tap.stalled(p.from, took)
	}
	if err != nil {
		p.fail(err, off+int64(n), int64(len(b)-n), behind, broke)
	}
	return !p.state.CompareAndSwap(tapping, writing)
}

func (p *pump) fail(err error, off, n int64, behind unread, broke func()) {
	p.broken.Store(true)
	if !p.drainAfterBreak() {
		p.tap.end(p.from)
	}
	why := reason(err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		why = leftWhileWriting // nobody closed anything: see leave
	} else {
		p.tap.closed(p.who, p.what, errors.New(why))
	}
	var before int64
	if behind != nil {
		before = behind()
	}
	p.tap.undelivered(p.from, off-before, n+before, why)
	if broke != nil {
		broke()
	}
}

// leave makes a pump stop where it stands and returns its ending; done is where
// run's result comes. In the state that it returns the pump stood when it was
// told. A pump that can be interrupted (its descriptors are in Go's poller)
// records itself what it could not write; one that cannot is abandoned, with its
// goroutine, at until: it never calls the tap again.
func (p *pump) leave(done <-chan ending, until time.Time) (ending, int32) {
	stood := p.state.Load()
	canWait := p.src.SetReadDeadline(longAgo) == nil
	p.dst.SetWriteDeadline(longAgo)
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		if !canWait && p.state.CompareAndSwap(reading, abandoned) {
			return ending{pump: p, left: true}, stood
		}
		select {
		case e := <-done:
			return e, stood
		case <-end.C:
			if s := p.state.Swap(abandoned); s == writing {
				passed := p.passed.Load()
				p.tap.undelivered(p.from, passed, p.total.Load()-passed, leftWhileWriting)
			}
			return ending{pump: p, left: true}, stood
		case <-poll.C:
		}
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

const leftWhileWriting = "not read before sixlink left"

// readChunk reads once. A descriptor that another process made non-blocking
// behind our back is waited for.
func readChunk(f *os.File, b []byte) (int, error) {
	for {
		n, err := f.Read(b)
		if n == 0 && errors.Is(err, syscall.EAGAIN) {
			if err := waitFor(f, false); err != nil {
				return 0, err
			}
			continue
		}
		return n, err
	}
}

// writeAll writes b and says how much of it went out.
func writeAll(f *os.File, b []byte) (int, error) {
	done := 0
	for {
		n, err := f.Write(b[done:])
		done += n
		if errors.Is(err, syscall.EAGAIN) {
			if err := waitFor(f, true); err != nil {
				return done, err
			}
			continue
		}
		return done, err
	}
}

// reason is the system's words of an error, without the name that Go gave to a
// descriptor.
func reason(err error) string {
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}
