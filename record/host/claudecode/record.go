package claudecode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The host's records change every few weeks (hosts.md 3.1). A member that has
// another type than expected is read as absent, so that it does not take the
// rest of its line with it.

// long is a string, "" where the member is something else.
type long string

func (t *long) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		*t = ""
		return dec.SkipValue()
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*t = long(tok.String())
	return nil
}

// text is an id, a name or a word: they are kept, so each is bounded. One over
// the bound is replaced by its beginning and its hash, which keeps equality.
type text string

// maxText bounds a text, in bytes; ids that hosts make have some 40.
const maxText = 512

func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var l long
	if err := l.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	if len(l) > maxText {
		sum := sha256.Sum256([]byte(l))
		l = long(strings.ToValidUTF8(string(l[:64]), "")) + "…sha256:" + long(hex.EncodeToString(sum[:]))
	}
	*t = text(l)
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
	each(v, func(v jsontext.Value) {
		if t := stringOf(v); t != "" {
			*l = append(*l, string(t))
		}
	})
	return nil
}

// readOptions: bytes that are no UTF-8 are replaced, not refused.
var readOptions = jsontext.AllowInvalidUTF8(true)

// maxList bounds the elements of a list that are looked at. The host writes one
// block a line, an API message has tens.
const maxList = 10_000

// each calls do for the first elements of a list. Elements are read one by one,
// since a list of many small ones would take a multiple of its text.
func each(list jsontext.Value, do func(v jsontext.Value)) {
	if list.Kind() != '[' {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), readOptions)
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for n := 0; n < maxList && dec.PeekKind() != ']'; n++ {
		v, err := dec.ReadValue()
		if err != nil {
			return
		}
		do(v)
	}
}

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
	Text      long           `json:"text"`
	Thinking  long           `json:"thinking"`
	ToolUseID text           `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	IsError   flag           `json:"is_error"`
	Source    jsontext.Value `json:"source"`
}

// blocks reads a content: a string is one text block. ok is false when it is
// neither a string nor a list.
func blocks(content jsontext.Value) (list []block, ok bool) {
	switch content.Kind() {
	case '"':
		return []block{{Type: "text", Text: longOf(content)}}, true
	case '[':
		each(content, func(v jsontext.Value) {
			var b block
			if into(v, &b) {
				list = append(list, b)
			} else if v.Kind() == '"' {
				list = append(list, block{Type: "text", Text: longOf(v)})
			}
		})
		return list, true
	}
	return nil, false
}

func stringOf(v jsontext.Value) (s text) {
	if v.Kind() != '"' || json.Unmarshal(v, &s, readOptions) != nil {
		return ""
	}
	return s
}

func longOf(v jsontext.Value) (s long) {
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
