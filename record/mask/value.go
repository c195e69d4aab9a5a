package mask

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maskable tells whether value may be looked for in traffic: whether it is
// special enough that masking it hides a credential and not ordinary text
// (recorder.md 2.15: at least 8 bytes, no plain number, word or path).
func maskable(value string) bool {
	return len(value) >= minLen && !isNumber(value) && !isWord(value) && !isPath(value) &&
		!isReference(value) && distinct(value) >= 4
}

// isNumber: digits with what is written between and around them, so that
// numbers, dates, versions, IP addresses and telephone numbers count.
func isNumber(s string) bool {
	if strings.Trim(s, "0123456789+-.,:/_() ") == "" {
		return strings.ContainsAny(s, "0123456789")
	}
	// Exponents ("1.5e300"); names such as "infinity" are words.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// wordMax is the longest value in bytes that can be a plain word. Passwords of
// letters alone exist too, most of 16 letters and more.
const wordMax = 15

// isWord: letters in one of the ways words are written ("production",
// "Production", "PRODUCTION"), or a few of them joined ("read-only").
func isWord(s string) bool {
	if len(s) > wordMax {
		return false
	}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_. ", r) }) {
		upper, lower := 0, 0
		for i := range len(w) {
			switch {
			case w[i] >= 'a' && w[i] <= 'z':
				lower++
			case w[i] >= 'A' && w[i] <= 'Z':
				upper++
			default:
				return false
			}
		}
		first := w[0] >= 'A' && w[0] <= 'Z'
		if upper > 0 && lower > 0 && (upper > 1 || !first) {
			return false
		}
	}
	return true
}

// isPath: a path or a URL without anything in it that looks made by a machine.
func isPath(s string) bool {
	if strings.ContainsAny(s, "+=\"'\n") {
		return false
	}
	rest := s
	if i := strings.Index(s, "://"); i > 0 && isName(s[:i]) {
		rest = s[i+3:]
		if strings.Contains(rest, "@") {
			return false // user:password@host
		}
	} else if !hasAnyPrefix(s, "/", "./", "../", "~/", `\\`) && !isDrive(s) && !hasFileEnd(s) {
		return false
	}
	for _, seg := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(`/\?#&:. `, r) }) {
		if len(seg) >= 20 && isOpaque(seg) {
			return false
		}
	}
	return true
}

func isDrive(s string) bool {
	return len(s) > 3 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// hasFileEnd: a relative path to one of the files that credentials are kept in.
func hasFileEnd(s string) bool {
	i := strings.LastIndexByte(s, '.')
	if i < 0 || strings.ContainsAny(s, " @") {
		return false
	}
	switch strings.ToLower(s[i+1:]) {
	case "json", "pem", "key", "crt", "cer", "p12", "pfx", "jks", "txt", "yaml", "yml", "toml", "ini", "env", "conf", "gpg", "asc", "pub":
		return true
	}
	return false
}

// isReference: a name that a shell or a host would have replaced, not a value.
func isReference(s string) bool {
	return strings.HasPrefix(s, "${") && strings.IndexByte(s, '}') == len(s)-1 ||
		strings.HasPrefix(s, "$") && isName(s[1:])
}

// isOpaque tells that no person would write s as text: letters and digits, or
// capitals after small letters.
func isOpaque(s string) bool {
	var upper, lower, digit, turns int
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digit++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
			if i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
				turns++
			}
		}
	}
	return digit > 0 && upper+lower > 0 || turns >= 2
}

func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// distinct counts the different bytes of s: "********" and "xxxxxxxxxxxx" are
// drawn, not secret.
func distinct(s string) int {
	var seen [256]bool
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

// runeStart is the largest i <= at where a rune of s begins.
func runeStart(s string, at int) int {
	for i := at; i > 0 && i > at-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return at
}
