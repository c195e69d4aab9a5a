package claudecode

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// builder makes one conversation of records in their order. Readers say what a
// record is; the rules of turns, final texts and calls are here (hosts.md 4).
type builder struct {
	c     *host.Conversation
	src   int // the source that is being read
	keep  host.Keeper
	names *namer

	turn    *turnState // nil before the first
	groups  map[string]*group
	calls   map[string]int      // by id, in c.Calls
	tasks   map[string][]string // calls that start subagents, by their prompt's hash, not yet claimed
	running map[string]int      // background subagents by call id and agent id: the turn that started them
	claimed map[string]bool     // calls whose subagent was found
	command *host.Prompt        // "/name" that no output followed yet
	denials map[string]string   // by call id, told before the result
	ghosts  int                 // results without a call
	full    bool                // MaxItems was reached
	parts   int                 // of all messages
	noTimes int                 // main records without a time
	times   int                 // and with one
	tail    tail                // what the main agent did last
	seenID  map[string]bool     // session ids
}

// turnState is what is only needed while a turn grows.
type turnState struct {
	index    int
	last     *group // the main agent's newest message
	text     host.Joined
	woken    bool // something other than the user spoke since the last answer
	answered bool // and before it the model had answered
	stop     text // stop_reason of the newest message
	calls    bool // the newest message has a call
	// final is the final text where a record says it outright.
	final *host.FinalText
}

// tail is the kind of the main agent's last record, which tells whether a turn
// was answered.
type tail uint8

const (
	tailNone tail = iota
	tailPrompt
	tailAnswer
	tailResult
	tailWake
	tailError
	tailInterrupt
)

// group is one message of the model: records with one message id.
type group struct {
	msg    int // in c.Messages
	sub    bool
	hidden bool
	usage  *host.Usage
}

func newBuilder() *builder {
	return &builder{c: &host.Conversation{Host: host.Host{Name: "claude-code"}}, names: newNamer(), groups: map[string]*group{},
		calls: map[string]int{}, tasks: map[string][]string{}, running: map[string]int{}, claimed: map[string]bool{}, denials: map[string]string{}, seenID: map[string]bool{}}
}

// event is what all records have in common.
type event struct {
	id    string // of the record
	at    time.Time
	src   host.Src
	agent *agent // nil: the main agent
}

// agent is a subagent while its records are read.
type agent struct {
	host.Agent
	call int // the call that started it, in c.Calls; -1: unknown
	turn int // where call is unknown
}

func (a *agent) model() *host.Agent {
	if a == nil {
		return nil
	}
	return &a.Agent
}

// session notes an id of the session.
func (b *builder) session(id text) {
	if s := string(id); s != "" && !b.seenID[s] && len(b.seenID) < maxSessions {
		b.seenID[s] = true
		b.c.SessionIDs = append(b.c.SessionIDs, s)
	}
}

// maxSessions bounds the session ids of one conversation.
const maxSessions = 1000

func (b *builder) cur() int {
	if b.turn == nil {
		return -1
	}
	return b.turn.index
}

func (b *builder) turnOf(e *event) int {
	switch a := e.agent; {
	case a == nil:
		return b.cur()
	case a.call >= 0:
		return b.c.Calls[a.call].Turn
	default:
		return min(a.turn, len(b.c.Turns)-1)
	}
}

func (b *builder) note(kind, text string, src host.Src) {
	const maxNotes = 100
	if len(b.c.Notes) < maxNotes {
		b.c.Notes = append(b.c.Notes, host.Note{Kind: kind, Text: text, Src: src})
	}
}

// begin starts a turn.
func (b *builder) begin(origin host.Origin, id string, p *host.Prompt, e *event) {
	if len(b.c.Turns) >= host.MaxItems {
		b.full = true
		return
	}
	b.end(false)
	t := host.Turn{Index: len(b.c.Turns), ID: id, Origin: origin, StartedAt: e.at, Src: e.src}
	if p != nil {
		t.Prompts = []host.Prompt{*p}
	}
	b.c.Turns = append(b.c.Turns, t)
	b.turn = &turnState{index: t.Index}
	b.tail, b.command = tailPrompt, nil
}

// end closes the turn that grows: at the next prompt, or at the end of it all.
func (b *builder) end(last bool) {
	if b.turn == nil {
		return
	}
	t := &b.c.Turns[b.turn.index]
	if f := b.finalText(); f.State != host.AbsentText || t.FinalText.State == "" {
		t.FinalText = f
	}
	switch {
	case b.tail == tailInterrupt:
		t.Status = host.Interrupted
	case b.tail == tailError:
		t.Status = host.Failed
	case b.tail == tailAnswer && (!last || b.answered()):
		t.Status = host.Complete
	case last:
		t.Status = host.Open
	case b.tail == tailWake && b.turn.answered:
		t.Status = host.Complete // what woke it asked for no answer
	default:
		t.Status = host.Interrupted // the user went on without an answer
	}
	if t.Status != host.Failed {
		t.Error = "" // it went on after the error
	}
	b.turn = nil
}

// answered says that the newest message ends the turn: the model stopped, and
// no subagent is at work.
func (b *builder) answered() bool {
	return !b.turn.calls && b.turn.stop != "" && b.turn.stop != "tool_use" && b.turn.stop != "pause_turn" && !b.works(b.turn.index)
}

// background notes a subagent that goes on after the call's result.
func (b *builder) background(id string, turn int) {
	if id != "" && len(b.running) < maxRunning {
		b.running[id] = turn
	}
}

// maxRunning bounds the subagents that run at one time.
const maxRunning = 1000

// works says that a subagent which that turn started is at work.
func (b *builder) works(turn int) bool {
	for _, t := range b.running {
		if t == turn {
			return true
		}
	}
	return false
}

// finalText is that of the newest message of the main agent (hosts.md 4, rule 2).
func (b *builder) finalText() host.FinalText {
	s := b.turn
	if s.final != nil {
		return *s.final
	}
	if s.last == nil {
		return host.FinalText{State: host.AbsentText}
	}
	m := &b.c.Messages[s.last.msg]
	f := host.FinalText{State: host.EmptyText, Message: m.ID, Src: m.Src}
	if !s.text.Blank() {
		f.State, f.Text = host.HasText, s.text.Keep(&b.keep)
	}
	return f
}

// message appends a message; -1 when there is no room.
func (b *builder) message(m host.Message) int {
	if len(b.c.Messages) >= host.MaxItems {
		b.full = true
		return -1
	}
	b.c.Messages = append(b.c.Messages, m)
	return len(b.c.Messages) - 1
}

// prompt takes what the user said.
func (b *builder) prompt(origin host.Origin, turnID string, list []block, e *event) {
	p := b.promptOf(list, e)
	b.begin(origin, turnID, p, e)
	b.user(list, "", e)
	b.clock(e)
}

func (b *builder) promptOf(list []block, e *event) *host.Prompt {
	p := &host.Prompt{Text: b.keep.Text(plain(list), host.MaxText), Message: e.id, At: e.at, Src: e.src}
	for i := range list {
		if list[i].Source != nil {
			p.Media = append(p.Media, mediaOf(&list[i]))
		}
	}
	return p
}

// queued takes a prompt that was typed while a turn ran: it belongs to that turn
// (hosts.md 3.1). Where none runs it begins one.
func (b *builder) queued(list []block, e *event) {
	if b.turn == nil {
		b.prompt(host.Human, "", list, e)
		return
	}
	p := b.promptOf(list, e)
	p.Queued = true
	t := &b.c.Turns[b.turn.index]
	t.Prompts = append(t.Prompts, *p)
	b.user(list, "", e)
	b.tail = tailPrompt
}

// user appends a message of the user's role.
func (b *builder) user(list []block, hidden string, e *event) {
	b.message(host.Message{ID: e.id, Role: host.User, Turn: b.turnOf(e), Parts: b.partsOf(list), At: e.at, Agent: e.agent.model(),
		Hidden: hidden, Src: e.src})
}

// hidden takes a user record that is neither a prompt nor a result.
func (b *builder) hidden(k kind, list []block, e *event) {
	b.user(list, k.hiddenWord(), e)
	if e.agent != nil {
		return
	}
	switch k {
	case kCommand:
		b.command = b.promptOf(list, e)
	case kOutput:
		b.command = nil
	case kInterrupt:
		b.tail = tailInterrupt
	case kWake:
		b.wake(plain(list))
	}
}

// wake notes that the runtime woke the model: the turn goes on (hosts.md 4, rule 1).
func (b *builder) wake(s string) {
	for _, id := range taskIDs(s) {
		delete(b.running, id)
	}
	if b.turn != nil {
		b.turn.answered = b.turn.answered || b.tail == tailAnswer
		b.turn.woken = true
		b.tail = tailWake
	}
}

// assistant takes blocks of the model's message.
func (b *builder) assistant(m *message, list []block, apiError bool, l *event) {
	synthetic := apiError || m.Model == "<synthetic>"
	if l.agent == nil && !synthetic {
		if b.command != nil {
			// A command that no output followed was one for the model: a prompt.
			p := b.command
			b.begin(host.Human, "", p, &event{id: p.Message, at: p.At, src: p.Src})
		} else if b.turn == nil {
			b.begin(host.System, "", nil, l)
		}
	}
	key := string(m.ID)
	if key == "" {
		key = "record " + l.id
	}
	g, again := b.groups[key]
	if !again {
		g = b.newGroup(m, synthetic, apiError, l)
		if g == nil {
			return
		}
		b.groups[key] = g
	} else if g.sub != (l.agent != nil) {
		return // an agent's file may begin with the messages that it was forked from
	}
	if u := usageOf(m.Usage); u != nil && !synthetic {
		g.usage = u // the last is the final one
	}
	msg := &b.c.Messages[g.msg]
	msg.Parts = append(msg.Parts, b.partsOf(list)...)
	main := l.agent == nil && !synthetic && b.turn != nil && b.turn.last == g
	if main {
		b.tail = tailAnswer
		b.turn.stop = m.StopReason
		b.clock(l)
	} else if l.agent == nil && apiError && b.turn != nil {
		b.tail = tailError
		b.c.Turns[b.turn.index].Error = oneLine(plain(list))
	}
	for i := range list {
		switch list[i].Type {
		case "text":
			if main {
				b.turn.text.Add(string(list[i].Text))
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			if main && list[i].Type == "tool_use" {
				b.turn.calls = true
			}
			b.call(&list[i], msg.ID, i, l)
		}
	}
}

// newGroup begins a message of the model.
func (b *builder) newGroup(m *message, synthetic, apiError bool, e *event) *group {
	id := string(m.ID)
	if id == "" {
		id = e.id
	}
	g := &group{sub: e.agent != nil, hidden: synthetic}
	msg := host.Message{ID: id, Role: host.Assistant, Turn: b.turnOf(e), At: e.at, Agent: e.agent.model(), Src: e.src}
	switch {
	case apiError:
		msg.Hidden = "api-error"
	case synthetic:
		msg.Hidden = "synthetic"
	default:
		msg.Model = string(m.Model)
		b.modelName(msg.Model)
	}
	if g.msg = b.message(msg); g.msg < 0 {
		return nil
	}
	if !synthetic && e.agent == nil {
		s := b.turn
		if s.woken && s.last != nil {
			if f := b.finalText(); f.State == host.HasText {
				t := &b.c.Turns[s.index]
				t.Earlier = append(t.Earlier, f)
			}
		}
		s.woken, s.last, s.text, s.calls, s.final = false, g, host.Joined{}, false, nil
	}
	return g
}

func (b *builder) modelName(name string) {
	const maxModels = 100
	if name == "" || len(b.c.Models) >= maxModels {
		return
	}
	for _, m := range b.c.Models {
		if m == name {
			return
		}
	}
	b.c.Models = append(b.c.Models, name)
}

// call takes a tool use.
func (b *builder) call(k *block, msg string, index int, e *event) {
	id := string(k.ID)
	if i, again := b.calls[id]; again && id != "" {
		if b.c.Calls[i].Src.Source == e.src.Source {
			b.note("repeated-call-id", "the tool use "+short(id)+" is in the file twice; the first is kept", e.src)
		}
		return
	}
	if len(b.c.Calls) >= host.MaxItems {
		b.full = true
		return
	}
	c := host.Call{HostCallID: id, Name: string(k.Name), ArgsSource: host.ArgsFromHost, At: e.at,
		Agent: e.agent.model(), Turn: b.turnOf(e), Message: msg, Src: e.src}
	switch k.Type {
	case "mcp_tool_use":
		c.Kind, c.Server, c.Tool.Shown = host.HostedCall, string(k.Server), string(k.Name)
	case "server_tool_use":
		c.Kind, c.Tool.Shown = host.HostedCall, string(k.Name)
	}
	if c.Args = b.keep.ValueUpTo(k.Input, b.room(&c)); c.Args == nil {
		c.ArgsSource = ""
	}
	if why, ok := b.denials[id]; ok && id != "" {
		c.Denied = why
	}
	b.calls[id] = len(b.c.Calls)
	b.c.Calls = append(b.c.Calls, c)
	if startsAgent(string(k.Name)) {
		if p := agentPrompt(k.Input); p != "" {
			h := hashOf(p)
			b.tasks[h] = append(b.tasks[h], id)
		}
	}
}

// result takes a tool result; extra is what the host keeps beside it.
func (b *builder) result(k *block, extra resultExtra, e *event) {
	id := string(k.ToolUseID)
	b.message(host.Message{ID: e.id, Role: host.ToolRole, Turn: b.turnOf(e), Parts: []host.Part{{Kind: host.ResultPart, CallID: id}},
		At: e.at, Agent: e.agent.model(), Src: e.src})
	if e.agent == nil {
		b.clock(e)
	}
	i, ok := b.calls[id]
	if !ok || id == "" {
		b.ghosts++
		b.note("result-without-call", "a result names the tool use "+short(id)+", which is not on record", e.src)
		return
	}
	c := &b.c.Calls[i]
	if c.Result != nil {
		return // a copy
	}
	if e.agent == nil && c.Turn == b.cur() {
		b.tail = tailResult
	}
	isError := k.IsError.on
	c.Result, c.HostError, c.EndedAt, c.ResultSrc = resultOf(k.Content, &b.keep, b.room(c)), &isError, e.at, e.src
	c.Result.Structured = b.keep.Value(extra.structured)
	if extra.denial != "" && (c.Denied == "" || c.Denied == host.DeniedUnstated) {
		c.Denied = string(extra.denial)
	}
	if isError && !c.NotSent() {
		c.Denied, c.Refused = refusal(c.Result.Text.Text)
	}
	if extra.background {
		b.background(id, c.Turn)
		b.background(string(extra.agentID), c.Turn)
	}
}

// room is how many bytes of a call's arguments, and of its result, are kept. What the
// host's own tools read and write is often whole files, and no check asks for it.
func (b *builder) room(c *host.Call) int {
	const builtin = 4 << 10
	if c.Kind == host.HostedCall || strings.HasPrefix(c.Name, prefix) || b.names.byCall[c.HostCallID].server != "" {
		return host.MaxValue
	}
	return builtin
}

// resultExtra is what stands beside a result block.
type resultExtra struct {
	structured jsontext.Value
	denial     text
	agentID    text
	background bool
}

// clock moves the turn's end and counts which records have a time.
func (b *builder) clock(e *event) {
	if e.at.IsZero() {
		b.noTimes++
		return
	}
	b.times++
	if b.turn == nil {
		return
	}
	t := &b.c.Turns[b.turn.index]
	if t.StartedAt.IsZero() || e.at.Before(t.StartedAt) {
		t.StartedAt = e.at
	}
	if e.at.After(t.EndedAt) {
		t.EndedAt = e.at
	}
}

// deny notes that a call was not permitted, wherever the host says it.
func (b *builder) deny(id, why string) {
	if id == "" {
		return
	}
	if i, ok := b.calls[id]; ok {
		if b.c.Calls[i].Denied == "" {
			b.c.Calls[i].Denied = why
		}
		return
	}
	if len(b.denials) < host.MaxItems {
		b.denials[id] = why
	}
}

// maxParts bounds the parts of all messages together.
const maxParts = 2 * host.MaxItems

// partsOf lists the kinds and sizes of blocks.
func (b *builder) partsOf(list []block) []host.Part {
	if b.parts += len(list); b.parts > maxParts {
		b.full = true
		return nil
	}
	var parts []host.Part
	for i := range list {
		b := &list[i]
		switch b.Type {
		case "text":
			parts = append(parts, host.Part{Kind: host.TextPart, Bytes: int64(len(b.Text))})
		case "thinking", "redacted_thinking":
			parts = append(parts, host.Part{Kind: host.ThinkingPart, Bytes: int64(len(b.Thinking))})
		case "tool_use", "server_tool_use", "mcp_tool_use":
			parts = append(parts, host.Part{Kind: host.CallPart, CallID: string(b.ID)})
		case "tool_result", "mcp_tool_result":
			parts = append(parts, host.Part{Kind: host.ResultPart, CallID: string(b.ToolUseID)})
		case "image", "document":
			m := mediaOf(b)
			parts = append(parts, host.Part{Kind: host.MediaPart, Media: &m})
		default:
			parts = append(parts, host.Part{Kind: host.OtherPart, Type: short(string(b.Type))})
		}
	}
	return parts
}
