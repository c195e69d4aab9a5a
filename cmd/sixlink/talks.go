package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/importers"
	"github.com/sixlink/sixlink/record/host/join"
	"github.com/sixlink/sixlink/record/visible"
)

// talkFlags say which transcripts to join with recordings.
type talkFlags struct {
	paths  []string
	format string
	find   bool
	joined *join.Result // what grading joined, for the report
}

// of are the transcripts that joined with a recording.
func (t *talkFlags) of(recording string) (cs []*host.Conversation) {
	if t == nil || t.joined == nil {
		return nil
	}
	for i := range t.joined.Conversations {
		c := &t.joined.Conversations[i]
		if c.Verdict != join.NotJoined && slices.ContainsFunc(c.Sessions, func(p join.Part) bool { return t.joined.Wires[p.Wire].Recording == recording }) {
			cs = append(cs, c.Talk)
		}
	}
	return cs
}

func (t *talkFlags) add(fs *pflag.FlagSet, named bool) {
	if named {
		fs.StringArrayVar(&t.paths, "conversation", nil, "join the host's transcript in this `FILE|DIR`; may be given several times")
	}
	fs.StringVar(&t.format, "conversation-format", "", "what the transcripts are, a `NAME` ("+strings.Join(formatNames(), ", ")+"); default: by content")
	fs.BoolVar(&t.find, "find-conversation", false, "look for the transcripts where Claude Code and Codex keep theirs, by the ids in the recordings")
}

func formatNames() []string {
	var out []string
	for _, im := range append(importers.All(), host.Neutral) {
		out = append(out, im.Name)
	}
	return out
}

// check refuses what no import would take.
func (t *talkFlags) check() error {
	if t.format != "" && !slices.Contains(formatNames(), t.format) {
		return fmt.Errorf("--conversation-format %q is none of %s", t.format, strings.Join(formatNames(), ", "))
	}
	if slices.Contains(t.paths, "") {
		// A variable that is not set must not turn the join off.
		return errors.New("--conversation is empty: name a FILE or a folder")
	}
	return nil
}

func (t *talkFlags) any() bool { return len(t.paths) > 0 || t.find }

// read imports the transcripts that are named, together: what goes on in another of
// them is one conversation.
func (t *talkFlags) read() ([]*host.Conversation, error) {
	return host.ImportTogether(t.paths, importers.All(), host.Options{Format: t.format})
}

// wiresOf are the sessions of a recording as a join reads them.
func wiresOf(l *loaded) []join.Wire {
	out := make([]join.Wire, 0, len(l.sessions))
	for _, s := range l.sessions {
		out = append(out, join.Wire{Recording: l.header.ID, Session: s, Server: l.header.Labels["server"], Start: l.header.Start.Time,
			HostSession: l.header.EnvValues["CLAUDE_CODE_SESSION_ID"], Masked: l.header.MaskKey != ""})
	}
	return out
}

// attachedTo are the conversations that a recording carries.
func attachedTo(l *loaded) ([]*host.Conversation, error) {
	lines, err := l.talk.Lines()
	if err != nil || lines == nil {
		return nil, err
	}
	cs, err := host.Read(bytes.NewReader(lines))
	if err != nil {
		return nil, fmt.Errorf("%s: the attached conversation: %w", l.path, err)
	}
	return cs, nil
}

// distinct leaves out conversations that are there already: several recordings may
// carry one, and it may be named as well.
func distinct(cs []*host.Conversation) []*host.Conversation {
	seen := map[string]*host.Conversation{}
	return slices.DeleteFunc(cs, func(c *host.Conversation) bool {
		key := c.Host.Name + "\x00" + strings.Join(c.SessionIDs, "\x00")
		for _, s := range c.Sources {
			key += "\x01" + s.Path + "\x00" + s.SHA256
		}
		if len(c.Sources) == 0 { // nothing tells it from another
			return false
		}
		first := seen[key]
		if first == nil {
			seen[key] = c
			return false
		}
		// Each recording's copy has the hashes of hidden arguments that are on its wire.
		for i := range min(len(first.Calls), len(c.Calls)) {
			a, b := first.Calls[i].Args, c.Calls[i].Args
			if a != nil && b != nil && a.SHA256 == "" && b.SHA256 != "" && string(a.JSON) == string(b.JSON) {
				first.Calls[i].Args = b
			}
		}
		return true
	})
}

// joinTalks joins conversations with sessions and hides their credentials. named says
// that the user named them: one conversation and one session are then each other's.
func joinTalks(cs []*host.Conversation, ws []join.Wire, named bool) *join.Result {
	used := 0
	for i := range ws {
		if len(ws[i].Session.Calls) > 0 {
			used++
		}
	}
	r := join.Join(cs, ws, join.Options{Chosen: named && len(cs) == 1 && (used == 1 || used == 0 && len(ws) == 1)})
	for i := range r.Conversations {
		c := &r.Conversations[i]
		onWire := map[int]bool{}
		for k := range c.Calls {
			onWire[c.Calls[k].Host] = c.Calls[k].Paired()
		}
		c.Talk.Redact(func(call int) bool { return onWire[call] })
	}
	return r
}

// tellJoin says on stderr what was read of each transcript and how it joins.
func tellJoin(s stdio, name string, r *join.Result) {
	for i := range r.Conversations {
		c := &r.Conversations[i]
		t := c.Talk
		what := t.Host.Name
		if t.Host.Version != "" {
			what += " " + t.Host.Version
		}
		if what == "" {
			what = "host not named"
		}
		fmt.Fprintf(s.err, "sixlink %s: %s: transcript of %s, %s, %s: %s, %s", name, visible.String(sourceName(t)), visible.String(what),
			count(int64(t.TurnCount()), "turn"), count(int64(len(t.Calls)), "tool use"), c.Verdict, visible.String(c.Why))
		if c.Clock.Pairs > 0 {
			fmt.Fprintf(s.err, "; the wire is %d ms behind the host's calls", c.Clock.Shift.Milliseconds())
		}
		fmt.Fprintln(s.err)
		for _, src := range t.Sources {
			if src.ErrorCount > 0 || src.Cut {
				why := "it ends inside a record"
				if len(src.Errors) > 0 {
					why = src.Errors[0]
				}
				fmt.Fprintf(s.err, "sixlink %s: %s: not read whole: %s\n", name, visible.String(src.Path), visible.String(why))
			}
		}
	}
}

func sourceName(c *host.Conversation) string {
	switch {
	case len(c.Sources) > 0:
		return c.Sources[0].Path
	case len(c.SessionIDs) > 0:
		return c.SessionIDs[0]
	}
	return "conversation"
}

// collected is what a join needs of a pile of recordings, whose files are closed.
type collected struct {
	wires    []join.Wire
	attached []*host.Conversation
}

// collect reads the recordings at paths. One that cannot be read is left out here:
// grading it tells why.
func collect(paths []string, opts record.Options, key string) (collected, error) {
	parts := make([]collected, len(paths))
	errs := make([]error, len(paths))
	all := make([]int, len(paths))
	for i := range all {
		all[i] = i
	}
	opts.Reuse = true
	inParallel(all, func(i int) {
		l, err := loadByKey(paths[i], opts, key)
		if err != nil {
			return
		}
		defer l.Close()
		if l.header.Segment > 0 {
			return // a part of another one of them, as a rule
		}
		for _, w := range wiresOf(l) {
			parts[i].wires = append(parts[i].wires, join.Light(w))
		}
		parts[i].attached, errs[i] = attachedTo(l)
	})
	var out collected
	for i := range parts {
		out.wires = append(out.wires, parts[i].wires...)
		out.attached = append(out.attached, parts[i].attached...)
	}
	return out, errors.Join(errs...)
}
