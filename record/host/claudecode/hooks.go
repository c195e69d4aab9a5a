package claudecode

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// Hooks reads payloads of hooks, one a line, as they are or under "native" with
// the receiver's clock beside them. They hold prompts, calls and answers, but no
// tokens, no model, and no clock of the host (hosts.md 1).
var Hooks = &host.Importer{
	Name: "claude-code-hooks", Version: "1", Doc: "Claude Code hook payloads, one a line",
	Detect: detectHooks, Import: importHooks,
}

// payload is one hook's input: the members that are read.
type payload struct {
	Event     text           `json:"hook_event_name"`
	Session   text           `json:"session_id"`
	PromptID  text           `json:"prompt_id"`
	Prompt    long           `json:"prompt"`
	AgentID   text           `json:"agent_id"`
	AgentType text           `json:"agent_type"`
	ToolUseID text           `json:"tool_use_id"`
	Tool      text           `json:"tool_name"`
	Input     jsontext.Value `json:"tool_input"`
	Response  jsontext.Value `json:"tool_response"`
	Error     jsontext.Value `json:"error"`
	Interrupt flag           `json:"is_interrupt"`
	Server    jsontext.Value `json:"mcp_server"`
	Last      jsontext.Value `json:"last_assistant_message"`
	Tasks     jsontext.Value `json:"background_tasks"`
	Native    jsontext.Value `json:"native"`
}

// hooks is one session's state.
type hooks struct {
	*builder
	agents  map[text]*agent
	parents map[text]string // of agents: the call that started each
}

// importHooks makes one conversation of each session in each file.
func importHooks(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range files {
		cs, err := hooksFile(f)
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

func hooksFile(f *host.File) ([]*host.Conversation, error) {
	var order []*hooks
	by := map[text]*hooks{}
	file := host.Source{Path: f.Name, Format: formatHooks}
	err := eachObject(f, &file, func(n int64, raw jsontext.Value) {
		var p payload
		if json.Unmarshal(raw, &p, readOptions) != nil || p.Native != nil && !into(p.Native, &p) {
			file.Fail(n, "no hook payload")
			return
		}
		s := by[p.Session]
		if s == nil {
			if len(order) >= maxSessions {
				file.Skip("session over the limit")
				return
			}
			s = &hooks{builder: newBuilder(), agents: map[text]*agent{}, parents: map[text]string{}}
			s.c.Sources = []host.Source{{Path: f.Name, Format: formatHooks}}
			by[p.Session] = s
			order = append(order, s)
		}
		s.session(p.Session)
		if src := &s.c.Sources[0]; s.payload(&p, &event{src: host.Src{Line: n}}) {
			src.Took(string(p.Event))
		} else {
			src.Skip(string(p.Event))
		}
	})
	if err != nil {
		return nil, err
	}
	var out []*host.Conversation
	for _, s := range order {
		s.c.Sources[0].Whole(&file)
		if len(s.c.Turns) > 0 || len(s.c.Calls) > 0 {
			out = append(out, s.close())
		}
	}
	return out, nil
}

// payload takes one hook.
func (s *hooks) payload(p *payload, e *event) bool {
	if p.AgentID != "" {
		e.agent = s.agent(p)
	}
	switch p.Event {
	case "UserPromptSubmit":
		list := []block{{Type: "text", Text: p.Prompt}}
		// The hook fires for what the runtime says too.
		if k := ofText(string(p.Prompt)); k == kWake {
			s.hidden(kWake, list, e)
		} else {
			e.id = string(p.PromptID)
			s.prompt(host.Human, string(p.PromptID), list, e)
		}
	case "PreToolUse":
		s.before(p, e)
	case "PostToolUse", "PostToolUseFailure":
		s.before(p, e) // some only register the second one
		s.after(p, e)
	case "Stop":
		s.stop(p, e)
	case "SubagentStart":
	default:
		return false
	}
	return true
}

func (s *hooks) agent(p *payload) *agent {
	a, ok := s.agents[p.AgentID]
	if !ok {
		a = &agent{turn: s.cur(), call: -1}
		a.ID, a.Type, a.Depth = string(p.AgentID), string(p.AgentType), 1
		if len(s.agents) < host.MaxItems {
			s.agents[p.AgentID] = a
		}
	}
	return a
}

// before takes a call.
func (s *hooks) before(p *payload, e *event) {
	if s.turn == nil && e.agent == nil {
		s.begin(host.System, "", nil, e)
	}
	var server struct {
		Name text `json:"name"`
	}
	if into(p.Server, &server) {
		s.names.server(string(server.Name), "")
		if len(s.names.byCall) < host.MaxItems {
			s.names.byCall[string(p.ToolUseID)] = attribution{server: string(server.Name)}
		}
	}
	if _, known := s.calls[string(p.ToolUseID)]; known {
		return
	}
	s.call(&block{Type: "tool_use", ID: p.ToolUseID, Name: p.Tool, Input: p.Input}, "", 0, e)
	if e.agent == nil && s.turn != nil {
		s.tail = tailResult
	}
}

// after takes a call's result.
func (s *hooks) after(p *payload, e *event) {
	k := block{Type: "tool_result", ToolUseID: p.ToolUseID, Content: p.Response}
	if p.Event == "PostToolUseFailure" {
		k.Content, k.IsError = p.Error, flag{on: true, set: true}
	}
	if k.Content.Kind() == '{' {
		// A tool of the host: its result is an object of its own. The text that the
		// model saw is not in it.
		k.Content = nil
	}
	var use struct {
		Async flag `json:"isAsync"`
		Agent text `json:"agentId"`
	}
	into(p.Response, &use)
	if use.Agent != "" && len(s.parents) < host.MaxItems {
		s.parents[use.Agent] = string(p.ToolUseID)
	}
	s.builder.result(&k, resultExtra{agentID: use.Agent, background: use.Async.on}, e)
	if p.Interrupt.on {
		s.tail = tailInterrupt
	}
}

// stop takes the answer. The turn may go on: subagents that still run will wake
// the model (hosts.md 3.1).
func (s *hooks) stop(p *payload, e *event) {
	if s.turn == nil {
		return
	}
	t := &s.c.Turns[s.turn.index]
	if s.turn.woken && s.turn.final != nil && s.turn.final.State == host.HasText {
		t.Earlier = append(t.Earlier, *s.turn.final)
	}
	answer := string(longOf(p.Last))
	f := host.FinalText{State: host.EmptyText, Src: e.src}
	switch {
	case p.Last.Kind() != '"':
		f.State = host.AbsentText // older versions do not say it
	case strings.TrimSpace(answer) != "":
		f.State, f.Text = host.HasText, s.keep.Text(answer, host.MaxText)
	}
	s.turn.final, s.turn.woken = &f, false
	if s.tail != tailInterrupt {
		s.tail = tailAnswer
	}
	s.turn.stop, s.turn.calls = "end_turn", false
	// The list is what runs now, whatever was told before.
	for id, turn := range s.running {
		if turn == s.turn.index {
			delete(s.running, id)
		}
	}
	each(p.Tasks, func(v jsontext.Value) {
		var o struct {
			ID     text `json:"id"`
			Status text `json:"status"`
		}
		if into(v, &o) && o.Status == "running" {
			s.background(string(o.ID), s.turn.index)
		}
	})
}

// close gives the subagents the calls that started them, which their own hooks
// do not name, and finishes.
func (s *hooks) close() *host.Conversation {
	for id, a := range s.agents {
		s.link(a, s.parents[id])
	}
	for i := range s.c.Calls {
		c := &s.c.Calls[i]
		if c.Agent != nil {
			if a := s.agents[text(c.Agent.ID)]; a != nil {
				c.Agent, c.Turn = a.model(), s.turnOf(&event{agent: a})
			}
		}
	}
	c := s.finish(figures{})
	if c.Caps.FinalText == host.Present {
		for i := range c.Turns {
			if c.Turns[i].FinalText.State == host.AbsentText {
				c.Caps.FinalText = host.Partial
			}
		}
	}
	return c
}
