package serve

import "strings"

// indexAuthority is where the path begins in an absolute URL; 0: it is none.
func indexAuthority(target string) int {
	i := strings.Index(target, "://")
	if i < 0 || strings.ContainsAny(target[:i], "/?#") {
		return 0
	}
	rest := target[i+3:]
	if j := strings.IndexAny(rest, "/?#"); j >= 0 {
		return i + 3 + j
	}
	return len(target)
}
