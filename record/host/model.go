package host

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Conversation is what one host transcript tells, with the bytes that it was
// read from by reference (hosts.md 4).
type Conversation struct {
	Host Host `json:"host,omitzero"`
	// SessionIDs are the host's ids of the session, in order of appearance: a
	// resumed session may have several.
	SessionIDs []string `json:"sessionIds,omitzero"`
	// Sources are the files that it was made of; Src.Source counts in this list.
	Sources []Source `json:"sources,omitzero"`
	Caps    Caps     `json:"caps,omitzero"`
	// Models are the models that answered, in order of appearance, without
	// placeholders such as "<synthetic>".
	Models []string `json:"models,omitzero"`
	// Servers are the MCP servers that the transcript names, by the host's key.
	Servers []Server `json:"servers,omitzero"`
	// Usage are figures of the whole session, one a source: totals that cannot be
	// parted by turn (modelUsage, a thread total).
	Usage []Usage `json:"usage,omitzero"`
	// Branches are what the file holds beside the live branch: listed, not graded.
	Branches []Branch `json:"branches,omitzero"`
	// Notes are things that a person should know and no field says, in order.
	Notes []Note `json:"notes,omitzero"`

	// The lists below are lines of their own in the neutral format.

	Turns    []Turn    `json:"-"`
	Messages []Message `json:"-"`
	Calls    []Call    `json:"-"`
}

// Host is the program that wrote the transcript.
type Host struct {
	// Name is sixlink's name of it: claude-code, codex, chatgpt, gemini-cli, ...
	Name       string `json:"name,omitzero"`
	Version    string `json:"version,omitzero"`
	Entrypoint string `json:"entrypoint,omitzero"`
}

// Source is one file and what its importer made of it.
type Source struct {
	// Path is the file's name relative to what the user named: never a path of the
	// machine.
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitzero"`
	Bytes  int64  `json:"bytes,omitzero"`
	// Format is what the file is ("claude-code-session"); Importer and its version
	// say who read it.
	Format          string `json:"format,omitzero"`
	Importer        string `json:"importer,omitzero"`
	ImporterVersion string `json:"importerVersion,omitzero"`
	// Lines counts the lines, or the records of a file that is one document.
	Lines int64 `json:"lines,omitzero"`
	// Understood and Skipped count records by type: those that the conversation
	// rests on, and those that the importer knows nothing of or needs nothing of.
	Understood map[string]int64 `json:"understood,omitzero"`
	Skipped    map[string]int64 `json:"skipped,omitzero"`
	// Errors are what could not be read, at most MaxErrors; ErrorCount counts all.
	Errors     []string `json:"errors,omitzero"`
	ErrorCount int64    `json:"errorCount,omitzero"`
	// Cut says that the file ends inside a record.
	Cut bool `json:"cut,omitzero"`
}

// MaxErrors bounds Source.Errors; MaxTypes bounds the types that Source counts
// apart (the rest is counted as "other").
const (
	MaxErrors = 20
	MaxTypes  = 200
)

// Src says where an item was read: Source counts in Conversation.Sources, Line
// from 1, Ptr is a JSON pointer inside the line or the document. Host authors
// leave it out.
type Src struct {
	Source int    `json:"source,omitzero"`
	Line   int64  `json:"line,omitzero"`
	Ptr    string `json:"ptr,omitzero"`
}

// Cap says how much of one kind of knowledge the transcript has.
type Cap string

// The caps. Partial means that some of it is there and something is known to be
// missing; absent that this source cannot say it.
const (
	Present Cap = "present"
	Partial Cap = "partial"
	Absent  Cap = "absent"
)

// Caps are what the conversation can answer. What is absent is not measured,
// never 0 or "" (hosts.md 4, rule 4).
type Caps struct {
	// Turns is present when the user's turns, and so their number, are all there.
	Turns     Cap `json:"turns,omitzero"`
	Prompts   Cap `json:"prompts,omitzero"`
	FinalText Cap `json:"finalText,omitzero"`
	Tokens    Cap `json:"tokens,omitzero"`
	Times     Cap `json:"times,omitzero"`
	// Calls is partial when a call lacks its result, a result its call, or records
	// could not be read.
	Calls   Cap `json:"calls,omitzero"`
	CallIDs Cap `json:"callIds,omitzero"`
	Model   Cap `json:"model,omitzero"`
}

// Server is one MCP server as the host names it.
type Server struct {
	// Name is the host's own key of it; on the wire the server may call itself
	// otherwise.
	Name string `json:"name"`
	// Prefix is what the host puts before its tools' names ("mcp__shop__").
	Prefix string `json:"prefix,omitzero"`
	Status string `json:"status,omitzero"`
}

// Note is one remark: Kind is a word for programs, Text one line for people.
type Note struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Src  Src    `json:"src,omitzero"`
}

// Branch is a part of the file that the conversation left: an edited prompt, a
// rewind, a retracted answer.
type Branch struct {
	Why string `json:"why"`
	// Messages counts its messages, Calls its tool calls.
	Messages int      `json:"messages,omitzero"`
	Calls    int      `json:"calls,omitzero"`
	CallIDs  []string `json:"callIds,omitzero"`
	Src      Src      `json:"src,omitzero"`
}

// Origin says who began a turn.
type Origin string

// The origins. A turn of origin system exists only where the transcript begins
// with work that no prompt on record began; it is no user turn.
const (
	Human  Origin = "human"
	SDK    Origin = "sdk"
	System Origin = "system"
)

// Status says how a turn ended.
type Status string

// The states of a turn. Open: the transcript ends, or goes on elsewhere, before
// the turn was answered.
const (
	Complete    Status = "complete"
	Interrupted Status = "interrupted"
	Failed      Status = "error"
	Open        Status = "open"
)

// Turn is one prompt of the user with what the host did until the next one.
type Turn struct {
	// Index is its place in Conversation.Turns.
	Index  int    `json:"index"`
	ID     string `json:"id,omitzero"`
	Origin Origin `json:"origin,omitzero"`
	Status Status `json:"status,omitzero"`
	// Error is what the host said where Status is error, one line.
	Error string `json:"error,omitzero"`
	// Prompts has the prompt that began the turn and those typed while it ran; it
	// is empty where the source does not hold prompts.
	Prompts   []Prompt  `json:"prompts,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`
	FinalText FinalText `json:"finalText,omitzero"`
	// Earlier are the answers that the host gave before something that no user said
	// (a subagent's end, a peer's message) woke it and extended the turn.
	Earlier []FinalText `json:"earlier,omitzero"`
	// CopiedFrom is the session that the turn was first part of, where a resume
	// copied the history: its calls are those of that session, once more.
	CopiedFrom string `json:"copiedFrom,omitzero"`
	// Usage has one figure a source and kind of agent; sources may disagree.
	Usage []Usage `json:"usage,omitzero"`
	// CallIDs are the turn's calls in host order, those of subagents included;
	// calls without an id are not named here (Call.Turn).
	CallIDs []string `json:"callIds,omitzero"`
	Src     Src      `json:"src,omitzero"`
}

// Prompt is one thing that the user, or the program in the user's place, said.
type Prompt struct {
	Text Text `json:"text"`
	// Message is the id of the message, when it has one.
	Message string    `json:"message,omitzero"`
	At      time.Time `json:"at,omitzero"`
	// Queued prompts were typed while the turn ran.
	Queued bool `json:"queued,omitzero"`
	// Media are what came with it.
	Media []Media `json:"media,omitzero"`
	Src   Src     `json:"src,omitzero"`
}

// TextState tells an empty answer from none on record.
type TextState string

// The states of a final text. Empty: there was a last answer and it had no text;
// widget: it had none since a widget showed the answer; absent: not on record.
const (
	HasText    TextState = "text"
	EmptyText  TextState = "empty"
	AbsentText TextState = "absent"
	WidgetText TextState = "widget"
)

// FinalText is the text of a turn's last message of the main agent (hosts.md 4,
// rule 2). In JSON it may be written as a plain string.
type FinalText struct {
	State   TextState `json:"state"`
	Text    Text      `json:"text,omitzero"`
	Message string    `json:"message,omitzero"`
	Src     Src       `json:"src,omitzero"`
}

// Role is who speaks in a message.
type Role string

// The roles.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolRole   Role = "tool"
	SystemRole Role = "system"
)

// Message is one message, by reference: its text stays in the source, except
// for prompts and final texts, which turns hold.
type Message struct {
	ID    string `json:"id,omitzero"`
	Role  Role   `json:"role"`
	Turn  int    `json:"turn"` // -1: of none
	Parts []Part `json:"parts,omitzero"`
	Model string `json:"model,omitzero"`
	// Usage is that of the model's response which this message is.
	Usage *Usage    `json:"usage,omitzero"`
	At    time.Time `json:"at,omitzero"`
	Agent *Agent    `json:"agent,omitzero"`
	// Hidden says why the message is neither a prompt nor an answer: injected,
	// compaction-summary, synthetic, api-error, notification, retracted, ...
	Hidden string `json:"hidden,omitzero"`
	Src    Src    `json:"src,omitzero"`
}

// PartKind is what a part of a message is.
type PartKind string

// The kinds of parts.
const (
	TextPart     PartKind = "text"
	ThinkingPart PartKind = "thinking"
	CallPart     PartKind = "call"
	ResultPart   PartKind = "result"
	MediaPart    PartKind = "media"
	OtherPart    PartKind = "other"
)

// Part is one part of a message.
type Part struct {
	Kind PartKind `json:"kind"`
	// Type is the host's word where Kind is other.
	Type string `json:"type,omitzero"`
	// Bytes is the length of a text (UTF-8).
	Bytes  int64  `json:"bytes,omitzero"`
	CallID string `json:"callId,omitzero"`
	Media  *Media `json:"media,omitzero"`
}

// Media is an image, a sound or another blob, by hash and size.
type Media struct {
	Type   string `json:"type,omitzero"`
	Bytes  int64  `json:"bytes,omitzero"`
	SHA256 string `json:"sha256,omitzero"`
	URI    string `json:"uri,omitzero"`
}

// Agent is the subagent that a message or a call belongs to; the main agent is nil.
type Agent struct {
	ID string `json:"id,omitzero"`
	// ParentCall is the call that started it, Type the host's name of its kind.
	ParentCall string `json:"parentCall,omitzero"`
	Depth      int    `json:"depth,omitzero"`
	Type       string `json:"type,omitzero"`
}

// CallKind is who carries a call out.
type CallKind string

// The kinds of calls. Hosted: an MCP client of the model's provider, which no
// recorder on this machine sees.
const (
	MCPCall     CallKind = "mcp"
	BuiltinCall CallKind = "builtin"
	HostedCall  CallKind = "hosted"
	UnknownCall CallKind = "unknown"
)

// Call is one tool use as the host tells it.
type Call struct {
	// HostCallID is the id that the host gives the tool use; HostItemID a second
	// one where it has one (Codex).
	HostCallID string   `json:"hostCallId,omitzero"`
	HostItemID string   `json:"hostItemId,omitzero"`
	Kind       CallKind `json:"toolKind,omitzero"` // empty: mcp when Server is set, else unknown
	// Name is the tool's name as the model saw it, whole ("mcp__shop__cancel_order").
	Name string `json:"name,omitzero"`
	// Server is the host's key of the server and Tool the tool there, as far as
	// the transcript tells them apart.
	Server string `json:"server,omitzero"`
	Tool   Tool   `json:"tool,omitzero"`
	// Args are what the host sent on, or would have; nil when not on record.
	Args *Value `json:"args,omitzero"`
	// ArgsSource is host, or modelWritten where only that is on record.
	ArgsSource string `json:"argsSource,omitzero"`
	// ArgsError says in one line why the arguments on record cannot be read (a
	// provider's JSON that was cut); Args is then nil, and nothing can be said of them.
	ArgsError string `json:"argsError,omitzero"`
	// Result is what the model saw; nil when none is on record.
	Result *CallResult `json:"result,omitzero"`
	// HostError says what the host made of the outcome; nil: it does not say.
	HostError *bool `json:"hostError,omitzero"`
	// Denied says that the user or a rule kept the call from being sent: one of the
	// Denied... words, or the host's own. Refused says that the host itself did.
	Denied  string    `json:"denied,omitzero"`
	Refused string    `json:"refused,omitzero"`
	At      time.Time `json:"at,omitzero"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	Agent   *Agent    `json:"agent,omitzero"`
	Turn    int       `json:"turn"` // -1: of none
	// Message is the id of the message that holds it.
	Message   string `json:"message,omitzero"`
	Src       Src    `json:"src,omitzero"`
	ResultSrc Src    `json:"resultSrc,omitzero"`
}

// The words of Call.Denied.
const (
	DeniedByUser = "user-rejected"
	DeniedByRule = "permission-rule"
	// DeniedCancelled: the user, or a sibling's denial, cancelled it before it was sent.
	DeniedCancelled = "cancelled"
	// DeniedUnstated: denied, and the host does not say by whom.
	DeniedUnstated = "not-permitted"
)

// The words of Call.Refused.
const (
	RefusedSchema = "schema"         // the arguments, by the host's own schema check
	RefusedTool   = "unknown-tool"   // no such tool at the host
	RefusedUse    = "tool-use-error" // another check of the host before the tool ran
	RefusedCache  = "cache"          // answered from a cache
)

// NotSent says that the host tells that this call never reached a server.
func (c *Call) NotSent() bool { return c.Denied != "" || c.Refused != "" }

// Words of Call.ArgsSource.
const (
	ArgsFromHost  = "host"
	ArgsFromModel = "modelWritten"
)

// Tool is a tool's name: Raw as the server lists it, where the transcript has
// it; Shown with the host's rewriting and without the host's prefix.
type Tool struct {
	Raw   string `json:"raw,omitzero"`
	Shown string `json:"shown,omitzero"`
}

// CallResult is what the model saw of a result. The wire is authoritative for
// results: hosts rewrite them (hosts.md 3.1).
type CallResult struct {
	// Text is the text blocks joined without a separator; HasText tells that there
	// was one.
	Text    Text `json:"text,omitzero"`
	HasText bool `json:"hasText,omitzero"`
	// Structured is structuredContent where the host keeps it apart.
	Structured *Value  `json:"structured,omitzero"`
	Media      []Media `json:"media,omitzero"`
	// Bytes is the size of all that the model saw: text in UTF-8 and media as they
	// were decoded.
	Bytes int64 `json:"bytes,omitzero"`
}

// Usage counts tokens. A count that is not on record is absent, not 0.
type Usage struct {
	// InputUncached excludes what was read from and written to a cache. Output
	// includes Reasoning when ReasoningInOutput.
	InputUncached     Count `json:"inputUncached,omitzero"`
	CacheRead         Count `json:"cacheRead,omitzero"`
	CacheWrite        Count `json:"cacheWrite,omitzero"`
	Output            Count `json:"output,omitzero"`
	Reasoning         Count `json:"reasoning,omitzero"`
	ReasoningInOutput bool  `json:"reasoningInOutput,omitzero"`
	Total             Count `json:"total,omitzero"`
	// Source names the figure within its conversation: responses, result, modelUsage, ...
	Source string `json:"source,omitzero"`
	Scope  Scope  `json:"scope,omitzero"`
	// Agents says whose work it counts: main, sub or all.
	Agents Agents `json:"agents,omitzero"`
	// Excludes names what the figure cannot see: subagents, compaction, auxiliary.
	Excludes []string `json:"excludes,omitzero"`
}

// Scope is what a usage figure spans.
type Scope string

// The scopes.
const (
	OfResponse Scope = "response"
	OfTurn     Scope = "turn"
	OfSession  Scope = "session"
)

// Agents says whose work a usage figure counts.
type Agents string

// Whose work.
const (
	MainAgent Agents = "main"
	SubAgents Agents = "sub"
	AllAgents Agents = "all"
)

// Words of Usage.Excludes.
const (
	ExcludesSubagents  = "subagents"
	ExcludesCompaction = "compaction"
	ExcludesAuxiliary  = "auxiliary"
)

// Value is a JSON value. Beyond MaxValue bytes only its hash, its length and
// the reference are kept.
type Value struct {
	JSON jsontext.Value `json:"json,omitzero"`
	// Bytes and SHA256 are set where JSON is left out, or redacted (Redact); the hash is that of the
	// canonical form (session/jsonscan.Canonical), so that it can be compared with
	// that of the same value on the wire.
	Bytes  int64  `json:"bytes,omitzero"`
	SHA256 string `json:"sha256,omitzero"`
}

// Text is a text, cut at a bound. In JSON a whole text is a plain string.
type Text struct {
	Text string
	// Cut says that Text is only the beginning; Bytes is then the length of the
	// whole (UTF-8) and SHA256 its hash.
	Cut    bool
	Bytes  int64
	SHA256 string
}

// Bounds of what is kept, in bytes.
const (
	// MaxText bounds a prompt and a final text.
	MaxText = 256 << 10
	// MaxValue bounds arguments, structured results and result texts.
	MaxValue = 64 << 10
	// MaxKept bounds the prompts and final texts of one conversation together, and
	// once more its arguments and results. Past it they are kept by length and hash
	// alone. The two are apart so that no result takes the room of the last answer.
	MaxKept = 16 << 20
	// MaxItems bounds the messages and, apart, the calls of one conversation.
	MaxItems = 500_000
)

// TurnCount is the number of prompts of the user on the live branch, those typed
// while a turn ran included (hosts.md 4, rule 1). Where the source has no prompts
// each turn counts as one.
func (c *Conversation) TurnCount() int {
	n := 0
	for i := range c.Turns {
		if c.Turns[i].Origin != System {
			n += max(1, len(c.Turns[i].Prompts))
		}
	}
	return n
}

// FinalText is that of the last turn: the text of the last message, without
// falling back to an earlier one. It is absent when there is no turn.
func (c *Conversation) FinalText() FinalText {
	if len(c.Turns) == 0 {
		return FinalText{State: AbsentText}
	}
	return c.Turns[len(c.Turns)-1].FinalText
}
