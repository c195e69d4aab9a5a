//go:build race

package har_test

// raceOn: the detector makes reading byte by byte many times slower.
const raceOn = true
