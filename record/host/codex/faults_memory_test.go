//go:build faults

package codex_test

import (
	"fmt"
	"testing"
)

func TestFaultLongRollout(t *testing.T) {
	t.Attr("fault", "a Codex rollout of 200 MB")
	held := longRollout(t, 200<<20)
	t.Attr("observed", fmt.Sprintf("%d MiB are held", held>>20))
	if held > 64<<20 {
		t.Errorf("%d bytes are held", held)
	}
}
