//go:build !race

package claudecode_test

const raceOn = false
