//go:build faults

package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/hosttest"
	"github.com/sixlink/sixlink/record/host/messages"
)

// Past the bound on one file nothing more is taken, and that is said.
func TestFaultManyMessages(t *testing.T) {
	t.Attr("fault", "a transcript of more messages than are kept")
	const chunk = `{"role":"user","content":"go"}` + "\n" + `{"role":"assistant","content":"x"}` + "\n"
	f := hosttest.Stream("m.jsonl", "", strings.Repeat(chunk, 1000), host.MaxItems/2000+10)
	cs, err := messages.Messages.Import([]*host.File{f})
	if err != nil {
		t.Fatal(err)
	}
	c := hosttest.One(t, cs)
	t.Attr("observed", fmt.Sprintf("%d messages are kept, calls are %s", len(c.Messages), c.Caps.Calls))
	if n := len(c.Messages); n > host.MaxItems+1 || c.Sources[0].ErrorCount == 0 && c.Notes == nil || c.Caps.Calls != host.Partial {
		t.Errorf("%d messages, source %+v, notes %v, caps %+v", n, c.Sources[0], c.Notes, c.Caps)
	}
}
