package claudecode

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// Stream reads what "claude -p --output-format stream-json" prints, the array of
// "--output-format json --verbose", and the messages of the Agent SDK.
var Stream = &host.Importer{
	Name: "claude-code-stream", Version: "1", Doc: "Claude Code stream-json output and Agent SDK messages",
	Detect: detectStream, Import: importStream,
}

// streamEvent is one event: the members that are read.
type streamEvent struct {
	Type      text           `json:"type"`
	Subtype   text           `json:"subtype"`
	Session   text           `json:"session_id"`
	UUID      text           `json:"uuid"`
	Timestamp text           `json:"timestamp"`
	Message   jsontext.Value `json:"message"`
	Parent    text           `json:"parent_tool_use_id"`
	AgentID   text           `json:"agent_id"`
	AgentType text           `json:"subagent_type"`
	Replay    flag           `json:"isReplay"`
	Synthetic flag           `json:"isSynthetic"`

	Version text           `json:"claude_code_version"` // init
	Servers jsontext.Value `json:"mcp_servers"`

	UseMeta    jsontext.Value `json:"tool_use_meta"` // assistant
	ResultMeta jsontext.Value `json:"tool_result_meta"`
	UseResult  jsontext.Value `json:"tool_use_result"`

	ToolUseID  text           `json:"tool_use_id"` // of system events
	TaskID     text           `json:"task_id"`
	Background flag           `json:"is_backgrounded"`
	Patch      jsontext.Value `json:"patch"`
	Status     text           `json:"status"`

	IsError    flag           `json:"is_error"` // result
	Result     jsontext.Value `json:"result"`
	Usage      jsontext.Value `json:"usage"`
	ModelUsage jsontext.Value `json:"modelUsage"`
	Denials    jsontext.Value `json:"permission_denials"`
	Origin     jsontext.Value `json:"origin"`
}

// stream is one session's state.
type stream struct {
	*builder
	version string
	// open: events came since the last result, and they are part of the last turn.
	open bool
	// replays: the file repeats the user's prompts.
	replays bool
	// notified: a background task ended since the last result.
	notified bool
	// segment is where the messages and calls since the last result begin.
	segMessages, segCalls int
	agents                map[text]*agent
	results               map[int]*host.Usage // by turn
	seen                  map[key]bool        // records
}

// importStream makes one conversation of each session in each file: which of
// several files is the earlier one is not always told.
func importStream(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range files {
		cs, err := streamFile(f)
		if err != nil {
			return nil, err
		}
		out = append(out, cs...)
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

func streamFile(f *host.File) ([]*host.Conversation, error) {
	var order []*stream
	by := map[text]*stream{}
	file := host.Source{Path: f.Name, Format: formatStream}
	var last *stream
	err := eachObject(f, &file, func(n int64, raw jsontext.Value) {
		var e streamEvent
		if json.Unmarshal(raw, &e, readOptions) != nil {
			file.Fail(n, "no JSON object")
			return
		}
		s := by[e.Session]
		switch {
		case e.Session == "" && last != nil:
			s = last
		case s == nil:
			if len(order) >= maxSessions {
				file.Skip("session over the limit")
				return
			}
			s = &stream{builder: newBuilder(), agents: map[text]*agent{}, results: map[int]*host.Usage{}, seen: map[key]bool{}}
			s.c.Sources = []host.Source{{Path: f.Name, Format: formatStream}}
			by[e.Session] = s
			order = append(order, s)
		}
		last = s
		s.event(n, &e)
	})
	if err != nil {
		return nil, err
	}
	var out []*host.Conversation
	for _, s := range order {
		s.c.Sources[0].Whole(&file)
		if c := s.finish(); c != nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// event takes one event.
func (s *stream) event(n int64, ev *streamEvent) {
	src := &s.c.Sources[0]
	typ := string(ev.Type)
	if ev.Type == "" {
		typ = "(no type)"
	}
	if ev.Subtype != "" && ev.Type == "system" {
		typ += "/" + string(ev.Subtype)
	}
	if k := keyOf(ev.UUID); ev.UUID != "" {
		// A compaction emits the records anew that it keeps (hosts.md 6).
		if s.seen[k] {
			src.Skip("repeated record")
			return
		}
		if len(s.seen) < host.MaxItems {
			s.seen[k] = true
		}
	}
	s.session(ev.Session)
	e := &event{id: string(ev.UUID), at: timeOf(ev.Timestamp), src: host.Src{Line: n}}
	if ev.Parent != "" {
		e.agent = s.agent(ev)
	}
	took := true
	switch ev.Type {
	case "assistant":
		took = s.answer(ev, e)
	case "user":
		took = s.said(ev, e)
	case "result":
		took = s.result(ev, e)
	case "system":
		took = s.system(ev, e)
	default:
		took = false
	}
	if took {
		src.Took(typ)
	} else {
		src.Skip(typ)
	}
}

// agent is the subagent that a call started.
func (s *stream) agent(ev *streamEvent) *agent {
	a, ok := s.agents[ev.Parent]
	if !ok {
		a = &agent{turn: s.cur(), call: -1}
		a.ParentCall = string(ev.Parent)
		s.link(a, string(ev.Parent))
		a.Depth = max(a.Depth, 1)
		if len(s.agents) < host.MaxItems {
			s.agents[ev.Parent] = a
		}
	}
	if a.ID == "" {
		a.ID = string(ev.AgentID)
	}
	if a.Type == "" {
		a.Type = string(ev.AgentType)
	}
	return a
}

// segmentBegins opens a turn for events that no prompt on record began. Who
// spoke is only known with the result, if then.
func (s *stream) segmentBegins(e *event) {
	if s.open {
		return
	}
	s.open = true
	s.segMessages, s.segCalls = len(s.c.Messages), len(s.c.Calls)
	if s.replays && s.turn != nil {
		// Prompts are repeated and there is none: the runtime woke the model.
		s.wake("")
		return
	}
	s.begin(host.SDK, "", nil, &event{src: e.src})
}

// answer takes a record of the model's message.
func (s *stream) answer(ev *streamEvent, e *event) bool {
	var m message
	into(ev.Message, &m)
	list, ok := blocks(m.Content)
	if !ok {
		s.c.Sources[0].Fail(e.src.Line, "an assistant event without content")
		return false
	}
	if e.agent == nil && m.Model != "<synthetic>" {
		s.segmentBegins(e)
	}
	each(ev.UseMeta, func(v jsontext.Value) {
		var t struct {
			ID   text `json:"id"`
			Tool text `json:"tool_name"`
		}
		if into(v, &t) && len(s.names.byCall) < host.MaxItems {
			s.names.byCall[string(t.ID)] = attribution{tool: string(t.Tool)}
		}
	})
	s.assistant(&m, list, false, e)
	return true
}

// said takes a record of the user's role.
func (s *stream) said(ev *streamEvent, e *event) bool {
	var m message
	into(ev.Message, &m)
	list, ok := blocks(m.Content)
	if !ok {
		s.c.Sources[0].Fail(e.src.Line, "a user event without content")
		return false
	}
	isResult := false
	kinds := map[text]text{}
	each(ev.ResultMeta, func(v jsontext.Value) {
		var t struct {
			ID   text `json:"id"`
			Kind text `json:"non_execution_kind"`
		}
		if into(v, &t) {
			kinds[t.ID] = t.Kind
		}
	})
	var use struct {
		Async flag `json:"isAsync"`
		Agent text `json:"agentId"`
	}
	into(ev.UseResult, &use)
	for i := range list {
		if list[i].Type == "tool_result" {
			isResult = true
			s.builder.result(&list[i], resultExtra{denial: kinds[list[i].ToolUseID], agentID: use.Agent, background: use.Async.on}, e)
		}
	}
	k := ofText(plain(list))
	switch {
	case isResult:
		if e.agent == nil && k == kInterrupt {
			s.tail = tailInterrupt
		}
	case e.agent != nil:
		s.user(list, "agent-prompt", e)
	case k != kPrompt:
		s.hidden(k, list, e)
		s.command = nil // prompts are told otherwise here
	case ev.Replay.on && !ev.Synthetic.on, !ev.Replay.set && !ev.Synthetic.on && !s.open:
		s.replays = s.replays || ev.Replay.on
		s.prompt(host.SDK, "", list, e)
		s.open = true
		s.segMessages, s.segCalls = len(s.c.Messages), len(s.c.Calls)
	default:
		s.hidden(kInjected, list, e)
	}
	return true
}

// system takes what the runtime says.
func (s *stream) system(ev *streamEvent, e *event) bool {
	switch ev.Subtype {
	case "init":
		if ev.Version != "" {
			s.version = string(ev.Version)
			s.c.Host.Version = s.version
		}
		each(ev.Servers, func(v jsontext.Value) {
			var o struct {
				Name   text `json:"name"`
				Status text `json:"status"`
			}
			if into(v, &o) {
				s.names.server(string(o.Name), string(o.Status))
			}
		})
	case "permission_denied":
		s.deny(string(ev.ToolUseID), host.DeniedUnstated)
	case "compact_boundary":
		s.note("compaction", "the host compacted the conversation; the compaction's own tokens are in no turn", e.src)
	case "task_started":
		if ev.ToolUseID != "" {
			a := s.agent(&streamEvent{Parent: ev.ToolUseID, AgentID: ev.TaskID, AgentType: ev.AgentType})
			s.link(a, string(ev.ToolUseID))
		}
		if ev.Background.on {
			s.background(string(ev.ToolUseID), s.cur())
		}
	case "task_notification":
		s.notified = true
		delete(s.running, string(ev.ToolUseID))
		delete(s.running, string(ev.TaskID))
	default:
		return false
	}
	return true
}

// result takes the end of a run of the model: of a turn, of what a notification
// began, or of a command that asked no model.
func (s *stream) result(ev *streamEvent, e *event) bool {
	if u := modelUsageOf(ev.ModelUsage); u != nil {
		s.c.Usage = []host.Usage{*u} // cumulative: the last one counts
	}
	each(ev.Denials, func(v jsontext.Value) {
		var d struct {
			ID text `json:"tool_use_id"`
		}
		if into(v, &d) {
			s.deny(string(d.ID), host.DeniedUnstated)
		}
	})
	answer := string(longOf(ev.Result))
	failed := ev.IsError.on || strings.HasPrefix(string(ev.Subtype), "error")
	origin := kindOf(ev.Origin)
	system := origin != "" && origin != "human"
	switch {
	case s.open:
	case system || !failed && strings.TrimSpace(answer) == "":
		return false // a command that asked no model
	default:
		s.begin(host.SDK, "", nil, e)
		s.segMessages, s.segCalls = len(s.c.Messages), len(s.c.Calls)
	}
	if system {
		s.merge()
	}
	s.open, s.notified = false, false
	t := &s.c.Turns[s.turn.index]
	if failed {
		s.tail, t.Error = tailError, oneLine(answer)
		if t.Error == "" {
			t.Error = short(string(ev.Subtype))
		}
	} else {
		if s.tail != tailInterrupt {
			s.tail = tailAnswer
		}
		s.turn.stop, s.turn.calls = "end_turn", false
		if strings.TrimSpace(answer) != "" {
			f := host.FinalText{State: host.HasText, Text: s.keep.Text(answer, host.MaxText), Src: e.src}
			if s.turn.last != nil {
				f.Message = s.c.Messages[s.turn.last.msg].ID
			}
			s.turn.final = &f
		}
	}
	if u := usageOf(ev.Usage); u != nil {
		if old := s.results[s.turn.index]; old != nil {
			old.Add(u)
		} else {
			u.Source, u.Scope, u.Agents = fromResult, host.OfTurn, host.MainAgent
			u.Excludes = []string{host.ExcludesSubagents, host.ExcludesCompaction, host.ExcludesAuxiliary}
			s.results[s.turn.index] = u
		}
	}
	return true
}

// merge makes what came since the last result part of the turn before it: a
// notification began it, not the user (hosts.md 4, rule 1).
func (s *stream) merge() {
	k := s.turn.index
	if k == 0 || len(s.c.Turns[k].Prompts) > 0 {
		return
	}
	for i := s.segMessages; i < len(s.c.Messages); i++ {
		if s.c.Messages[i].Turn == k {
			s.c.Messages[i].Turn = k - 1
		}
	}
	for i := s.segCalls; i < len(s.c.Calls); i++ {
		if s.c.Calls[i].Turn == k {
			s.c.Calls[i].Turn = k - 1
		}
	}
	prev := &s.c.Turns[k-1]
	if s.turn.last != nil && prev.FinalText.State == host.HasText {
		prev.Earlier = append(prev.Earlier, prev.FinalText)
	}
	if end := s.c.Turns[k].EndedAt; end.After(prev.EndedAt) {
		prev.EndedAt = end
	}
	s.c.Turns = s.c.Turns[:k]
	s.turn.index = k - 1
}

// finish closes the session; nil when it has nothing to say.
func (s *stream) finish() *host.Conversation {
	if s.open && s.notified && s.turn != nil {
		s.merge() // cut before its result
	}
	if s.open && s.tail == tailAnswer {
		s.turn.stop = "" // without a result the turn is not known to have ended
	}
	if len(s.c.Turns) == 0 && len(s.c.Calls) == 0 {
		return nil
	}
	// The figures of responses are final up to 2.0 and placeholders from 2.1 on;
	// the result's is the last response's alone in 1.0 and the turn's sum later
	// (hosts.md 3.1). Where the version is not on record both are given.
	major, minor := versionOf(s.version)
	known := s.version != ""
	sums := !known || major < 2 || major == 2 && minor == 0
	// The last answer of a subagent is in no event, so their sums are never whole.
	c := s.builder.finish(figures{main: sums})
	if !known || major >= 2 {
		for i := range c.Turns {
			u := s.results[i]
			if u == nil {
				continue
			}
			t := &c.Turns[i]
			if !known && len(c.Usage) == 0 && len(t.Usage) == 0 {
				// The versions that write no modelUsage count the last response alone,
				// or twice, and here is nothing to compare it with.
				s.note("usage-unsure", "turn "+strconv.Itoa(i)+": what the result's usage counts is not known, it is left out", t.Src)
				continue
			}
			if len(t.Usage) > 0 && !same(&t.Usage[0], u) {
				s.note("usage-disagrees", "turn "+strconv.Itoa(i)+": the usage of the responses and that of the result differ", t.Src)
			}
			t.Usage = append(t.Usage, *u)
		}
	}
	s.caps(sums)
	// Output without --verbose is the result alone: it cannot say what was called.
	for i := range c.Turns {
		if t := &c.Turns[i]; t.FinalText.State != host.AbsentText && t.FinalText.Message == "" {
			c.Caps.Calls = host.Partial
			if len(c.Calls) == 0 {
				c.Caps.Calls, c.Caps.CallIDs = host.Absent, host.Absent
			}
			break
		}
	}
	if !s.replays && c.Caps.Prompts == host.Absent {
		s.note("no-prompts", "this output has no prompts (claude --replay-user-messages adds them)", host.Src{})
	}
	return c
}

// versionOf reads the first two numbers of a version.
func versionOf(v string) (major, minor int) {
	a, rest, _ := strings.Cut(v, ".")
	b, _, _ := strings.Cut(rest, ".")
	major, _ = strconv.Atoi(a) // a version of another make counts as 0.0
	minor, _ = strconv.Atoi(b)
	return major, minor
}
