package mask

// filler takes the place of each byte of a credential: it needs no escape in
// JSON, URLs and headers.
const filler = '*'

// replace fills what hits cover and appends it to spans.
func (m *Masker) replace(p []byte, hits []hit, spans []Span) []Span {
	for _, u := range m.merge(hits) {
		fill(p, u.start, u.end)
		spans = append(spans, Span{int64(u.start), int64(u.end - u.start), m.mac(u)})
	}
	return spans
}

// fill replaces p[a:b]. Where it begins or ends inside of a JSON escape, what
// was met is no credential in JSON, but its bytes by chance ("\n" and
// "abc12345" against the credential "nabc12345"), and may be one elsewhere. So
// the escape is left whole, its hex digits become 0, and the JSON stays valid.
// At most 3 bytes are kept at each end.
func fill(p []byte, a, b int) {
	i := a
	if s := escapeStart(p, a); s < a {
		end := escapeEnd(p, s)
		if i == s+1 {
			i++ // the escape's letter
		}
		i = zero(p, i, min(b, end))
	}
	for i < b {
		if p[i] == '\\' {
			if end := escapeEnd(p, i); end > b {
				zero(p, i+2, b)
				return
			}
			for end := escapeEnd(p, i); i < end; i++ {
				p[i] = filler
			}
			continue
		}
		p[i] = filler
		i++
	}
}

// zero writes hex digits to p[a:b] and returns where it ended.
func zero(p []byte, a, b int) int {
	for ; a < b; a++ {
		p[a] = '0'
	}
	return a
}

// escapeStart is where the JSON escape begins that p[i] is inside of, or i.
// i may be len(p): then an escape that could go on counts.
func escapeStart(p []byte, i int) int {
	if i > 0 && odd(p, i-1) {
		return i - 1
	}
	for s := i - 2; s >= 0 && s >= i-5; s-- {
		if p[s+1] == 'u' && odd(p, s) {
			if allHex(p[s+2:i]) && (i == len(p) || isHex(p[i])) {
				return s
			}
			return i
		}
	}
	return i
}

// escapeEnd is where the JSON escape ends that begins at p[s]; it may be beyond
// the end of p.
func escapeEnd(p []byte, s int) int {
	if s+1 >= len(p) || p[s+1] != 'u' {
		return s + 2
	}
	e := s + 2
	for e < len(p) && e < s+6 && isHex(p[e]) {
		e++
	}
	return e
}

// odd tells that p[i] is a backslash that begins an escape: one of an odd
// number in a row.
func odd(p []byte, i int) bool {
	n := 0
	for ; i >= 0 && p[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func allHex(p []byte) bool {
	for _, c := range p {
		if !isHex(c) {
			return false
		}
	}
	return true
}
