//go:build faults

package grade_test

import "testing"

// What `make faults` takes away.
const (
	lossSample = 40
	lossStates = 3
)

func TestFaultLostEvidenceIsNeverWon(t *testing.T) {
	t.Attr("fault", "records and channels of evidence that are lost")
	t.Run("records", TestNothingIsWonByLosingRecords)
	t.Run("channels", TestNothingIsWonByLosingAChannel)
	t.Attr("observed", "no row and no trial moved to passed, over all fixtures")
}
