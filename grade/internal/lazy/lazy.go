// Package lazy holds what is made when it is first used: every run of the
// program, the relay's too, would pay for it otherwise.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles expr at its first call. An expr that
// does not compile panics then; tests use all of them.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
