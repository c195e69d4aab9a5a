package main

import (
	"bytes"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	at := time.Unix(0, 0)
	var b bytes.Buffer
	p := newProgress(&b, at) // no terminal
	p.tell(at.Add(time.Hour), "1 of 2")
	if p.clear(); b.Len() > 0 {
		t.Errorf("to a pipe: %q", b.String())
	}
	p = &progress{w: &b, from: at.Add(progressAfter)}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""}, // a short run says nothing
		{progressAfter, "\r\x1b[K0 of 9"},
		{progressAfter + time.Millisecond, ""},
		{progressAfter + progressEvery, "\r\x1b[K3 of 9"},
	} {
		b.Reset()
		if p.tell(at.Add(c.after), "%s", c.want[min(len(c.want), 4):]); b.String() != c.want {
			t.Errorf("after %v: %q, want %q", c.after, b.String(), c.want)
		}
	}
	b.Reset()
	p.clear()
	p.clear()
	if b.String() != "\r\x1b[K" {
		t.Errorf("cleared by %q", b.String())
	}
}
