//go:build faults

package claudecode_test

import (
	"fmt"
	"testing"
)

// 200 MB and more of a session, 20 000 calls with results of 4 KB and
// api-request-blobs that repeat them.
func TestFaultLongSession(t *testing.T) {
	t.Attr("fault", "a Claude Code session file of over 200 MB")
	c, peak := longSession(t, 20_000)
	t.Attr("observed", fmt.Sprintf("%d MB read twice, live memory at most %d MiB", c.Sources[0].Bytes/1e6, peak>>20))
	if c.Sources[0].Bytes < 200e6 || peak > 128<<20 {
		t.Errorf("%d bytes read, live memory %d MiB", c.Sources[0].Bytes, peak>>20)
	}
}
