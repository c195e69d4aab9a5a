package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// auditPile are the recordings of fixtures, copied into folders of their own.
func auditPile(t *testing.T, h *home) (all []string) {
	t.Helper()
	for _, dir := range []string{"", "http"} {
		found, err := filepath.Glob(filepath.Join(fixtures.Dir(), "recordings", dir, "*"+record.Suffix))
		if err != nil || len(found) < 10 {
			t.Fatalf("%v %v", found, err)
		}
		all = append(all, found...)
	}
	return all
}

func (h *home) audit(t *testing.T, env []string, code int, args ...string) []byte {
	t.Helper()
	c := h.command(t, append([]string{"sixlink", "audit"}, args...)...)
	c.Env = append(c.Environ(), env...)
	d := finish(t, c)
	noTrace(t, d)
	if d.code != code {
		t.Fatalf("audit %v: status %d, not %d: %s", args, d.code, code, d.err)
	}
	return d.out
}

var auditBytes = regexp.MustCompile(`"bytes": [0-9]+`)

// The JSON is the same to the byte whatever the order of the files, their names, the
// number of processors, and however the recordings are kept; and so is what goes on
// from a state file.
func TestAuditBytesAreTheSame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pile := auditPile(t, h)
	json := func(env []string, args ...string) []byte {
		return h.audit(t, env, exitGood, append([]string{"--format", "json", "--by", "host,tool"}, args...)...)
	}
	want := json(nil, pile...)
	if bytes.Contains(want, []byte(fixtures.Dir())) || !bytes.Contains(want, []byte(`"schema": "sixlink/audit/1"`)) {
		t.Fatalf("%.300s", want)
	}
	same := func(what string, got []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: differs at byte %d: %.200q, want %.200q", what, i, got[max(0, i-60):], want[max(0, i-60):])
		}
	}
	back := slices.Clone(pile)
	slices.Reverse(back)
	same("backwards, one processor", json([]string{"GOMAXPROCS=1", "TZ=Pacific/Chatham", "LC_ALL=tr_TR.UTF-8"}, back...))
	same("four processors", json([]string{"GOMAXPROCS=4"}, pile...))
	same("the folder", json(nil, filepath.Join(fixtures.Dir(), "recordings")))

	// Given twice: counted once, and said.
	twice := json(nil, append(slices.Clone(pile), pile[0])...)
	if !bytes.Contains(twice, []byte(`"twice": 1`)) || bytes.Contains(twice, []byte(`"read": 27`)) {
		t.Errorf("%.800s", twice)
	}

	// In segments: all but the size of the files is the same.
	var parts []string
	for i, path := range pile {
		for k, s := range plainSegments(t, path, 3) {
			name := h.path(fmt.Sprintf("%c%d%s", 'z'-rune(i), i, record.Suffix))
			if k > 0 {
				name = strings.TrimSuffix(name, record.Suffix) + fmt.Sprintf(".%04d", k) + record.Suffix
			}
			if err := os.WriteFile(name, packedAt(t, s, zstd.SpeedFastest), 0o600); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, name)
		}
	}
	plain := auditBytes.ReplaceAll(want, nil)
	if got := auditBytes.ReplaceAll(json(nil, parts...), nil); !bytes.Equal(got, plain) {
		t.Errorf("segments: %d and %d bytes", len(got), len(plain))
	}

	// From a state file, in three steps; what is counted may be gone meanwhile.
	state := h.path("audit.state")
	for _, n := range []int{9, 17} {
		json(nil, append([]string{"--resume", state}, pile[:n]...)...)
	}
	same("in three steps", json(nil, append([]string{"--resume", state}, pile[5:]...)...))
	same("nothing new", json([]string{"GOMAXPROCS=1"}, "--resume", state, pile[3]))
	kept, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	d := h.run(t, "sixlink", "audit", "--resume", state, "--tool", "echo", pile[0])
	if d.code != exitUsage || !bytes.Contains(d.err, []byte("scope")) {
		t.Errorf("another scope: status %d: %s", d.code, d.err)
	}
	if now, err := os.ReadFile(state); err != nil || !bytes.Equal(now, kept) {
		t.Errorf("a refused run changed the state (%v)", err)
	}
}

// What is no recording, or only a part of one, is said and counted, and nothing hangs
// or crashes; the rest is measured all the same.
func TestAuditOfWhatIsNoRecording(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	good := filepath.Join(fixtures.Dir(), "recordings", "ts1-memory-stdio"+record.Suffix)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) string {
		p := h.path(name + record.Suffix)
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	garbage := bytes.Repeat([]byte{0xfd, 0x2f, 0xb5, 0x28}, 999)
	segments := plainSegments(t, good, 3, `{"team":"a"}`)
	for name, c := range map[string]struct {
		paths []string
		code  int
		want  string
	}{
		"empty":              {[]string{put("empty", nil)}, exitUnknown, `"unreadable": 1`},
		"garbage":            {[]string{put("garbage", garbage), good}, exitUnknown, `"sealed": 1`},
		"cut":                {[]string{put("cut", data[:len(data)*2/3])}, exitGood, `"torn": 1`},
		"torn":               {[]string{put("torn", packedAt(t, segments[0], zstd.SpeedFastest))}, exitGood, `"torn": 1`},
		"the end alone":      {[]string{put("end.0002", packedAt(t, segments[2], zstd.SpeedFastest))}, exitGood, `"read": 1`},
		"missing":            {[]string{h.path("missing"), good}, exitUnknown, `"unreadable": 1`},
		"a device":           {[]string{"/dev/null"}, exitUnknown, `"unreadable": 1`},
		"a label it has not": {[]string{"--label", "team=b", good}, exitUnknown, `"filtered": 1`},
	} {
		out := h.audit(t, nil, c.code, append([]string{"--format", "json"}, c.paths...)...)
		if !bytes.Contains(out, []byte(c.want)) || bytes.Contains(out, []byte(h.path(""))) {
			t.Errorf("%s: no %q in %.1500s", name, c.want, out)
		}
		for _, format := range []string{"text", "html"} {
			h.audit(t, nil, c.code, append([]string{"--format", format}, c.paths...)...)
		}
	}
	// One that cannot be read is no part of the state: it is looked at again.
	state := h.path("state")
	bad := put("later", data[:10])
	h.audit(t, nil, exitUnknown, "--resume", state, bad)
	put("later", data)
	if out := h.audit(t, nil, exitGood, "--resume", state, "--format", "json", bad); !bytes.Contains(out, []byte(`"read": 1`)) || bytes.Contains(out, []byte("unreadable")) {
		t.Errorf("%.600s", out)
	}
}
