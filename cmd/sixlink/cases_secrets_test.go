package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

const secretsCase = "56-redact-everywhere"

// stdioRun is case 56's run over stdio.
type stdioRun struct {
	Command []string
	Env     map[string]string
	Stderr  string `json:"server_stderr"`
	Text    string `json:"server_reply_text"`
}

// keysRole is the server of case 56: its credential is on stderr in two writes,
// and in its reply.
func keysRole(args []string) int {
	var run stdioRun
	if err := json.Unmarshal([]byte(os.Getenv("CASE_RUN")), &run); err != nil {
		fmt.Fprintln(os.Stderr, "keys:", err)
		return 2
	}
	proxytest.Slice(os.Stderr, []byte(run.Stderr), len(run.Stderr)-8)
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return 1
	}
	fmt.Print(caseAnswer)
	if _, err := in.ReadString('\n'); err != nil {
		return 1
	}
	fmt.Print(keysReply(run.Text))
	io.Copy(io.Discard, in)
	return 0
}

func keysReply(text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", text)
}

// Case 56, the run over stdio: no run of 12 letters out of a credential is in
// anything that the program writes, and everything reaches the other side unchanged.
func TestCaseCredentials(t *testing.T) {
	t.Parallel()
	var script struct {
		Run stdioRun `json:"stdio_run"`
	}
	caseScript(t, secretsCase, &script)
	run := script.Run
	var want struct {
		Min  int      `json:"record.forbidden_min_run"`
		Kept []string `json:"record.kept_strings"`
	}
	expected(t, secretsCase, "", &want)
	var all, secrets []string
	b, err := fixtures.ReadFile("cases", secretsCase, "secrets.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if slices.ContainsFunc(run.Command, func(w string) bool { return strings.Contains(w, s) }) || slices.Contains([]string{run.Env["ACME_API_KEY"]}, s) {
			secrets = append(secrets, s)
		}
	}
	if len(secrets) != 3 || want.Min != 12 {
		t.Fatalf("%q, %d", secrets, want.Min)
	}
	scanned := 0
	scan := func(what string, p []byte) {
		t.Helper()
		scanned++
		for _, s := range secrets {
			for i := 0; i+want.Min <= len(s); i++ {
				if at := bytes.Index(p, []byte(s[i:i+want.Min])); at >= 0 {
					t.Errorf("%s has %q: …%q…", what, s[i:i+want.Min], p[max(0, at-60):min(len(p), at+60)])
					return
				}
			}
		}
	}

	h := newHome(t)
	spelt, err := json.Marshal(stdioRun{Stderr: run.Stderr, Text: run.Text})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range run.Env {
		h.env = append(h.env, k+"="+v)
	}
	h.env = append(h.env, "CASE_RUN="+string(spelt), "SIXLINK_LABELS=case="+secrets[0])
	// The spellings that a recorder knows (recorder.md 2.15): plain, in a URL, in base64.
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"configure","arguments":{"page":2,"token":%q,"url":"/?k=%s","basic":%q}}}`+"\n",
		"case-argv2-ssss9999", strings.ReplaceAll(secrets[0], "-", "%2D"), base64.StdEncoding.EncodeToString([]byte(secrets[0])))
	// The second recording finds its name taken, so that the program itself talks.
	path := h.path("files", "r"+record.Suffix)
	paths := []string{path, h.path("files", "r-2"+record.Suffix)}
	for range paths {
		k := h.talk(t, nil, slices.Concat([]string{"sixlink", "record", "--out", path, "--"}, proxytest.Argv("keys"), run.Command[1:])...)
		k.write([]byte(caseInitialize))
		k.line()
		k.write([]byte(call))
		k.line()
		k.in.Close()
		if code := k.wait(); code != 0 {
			t.Errorf("status %d, stderr %s", code, k.errs.String())
		}
		if string(k.got) != caseAnswer+keysReply(run.Text) {
			t.Errorf("the host got %q", k.got)
		}
		ours := strings.Join(about(k.errs.String()), "\n")
		scan("the program's own stderr", []byte(ours))
		if theirs := strings.Replace(k.errs.String(), ours+"\n", "", 1); ours != "" && theirs != run.Stderr || ours == "" && k.errs.String() != run.Stderr {
			t.Errorf("the server's stderr came out as %q", k.errs.String())
		}
	}
	// A server that cannot be started, named by a path that holds a credential.
	missing := h.path("files", "missing"+record.Suffix)
	d := h.run(t, append([]string{"sixlink", "record", "--out", missing, "--", "./no-such-" + run.Env["ACME_API_KEY"]}, run.Command[1:]...)...)
	if d.code != 127 || len(about(string(d.err))) != 1 {
		t.Errorf("status %d, stderr %q", d.code, d.err)
	}
	scan("stderr about a missing server", d.err)
	paths = append(paths, missing)

	// Whatever is made of a recording.
	for i, p := range paths {
		repaired := h.path("files", fmt.Sprintf("repaired-%d%s", i, record.Suffix))
		for _, words := range [][]string{
			{"show", p}, {"show", "--format", "json", p}, {"cat", p}, {"cat", "--raw", "--from", "client", p}, {"cat", "--raw", "--from", "server", p},
			{"cat", "--raw", "--from", "stderr", p}, {"grade", p}, {"grade", "--format", "json", p},
			{"grade", "-o", h.path("files", fmt.Sprintf("verdict-%d.txt", i)), p}, {"grade", "--format", "json", "-o", h.path("files", fmt.Sprintf("verdict-%d.json", i)), p},
			{"repair", p, "-o", repaired},
		} {
			d := h.run(t, append([]string{"sixlink"}, words...)...)
			if words[0] != "grade" && d.code != 0 || d.code == exitUsage {
				t.Errorf("%s: status %d: %s", words, d.code, d.err)
			}
			what := strings.Join(words[:len(words)-1], " ")
			scan("stdout of "+what, d.out)
			scan("stderr of "+what, d.err)
		}
	}
	// Every file, unpacked and with escapes undone.
	files := 0
	err = filepath.WalkDir(h.dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		scan(name, b)
		if strings.HasSuffix(name, record.Suffix) {
			text := unpacked(t, name)
			scan(name+", unpacked", text)
			for l := range bytes.Lines(text) {
				texts(t, l, func(s string) { scan("a text in "+name, []byte(s)) })
			}
		} else if strings.HasSuffix(name, ".json") {
			texts(t, b, func(s string) { scan("a text in "+name, []byte(s)) })
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if files != 13 || scanned < 100 { // three recordings, with what was made of each of them, and the key
		t.Errorf("%d files, %d texts", files, scanned)
	}

	// What is no credential is kept, and the placeholders are marked.
	r := readRecording(t, path)
	r.whole(t)
	r.exit(t, 0, "")
	command := r.header.Command
	if n := len(command); n < 5 || !strings.HasPrefix(command[n-5], "--api-key=") || command[n-4] != "--token" || !slices.Equal(command[n-2:], []string{"--port", "80"}) || !slices.Contains(want.Kept, "--port") {
		t.Errorf("command %q", command)
	}
	if !slices.Contains(r.header.Env, "ACME_API_KEY") || r.header.Level != record.LevelFull || r.header.MaskKey == "" {
		t.Errorf("header %+v", r.header)
	}
	masked := map[record.From]int{}
	for _, rec := range r.records {
		masked[rec.From] += len(rec.Masked)
	}
	if masked[record.Client] < 1 || masked[record.Server] != 1 || masked[record.Stderr] != 1 {
		t.Errorf("placeholders %v", masked)
	}
	for from, sent := range map[record.From]string{record.Client: caseInitialize + call, record.Server: caseAnswer + keysReply(run.Text), record.Stderr: run.Stderr} {
		if got := h.cat(t, path, from); len(got) != len(sent) {
			t.Errorf("%s: %d bytes are recorded, %d passed", from, len(got), len(sent))
		}
	}
	for from, text := range map[record.From]string{record.Client: `"page":2,"token":"`, record.Server: "configured with ", record.Stderr: "using key "} {
		if !bytes.Contains(h.cat(t, path, from), []byte(text)) {
			t.Errorf("%s: %q is not kept", from, text)
		}
	}
}
