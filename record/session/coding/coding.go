// Package coding undoes the content codings of a copied HTTP body (RFC 9110 8.4):
// gzip, deflate, br and zstd. The bytes of a recording are the wire's; what reads
// messages out of them reads through this package.
//
// It must not know recordings or messages. Its input is hostile: what comes out
// is bounded, whatever goes in.
package coding

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Max is how many bytes come out of one body at most: a body of 64 KiB can be
// made to unpack to gigabytes.
const Max = 64 << 20

const (
	maxCodings = 4       // a body that is packed more often is nobody's
	maxWindow  = 8 << 20 // of zstd, as RFC 9659 bids
	chunk      = 32 << 10
)

// ErrTooLong is the error of a body that unpacks to more than its bound.
var ErrTooLong = errors.New("it unpacks to more than the bound")

// Decoder unpacks one body as its pieces come: what a piece completes comes out
// with it, so that events of a packed stream have a place in the order.
type Decoder struct {
	in   source
	next func() ([]byte, bool)
	stop func()
	err  error
	done bool
}

// source hands the pieces to the decoders and stops them where there is no more yet.
type source struct {
	buf   []byte
	last  bool
	yield func([]byte) bool
}

var errStopped = errors.New("nobody wants more")

func (s *source) Read(p []byte) (int, error) {
	for len(s.buf) == 0 {
		if s.last {
			return 0, io.EOF
		}
		if !s.yield(nil) {
			return 0, errStopped
		}
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}

// New returns a decoder for the values of Content-Encoding fields, or nil when the
// body is not packed. It must be closed. max is its bound; 0: [Max].
func New(fields []string, limit int64) (*Decoder, error) {
	var codings []string
	for _, f := range fields {
		for c := range strings.SplitSeq(f, ",") {
			switch c = strings.ToLower(strings.TrimSpace(c)); c {
			case "", "identity":
			case "gzip", "x-gzip", "deflate", "br", "zstd":
				codings = append(codings, strings.TrimPrefix(c, "x-"))
			default:
				return nil, fmt.Errorf("content coding %.100q is not known", c)
			}
		}
	}
	switch {
	case len(codings) == 0:
		return nil, nil
	case len(codings) > maxCodings:
		return nil, fmt.Errorf("%d content codings, more than %d", len(codings), maxCodings)
	}
	if limit <= 0 {
		limit = Max
	}
	d := &Decoder{}
	d.next, d.stop = iter.Pull(d.run(codings, limit))
	return d, nil
}

// run is the coroutine in which the decoders run: it yields nil where they want
// more, and what they made.
func (d *Decoder) run(codings []string, limit int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		defer func() {
			d.done = true
			if e := recover(); e != nil { // a decoder's fault must not be ours
				d.err = fmt.Errorf("%s: the decoder broke: %v", strings.Join(codings, ", "), e)
			}
		}()
		d.in.yield = yield
		var r io.Reader = &d.in
		for i := len(codings) - 1; i >= 0; i-- { // the last one that was applied first
			var err error
			var closer func()
			if r, closer, err = open(codings[i], r); err != nil {
				d.err = fmt.Errorf("%s: %w", codings[i], err)
				return
			}
			if closer != nil {
				defer closer()
			}
		}
		buf := make([]byte, chunk)
		total := int64(0)
		for {
			n, err := r.Read(buf)
			if total += int64(n); total > limit {
				d.err = ErrTooLong
				return
			}
			if n > 0 && !yield(buf[:n]) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				d.err = fmt.Errorf("%s: %w", strings.Join(codings, ", "), err)
				return
			}
		}
	}
}

func open(coding string, r io.Reader) (io.Reader, func(), error) {
	switch coding {
	case "gzip":
		b := bufio.NewReaderSize(r, 512)
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, err
		}
		z.Multistream(false)
		return &members{b: b, z: z}, nil, nil
	case "br":
		return brotli.NewReader(r), nil, nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	// "deflate" is zlib's format (RFC 9110 8.4.1.2); some send it without the wrapper.
	b := bufio.NewReaderSize(r, 512)
	head, err := b.Peek(2)
	if err == nil && head[0]&0x0F == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(b)
		return z, nil, err
	}
	return flate.NewReader(b), nil, nil
}

// members reads gzip's members one after the other. The library's own way looks
// for the next one before it hands out the end of the one before, which would hold
// back the last event of a stream until the connection closes.
type members struct {
	b    *bufio.Reader
	z    *gzip.Reader
	next bool
}

func (m *members) Read(p []byte) (int, error) {
	if m.next {
		if _, err := m.b.Peek(1); err != nil {
			return 0, err
		}
		if err := m.z.Reset(m.b); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
		m.next = false
	}
	n, err := m.z.Read(p)
	if err == io.EOF {
		m.next, err = true, nil
	}
	return n, err
}

// Feed takes the next piece of the packed body and hands out what it completes.
// last: it is the body's end. After an error nothing more comes.
func (d *Decoder) Feed(p []byte, last bool, out func([]byte)) error {
	d.in.buf, d.in.last = p, last
	for !d.done {
		b, ok := d.next()
		if !ok {
			break
		}
		if b == nil {
			return nil
		}
		out(b)
	}
	d.in.buf = nil
	return d.err
}

// Close lets go of the decoders.
func (d *Decoder) Close() { d.stop() }
