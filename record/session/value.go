package session

import (
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/record"
)

// heldValue is the size in bytes up to which a value is kept in memory. Larger
// ones are fetched from the recording when somebody asks.
const heldValue = 1 << 10

// heldBytes bounds what is held of one recording; what comes later is fetched,
// however small: memory must not grow with the bytes of a long session.
const heldBytes = 4 << 20

// frameData is what the values of one line share: the bytes that are held, or
// where the line's records stand.
type frameData struct {
	held []byte
	src  Source
	refs []record.Ref
	fix  *derived // of HTTP: how the data comes out of those records
}

// Bytes returns the value's JSON text as it stood on the wire. The caller must
// not change it.
func (v Value) Bytes() ([]byte, error) {
	if v.IsZero() {
		return nil, errors.New("no value")
	}
	b := v.frame.held
	if b == nil {
		if v.frame.src == nil {
			return nil, errors.New("value is in the recording, and no recording is open to fetch it from")
		}
		var err error
		if b, err = v.frame.src.Fetch(v.frame.refs); err != nil {
			return nil, fmt.Errorf("fetch value: %w", err)
		}
		if v.frame.fix != nil {
			if b, err = v.frame.fix.of(b); err != nil {
				return nil, fmt.Errorf("fetch value: %w", err)
			}
		}
	}
	if v.off < 0 || v.off+v.n > int64(len(b)) {
		return nil, fmt.Errorf("fetch value: bytes %d to %d of a line of %d: the recording is not the one that was decoded", v.off, v.off+v.n, len(b))
	}
	return b[v.off : v.off+v.n : v.off+v.n], nil
}

// Len is the length in bytes of the value's JSON text.
func (v Value) Len() int64 { return v.n }

// IsZero tells that there is no value.
func (v Value) IsZero() bool { return v.frame == nil }

// Depth is how deep the value nests: 0 for a scalar, 1 for a flat object.
func (v Value) Depth() int { return int(v.depth) }

// MaxDepth is how deep a value may nest so that jsontext, and so the checks of
// package grade, can still decode it.
const MaxDepth = 10000

// TooDeep tells that jsontext would refuse the value for its nesting.
func (v Value) TooDeep() bool { return v.depth > MaxDepth }

// sub returns the part of v at [start,end), counted in v's text.
func (v Value) sub(start, end, depth int) Value {
	return Value{frame: v.frame, off: v.off + int64(start), n: int64(end - start), depth: int32(depth)}
}
