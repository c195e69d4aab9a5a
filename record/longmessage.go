package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// MinMaxMessage is the smallest limit of a message: its id and its method are within.
const MinMaxMessage = 1 << 10

// Cut tells of a message that is over the recorder's limit: its beginning stands before
// the gap, the rest was passed on and not kept.
type Cut struct {
	From From `json:"from"`
	// Exchange is that of a message in a body of HTTP, which begins at Off there.
	Exchange int64 `json:"exchange,omitzero"`
	Off      int64 `json:"off"`
	// Len is the bytes of the whole message without the LF at its end, SHA256 their hash in
	// hex: as they passed, with the credentials in them. The hash is left out at levels that
	// keep no values, where it could be used to guess them.
	Len    int64  `json:"len"`
	SHA256 string `json:"sha256,omitzero"`
}

// long is what is known of the message at hand of a direction or a body.
type long struct {
	length int64 // of it so far, with what was left out
	over   bool  // the rest is left out
	skip   bool  // a gap lies in it: it is not cut as well
	from   int64 // the offset of the first byte that is left out
	sum    hash.Hash
	hashed bool // sum has bytes of it
	blank  int8 // of a body: the bytes at hand end in a line end that may be one before a blank line
}

func (l *long) write(p []byte) {
	if !l.hashed {
		if l.sum == nil {
			l.sum = sha256.New()
		}
		l.sum.Reset()
		l.hashed = true
	}
	l.sum.Write(p)
}

// next begins the next message.
func (l *long) next() { *l = long{sum: l.sum} }

// limit keeps what is read of a direction, but for what is over the limit of a message.
// The first bytes of a message are as many entries as they would be anyway; the rest
// becomes a gap with its hash.
func (q *queue) limit(from From, at int64, p []byte, again bool) {
	i := index(from)
	l := &q.long[i]
	st := &q.streams[i]
	kept := 0
	for j := 0; j < len(p); {
		n := indexLF(p[j:]) + 1
		ends := n > 0
		if !ends {
			n = len(p) - j
		}
		if !l.over && !l.skip && l.length+int64(n) > q.longest+1 { // a line end is no part of it
			fit := max(int(q.longest-l.length), 0)
			if kept < j+fit {
				q.chunk(from, at, p[kept:j+fit], again)
				again = true
			}
			if q.closed {
				return
			}
			l.write(p[j : j+fit])
			l.length += int64(fit)
			j, n = j+fit, n-fit
			kept = j
			if q.gap == nil && st.line && !st.lost {
				q.cut(i, at, true)
				l.over, l.from = true, st.off
			} else {
				l.skip = true
			}
		}
		body := n
		if ends {
			body--
		}
		switch {
		case l.over:
			l.write(p[j : j+body])
			st.off += int64(n)
			kept = j + n
		case !ends:
			l.write(p[j : j+n])
		}
		l.length += int64(body)
		j += n
		if ends {
			if l.over {
				q.endCut(from, at, 1)
			}
			l.next()
		}
	}
	if kept < len(p) {
		q.chunk(from, at, p[kept:], again)
	}
}

// endCut queues the gap of what was left out of a message.
func (q *queue) endCut(from From, at int64, ends int64) {
	i := index(from)
	l, st := &q.long[i], &q.streams[i]
	g := q.cutGap(l, from)
	g.Cut.Off = st.off - ends - l.length
	g.Streams = map[From]GapStream{from: {Off: l.from, Bytes: st.off - l.from, Frames: ends}}
	l.over = false
	st.line, st.part = false, 0
	q.put(&Record{Kind: KindGap, Gap: g}, at, nil)
}

func (q *queue) cutGap(l *long, from From) *Gap {
	g := &Gap{FirstSeq: q.seq + 1, LastSeq: q.seq + 1, Why: fmt.Sprintf("a message of %d bytes is over the limit of %d (--max-message)", l.length, q.longest),
		Cut: &Cut{From: from, Len: l.length}}
	if q.hashes {
		g.Cut.SHA256 = hex.EncodeToString(l.sum.Sum(nil))
	}
	return g
}

// leaveCuts has the gap that is being opened stand for what was left out of messages so
// far: their ends may be lost, too.
func (q *queue) leaveCuts() {
	for i := range q.long {
		if l, st := &q.long[i], &q.streams[i]; l.over {
			q.gap.Streams[directions[i]] = GapStream{Off: l.from, Bytes: st.off - l.from}
			st.lost, st.lostMid = true, true
			l.over, l.skip = false, true
		}
	}
	for k, l := range q.longBodies {
		if l.over {
			_, from := k.split()
			if q.gap.HTTP == nil {
				q.gap.HTTP = map[From]GapHTTP{}
			}
			h := q.gap.HTTP[from]
			h.Records++
			h.Bytes += q.open[k].next - l.from
			q.gap.HTTP[from] = h
			l.over, l.skip = false, true
		}
	}
}

// limitPiece keeps a piece of a body, but for what is over the limit of a message: that
// is what stands between two blank lines, so that an event of a stream counts by itself.
func (q *queue) limitPiece(k bodyKey, e entry, p []byte, size int) {
	l := q.longBodies[k]
	if l == nil {
		if len(q.longBodies) >= q.most {
			q.piece(k, e, p, size)
			return
		}
		l = &long{}
		q.longBodies[k] = l
	}
	if e.end != BodyMore {
		delete(q.longBodies, k)
	}
	keep := func(p []byte, off int64, last, whole bool) {
		part := e
		part.off, part.whole = off, whole
		if !last {
			part.end, part.extra = BodyMore, nil
		}
		q.piece(k, part, p, size)
	}
	kept := 0
	for j := 0; j < len(p); {
		n, ends := l.blankLine(p[j:])
		if !l.over && !l.skip && l.length+int64(n) > q.longest+1 {
			fit := max(int(q.longest-l.length), 0)
			if q.gap == nil {
				keep(p[kept:j+fit], e.off+int64(kept), false, true)
				kept = j + fit
			}
			if q.closed {
				return
			}
			l.write(p[j : j+fit])
			l.length += int64(fit)
			j, n = j+fit, n-fit
			if l.over = q.gap == nil && kept == j; l.over {
				l.from = e.off + int64(j)
			}
			l.skip = !l.over
		}
		switch {
		case l.over:
			l.write(p[j : j+n])
			kept = j + n
			b := q.open[k]
			b.next = e.off + int64(kept)
			q.open[k] = b
		case !ends:
			l.write(p[j : j+n])
		}
		l.length += int64(n)
		j += n
		if ends {
			if l.over {
				q.endBodyCut(k, l, e.off+int64(j))
			}
			l.next()
		}
	}
	if e.end != BodyMore && l.over {
		q.endBodyCut(k, l, e.off+int64(len(p)))
	}
	if kept < len(p) || e.end != BodyMore || len(p) == 0 {
		keep(p[kept:], e.off+int64(kept), true, false)
	}
}

// blankLine gives how many bytes of p belong to the message at hand, and whether a blank
// line ends it there.
func (l *long) blankLine(p []byte) (n int, ends bool) {
	for {
		i := bytes.IndexByte(p[n:], '\n')
		before := p[n:]
		if i >= 0 {
			before = p[n : n+i]
		}
		// Nothing but a CR since the last line end?
		blank := l.blank == 1 && (len(before) == 0 || len(before) == 1 && before[0] == '\r')
		if i < 0 {
			if !blank {
				l.blank = 0
			}
			return len(p), false
		}
		n += i + 1
		if blank {
			l.blank = 0
			return n, true
		}
		l.blank = 1
	}
}

func (q *queue) endBodyCut(k bodyKey, l *long, end int64) {
	exchange, from := k.split()
	g := q.cutGap(l, from)
	g.Cut.Exchange, g.Cut.Off = exchange, end-l.length
	g.HTTP = map[From]GapHTTP{from: {Records: 1, Bytes: end - l.from}}
	l.over = false
	q.put(&Record{Kind: KindGap, Gap: g}, q.now(), nil)
}
