// Package mask finds known credentials in bytes and replaces them by filler of
// the same length, and in an argv by marked placeholders.
//
// It holds the rules for which values are credentials (names.go, value.go,
// process.go; recorder.md 2.15), the encodings in which they are looked for
// (forms.go), the search (scan.go, fill.go) and the key behind the hashes
// (key.go). It knows bytes, argv and environments. It must not know records,
// the files of a recording, or JSON-RPC.
//
// Out of scope, and said to users in docs/credentials.md: hex, compressed or
// encrypted forms, base64 broken into lines, and credentials that are in
// neither the argv nor the environment.
package mask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Span is one replaced credential: Len bytes at Off are filler. MAC is equal
// for equal credentials under one key whatever their encoding; it is empty
// where only a part of one was there (see [Masker.Torn]).
type Span struct {
	Off int64
	Len int64
	MAC string
}

// Masker replaces a fixed set of credentials, and what stands where HTTP has
// credentials. It may be used from several goroutines at once.
type Masker struct {
	key     Key
	argv    []string
	needles []needle // sorted by text, no two equal
	index   index
	firsts  *[1 << 16 / 64]uint64 // bit set: some needle begins with this pair of bytes
	max     int
	values  int
	dropped int
	fields  map[string]bool // header fields, in lower case, whose values are credentials
	hashes  hashes
}

// needle is one spelling of one credential.
type needle struct {
	text string
	mac  string
}

// MaxValues is how many credentials one masker looks for (recorder.md 2.15):
// the search slows down with each (see the benchmarks).
const MaxValues = 32

// minLen is the length in bytes below which a value is never looked for: it
// would be found in ordinary traffic by chance (recorder.md 2.15). The search
// rests on it too (scan.go).
const minLen = 8

// New makes a masker for the given credentials. Values that are too common to
// look for (see maskable in value.go) are left out.
func New(key Key, values ...string) *Masker {
	c := collector{}
	for _, v := range values {
		c.add(v)
	}
	return c.masker(key)
}

// FromProcess makes a masker for the credentials that a process is started
// with: those in its argv, those in environment variables whose names say
// secret, and passwords inside of other variables, in this order. env has the
// form of os.Environ.
func FromProcess(key Key, argv, env []string) *Masker {
	c := collector{}
	found := inArgv(argv)
	for _, f := range found {
		c.add(f.value)
	}
	c.addEnv(env)
	m := c.masker(key)
	m.argv = m.maskArgv(argv, found)
	return m
}

// Argv is the argv of [FromProcess] with its credentials replaced by
// placeholders. It is nil for a masker made by [New].
func (m *Masker) Argv() []string { return slices.Clone(m.argv) }

// Empty tells that the masker looks for nothing. Argv may still hold
// placeholders: a credential can be too short to be looked for.
func (m *Masker) Empty() bool { return len(m.needles) == 0 }

// Max is the length in bytes of the longest spelling that is looked for.
func (m *Masker) Max() int { return m.max }

// Values is how many credentials are looked for.
func (m *Masker) Values() int { return m.values }

// Dropped is how many credentials are not looked for because there were more
// than [MaxValues].
func (m *Masker) Dropped() int { return m.dropped }

// Format keeps credentials out of logs whatever verb is used.
func (m *Masker) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "masker of %d credentials", m.values) }

// Mask replaces every credential in p by filler of the same length, in place,
// and appends what it replaced to spans, in the order of p. Credentials that
// overlap become one span with the hash of the longest.
//
// Valid JSON stays valid when the credentials are inside of its strings, where
// all of their spellings belong. A credential with a quotation mark in it could
// also be met across strings, so decide what a frame is after masking it.
func (m *Masker) Mask(p []byte, spans []Span) []Span {
	hits := m.scan(p, nil)
	if len(hits) == 0 {
		return spans
	}
	return m.replace(p, hits, spans)
}

// Torn is [Masker.Mask] for bytes that were cut where no [Masker.Held] was
// asked: bytes before p (before) or after it (after) are lost. A beginning or
// end of p that is a part of a credential and has at least 8 bytes is replaced
// too; parts that are shorter stay.
func (m *Masker) Torn(p []byte, before, after bool, spans []Span) []Span {
	if m.Empty() {
		return spans
	}
	hits := m.scan(p, nil)
	if before {
		if n := m.head(p); n >= minLen {
			hits = append(hits, hit{0, n, partial})
		}
	}
	if after {
		if c := m.tail(p); len(p)-c >= minLen {
			hits = append(hits, hit{c, len(p), partial})
		}
	}
	if len(hits) == 0 {
		return spans
	}
	return m.replace(p, hits, spans)
}

// Held tells how many bytes at the end of p must wait for what follows, since a
// credential (or a JSON escape, whose halves must not be told apart) may begin
// there. Ask before masking: Mask(p[:len(p)-Held(p)]), and put the rest,
// unmasked, in front of the next piece. The pieces come out as if they had been
// masked as a whole. It is 0 in nearly all cases, always after a line feed.
func (m *Masker) Held(p []byte) int {
	if m.Empty() || len(p) == 0 || p[len(p)-1] == '\n' {
		return 0
	}
	c := m.tail(p)
	// A credential that ends in the bytes to be kept must be kept whole, and
	// that may reach into another one. Only a run of nothing but overlapping
	// credentials goes back further than this; it may not fill the memory.
	floor := len(p) - 4*m.max - 64
	for {
		c = escapeStart(p, c)
		if c == len(p) {
			return 0
		}
		s := m.straddle(p, c)
		if s == c {
			return len(p) - c
		}
		if s < floor {
			return 0
		}
		c = s
	}
}

// String is s with its credentials replaced by placeholders: for error texts,
// labels and paths.
func (m *Masker) String(s string) string {
	hits := m.scan([]byte(s), nil)
	if len(hits) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, u := range m.merge(hits) {
		b.WriteString(s[last:u.start])
		b.WriteString(placeholder(u.end-u.start, m.mac(u)))
		last = u.end
	}
	b.WriteString(s[last:])
	return b.String()
}

// placeholder is what stands for n bytes in texts that people read.
func placeholder(n int, mac string) string {
	if mac == "" {
		return "[masked " + strconv.Itoa(n) + "]"
	}
	return "[masked " + strconv.Itoa(n) + " " + mac + "]"
}
