//go:build !race

package codex_test

const raceOn = false
