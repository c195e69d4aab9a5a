//go:build !faults

package grade_test

// How much is taken away in `make test`: seconds of it. `make faults` takes more.
const (
	lossSample = 3 // places of each recording, of either kind of loss
	lossStates = 1 // partial
)
