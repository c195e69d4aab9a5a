//go:build unix

package proxy_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/proxy"
	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

const cases = "../fixtures/cases/"

// asserts reads the JSON at the end of a case's expect.md.
func asserts(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(cases, name, "expect.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tail, ok := strings.Cut(string(b), "```json\n")
	if !ok {
		t.Fatal("no asserts")
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(tail), "```")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// direction reads the bytes of one direction of a case.
func direction(t *testing.T, name, dir string) []byte {
	t.Helper()
	base := filepath.Join(cases, name)
	if b, err := os.ReadFile(filepath.Join(base, "frames."+dir+".bin")); err == nil {
		return b
	}
	if f, err := os.Open(filepath.Join(base, "frames."+dir+".bin.gz")); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	f, err := os.Open(filepath.Join(base, "input.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []byte
	for s := bufio.NewScanner(f); s.Scan(); {
		line := struct {
			Dir   string
			Frame string
			EOL   *string
		}{}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Dir != dir {
			continue
		}
		out = append(out, line.Frame...)
		if line.EOL == nil {
			out = append(out, '\n')
		} else {
			out = append(out, *line.EOL...)
		}
	}
	return out
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func TestBytesPassUnchanged(t *testing.T) {
	var cuts struct {
		Cuts []int `json:"cut_before_byte"`
	}
	b, err := os.ReadFile(cases + "03-utf8-split/chunks.json")
	if err == nil {
		err = json.Unmarshal(b, &cuts)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fault, name string
		step        proxytest.Step // how the server writes
	}{
		{"lines of 64 KiB to 1 MiB", "01-long-lines", proxytest.Step{}},
		{"letters cut by the server's writes", "03-utf8-split", proxytest.Step{Cuts: cuts.Cuts}},
		{"one byte a write", "03-utf8-split", proxytest.Step{OneByOne: true}},
		{"byte order mark and bare newline", "05-bom-first-line", proxytest.Step{}},
		{"two objects on one line", "07-two-objects-one-line", proxytest.Step{}},
		{"framing by headers", "09-content-length-framing", proxytest.Step{}},
		{"odd spacing, escapes and numbers", "22-nothing-re-encoded", proxytest.Step{}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			c2s, s2c := direction(t, c.name, "c2s"), direction(t, c.name, "s2c")
			dir := t.TempDir()
			script, got := filepath.Join(dir, "s2c"), filepath.Join(dir, "c2s")
			if err := os.WriteFile(script, s2c, 0o600); err != nil {
				t.Fatal(err)
			}
			c.step.WriteFile = script
			h := start(t, patient, proxytest.Program{c.step, {SaveStdin: got}}.Argv())
			go func() {
				h.in.Write(c2s)
				h.in.Close()
			}()
			out := h.rest(h.out)
			if s := h.wait(); s.ExitCode() != 0 {
				t.Fatalf("status %+v: %s", s, h.rest(h.errs))
			}
			in, err := os.ReadFile(got)
			if err != nil {
				t.Fatal(err)
			}
			want := asserts(t, c.name)
			checked := 0
			for key, b := range map[string][]byte{"proxy.s2c_sha256": out, "proxy.c2s_sha256": in} {
				if w, ok := want[key]; ok {
					checked++
					if sum(b) != w {
						t.Errorf("%s: %s, want %s", key, sum(b), w)
					}
				}
			}
			if n, ok := want["proxy.s2c_bytes"]; ok && n != float64(len(out)) {
				t.Errorf("%d bytes, want %v", len(out), n)
			}
			if checked == 0 {
				t.Error("the case asserts nothing about bytes")
			}
			if !bytes.Equal(in, c2s) || !bytes.Equal(h.tap.Bytes(record.Client), c2s) {
				t.Error("client's bytes differ at the server or at the tap")
			}
			if !bytes.Equal(out, s2c) || !bytes.Equal(h.tap.Bytes(record.Server), s2c) {
				t.Error("server's bytes differ at the client or at the tap")
			}
		})
	}
}

func TestUnterminatedTailAndOddBytes(t *testing.T) {
	const in = "x\r\n{\"a\": 1.0}\n\xff\xfe\x00\nlast"
	h := start(t, patient, []string{"cat"})
	h.write(in)
	h.read(in) // "last" comes although neither newline nor end of file does
	h.in.Close()
	if b := h.rest(h.out); len(b) != 0 {
		t.Errorf("more came: %q", b)
	}
	if s := h.wait(); s.ExitCode() != 0 {
		t.Errorf("status %+v", s)
	}
	h.mustHave("start", "client data", "server data", "client end", "close client stdin",
		"server end", "close server stdout", "exit 0")
}

func TestStderrByteForByte(t *testing.T) {
	const text = "no newline \xff\x1b[31m\r"
	h := start(t, patient, proxytest.Program{{WriteFile: os.DevNull}, {Stderr: &proxytest.Text{Repeat: text, Count: 1}}}.Argv())
	if out := h.rest(h.out); len(out) != 0 {
		t.Errorf("stdout: %q", out)
	}
	b := h.rest(h.errs)
	h.wait()
	if string(b) != strings.ToValidUTF8(text, "\ufffd") && string(b) != text {
		t.Errorf("stderr: %q", b)
	}
	if !bytes.Equal(b, h.tap.Bytes(record.Stderr)) {
		t.Errorf("tap has %q", h.tap.Bytes(record.Stderr))
	}
	h.mustHave("stderr data", "stderr end", "close server stderr")
}

func TestStderrFlood(t *testing.T) {
	type client struct {
		Write      string
		ReadLine   int  `json:"read_line"`
		CloseStdin bool `json:"close_stdin"`
	}
	var script struct {
		Server proxytest.Program
		Client []client
	}
	b, err := os.ReadFile(cases + "24-stderr-flood/script.json")
	if err == nil {
		err = json.Unmarshal(b, &script)
	}
	if err != nil {
		t.Fatal(err)
	}
	var wantErr []byte
	for _, s := range script.Server {
		if s.Stderr != nil {
			wantErr = append(wantErr, s.Stderr.Bytes()...)
		}
	}
	want := asserts(t, "24-stderr-flood")
	if float64(len(wantErr)) != want["proxy.stderr_bytes_of_server"] {
		t.Fatalf("the script writes %d bytes", len(wantErr))
	}
	for _, run := range []string{"read", "devnull", "small-steps"} {
		t.Run(run, func(t *testing.T) {
			h := start(t, patient, script.Server.Argv(), func(s *proxy.Stdio, _ *host) {
				if run == "devnull" {
					f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
					if err != nil {
						t.Fatal(err)
					}
					s.Stderr = f
				}
			})
			errs := make(chan []byte, 1)
			if run != "devnull" {
				var r io.Reader = h.errs
				if run == "small-steps" {
					r = proxytest.SlowReader{R: h.errs, Size: 1 << 10}
				}
				go func() {
					b, _ := io.ReadAll(r)
					errs <- b
				}()
			}
			out := bufio.NewReader(h.out)
			var replies []string
			for _, c := range script.Client {
				switch {
				case c.Write != "":
					h.write(c.Write)
				case c.ReadLine > 0:
					line, err := out.ReadBytes('\n')
					if err != nil {
						t.Fatal(err)
					}
					var m struct{ ID json.RawMessage }
					if err := json.Unmarshal(line, &m); err != nil {
						t.Fatalf("stdout has %q", line)
					}
					replies = append(replies, string(m.ID))
				case c.CloseStdin:
					h.in.Close()
				}
			}
			if s := h.wait(); s.ExitCode() != 0 {
				t.Errorf("status %+v", s)
			}
			if len(replies) != 2 || replies[0] != "1" || replies[1] != "2" {
				t.Errorf("replies %v", replies)
			}
			if run != "devnull" {
				if b := <-errs; !bytes.Equal(b, wantErr) {
					t.Errorf("%d bytes on stderr, want %d, or they differ", len(b), len(wantErr))
				}
			}
			if !bytes.Equal(h.tap.Bytes(record.Stderr), wantErr) {
				t.Error("the tap's stderr differs")
			}
		})
	}
}
