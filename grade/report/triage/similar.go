package triage

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is alike; the shares are of the words that either of two texts has.
const (
	// alikeBehind is for the descriptions of two tools of which one was called in the
	// other's place: that they were confused is known.
	alikeBehind = 0.6
	// alikeAlone is for any two tools of a catalog.
	alikeAlone = 0.8
	// leastWords is how many words a description must have to be compared.
	leastWords = 3
	// maxCompared bounds the tools of a catalog that are compared each with each, and
	// maxWords the bytes of a text whose words are.
	maxCompared = 200
	maxWords    = 2000
)

// WordSet are the words of a text in lower case.
func WordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words(s) {
		set[w] = true
	}
	return set
}

// words splits a text, and names such as getParcel and get_parcel, into words.
func words(s string) []string {
	s = cutBytes(s, maxWords)
	var out []string
	from := -1
	var last rune
	end := func(at int) {
		if from >= 0 {
			out = append(out, strings.ToLower(s[from:at]))
			from = -1
		}
	}
	for i, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			end(i)
		case from < 0:
			from = i
		case unicode.IsUpper(r) && unicode.IsLower(last):
			end(i)
			from = i
		}
		last = r
	}
	end(len(s))
	return out
}

// Share is the share of the words of two sets that both have.
func Share(a, b map[string]bool) (both, all int, share float64) {
	for w := range a {
		if b[w] {
			both++
		}
	}
	if all = len(a) + len(b) - both; all > 0 {
		share = float64(both) / float64(all)
	}
	return both, all, share
}

// alikeNames tells how two names are alike; empty: they are not.
func alikeNames(a, b string) string {
	if a == b || a == "" || b == "" {
		return ""
	}
	x, y := WordSet(a), WordSet(b)
	both, all, s := Share(x, y)
	few := min(len(x), len(y))
	switch {
	case few > 1 && both == few:
		return "one name has all words of the other"
	case s >= alikeBehind:
		return "the names share " + ofWords(both, all)
	case distance(strings.ToLower(a), strings.ToLower(b), 2) <= 2 && min(len(a), len(b)) > 4:
		return "the names differ by at most two characters"
	}
	return ""
}

// nearest is the name of those that is nearest to one, at most a third of it away; empty:
// there is none. Of several the first counts.
func nearest(name string, of []string) string {
	best, limit := "", len(name)/3+1
	for _, n := range of {
		if d := distance(strings.ToLower(name), strings.ToLower(n), limit); n != name && d < limit {
			best, limit = n, d
		} else if best == "" && n != name && alikeNames(name, n) != "" {
			best = n
		}
	}
	return best
}

// distance is how many characters have to be changed, added or removed to make one text
// of the other, or limit + 1 if it is more.
func distance(a, b string, limit int) int {
	if len(a) > 200 || len(b) > 200 || len(a) > len(b)+limit || len(b) > len(a)+limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		last := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last
			if a[i-1] != b[j-1] {
				cost++
			}
			last = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return min(row[len(b)], limit+1)
}

func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
