//go:build race

package codex_test

// raceOn: the race detector makes a test ten times slower, and here no goroutine
// is started.
const raceOn = true
