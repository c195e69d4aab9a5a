package host

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Count is a number that may be unknown. Unknown is the zero value and is left
// out of JSON.
type Count struct {
	N     int64
	Known bool
}

// Known returns a count of n.
func Known(n int64) Count { return Count{n, true} }

// IsZero says that the count is unknown.
func (c Count) IsZero() bool { return !c.Known }

// Plus adds two counts; the sum is known only when both are. It does not wrap.
func (c Count) Plus(d Count) Count {
	if !c.Known || !d.Known {
		return Count{}
	}
	return Known(addSat(c.N, d.N))
}

// maxCount bounds a count: 2^53-1, what every JSON reader keeps exactly. No
// session has so many tokens.
const maxCount = 1<<53 - 1

func addSat(a, b int64) int64 {
	if s := a + b; s <= maxCount {
		return s
	}
	return maxCount
}

// MarshalJSONTo writes the number.
func (c Count) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.Int(c.N))
}

// UnmarshalJSONFrom reads a whole number from 0 to 2^53-1; anything else,
// fractions and null included, leaves the count unknown.
func (c *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*c = ParseCount(v)
	return nil
}

// ParseCount reads a JSON value as a count. What is no whole number from 0 to
// 2^53-1 is unknown.
func ParseCount(v []byte) Count {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return Count{}
	}
	return Known(n)
}

// Add adds the figures of another response to u. A count that either lacks
// becomes unknown; source, scope and agents stay those of u.
func (u *Usage) Add(v *Usage) {
	u.InputUncached = u.InputUncached.Plus(v.InputUncached)
	u.CacheRead = u.CacheRead.Plus(v.CacheRead)
	u.CacheWrite = u.CacheWrite.Plus(v.CacheWrite)
	u.Output = u.Output.Plus(v.Output)
	u.Reasoning = u.Reasoning.Plus(v.Reasoning)
	u.Total = u.Total.Plus(v.Total)
}

// Input is everything that went in: uncached, cache read and cache write. A
// provider that counts no cache leaves those two unknown; they add nothing.
func (u *Usage) Input() Count {
	if !u.InputUncached.Known {
		return Count{}
	}
	n := u.InputUncached.N
	for _, c := range []Count{u.CacheRead, u.CacheWrite} {
		if c.Known {
			n = addSat(n, c.N)
		}
	}
	return Known(n)
}
