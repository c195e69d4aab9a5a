//go:build !race

package har_test

const raceOn = false
