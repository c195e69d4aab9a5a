package bridge

import (
	"bytes"
	"io"
	"time"

	"github.com/sixlink/sixlink/record"
)

// feed reads the host's lines and sends each, until its end of file.
func (b *bridge) feed(r io.Reader) {
	buf := make([]byte, chunk)
	var line []byte
	tooLong := false
	for b.ctx.Err() == nil {
		n, err := r.Read(buf)
		if n > 0 {
			b.tap.data(record.Client, buf[:n])
		}
		for p := buf[:n]; len(p) > 0; {
			i := bytes.IndexByte(p, '\n')
			whole := i >= 0
			if !whole {
				i = len(p)
			}
			if tooLong = tooLong || len(line)+i > maxMessage; !tooLong {
				line = append(line, p[:i]...)
			}
			if p = p[min(i+1, len(p)):]; !whole {
				break
			}
			if tooLong {
				b.refuse()
			} else {
				b.line(line)
			}
			line, tooLong = nil, false // the line is a request's body now
		}
		if err == nil {
			continue
		}
		b.tap.end(record.Client)
		c := &record.Close{Who: record.ByClient, What: record.Stdin}
		if err != io.EOF {
			c.Error = reason(err)
		}
		b.tap.event(record.Record{Kind: record.KindClose, Close: c})
		// A line without an end is no message to a server (wire.md 1.2), unless it
		// is a whole one: people write printf '{…}' | sixlink.
		if _, ok := parse(line); ok && !tooLong {
			b.line(line)
		}
		return
	}
}

// refuse answers a line that is too long to be held. Its id is not known.
func (b *bridge) refuse() {
	b.note("a line of the host has more than 64 MiB: not sent")
	f := fault{code: codeTooLong, why: "tooLong", message: "a line of more than 64 MiB was not sent"}
	b.out.made(f.made(nil), f.why)
}

// line sends a line, and waits for what has to be there before the next one may go.
func (b *bridge) line(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return
	}
	m, _ := parse(line)
	p := b.newPost(line, m)
	if p.init {
		b.newSession()
	}
	b.start(p.run)
	var limit <-chan time.Time
	await := p.taken
	switch {
	case p.init:
		await = p.calls[0].over
	case len(p.calls) > 0:
		await = p.written
	default:
		t := time.NewTimer(b.waits.Taken)
		defer t.Stop()
		limit = t.C
	}
	select {
	case <-await:
	case <-limit:
	case <-b.ctx.Done():
	}
}

// newSession forgets the session before an initialize.
func (b *bridge) newSession() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session, b.version, b.modern = "", "", false
	if b.stop != nil {
		b.stop()
	}
	if b.old != nil {
		b.old.stop()
	}
	b.stop, b.old = nil, nil
}
