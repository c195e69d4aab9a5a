package chain

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
)

// wireCall is a call with the session that it is of.
type wireCall struct {
	*session.Call
	session *session.Session
	of      *predicate.Part // nil in a trial of one session
}

// seq and answer are the records of the call as evidence names them.
func (c *wireCall) seq() int64    { return c.of.Handle(c.Seq) }
func (c *wireCall) answer() int64 { return c.of.Handle(c.AnswerSeq) }

func (c *wireCall) ofServer() string {
	if c.of == nil {
		return ""
	}
	return " of " + predicate.Quoted(c.of.Server)
}

// wireCalls are the calls of the trial; those of several sessions come session by
// session.
func (a *analysis) wireCalls() []wireCall {
	if len(a.Parts) == 0 {
		out := make([]wireCall, len(a.Session.Calls))
		for i, c := range a.Session.Calls {
			out[i] = wireCall{c, a.Session, nil}
		}
		return out
	}
	var out []wireCall
	for _, p := range a.Parts {
		if p.Session == nil {
			continue
		}
		for _, c := range p.Session.Calls {
			out = append(out, wireCall{c, p.Session, p.Of})
		}
	}
	return out
}

func handles(of *predicate.Part, seqs []int64) []int64 {
	out := make([]int64, len(seqs))
	for i, s := range seqs {
		out[i] = of.Handle(s)
	}
	return out
}

// atServers decides a link that every server has for itself (grading.md 0.1 "Several
// servers"): it fails if it failed at any, and passes only if it passed at all. Of
// several sessions with one server a failure counts, and else the best: a probe says
// nothing that the session behind it does not say better. What is lost passes nothing.
func (a *analysis) atServers(l predicate.Link, alone func(*analysis) Link) Link {
	type server struct {
		name string
		lost bool
		Link
	}
	var all []server
	for _, p := range a.Parts {
		name := "server " + predicate.Quoted(p.Of.Server)
		if p.Session == nil {
			if p.Of.Server == "" {
				name = "a server that is not known"
			}
			all = append(all, server{name, true, link(l, NotMeasured, NoEvidenceCaptured, p.Of.Lost)})
			continue
		}
		sub := &analysis{Input: Input{Session: p.Session, Evidence: p.Evidence}}
		sub.sortCalls()
		out := alone(sub)
		out.Evidence.Records = handles(p.Of, out.Evidence.Records)
		if i := slices.IndexFunc(all, func(s server) bool { return s.name == name && !s.lost }); i < 0 {
			all = append(all, server{name, false, out})
		} else if rank(out.State) < rank(all[i].State) {
			all[i].Link = out
		}
	}
	worst := -1
	for i := range all {
		if worst < 0 || weight(all[i].State) > weight(all[worst].State) {
			worst = i
		}
	}
	out := all[worst].Link
	if out.State != Passed {
		out.Evidence.Text = predicate.Sentence("at " + all[worst].name + ": " + out.Evidence.Text)
		return out
	}
	var texts []string
	var records []int64
	for i := range all {
		if all[i].State != Passed {
			continue
		}
		if all[i].Reason == ImpliedByLater {
			out.Reason = ImpliedByLater
		}
		texts = append(texts, "at "+all[i].name+": "+all[i].Evidence.Text)
		records = append(records, all[i].Evidence.Records...)
	}
	return link(l, Passed, out.Reason, strings.Join(texts, "; "), records...)
}

// rank orders what several sessions say of one server: the first of these counts.
func rank(s State) int {
	return slices.Index([]State{Failed, Passed, NotApplicable, NotMeasured, NotReached}, s)
}

// weight orders what several servers say of a link: the last of these counts.
func weight(s State) int {
	return slices.Index([]State{NotApplicable, Passed, NotReached, NotMeasured, Failed}, s)
}

// without names a server, with its first call, to which calls were made and none of
// those in some; empty: there is none, or there are not several servers.
func (a *analysis) without(some []*wireCall) (name string, first *wireCall) {
	if len(a.Parts) == 0 {
		return "", nil
	}
	has := map[string]bool{}
	for _, c := range some {
		has[c.of.Server] = true
	}
	for i := range a.calls {
		if c := &a.calls[i]; !has[c.of.Server] {
			return "server " + predicate.Quoted(c.of.Server), c
		}
	}
	return "", nil
}
