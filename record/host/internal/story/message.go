package story

import (
	"github.com/sixlink/sixlink/record/host"
)

// Msg is one message of the model while it grows: one response.
type Msg struct {
	b    *Builder
	at   int // in C.Messages; -1: there was no room
	main bool
	// open are the calls of this message that a client has to answer.
	open  int
	stop  string
	usage bool
}

// Answer starts a message of the model. In a conversation without a turn it
// starts one that no prompt on record began.
func (b *Builder) Answer(model string, e *Event) *Msg {
	if e.Agent == nil && b.turn == nil {
		b.Begin(host.System, "", e)
	}
	m := &Msg{b: b, main: e.Agent == nil}
	m.at = b.message(host.Message{ID: e.ID, Role: host.Assistant, Turn: b.turnOf(e), Model: model, At: e.At, Agent: e.Agent, Src: e.Src})
	b.Model(model)
	if m.main && b.turn != nil {
		b.turn.last, b.turn.text, b.turn.final = m, host.Joined{}, nil
		b.tail = tailAnswer
		b.clock(e)
	}
	return m
}

// current says that m is the message that the turn's final text is of.
func (m *Msg) current() bool { return m.main && m.b.turn != nil && m.b.turn.last == m }

func (m *Msg) part(p host.Part) {
	if m.at < 0 {
		return
	}
	if m.b.parts++; m.b.parts > maxParts {
		m.b.full = true
		return
	}
	msg := &m.b.C.Messages[m.at]
	msg.Parts = append(msg.Parts, p)
}

// Text adds text that the user reads.
func (m *Msg) Text(s string) {
	m.part(host.Part{Kind: host.TextPart, Bytes: int64(len(s))})
	if m.current() {
		m.b.turn.text.Add(s)
		m.b.tail = tailAnswer
	}
}

// Fresh forgets the text so far: what follows is the answer, since a result of
// the provider's own client, or a new message in one response, stands between.
func (m *Msg) Fresh() {
	if m.current() {
		m.b.turn.text = host.Joined{}
	}
}

// Thinking adds reasoning of n bytes, which is no answer.
func (m *Msg) Thinking(n int) { m.part(host.Part{Kind: host.ThinkingPart, Bytes: int64(n)}) }

// Media adds a blob.
func (m *Msg) Media(x host.Media) { m.part(host.Part{Kind: host.MediaPart, Media: &x}) }

// Other adds a part of another kind.
func (m *Msg) Other(typ string) { m.part(host.Part{Kind: host.OtherPart, Type: Short(typ)}) }

// ID names a message that had no id so far.
func (m *Msg) ID(id string) {
	if m.at >= 0 && m.b.C.Messages[m.at].ID == "" {
		m.b.C.Messages[m.at].ID = id
	}
}

// Model names the model of a message that has none so far.
func (m *Msg) Model(name string) {
	if m.at >= 0 && m.b.C.Messages[m.at].Model == "" {
		m.b.C.Messages[m.at].Model = name
		m.b.Model(name)
	}
}

// Stop notes why the model stopped, in the provider's word.
func (m *Msg) Stop(reason string) { m.stop = reason }

// HasUsage says that the message has its usage.
func (m *Msg) HasUsage() bool { return m.usage }

// Usage is that of the response. It is set once.
func (m *Msg) Usage(u *host.Usage) {
	if u == nil || m.usage || m.at < 0 {
		return
	}
	m.usage = true
	c := *u
	c.Source, c.Scope = FromResponses, host.OfResponse
	m.b.C.Messages[m.at].Usage = &c
}

// done says that nothing is expected after this message.
func (m *Msg) done() bool {
	return m.open == 0 && m.stop != "tool_use" && m.stop != "pause_turn" && m.stop != "tool_calls" && m.stop != "tool-calls"
}

// Call adds a call that the message makes; client says that somebody else than
// the provider answers it. It returns the call, nil when the same was there
// before or there is no room. The pointer holds until the next call is added.
func (m *Msg) Call(c host.Call, client bool, e *Event) *host.Call {
	m.part(host.Part{Kind: host.CallPart, CallID: c.HostCallID})
	if m.at >= 0 {
		c.Message = m.b.C.Messages[m.at].ID
	}
	k := m.b.Call(c, e)
	if k != nil && client && m.main {
		m.open++
	}
	return k
}

// Call adds a call without a message of its own.
func (b *Builder) Call(c host.Call, e *Event) *host.Call {
	if c.HostCallID != "" {
		if _, again := b.calls[c.HostCallID]; again {
			return nil
		}
	}
	if len(b.C.Calls) >= host.MaxItems {
		b.full = true
		return nil
	}
	if e.Agent == nil && b.turn == nil {
		b.Begin(host.System, "", e)
	}
	c.Turn, c.Src, c.Agent = b.turnOf(e), e.Src, e.Agent
	if c.At.IsZero() {
		c.At = e.At
	}
	if c.HostCallID != "" {
		b.calls[c.HostCallID] = len(b.C.Calls)
	}
	b.C.Calls = append(b.C.Calls, c)
	return &b.C.Calls[len(b.C.Calls)-1]
}

// Find is the call of that id; nil when there is none. The pointer holds until
// the next call is added.
func (b *Builder) Find(id string) *host.Call {
	if i, ok := b.calls[id]; ok && id != "" {
		return &b.C.Calls[i]
	}
	return nil
}

// Result gives a call its result: within m, the message of the provider's own
// client, or apart (nil). It returns the call, nil when there is none or it has a
// result already.
func (b *Builder) Result(id string, r *host.CallResult, m *Msg, e *Event) *host.Call {
	if m != nil {
		m.part(host.Part{Kind: host.ResultPart, CallID: id})
		m.Fresh()
	} else {
		b.message(host.Message{ID: e.ID, Role: host.ToolRole, Turn: b.turnOf(e), Parts: []host.Part{{Kind: host.ResultPart, CallID: id}},
			At: e.At, Agent: e.Agent, Src: e.Src})
	}
	k := b.Find(id)
	if k == nil {
		b.ghosts++
		b.Note("result-without-call", "a result names the call "+Short(id)+", which is not on record", e.Src)
		return nil
	}
	if k.Result != nil {
		return nil // a copy
	}
	k.Result, k.ResultSrc = r, e.Src
	if k.EndedAt.IsZero() {
		k.EndedAt = e.At
	}
	if m == nil && e.Agent == nil {
		b.tail = tailResult
		if b.turn != nil && b.turn.last != nil && b.turn.last.open > 0 {
			b.turn.last.open--
		}
		b.clock(e)
	}
	return k
}
