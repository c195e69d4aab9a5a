//go:build !race

package html

const raceOn = false
