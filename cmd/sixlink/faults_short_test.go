package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// The short form of what make faults does 50 times: kill -9 while a server writes.
// What is there is what passed, the recording says that it is torn, and the server,
// which ignores all that can be ignored, is gone too.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.path("r" + record.Suffix)
	const line = "0123456789abcde\n"
	k := h.talk(t, nil, append([]string{"sixlink", "record", "--quiet", "--out", path, "--"}, proxytest.Program{
		{Ignore: []string{"TERM", "HUP", "INT", "PIPE"}},
		{Out: &proxytest.Text{Repeat: line, Count: 1 << 18}}, {Hang: true}, // 4 MiB
	}.Argv()...)...)
	k.read(1 << 20)
	// The file is read as it grows; something is in it when this comes back.
	r, err := record.Open(path, record.Options{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == record.KindFrame && rec.From == record.Server {
			break
		}
	}
	r.Close()
	k.cmd.Process.Kill()
	if code := k.wait(); code != 128+9 {
		t.Errorf("status %d", code)
	}
	if r, err = record.Open(path, record.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var kept bytes.Buffer
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == record.KindFrame {
			kept.Write(rec.Data)
			kept.Write(rec.EOL)
		}
	}
	if end := r.End(); end.State != record.Torn || end.Damage != nil || end.Gaps != 0 {
		t.Errorf("%+v", end)
	}
	both := min(kept.Len(), len(k.got))
	if both == 0 || !bytes.Equal(kept.Bytes()[:both], k.got[:both]) {
		t.Errorf("%d bytes are recorded, %d passed, and they differ", kept.Len(), len(k.got))
	}
	if s := h.run(t, "sixlink", "show", path); s.code != 0 || !bytes.Contains(s.out, []byte("torn")) {
		t.Errorf("show: %d %s %s", s.code, s.out, s.err)
	}
}
