package mask

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
)

// The search (recorder.md 1.8) looks at every 5th place of the bytes only: at 4
// of them, a gram, in a small bitmap of the grams of all needles. A needle has
// at least 8 bytes, so each place where it occurs has one gram at such a place
// among the first 5 grams of any 8 bytes of it: those 5 are in the bitmap, of
// the 8 bytes that are rarest in ordinary text. Each occurrence is met exactly
// once. Where all needles are longer, the steps are too, up to maxStep.
const (
	gramLen = 4
	minStep = minLen - gramLen + 1
	maxStep = 16
	// mapBits is the size of the bitmap: 16 KiB stay in the first-level cache,
	// and the 160 grams of 32 plain needles fill 0.1 % of it.
	mapBits = 17
	hashMul = 0x9e3779b1 // 2^32 / golden ratio: Fibonacci hashing
)

type index struct {
	bits    *[1 << mapBits / 64]uint64
	step    int     // bytes from one place to the next
	shift   uint    // hash >> shift is the place in heads
	heads   []int32 // first of the entries with this hash, -1: none
	entries []gramEntry
}

type gramEntry struct {
	gram   uint32
	off    int32 // of the gram in the needle
	needle int32
	next   int32 // in entries, -1: none
}

// hit is an occurrence of a needle.
type hit struct{ start, end, needle int }

// partial stands in for the needle of a hit that is a part of some needle.
const partial = -1

func hash(gram uint32) uint32 { return gram * hashMul }

func newIndex(needles []needle) index {
	x := index{bits: new([1 << mapBits / 64]uint64), shift: 32, step: maxStep}
	for _, nd := range needles {
		x.step = max(minStep, min(x.step, len(nd.text)-gramLen+1))
	}
	size := 1
	for size < 2*x.step*len(needles) {
		size *= 2
		x.shift--
	}
	x.heads = slices.Repeat([]int32{-1}, size)
	for n, nd := range needles {
		w := rarest(nd.text, x.step+gramLen-1)
		for off := w; off < w+x.step; off++ {
			g := binary.LittleEndian.Uint32([]byte(nd.text[off : off+gramLen]))
			h := hash(g)
			b := h >> (32 - mapBits)
			x.bits[b/64] |= 1 << (b % 64)
			head := &x.heads[h>>x.shift]
			x.entries = append(x.entries, gramEntry{g, int32(off), int32(n), *head})
			*head = int32(len(x.entries) - 1)
		}
	}
	return x
}

// rarest is where the n bytes of text begin that are least like English and
// JSON syntax.
func rarest(text string, n int) int {
	sum, best, at := 0, -1, 0
	for i := range len(text) {
		sum += rarity[text[i]]
		if i >= n {
			sum -= rarity[text[i-n]]
		}
		if i >= n-1 && sum > best {
			best, at = sum, i+1-n
		}
	}
	return at
}

// rarity of bytes in JSON traffic, roughly: capitals and unusual signs are
// rarer than digits, and small letters and syntax are everywhere.
var rarity = func() (r [256]int) {
	for c := range r {
		switch b := byte(c); {
		case b >= '0' && b <= '9':
			r[c] = 2
		case !isLower(b) && b > ' ' && strings.IndexByte(`"\/:,.{}[]-_=%*`, b) < 0:
			r[c] = 3
		}
	}
	return r
}()

// scan appends all occurrences of all needles in p to hits, in no certain order.
func (m *Masker) scan(p []byte, hits []hit) []hit {
	bits := m.index.bits
	if bits == nil || len(p) < minLen {
		return hits
	}
	test := func(g uint32) uint64 {
		b := hash(g) >> (32 - mapBits)
		return bits[b/64] >> (b % 64)
	}
	i, step := 0, m.index.step
	// Four places at a time, with one branch for all: the processor looks at
	// them side by side.
	for ; i+3*step+gramLen <= len(p); i += 4 * step {
		q := p[i : i+3*step+gramLen : i+3*step+gramLen]
		a := binary.LittleEndian.Uint32(q)
		b := binary.LittleEndian.Uint32(q[step:])
		c := binary.LittleEndian.Uint32(q[2*step:])
		d := binary.LittleEndian.Uint32(q[3*step:])
		if (test(a)|test(b)|test(c)|test(d))&1 != 0 {
			hits = m.verify(p, i, a, hits)
			hits = m.verify(p, i+step, b, hits)
			hits = m.verify(p, i+2*step, c, hits)
			hits = m.verify(p, i+3*step, d, hits)
		}
	}
	for ; i+gramLen <= len(p); i += step {
		if g := binary.LittleEndian.Uint32(p[i:]); test(g)&1 != 0 {
			hits = m.verify(p, i, g, hits)
		}
	}
	return hits
}

// verify appends the occurrences whose gram g stands at p[i:].
func (m *Masker) verify(p []byte, i int, g uint32, hits []hit) []hit {
	for e := m.index.heads[hash(g)>>m.index.shift]; e >= 0; {
		x := &m.index.entries[e]
		if x.gram == g {
			text := m.needles[x.needle].text
			s := i - int(x.off)
			if s >= 0 && s+len(text) <= len(p) && string(p[s:s+len(text)]) == text {
				hits = append(hits, hit{s, s + len(text), int(x.needle)})
			}
		}
		e = x.next
	}
	return hits
}

// merge joins hits that overlap, in the order of the bytes. The needle of the
// result is the longest one's; parts count only where there is nothing else.
func (m *Masker) merge(hits []hit) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	out := hits[:0]
	best := 0 // length of the needle of the last of out
	for _, h := range hits {
		size := 0
		if h.needle != partial {
			size = h.end - h.start
		}
		if len(out) == 0 || h.start >= out[len(out)-1].end {
			out = append(out, h)
			best = size
			continue
		}
		last := &out[len(out)-1]
		last.end = max(last.end, h.end)
		if size > best {
			last.needle, best = h.needle, size
		}
	}
	return out
}

func (m *Masker) mac(h hit) string {
	if h.needle == partial {
		return ""
	}
	return m.needles[h.needle].mac
}

// straddle is the smallest start of an occurrence that begins before c and ends
// after it; c when there is none.
func (m *Masker) straddle(p []byte, c int) int {
	lo, hi := max(0, c-m.max+1), min(len(p), c+m.max-1)
	s := c
	for _, h := range m.scan(p[lo:hi], nil) {
		if lo+h.start < c && lo+h.end > c {
			s = min(s, lo+h.start)
		}
	}
	return s
}

// tail is where the longest end of p begins that is the beginning of a needle,
// but not all of it; len(p) when there is none.
func (m *Masker) tail(p []byte) int {
	if m.Empty() {
		return len(p)
	}
	c := max(0, len(p)-m.max+1)
	c += bytes.LastIndexByte(p[c:], '\n') + 1 // no needle holds a line feed
	for ; c < len(p); c++ {
		if c+1 < len(p) {
			if pair := uint(p[c]) | uint(p[c+1])<<8; m.firsts[pair/64]>>(pair%64)&1 == 0 {
				continue
			}
		}
		if m.begins(p[c:]) {
			return c
		}
	}
	return len(p)
}

// begins tells whether some needle begins with s and goes on.
func (m *Masker) begins(s []byte) bool {
	i := sort.Search(len(m.needles), func(i int) bool { return m.needles[i].text > string(s) })
	if i == len(m.needles) {
		return false
	}
	text := m.needles[i].text
	return len(text) > len(s) && text[:len(s)] == string(s)
}

// head is the length of the longest beginning of p that is the end of a needle,
// but not all of it, or all of p when it lies inside of one.
func (m *Masker) head(p []byte) int {
	best := 0
	for _, n := range m.needles {
		if len(p) > best && len(p) < len(n.text) && strings.Contains(n.text, string(p)) {
			best = len(p)
		}
		for k := min(len(n.text)-1, len(p)); k > best; k-- {
			if n.text[len(n.text)-k:] == string(p[:k]) {
				best = k
			}
		}
	}
	return best
}
