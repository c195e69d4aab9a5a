package importers_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/importers"
)

// formats says of which format the samples are, by a part of their path; what is
// in no line is no transcript. The first that fits counts.
var formats = []struct{ part, format string }{
	{"/wire.jsonl", ""}, {"/wire-meta", ""}, {"/truth.json", ""}, {"claude-desktop-log/", ""}, {"chatgpt-wire-meta/", ""},
	{"claude-code-stream-json/", "claude-code-stream"}, {"claude-code-subagents/hooks", "claude-code-hooks"}, {"claude-code-subagents/stream", "claude-code-stream"},
	{"paired-claude-code/host-verbose", "claude-code-stream"}, {"2.1.332-hooks/hooks", "claude-code-hooks"}, {"rig-claude-code/", "claude-code-stream"},
	{"claude-code-jsonl/", "claude-code"},
	{"codex-rollout/", "codex-rollout"}, {"codex-wire-and-hooks/rollout", "codex-rollout"}, {"codex-wire-and-hooks/hooks", "codex-hooks"},
	{"/exec-", "codex-exec"}, {"rig-codex/", "codex-rollout"},
	{"anthropic-mcp-connector/", "messages"}, {"openai-responses/", "messages"}, {"rig-mcpjam-sdk/", "messages"},
	{"rig-openai-agents-sdk/0.20.0/trace", "openai-agents-trace"}, {"rig-openai-agents-sdk/", "messages"},
	{"chatgpt-export/", "chatgpt-export"}, {"claude-ai-export/", "claude-ai-export"}, {"/chats/", "gemini-session"}, {"rig-gemini-cli/", "gemini-stream"},
}

// TestDetect: each sample is known for what it is by one importer alone, its wire
// side and its oracle by none.
func TestDetect(t *testing.T) {
	root := os.DirFS("../../../fixtures/hosts")
	seen := map[string]int{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want := "?"
		for _, f := range formats {
			if strings.Contains(p, f.part) {
				want = f.format
				break
			}
		}
		if strings.Contains(p, "/projects/") {
			want = "claude-code"
		}
		data, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		im, err := host.Detect(host.BytesFile(path.Base(p), data), importers.All())
		got := ""
		if im != nil {
			got = im.Name
		}
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", p, got, want, err)
		}
		seen[got]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range importers.All() {
		if seen[im.Name] == 0 {
			t.Errorf("no sample is of format %s", im.Name)
		}
	}
}

// Names are those that --conversation-format takes: each once, each with a line
// that says what it reads.
func TestNames(t *testing.T) {
	var names []string
	seen := map[string]bool{}
	for _, im := range importers.All() {
		if seen[im.Name] || im.Doc == "" || im.Version == "" || im.Detect == nil || im.Import == nil || im.Detect("x", nil) != host.No {
			t.Errorf("importer %+v", im)
		}
		seen[im.Name] = true
		names = append(names, im.Name)
	}
	want := []string{"claude-code", "claude-code-stream", "claude-code-hooks", "codex-rollout", "codex-exec", "codex-hooks", "messages", "openai-agents-trace",
		"chatgpt-export", "claude-ai-export", "gemini-session", "gemini-stream"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}
