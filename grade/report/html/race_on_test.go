//go:build race

package html

// raceOn: the race detector makes a test ten times slower; those that start no
// goroutine have nothing for it to find.
const raceOn = true
