//go:build race

package claudecode_test

// raceOn: the race detector makes a test ten times slower, and here no goroutine
// is started.
const raceOn = true
