package claudecode

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The host's records change every few weeks (hosts.md 3.1). A member that has
// another type than expected is read as absent, so that it does not take the
// rest of its line with it.

// text is a string, "" where the member is something else.
type text string

func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		*t = ""
		return dec.SkipValue()
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*t = text(tok.String())
	return nil
}

// flag is a boolean, false where the member is something else; set tells that it
// was there as a boolean.
type flag struct{ on, set bool }

func (f *flag) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 't', 'f':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*f = flag{tok.Bool(), true}
		return nil
	default:
		*f = flag{}
		return dec.SkipValue()
	}
}

// texts is a list of strings; what is none is left out.
type texts []string

func (l *texts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = nil
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	var items []text
	if v.Kind() == '[' && json.Unmarshal(v, &items, readOptions) == nil {
		for _, s := range items {
			if s != "" {
				*l = append(*l, string(s))
			}
		}
	}
	return nil
}

// readOptions: bytes that are no UTF-8 are replaced, not refused.
var readOptions = jsontext.AllowInvalidUTF8(true)

// into reads v as an object; false when it is none.
func into(v jsontext.Value, to any) bool {
	return v.Kind() == '{' && json.Unmarshal(v, to, readOptions) == nil
}

// line is one line of a session file: the members that are read.
type line struct {
	Type          text           `json:"type"`
	Subtype       text           `json:"subtype"`
	UUID          text           `json:"uuid"`
	Parent        text           `json:"parentUuid"`
	LogicalParent text           `json:"logicalParentUuid"`
	Session       text           `json:"sessionId"`
	AgentID       text           `json:"agentId"`
	Timestamp     text           `json:"timestamp"`
	Version       text           `json:"version"`
	Entrypoint    text           `json:"entrypoint"`
	Sidechain     flag           `json:"isSidechain"`
	Meta          flag           `json:"isMeta"`
	Summary       flag           `json:"isCompactSummary"`
	APIError      flag           `json:"isApiErrorMessage"`
	PromptSource  text           `json:"promptSource"`
	TurnOrigin    text           `json:"turnOrigin"`
	PromptID      text           `json:"promptId"`
	Denial        text           `json:"toolDenialKind"`
	Message       jsontext.Value `json:"message"`
	Origin        jsontext.Value `json:"origin"`
	MCPMeta       jsontext.Value `json:"mcpMeta"`
	ToolUseResult jsontext.Value `json:"toolUseResult"`
	Attachment    jsontext.Value `json:"attachment"`
	ModelUsage    jsontext.Value `json:"modelUsage"` // of cost-state
	AttrServer    text           `json:"attributionMcpServer"`
	AttrTool      text           `json:"attributionMcpTool"`
	Supersedes    texts          `json:"supersedesUuids"`
	Retracted     texts          `json:"retractedMessageUuids"`
	Content       text           `json:"content"` // of system lines
}

// message is the API message of an assistant or user record.
type message struct {
	ID         text           `json:"id"`
	Model      text           `json:"model"`
	Content    jsontext.Value `json:"content"`
	StopReason text           `json:"stop_reason"`
	Usage      jsontext.Value `json:"usage"`
}

// block is one content block.
type block struct {
	Type      text           `json:"type"`
	ID        text           `json:"id"`
	Name      text           `json:"name"`
	Server    text           `json:"server_name"`
	Input     jsontext.Value `json:"input"`
	Text      text           `json:"text"`
	Thinking  text           `json:"thinking"`
	ToolUseID text           `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	IsError   flag           `json:"is_error"`
	Source    jsontext.Value `json:"source"`
}

// maxBlocks bounds the blocks of one record that are looked at; the host writes one a
// line, an API message has tens.
const maxBlocks = 10_000

// blocks reads a content: a string is one text block. ok is false when it is
// neither a string nor a list.
func blocks(content jsontext.Value) (list []block, ok bool) {
	switch content.Kind() {
	case '"':
		var s text
		if json.Unmarshal(content, &s, readOptions) != nil {
			return nil, false
		}
		return []block{{Type: "text", Text: s}}, true
	case '[':
		var raw []jsontext.Value
		if json.Unmarshal(content, &raw, readOptions) != nil {
			return nil, false
		}
		for _, v := range raw[:min(len(raw), maxBlocks)] {
			var b block
			if into(v, &b) {
				list = append(list, b)
			} else if v.Kind() == '"' {
				list = append(list, block{Type: "text", Text: stringOf(v)})
			}
		}
		return list, true
	}
	return nil, false
}

func stringOf(v jsontext.Value) text {
	var s text
	if v.Kind() != '"' || json.Unmarshal(v, &s, readOptions) != nil {
		return ""
	}
	return s
}

// kindOf reads the member kind of an origin.
func kindOf(origin jsontext.Value) text {
	var o struct {
		Kind text `json:"kind"`
	}
	if into(origin, &o) {
		return o.Kind
	}
	return ""
}

// timeOf reads a time; zero when it is none. Only UTC and offsets are taken.
func timeOf(s text) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || t.Year() < 1970 {
		return time.Time{}
	}
	return t.UTC()
}

// plain is the text blocks of a user record, joined.
func plain(list []block) string {
	var b strings.Builder
	for i := range list {
		if list[i].Type == "text" {
			b.WriteString(string(list[i].Text))
		}
	}
	return b.String()
}
