package story

import (
	"strings"
	"time"

	"github.com/sixlink/sixlink/record/host"
)

// Builder makes one conversation.
type Builder struct {
	C    *host.Conversation
	Keep *host.Keeper
	// OwnSums says that the importer gives the turns' figures itself, so that none
	// are made of the messages' usage.
	OwnSums bool
	// EndsTold says that records tell how turns end: the last turn is open without one.
	EndsTold bool

	turn  *turnState
	calls map[string]int // by id, in C.Calls; shared ids keep the first
	seen  map[string]bool
	marks map[string]bool // see Once
	tail  tail

	full    bool
	ghosts  int // results without a call
	parts   int
	times   int // main messages and calls with a time
	noTimes int
	lost    bool // an importer knows that calls are missing
}

// turnState is what is only needed while a turn grows.
type turnState struct {
	index int
	last  *Msg // the main agent's newest message
	text  host.Joined
	// status is set where a record says how the turn ended.
	status host.Status
	// final is the final text where a record says it outright.
	final *host.FinalText
}

// tail is the kind of the main agent's last record.
type tail uint8

const (
	tailNone tail = iota
	tailPrompt
	tailAnswer
	tailResult
)

// Event is what records have in common.
type Event struct {
	ID  string
	At  time.Time
	Src host.Src
	// Agent is the subagent whose record it is, Turn the turn that it works for;
	// nil: the main agent, in the turn that grows.
	Agent *host.Agent
	Turn  int
}

// Content is what one message holds besides calls and results.
type Content struct {
	Text  string
	Media []host.Media
}

// New returns a builder. Builders that read one file share keep, so that a file
// of many conversations has one bound.
func New(name string, keep *host.Keeper) *Builder {
	return &Builder{C: &host.Conversation{Host: host.Host{Name: name}}, Keep: keep, calls: map[string]int{}, seen: map[string]bool{}, marks: map[string]bool{}}
}

// Bounds of lists that grow with the input, in items.
const (
	maxSessions = 1000
	maxModels   = 100
	maxNotes    = 100
	maxServers  = 200
	maxParts    = 2 * host.MaxItems
	maxBranches = 1000
	// maxBranchIDs bounds the call ids that a branch lists.
	maxBranchIDs = 100
)

// Once says that key is new, and notes it. Past a bound everything is new.
func (b *Builder) Once(key string) bool {
	if b.marks[key] {
		return false
	}
	if len(b.marks) < 2*host.MaxItems {
		b.marks[key] = true
	}
	return true
}

// Session notes an id of the session.
func (b *Builder) Session(id string) {
	if id != "" && len(b.C.SessionIDs) < maxSessions && b.Once("session "+id) {
		b.C.SessionIDs = append(b.C.SessionIDs, id)
	}
}

// Model notes a model that answered.
func (b *Builder) Model(name string) {
	if name != "" && len(b.C.Models) < maxModels && b.Once("model "+name) {
		b.C.Models = append(b.C.Models, name)
	}
}

// Server notes a server that the transcript names.
func (b *Builder) Server(s host.Server) {
	if s.Name != "" && len(b.C.Servers) < maxServers && b.Once("server "+s.Name) {
		b.C.Servers = append(b.C.Servers, s)
	}
}

// Note adds a remark.
func (b *Builder) Note(kind, text string, src host.Src) {
	if len(b.C.Notes) < maxNotes {
		b.C.Notes = append(b.C.Notes, host.Note{Kind: kind, Text: text, Src: src})
	}
}

// NoteOnce adds a remark whose kind says all.
func (b *Builder) NoteOnce(kind, text string, src host.Src) {
	if b.Once("note " + kind) {
		b.Note(kind, text, src)
	}
}

// Lost says that calls are known to be missing.
func (b *Builder) Lost() { b.lost = true }

// Turn is the turn that grows; nil before the first and after the last.
func (b *Builder) Turn() *host.Turn {
	if b.turn == nil {
		return nil
	}
	return &b.C.Turns[b.turn.index]
}

func (b *Builder) turnOf(e *Event) int {
	switch {
	case e.Agent != nil:
		return min(e.Turn, len(b.C.Turns)-1)
	case b.turn == nil:
		return -1
	}
	return b.turn.index
}

// Begin starts a turn without a prompt on record.
func (b *Builder) Begin(origin host.Origin, id string, e *Event) {
	if len(b.C.Turns) >= host.MaxItems {
		b.full = true
		return
	}
	b.end(false)
	b.C.Turns = append(b.C.Turns, host.Turn{Index: len(b.C.Turns), ID: id, Origin: origin, StartedAt: e.At, EndedAt: e.At, Src: e.Src})
	b.turn = &turnState{index: len(b.C.Turns) - 1}
	b.tail = tailPrompt
}

// Prompt starts a turn with what the user said.
func (b *Builder) Prompt(origin host.Origin, id string, c Content, e *Event) {
	b.Begin(origin, id, e)
	if b.turn == nil || b.full {
		return
	}
	b.prompt(c, e, false)
}

// Queue takes what the user said while a turn ran: it belongs to that turn. Where
// none runs it starts one.
func (b *Builder) Queue(origin host.Origin, c Content, e *Event) {
	if b.turn == nil {
		b.Prompt(origin, "", c, e)
		return
	}
	b.prompt(c, e, true)
	b.tail = tailPrompt
}

func (b *Builder) prompt(c Content, e *Event, queued bool) {
	t := &b.C.Turns[b.turn.index]
	t.Prompts = append(t.Prompts, host.Prompt{Text: b.Keep.Text(c.Text, host.MaxText), Message: e.ID, At: e.At, Queued: queued, Media: c.Media, Src: e.Src})
	b.message(host.Message{ID: e.ID, Role: host.User, Turn: b.turnOf(e), Parts: b.contentParts(c), At: e.At, Src: e.Src})
	b.clock(e)
}

// Hidden takes a message that is neither a prompt nor an answer.
func (b *Builder) Hidden(role host.Role, why string, c Content, e *Event) {
	b.message(host.Message{ID: e.ID, Role: role, Turn: b.turnOf(e), Parts: b.contentParts(c), At: e.At, Agent: e.Agent, Hidden: why, Src: e.Src})
}

func (b *Builder) contentParts(c Content) []host.Part {
	var parts []host.Part
	if c.Text != "" || len(c.Media) == 0 {
		parts = append(parts, host.Part{Kind: host.TextPart, Bytes: int64(len(c.Text))})
	}
	for i := range c.Media {
		parts = append(parts, host.Part{Kind: host.MediaPart, Media: &c.Media[i]})
	}
	if b.parts += len(parts); b.parts > maxParts {
		b.full = true
		return nil
	}
	return parts
}

// message appends a message; -1 when there is no room.
func (b *Builder) message(m host.Message) int {
	if len(b.C.Messages) >= host.MaxItems {
		b.full = true
		return -1
	}
	b.C.Messages = append(b.C.Messages, m)
	return len(b.C.Messages) - 1
}

// clock moves the turn's end and counts which records have a time.
func (b *Builder) clock(e *Event) {
	if e.Agent != nil {
		return
	}
	if e.At.IsZero() {
		b.noTimes++
		return
	}
	b.times++
	if t := b.Turn(); t != nil {
		if t.StartedAt.IsZero() || e.At.Before(t.StartedAt) {
			t.StartedAt = e.At
		}
		if e.At.After(t.EndedAt) {
			t.EndedAt = e.At
		}
	}
}

// Final says a turn's final text outright, where no message holds it.
func (b *Builder) Final(f host.FinalText) {
	if b.turn != nil {
		b.turn.final = &f
	}
}

// Ended says how the turn that grows ended.
func (b *Builder) Ended(s host.Status, why string, e *Event) {
	if t := b.Turn(); t != nil {
		b.turn.status = s
		if why != "" {
			t.Error = OneLine(why)
		}
		b.clock(e)
	}
}

// Close ends the turn that grows, as a record said or as it stands.
func (b *Builder) Close() { b.end(false) }

// end closes the turn that grows: at the next prompt, or at the end of it all.
func (b *Builder) end(last bool) {
	if b.turn == nil {
		return
	}
	s := b.turn
	t := &b.C.Turns[s.index]
	t.FinalText = b.finalText()
	switch {
	case s.status != "":
		t.Status = s.status
	case b.tail == tailAnswer && (!last || s.last.done() && !b.EndsTold):
		t.Status = host.Complete
	case last:
		t.Status = host.Open
	default:
		t.Status = host.Interrupted // the user went on without an answer
	}
	b.turn = nil
}

// FromResponses names figures that are sums over the model's responses.
const FromResponses = "responses"

// finalText is that of the newest message of the main agent (hosts.md 4, rule 2).
func (b *Builder) finalText() host.FinalText {
	s := b.turn
	switch {
	case s.final != nil:
		return *s.final
	case s.last == nil || s.last.at < 0:
		return host.FinalText{State: host.AbsentText}
	}
	m := &b.C.Messages[s.last.at]
	f := host.FinalText{State: host.EmptyText, Message: m.ID, Src: m.Src}
	if !s.text.Blank() {
		f.State, f.Text = host.HasText, s.text.Keep(b.Keep)
	}
	return f
}

// Branch lists a part that the conversation left.
func (b *Builder) Branch(br host.Branch) {
	if len(b.C.Branches) < maxBranches {
		if len(br.CallIDs) > maxBranchIDs {
			br.CallIDs = br.CallIDs[:maxBranchIDs]
		}
		b.C.Branches = append(b.C.Branches, br)
	}
}

// Rewind takes the last n turns off the live branch and lists them as another.
func (b *Builder) Rewind(n int, why string, src host.Src) {
	b.end(false)
	from := max(0, len(b.C.Turns)-n)
	if from == len(b.C.Turns) {
		return
	}
	br := host.Branch{Why: why, Src: src}
	messages := b.C.Messages[:0]
	for _, m := range b.C.Messages {
		if m.Turn < from {
			messages = append(messages, m)
			continue
		}
		br.Messages++
	}
	calls := b.C.Calls[:0]
	clear(b.calls)
	for _, c := range b.C.Calls {
		if c.Turn >= from {
			br.Calls++
			if c.HostCallID != "" {
				br.CallIDs = append(br.CallIDs, c.HostCallID)
			}
			continue
		}
		if c.HostCallID != "" {
			b.calls[c.HostCallID] = len(calls)
		}
		calls = append(calls, c)
	}
	clear(b.C.Messages[len(messages):])
	clear(b.C.Calls[len(calls):])
	b.C.Messages, b.C.Calls, b.C.Turns = messages, calls, b.C.Turns[:from]
	b.tail = tailNone
	b.Branch(br)
}

// OneLine is the first line of a text, cut, in valid UTF-8.
func OneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return cut(s, 300)
}

// Short cuts an id or a word for a note: such a name is a stranger's choice.
func Short(s string) string { return cut(s, 80) }

func cut(s string, max int) string {
	if len(s) > max {
		return strings.ToValidUTF8(s[:max], "") + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Reopen forgets how the turn that grows was said to have ended: it goes on.
func (b *Builder) Reopen() {
	if b.turn != nil {
		b.turn.status, b.turn.final = "", nil
	}
}
