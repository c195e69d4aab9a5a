package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

func httpFixture(name string) string {
	return filepath.Join(fixtures.Dir(), "recordings", "http", name+record.Suffix)
}

// show lists the sessions of a recording of HTTP with the basis of each, and where
// requests and answers came.
func TestShowHTTP(t *testing.T) {
	h := newHome(t)
	for name, want := range map[string][]string{
		"ts2-modern-http": {"session s1  HTTP, stateless era, 2026-07-28", "basis     no session id: glued by path /mcp, its requests carry their protocol version, client capture-ts2 2.4.0, no credentials",
			"upstream  http://127.0.0.1:9001, served at 127.0.0.1:9000", "cancelled"},
		"mcpremote-upstream-http": {"session s1  HTTP, initialize era", "session s2  HTTP, initialize era", "basis     Mcp-Session-Id given at 50, handshake at 48, 5 exchanges on 2 connections"},
		"mcpgo-sse":               {"session s1  HTTP with SSE, initialize era", "basis     event stream of exchange 1, its endpoint at 3", "the server answered later work on the same stream"},
	} {
		got := h.run(t, "sixlink", "show", httpFixture(name))
		if got.code != 0 || len(got.err) > 0 {
			t.Fatalf("%s: %d, %s", name, got.code, got.err)
		}
		for _, w := range want {
			if !strings.Contains(string(got.out), w) {
				t.Errorf("%s: no %q in\n%s", name, w, got.out)
			}
		}
	}
	s := h.show(t, httpFixture("ts1-everything-http"))
	r := s.Sessions[0].Requests
	i := slices.IndexFunc(r, func(r shownRequest) bool { return r.Method == "tools/list" })
	if i < 0 || r[i].Exchange != 5 || r[i].AnswerX != 5 || r[i].Status != 200 || r[i].Event == nil || *r[i].Event != 1 || r[i].EventID == "" {
		t.Errorf("%+v", r)
	}
	if s.Recording.Over != "http" || s.Recording.Up == "" || len(s.Sessions[0].Orphans) != 12 || s.Sessions[0].Orphans[0].Exchange == 0 {
		t.Errorf("%+v", s.Recording)
	}
}

// What makes exchanges one session can be chosen, where sessions are shown and graded.
func TestSessionKey(t *testing.T) {
	h := newHome(t)
	path := httpFixture("mcpgo-modern-http")
	if got := h.run(t, "sixlink", "show", "--session-key", "connection", path); got.code != 0 || !strings.Contains(string(got.out), "basis     connection 2") {
		t.Errorf("%d, %s%s", got.code, got.out, got.err)
	}
	if got := h.run(t, "sixlink", "grade", "--session-key", "connection", path); got.code != 1 || !strings.Contains(string(got.out), "1 of 2 ") {
		t.Errorf("%d, %s%s", got.code, got.out, got.err)
	}
	for _, key := range []string{"nonsense", "header:", "meta:", "connection:1", "header:a b"} {
		for _, verb := range []string{"show", "grade"} {
			if got := h.run(t, "sixlink", verb, "--session-key", key, path); got.code != 2 || !strings.Contains(string(got.err), "none of header:NAME, meta:POINTER, connection, principal") || len(got.out) > 0 {
				t.Errorf("%s %s: %d, %s", verb, key, got.code, got.err)
			}
		}
	}
}
