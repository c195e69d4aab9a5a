package triage

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// Bounds of texts, in characters.
const (
	maxLine     = 300
	maxText     = 600
	maxDesc     = 1000
	shownSchema = 4000 // of an input schema that is shown
)

// oneLine is a text from a stranger on one line.
func oneLine(s string) string { return limited(s, maxLine) }

// sentence is a longer one.
func sentence(s string) string { return limited(s, maxText) }

// limited is the beginning of a text, safe to print. The verdict's texts have their secrets
// taken out; other texts of calls must be quoted ([predicate.Quoted], which does that).
func limited(s string, n int) string {
	s = visible.String(cutBytes(s, 4*n+64))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at] + "…"
}

// name quotes the name of a tool or a parameter.
func name(s string) string { return predicate.Quoted(s) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ofWords(both, all int) string { return fmt.Sprintf("%d of %s", both, plural(all, "word")) }

// listed joins texts, at most n of them.
func listed(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}
