package record

import (
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// WriteSealed writes a whole sealed recording of one segment: the header, the
// records that next hands out until io.EOF, and the closing line. Records are
// written as a recorder would have (a form follows from the bytes); their
// Seq must count up from head.FirstSeq, and Off be that of their direction. It is
// for what makes recordings without any traffic, and it neither syncs nor locks.
func WriteSealed(w io.Writer, head Header, next func() (*Record, error)) error {
	pk, err := newPacker(w, zstd.SpeedDefault)
	if err != nil {
		return err
	}
	line, err := appendEvent(nil, &Record{Kind: KindHeader, Header: &head})
	if err != nil {
		return err
	}
	pk.last = head.FirstSeq - 1
	if err := pk.line(line, 0); err != nil {
		return err
	}
	for {
		rec, err := next()
		if errors.Is(err, io.EOF) {
			_, err = pk.endSegment(true, false)
			return err
		}
		if err != nil {
			return err
		}
		switch rec.Kind {
		case KindFrame:
			data := slices.Concat(rec.Data, rec.EOL)
			line = appendFrame(line[:0], &frame{seq: rec.Seq, at: rec.At, from: rec.From, off: rec.Off, since: rec.Since, cont: rec.Cont,
				headless: rec.Headless, more: rec.More, total: rec.Len + int64(len(rec.EOL)), data: data, masked: rec.Masked})
		case KindBody:
			e := entry{typ: entryBody, after: rec.Seq - 1, at: rec.At, from: rec.From, exchange: rec.Exchange, end: rec.End}
			if len(rec.Trailers) > 0 || len(rec.Patch) > 0 {
				e.extra = &bodyExtra{trailers: rec.Trailers, patch: rec.Patch}
			}
			data := rec.Data
			if len(rec.EOL) > 0 {
				data = slices.Concat(data, rec.EOL)
			}
			line = appendBody(line[:0], &e, rec.Off, data, rec.Masked)
		default:
			if line, err = appendEvent(line[:0], rec); err != nil {
				return err
			}
		}
		if err := pk.line(line, rec.Seq); err != nil {
			return err
		}
	}
}
