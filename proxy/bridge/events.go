package bridge

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// maxMessage is the longest message in bytes, either way: it is held in memory.
const maxMessage = 64 << 20

var errTooLong = errors.New("a message of more than 64 MiB")

// event is one event of an event stream.
type event struct {
	id    string // of this event itself; "" if it has none
	name  string // "": message
	data  []byte
	retry time.Duration // what the stream asked for so far; 0: nothing
}

// eventReader reads an event stream (wire.md 1.3): lines end with LF, CRLF or CR; an
// event counts when its blank line is there.
type eventReader struct {
	r     io.Reader
	buf   []byte // read and not used
	at    int    // where the next line begins in buf
	seen  int    // how far that line was looked through
	cr    bool   // the last line ended with CR: LF belongs to it
	some  bool   // the stream has begun: no byte order mark may follow
	err   error
	retry time.Duration
}

// next gives the next event that has data or an id. Its data is the caller's.
func (e *eventReader) next() (event, error) {
	var ev event
	some := false
	size := 0
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if some {
				ev.data, ev.retry = bytes.TrimSuffix(ev.data, []byte{'\n'}), e.retry
				return ev, nil
			}
			ev = event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if size += len(value) + 1; size > maxMessage {
				return event{}, errTooLong
			}
			ev.data = append(append(ev.data, value...), '\n')
			some = true
		case "event":
			ev.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				ev.id = string(value)
				some = some || len(value) > 0
			}
		case "retry":
			// Milliseconds. A server does not tell us to stay away for hours.
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.retry = min(max(time.Duration(ms)*time.Millisecond, time.Millisecond), time.Minute)
			}
		}
	}
}

// line gives the next line without its end. It is good until the next call. A
// line that has no end is none.
func (e *eventReader) line() ([]byte, error) {
	for {
		if e.cr && e.at < len(e.buf) {
			if e.cr = false; e.buf[e.at] == '\n' {
				e.at++
			}
			e.seen = e.at
		}
		if i := bytes.IndexAny(e.buf[e.seen:], "\r\n"); i >= 0 {
			end := e.seen + i
			line := e.buf[e.at:end]
			e.cr = e.buf[end] == '\r'
			e.at = end + 1
			e.seen = e.at
			if !e.some {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			e.some = true
			return line, nil
		}
		if e.err != nil {
			return nil, e.err
		}
		e.buf = append(e.buf[:0], e.buf[e.at:]...)
		if e.at, e.seen = 0, len(e.buf); e.seen > maxMessage {
			return nil, errTooLong
		}
		if cap(e.buf)-len(e.buf) < chunk/2 {
			e.buf = append(make([]byte, 0, 2*len(e.buf)+chunk), e.buf...)
		}
		var n int
		n, e.err = e.r.Read(e.buf[len(e.buf):cap(e.buf)])
		e.buf = e.buf[:len(e.buf)+n]
	}
}

// sleep waits; it reports false if stop came first.
func sleep(d time.Duration, stop <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stop:
		return false
	}
}
