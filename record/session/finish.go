package session

import (
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// finish ends the process: by the recording's end, or by another process's start.
func (p *process) finish(last bool) {
	for _, from := range []record.From{record.Client, record.Server} {
		if part := p.lines[from]; part != nil && part.open {
			p.cut(part, "the recording ends inside the line")
		}
	}
	res := &p.d.res
	// A tear, or a recording that is still being written, leaves open what the
	// server would have said, unless its end is on record.
	p.openEnd = last && (res.Torn || res.State == record.Live) && p.exitSeq == 0 && !p.stdoutEOF
	if p.crashed() {
		p.first, p.firstSeq = record.ByServer, p.exitSeq
	}
	if s := p.cur; !s.superseded {
		s.End.First, s.End.FirstSeq = p.first, p.firstSeq
		s.Connection.StderrTail = p.stderrText()
	}
	p.cur.End.ExitSeq, p.cur.End.Exit, p.cur.End.PassedOn = p.exitSeq, p.exit, p.passedOn()
	p.cur.Torn = last && res.Torn
	for _, s := range p.sessions {
		s.finish()
	}
	p.asked, p.lines, p.early = nil, nil, nil
}

// finish ends one of the process's sessions.
func (p *process) finishSession(s *sess) {
	c := &s.Connection
	c.Launcher = IsLauncher(p.command)
	if c.ReachedSeq == 0 && s == p.cur && p.exit != nil && !c.Launcher && !p.passedOn() {
		if code := p.exit.Code; code == nil || *code != 126 && *code != 127 {
			c.ReachedSeq = p.exitSeq
		}
	}
	if p.midway && s == p.sessions[0] {
		s.midway(s.FirstSeq)
	}
}

func (s *sess) finish() {
	s.p.over.finishSession(s)
	s.eraOf()
	s.finishLists()
	pending := 0
	for _, c := range s.calls {
		if s.finishCall(c) {
			pending++
		}
	}
	s.capture(pending)
	if s.p.d.opts.Lean {
		s.lighten()
	}
	// Only the session itself is kept.
	s.calls, s.open, s.rounds, s.elicits, s.byUse, s.tasks, s.status, s.orphans, s.pages = nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// lighten lets go of what Options.Lean leaves out.
func (s *sess) lighten() {
	last := map[record.From]*Exchange{}
	for _, ex := range s.Requests {
		last[ex.From] = ex
	}
	for _, c := range s.Calls {
		c.Attempts = nil
	}
	s.Requests = slices.Clip(slices.DeleteFunc(s.Requests, func(ex *Exchange) bool { return ex.AnswerSeq != 0 && last[ex.From] != ex }))
}

// finishCall decides what no answer has decided, and tells whether the call was
// pending at the session's last record: nothing says how it ended.
func (s *sess) finishCall(c *call) (pending bool) {
	last := len(c.Attempts) - 1
	switch {
	case c.decided < 0, c.State == CallInputRequired && c.decided < last:
		// No answer at all, or an input round was resumed and that got none.
		s.p.evidence(c, c.Attempts[last])
		c.State = s.p.over.unanswered(c)
		if !c.Late {
			c.AnswerSeq, c.AnswerAt, c.Result, c.Error = 0, 0, Value{}, nil
		}
	case c.State == CallTaskHandle:
		c.State = c.taskState()
	}
	if c.State == CallCancelled || c.State == CallClientTimeout {
		c.CancelledSeq, c.CancelledAt = c.Attempts[last].CancelledSeq, c.Attempts[last].CancelledAt
		if c.CancelledSeq == 0 && c.Task != nil {
			c.CancelledSeq, c.CancelledAt = c.taskEnd, c.taskEndAt
		}
	}
	if c.waiting > 0 { // nothing ended its wait
		c.WaitedNs += max(0, s.LastAt-c.waitFrom)
		c.waiting = 0
	}
	switch c.State {
	case CallPending, CallTaskHandle, CallClientGone:
		return true
	}
	return false
}

// finishLists tells the catalog what became of pages that were not answered.
func (s *sess) finishLists() {
	for ex, page := range s.pages {
		switch {
		case ex.CancelledSeq != 0:
			s.lists.Unanswered(page, false, "the client cancelled it")
		case ex.Undelivered:
			s.lists.Unanswered(page, false, "the request never reached the server")
		default:
			failed, why := s.p.over.unlisted(ex, s)
			s.lists.Unanswered(page, failed, why)
		}
	}
	s.Lists = s.lists.Lists()
}

func (p *process) unlisted(ex *Exchange, s *sess) (failed bool, why string) {
	switch {
	case p.gapSeq > ex.Seq:
		return false, "a gap lies inside"
	case p.openEnd:
		return false, "the recording ends before the answer"
	case p.first == record.ByServer && !s.superseded:
		return true, "the server ended without an answer"
	case p.answered > ex.Seq:
		return true, "the server answered later requests and not this one"
	}
	return false, "the host left before the answer"
}

// capture says how completely each wire channel was captured (grading.md 0.1).
func (s *sess) capture(pending int) {
	c := &s.Capture
	base := Complete
	partly := func(format string, args ...any) {
		base = Partial
		c.Why = append(c.Why, fmt.Sprintf(format, args...))
	}
	if s.Connection.BeganMidway {
		partly("the recording begins inside the session")
	}
	for i, g := range s.wireGaps {
		if i == 8 {
			partly("and %d more gaps", len(s.wireGaps)-i)
			break
		}
		partly("records %d to %d were not kept: %s", g.FirstSeq, g.LastSeq, g.Why)
	}
	if s.Torn {
		partly(WhyTorn)
	}
	if s == s.p.cur && s.p.openEnd && !s.Torn {
		partly("the recording is still being written")
	}
	if s.unread {
		partly("a line was too long to be read")
	}
	for i, why := range s.lossy {
		if i == 8 {
			partly("and %d more requests that could not be read", len(s.lossy)-i)
			break
		}
		partly("%s", why)
	}
	s.OnlyTorn = s.Torn && len(c.Why) == 1 && pending == 0
	c.ToolCalls, c.ToolErrors, c.ToolResults, c.ToolCallTimings = base, base, base, base
	if pending > 0 {
		c.Why = append(c.Why, fmt.Sprintf("calls that were pending at the session's last record: %d", pending))
		c.ToolErrors, c.ToolResults, c.ToolCallTimings = Partial, Partial, Partial
	}
	c.ToolDeclarations, c.ToolInventory = s.declarations(), s.inventory()
	if c.ToolDeclarations == Absent {
		c.Why = append(c.Why, "no tools/list on the wire")
	} else if l := s.declared(); l.State != catalog.Complete {
		c.Why = append(c.Why, fmt.Sprintf("the tool list is %s: %s", l.State, l.Why))
	}
}

// declared is the list that stands for what the server declares: of several
// complete ones the last before the first call, else the last (grading.md 0.1).
func (s *sess) declared() *catalog.List {
	if len(s.Lists) == 0 {
		return nil
	}
	var before, whole *catalog.List
	for _, l := range s.Lists {
		if l.State != catalog.Complete {
			continue
		}
		whole = l
		if len(s.Calls) > 0 && l.Pages[0].RequestSeq < s.Calls[0].Seq {
			before = l
		}
	}
	switch {
	case before != nil:
		return before
	case whole != nil:
		return whole
	}
	return s.Lists[len(s.Lists)-1]
}

func (s *sess) declarations() CaptureState {
	l := s.declared()
	switch {
	case l == nil:
		return Absent
	case l.State != catalog.Complete:
		return Partial
	}
	// What was lost may have held another list, or the first call, and so another
	// list would stand here: anything before the first call, and, where the list is
	// not one that stood before a call, anything at all.
	before := len(s.Calls) > 0 && l.Pages[0].RequestSeq < s.Calls[0].Seq
	for _, g := range s.wireGaps {
		if !before || g.FirstSeq < s.Calls[0].Seq {
			return Partial
		}
	}
	if s.Connection.BeganMidway || !before && (s.Torn || s == s.p.cur && s.p.openEnd) {
		return Partial
	}
	return Complete
}

// inventory is complete when every call knows a whole list that held for it.
func (s *sess) inventory() CaptureState {
	if len(s.Lists) == 0 {
		return Absent
	}
	if len(s.Calls) == 0 {
		return s.declarations()
	}
	if len(s.wireGaps) > maxUnsent {
		return Partial // it is, somewhere; and nobody counts that long
	}
	for _, c := range s.Calls {
		if c.Catalog == nil || c.Catalog.State != catalog.Complete {
			return Partial
		}
		for _, g := range s.wireGaps {
			if g.LastSeq > c.Catalog.Pages[0].RequestSeq && g.FirstSeq < c.Seq {
				return Partial
			}
		}
	}
	return Complete
}

// DeclaredCatalog is the list that stands for what the server declares: of
// several complete ones the last before the first call, else the last complete
// one, else the last (grading.md 0.1, toolDeclarations). nil: none on the wire.
func (s *Session) DeclaredCatalog() *catalog.List {
	return (&sess{Session: s}).declared()
}
