package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/sixlink/sixlink/record/visible"
	replayrun "github.com/sixlink/sixlink/replay/run"
)

// runText writes a run's report, or a plan (dry), for people. all lists what was sent, too.
func runText(w io.Writer, r *replayrun.Report, dry, all bool) {
	verb := "sent"
	if dry {
		verb = "to send"
	}
	fmt.Fprintf(w, "%s, %s %s", count(int64(r.Sessions), "session"), count(int64(r.Sent), "request"), verb)
	if !dry {
		fmt.Fprintf(w, ", %d answered", r.Answered)
	}
	skipped, unanswered := r.Skipped(), r.Unanswered()
	fmt.Fprintf(w, ", %d skipped\n", len(skipped))
	if all {
		for _, s := range r.Steps {
			stepText(w, s, dry)
		}
	} else {
		list(w, "skipped:", skipped, func(s replayrun.StepLine) { stepText(w, s, dry) })
		list(w, "not answered:", unanswered, func(s replayrun.StepLine) { stepText(w, s, dry) })
	}
	list(w, "minted values that were carried:", grouped(r.Carried), func(c carriedText) {
		fmt.Fprintf(w, "  %s %s %s: %s -> %s (answer to %s, %s)", c.Session, c.ID, seen(c.At), seen(c.Was), seen(c.Is), c.From, seen(c.FromAt))
		if c.more > 0 {
			fmt.Fprintf(w, ", and in %s", count(c.more, "later place"))
		}
		fmt.Fprintln(w)
	})
	list(w, "requests of the new server's:", r.Answers, func(a replayrun.Answered) {
		fmt.Fprintf(w, "  %s %s: %s", a.Session, seen(a.Method), howText[a.How])
		if a.Why != "" {
			fmt.Fprintf(w, ": %s", seen(a.Why))
		}
		fmt.Fprintln(w)
	})
	list(w, "notes:", r.Notes, func(n string) { fmt.Fprintf(w, "  %s\n", seen(n)) })
	list(w, "ended before its time:", r.Ends, func(e replayrun.ServerEnd) { fmt.Fprintf(w, "  %s %s\n", e.Session, seen(e.Why)) })
	tainted := 0
	for _, s := range r.Steps {
		if s.Tainted {
			tainted++
		}
	}
	if tainted > 0 {
		after := "the first skipped one"
		if len(r.Skipped()) == 0 {
			after = "what was not sent"
		}
		fmt.Fprintf(w, "%s after %s: tainted, they compare by outcome and shape only\n", count(int64(tainted), "call"), after)
	}
	switch {
	case r.Interrupt:
		fmt.Fprintln(w, "interrupted: the run is partial")
	case r.Partial && dry:
		fmt.Fprintln(w, "the plan is partial")
	case r.Partial:
		fmt.Fprintln(w, "the run is partial")
	}
}

// carriedText is a carried value at its first place.
type carriedText struct {
	replayrun.Carried
	more int64
}

func grouped(all []replayrun.Carried) []carriedText {
	var out []carriedText
	at := map[[3]string]int{}
	for _, c := range all {
		k := [3]string{c.From, c.Was, c.Is}
		if i, ok := at[k]; ok {
			out[i].more++
			continue
		}
		at[k] = len(out)
		out = append(out, carriedText{Carried: c})
	}
	return out
}

var howText = map[replayrun.How]string{
	replayrun.ByEqual:  "answered as recorded",
	replayrun.ByOrder:  "answered with the next recorded answer (no equal request is on record)",
	replayrun.Declined: "declined",
	replayrun.Rewrote:  "the recorded accept was sent as a decline",
}

func stepText(w io.Writer, s replayrun.StepLine, dry bool) {
	what := seen(s.Method)
	if s.Tool != "" {
		what += " " + seen(s.Tool)
	}
	state := s.State
	why := s.Why
	switch {
	case state == replayrun.StateWould:
		state = "send"
		why = "if the new server's catalog calls it read-only, too"
		if s.By == "idempotent" {
			why = "if the new server's catalog calls it idempotent, too"
		}
	case state == replayrun.StateSent:
		if dry {
			state = "send"
		}
		if s.By != "named" {
			why = s.By
		}
	case dry && state == replayrun.StateSkipped:
		state = "skip"
	case dry && state == replayrun.StateLeft:
		state = "leave"
	}
	line := fmt.Sprintf("  %-8s %s %s %s", state, s.Session, s.ID, what)
	if why != "" {
		line += "  (" + seen(why) + ")"
	}
	if s.Tainted {
		line += "  tainted"
	}
	fmt.Fprintln(w, line)
}

func list[T any](w io.Writer, title string, all []T, line func(T)) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, x := range all {
		line(x)
	}
}

// seen is recorded text on one line, no longer than a reader wants it.
func seen(s string) string {
	s = visible.String(s)
	if r := []rune(s); len(r) > 160 {
		s = string(r[:159]) + "…"
	}
	return strings.ReplaceAll(s, "\n", " ")
}
