package claudecode_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/claudecode"
	"github.com/sixlink/sixlink/record/host/importers"
)

// TestCut cuts each sample after every line, and inside the first line of each kind:
// a line that is cut leaves nothing but that, whichever of its kind it is. What is
// read of the rest must be true of the whole, and what is missing must be said. The
// format is told from the content where the cut is near the beginning, since no
// format is told from more than the first kilobytes of these samples.
func TestCut(t *testing.T) {
	if raceOn {
		t.Skip("one goroutine reads thousands of cuts: without the race detector")
	}
	for _, name := range samples {
		files := sampleFiles(t, name)
		for i := range files {
			if strings.HasSuffix(files[i].name, ".meta.json") {
				continue
			}
			t.Run(name+"/"+filepath.Base(files[i].name), func(t *testing.T) {
				t.Parallel()
				cutFile(t, files, i)
			})
		}
	}
}

type sampleFile struct {
	name string
	data []byte
}

func sampleFiles(t *testing.T, name string) []sampleFile { return readSample(t, name) }

func readSample(t testing.TB, name string) []sampleFile {
	t.Helper()
	var out []sampleFile
	root := hostsDir + name
	err := filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		out = append(out, sampleFile{strings.TrimPrefix(p, root+"/"), b})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 1 {
		out[0].name = filepath.Base(name)
	}
	return out
}

func importFiles(files []sampleFile, format string) ([]*host.Conversation, error) {
	var list []*host.File
	for _, f := range files {
		list = append(list, host.BytesFile(f.name, f.data))
	}
	return host.ImportFiles(list, importers.All(), host.Options{Format: format})
}

func cutFile(t *testing.T, files []sampleFile, which int) {
	const told = 4 << 10 // bytes
	whole, err := importFiles(files, "")
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*host.Conversation{}
	for _, c := range whole {
		for _, id := range c.SessionIDs {
			by[id] = c
		}
	}
	data := files[which].data
	lines := bytes.SplitAfter(data, []byte("\n"))
	at := 0
	kinds := map[string]bool{}
	for _, l := range lines {
		cuts := []int{at + len(l)}
		if k := kindOfLine(l); !kinds[k] {
			kinds[k] = true
			cuts = append(cuts, at+len(l)/2)
		}
		for _, cut := range cuts {
			some := append([]sampleFile(nil), files...)
			some[which].data = data[:cut]
			format := ""
			if cut > told {
				format = whole[0].Sources[0].Importer
			}
			cs, err := importFiles(some, format)
			if err != nil {
				continue // nothing is left that could be read
			}
			inside := cut == at+len(l)/2 && len(bytes.TrimSpace(l)) > 2 && bytes.IndexByte(l, '{') < len(l)/2
			for _, c := range cs {
				checkCut(t, by[c.SessionIDs[len(c.SessionIDs)-1]], c, files[which].name, cut, inside)
			}
		}
		at += len(l)
	}
}

// kindOfLine is what the importer's switches look at first.
func kindOfLine(l []byte) string {
	var v struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Event   string `json:"hook_event_name"`
		Side    bool   `json:"isSidechain"`
	}
	if err := json.Unmarshal(l, &v); err != nil {
		return "none"
	}
	return fmt.Sprint(v)
}

func checkCut(t *testing.T, whole, c *host.Conversation, name string, cut int, inside bool) {
	t.Helper()
	if whole == nil {
		t.Fatalf("cut at %d: session %v is in no whole file", cut, c.SessionIDs)
	}
	of := false // the file that was cut is this conversation's
	for _, s := range c.Sources {
		if s.Path == name {
			of = true
			if inside && !s.Cut {
				t.Errorf("cut at %d: the source is not said to be cut", cut)
			}
		}
	}
	if inside && of && c.Caps.Calls == host.Present {
		t.Errorf("cut at %d: calls are said to be all there", cut)
	}
	if len(c.Turns) > len(whole.Turns) {
		t.Fatalf("cut at %d: %d turns of %d", cut, len(c.Turns), len(whole.Turns))
	}
	for i := range c.Turns {
		got, want := &c.Turns[i], &whole.Turns[i]
		if got.Status == host.Open {
			if c.Caps.Turns != host.Partial || c.Caps.FinalText == host.Present || c.Caps.Calls != host.Partial {
				t.Errorf("cut at %d: turn %d is open, caps %+v", cut, i, c.Caps)
			}
			continue
		}
		// A turn that is said to be complete has the answer and the calls of the whole,
		// or those that it had before something woke the model again.
		finals := append([]host.FinalText{want.FinalText}, want.Earlier...)
		ok := false
		for _, f := range finals {
			ok = ok || f.Text == got.FinalText.Text && f.State == got.FinalText.State
		}
		if !ok {
			t.Errorf("cut at %d: turn %d (%s) ends with %q", cut, i, got.Status, got.FinalText.Text.Text)
		}
		main := map[string]bool{}
		for _, k := range c.Calls {
			main[k.HostCallID] = true
		}
		for _, k := range whole.Calls {
			if k.Agent == nil && k.Turn == i && len(want.Earlier) == 0 && !main[k.HostCallID] {
				t.Errorf("cut at %d: turn %d (%s) lacks call %s", cut, i, got.Status, k.HostCallID)
			}
		}
	}
}

// Bytes before, between and around the lines are tolerated and counted.
func TestLineEnds(t *testing.T) {
	const sample = "rig-claude-code/2.0.65/projects/-home-user-project/8b4e4c88-a327-40f9-bf4d-d957da0cc47e.jsonl"
	data, err := os.ReadFile(hostsDir + sample)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := claudecode.Session.Import([]*host.File{host.BytesFile("s.jsonl", data)})
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n\r\n"))...)
	crlf, err := claudecode.Session.Import([]*host.File{host.BytesFile("s.jsonl", changed)})
	if err != nil {
		t.Fatal(err)
	}
	if s := crlf[0].Sources[0]; s.Skipped["blank line"] != 70 || s.ErrorCount != 0 || s.Cut {
		t.Errorf("source %+v", s)
	}
	for i := range plain[0].Turns {
		a, b := plain[0].Turns[i], crlf[0].Turns[i]
		if a.FinalText.Text != b.FinalText.Text || len(a.CallIDs) != len(b.CallIDs) {
			t.Errorf("turn %d differs: %q, %q", i, a.FinalText.Text.Text, b.FinalText.Text.Text)
		}
	}
	broken := append([]byte("\x00\xff binary\n{\"type\":7}\n[1]\n{\"a\":\n"), data...)
	bin, err := claudecode.Session.Import([]*host.File{host.BytesFile("s.jsonl", broken)})
	if err != nil {
		t.Fatal(err)
	}
	if s := bin[0].Sources[0]; s.ErrorCount != 3 || s.Skipped["(no type)"] != 1 || len(bin[0].Turns) != 10 || bin[0].Caps.Turns != host.Partial {
		t.Errorf("source %+v, %d turns, caps %+v", s, len(bin[0].Turns), bin[0].Caps)
	}
}
