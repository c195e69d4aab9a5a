package html

import (
	"bytes"
	"os"
	"testing"

	"github.com/sixlink/sixlink/grade/report"
)

// A run with everything a page can show, for who wants to look at it:
// SIXLINK_KEEP=FILE go test -run TestShop ./grade/report/html
func TestShop(t *testing.T) {
	recs, v := shop(t)
	var out bytes.Buffer
	if err := Write(&out, v, Options{Options: report.Options{Source: sourceOf(recs...)},
		Earlier: []Run{{"run 11", 5, 3, 0, false}, {"run 12", 6, 4, 0, true}, {"run 13", 7, 2, 1, true}, {"run 14", 7, 3, 0, true}}}); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("SIXLINK_KEEP"); path != "" {
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks := blocksOf(t, out.String())
	t.Logf("%d blocks, %d bytes", len(blocks), out.Len())
}
