package session

import (
	"math"

	"github.com/sixlink/sixlink/record"
)

// Clock tells the wall-clock time of a recording's records: they carry monotonic
// times, and clock records say how far the wall clock has moved away from those
// (record/FORMAT.md "clock").
type Clock struct {
	// Start is the wall clock at the recording's beginning, nanoseconds since 1970.
	Start int64
	// told are the offsets that clock records told, in their order; more says that
	// there were too many to keep.
	told []toldOffset
	more bool
}

type toldOffset struct{ at, offset int64 }

// maxTold bounds them: one a minute is 45 days (1 MiB).
const maxTold = 1 << 16

func (c *Clock) add(rec *record.Record) {
	switch {
	case rec.Clock == nil:
	case len(c.told) == maxTold:
		c.more = true
	default:
		c.told = append(c.told, toldOffset{rec.At, rec.Clock.Offset})
	}
}

// Between is when a record with that At was read, by the wall clock: not before
// earliest and not after latest, nanoseconds since 1970. The two differ by what the
// clock moved between the last clock record before it and the next one, if there is
// one: when it moved is not on record. ok is false when nothing can be said.
func (c *Clock) Between(at int64) (earliest, latest int64, ok bool) {
	if c == nil || c.more || c.Start == 0 {
		return 0, 0, false
	}
	// The first one told after it; at equal times which came first does not matter.
	lo, hi := 0, len(c.told)
	for lo < hi {
		if mid := (lo + hi) / 2; c.told[mid].at < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	before := int64(0)
	if lo > 0 {
		before = c.told[lo-1].offset
	}
	next := before
	if lo < len(c.told) {
		next = c.told[lo].offset
	}
	earliest, ok1 := plus(c.Start, at, min(before, next))
	latest, ok2 := plus(c.Start, at, max(before, next))
	return earliest, latest, ok1 && ok2
}

// plus adds times of a recording, which may say anything.
func plus(list ...int64) (sum int64, ok bool) {
	for _, n := range list {
		if n > 0 && sum > math.MaxInt64-n || n < 0 && sum < math.MinInt64-n {
			return 0, false
		}
		sum += n
	}
	return sum, true
}
