package rewrite

import (
	"net/url"
	"strings"
)

// challenge rewrites resource_metadata in the value of a WWW-Authenticate field.
// paths are the paths of the URLs that it changed.
//
// The value is not parsed into challenges: names, quoted strings and what stands
// between them are told apart, which is enough to find the parameter and is never
// misled by one that stands inside of a quoted string.
func (r *rule) challenge(v string) (text string, paths []string) {
	var b strings.Builder
	last := 0
	for at := 0; at < len(v); {
		switch {
		case v[at] == '"':
			_, _, at = quoted(v, at)
		case isTokenByte(v[at]):
			end := at
			for end < len(v) && isTokenByte(v[end]) {
				end++
			}
			name := v[at:end]
			at = end
			value, ok := afterEquals(v, end)
			if !ok {
				continue // a scheme, or its token68
			}
			at = value
			if value == len(v) {
				continue
			}
			var decoded string
			var offsets []int
			start := value
			if v[value] == '"' {
				start++
				decoded, offsets, at = quoted(v, value)
			} else {
				// A URL is no token, but clients read it up to a comma or space.
				if i := strings.IndexAny(v[value:], ", \t"); i >= 0 {
					at = value + i
				} else {
					at = len(v)
				}
				decoded = v[value:at]
			}
			if !strings.EqualFold(name, "resource_metadata") {
				continue
			}
			n := r.match(decoded)
			if n == 0 {
				continue
			}
			end = start + n
			if offsets != nil {
				end = offsets[n]
			}
			b.WriteString(v[last:start])
			b.WriteString(r.to)
			last = end
			if u, err := url.Parse(decoded); err == nil {
				paths = append(paths, u.Path)
			}
		default:
			at++
		}
	}
	if last == 0 {
		return v, nil
	}
	b.WriteString(v[last:])
	return b.String(), paths
}

// afterEquals is where the value of a parameter begins whose name ends at v[at:];
// white space may stand around "=" (RFC 9110 11.2).
func afterEquals(v string, at int) (int, bool) {
	at = skipSpace(v, at)
	if at == len(v) || v[at] != '=' {
		return 0, false
	}
	return skipSpace(v, at+1), true
}

func skipSpace(v string, at int) int {
	for at < len(v) && (v[at] == ' ' || v[at] == '\t') {
		at++
	}
	return at
}

// quoted decodes the quoted string at v[at:]. offsets has, for each decoded byte
// and for the end, where it stands in v; end is behind the closing mark.
func quoted(v string, at int) (decoded string, offsets []int, end int) {
	var b strings.Builder
	for at++; at < len(v); at++ {
		from := at
		switch {
		case v[at] == '"':
			return b.String(), append(offsets, at), at + 1
		case v[at] == '\\' && at+1 < len(v):
			at++
		}
		b.WriteByte(v[at])
		offsets = append(offsets, from)
	}
	return b.String(), append(offsets, len(v)), len(v)
}

func isTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
