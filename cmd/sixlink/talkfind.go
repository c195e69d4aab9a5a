package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sixlink/sixlink/record/host/join"
)

// Bounds of a search. What lies behind them is not looked at, which is told.
const (
	maxSearched  = 20_000  // files
	maxSearchLen = 1 << 30 // bytes of one file
)

// findTalks looks where Claude Code and Codex keep their sessions, for those whose ids
// the recordings have: by the file's name, else by the calls' ids in files that were
// written to after the recordings began. Nothing else is read. What it did not look at
// it tells.
func findTalks(s stdio, name string, ws []join.Wire) ([]string, error) {
	sessions, calls := join.IDs(ws)
	if len(sessions)+len(calls) == 0 {
		return nil, errors.New("--find-conversation: the recordings have no ids of a host that keeps its sessions on this machine; name the transcript with --conversation")
	}
	var since time.Time
	for i := range ws {
		if t := ws[i].Start; since.IsZero() || t.Before(since) {
			since = t
		}
	}
	named := map[string]bool{}
	for _, id := range sessions {
		named[id] = true
	}
	var found []string
	places := []struct {
		root string
		id   func(name string) string // of the session, from the file's name
	}{
		{filepath.Join(homeOf("CLAUDE_CONFIG_DIR", ".claude"), "projects"), func(n string) string { return strings.TrimSuffix(n, ".jsonl") }},
		{filepath.Join(homeOf("CODEX_HOME", ".codex"), "sessions"), rolloutID},
		{filepath.Join(homeOf("CODEX_HOME", ".codex"), "archived_sessions"), rolloutID},
	}
	n, large := 0, 0
	for _, p := range places {
		err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				if path == p.root {
					return fs.SkipDir // the host was never used here
				}
				return nil
			case d.IsDir() && d.Name() == "subagents":
				return fs.SkipDir // they come with their session
			case !d.Type().IsRegular() || filepath.Ext(path) != ".jsonl" || strings.HasPrefix(d.Name(), "agent-"):
				return nil
			}
			if named[p.id(d.Name())] {
				found = append(found, path)
				return nil
			}
			if n++; n > maxSearched || len(calls) == 0 {
				return nil
			}
			info, err := d.Info()
			if err != nil || info.ModTime().Before(since.Add(-time.Minute)) {
				return nil
			}
			if info.Size() > maxSearchLen {
				large++
				return nil
			}
			if has, err := hasAny(path, calls); err == nil && has {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(calls) > 0 && (n > maxSearched || large > 0) {
		fmt.Fprintf(s.err, "sixlink %s: --find-conversation: not searched for the calls' ids: %s over the first %d, and %s of more than %d bytes\n",
			name, count(int64(max(0, n-maxSearched)), "file"), maxSearched, count(int64(large), "file"), maxSearchLen)
	}
	slices.Sort(found)
	if len(found) == 0 {
		return nil, errors.New("--find-conversation: no session of Claude Code or Codex on this machine has the ids of the recordings; name the transcript with --conversation")
	}
	return slices.Compact(found), nil
}

// rolloutID is the thread of rollout-<time>-<thread>.jsonl: the uuid at its end.
func rolloutID(name string) string {
	name = strings.TrimSuffix(name, ".jsonl")
	if len(name) < 36 {
		return name
	}
	return name[len(name)-36:]
}

func homeOf(variable, folder string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return folder // a folder that is not there
	}
	return filepath.Join(home, folder)
}

// hasAny says that the file holds one of the ids as a JSON string.
func hasAny(path string, ids []string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	// Strings are found between quotes, one line at a time in pieces: an id never has one.
	r := bufio.NewReaderSize(f, 256<<10)
	for {
		text, err := r.ReadSlice('"')
		if err == nil && want[string(bytes.TrimSuffix(text, []byte(`"`)))] {
			return true, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			return false, err
		}
	}
}
