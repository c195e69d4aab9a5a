package messages

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
)

// Messages reads bodies and lists of messages; AgentsTrace the trace of OpenAI's
// Agents SDK, which holds calls and tokens but no prompt and no answer.
var (
	Messages = &host.Importer{Name: "messages", Version: "1",
		Doc:    "Anthropic Messages, OpenAI Responses and chat completions, AI-SDK messages, MCPJam traces, Agents SDK runs",
		Detect: detect, Import: importMessages}
	AgentsTrace = &host.Importer{Name: "openai-agents-trace", Version: "1", Doc: "traces and spans of the OpenAI Agents SDK",
		Detect: detectTrace, Import: importTraces}
)

func detect(_ string, head []byte) host.Sure {
	sure := host.No
	for _, m := range lenient.Heads(head) {
		if s := sureOf(m); s > sure {
			sure = s
		}
	}
	return sure
}

// sureOf says how surely one object is of a shape that is read here.
func sureOf(m map[string]jsontext.Value) host.Sure {
	typ, object := lenient.String(m["type"]), lenient.String(m["object"])
	switch {
	case lenient.Has(m, "uuid"), lenient.Has(m, "sessionId"), lenient.Has(m, "session_id"), lenient.Has(m, "mapping"):
		return host.No // of hosts that have importers of their own
	case lenient.Has(m, "request", "response"), lenient.Has(m, "messages", "spans"), lenient.Has(m, "newItems"),
		lenient.Has(m, "trace", "actualToolCalls"), lenient.Has(m, "trace", "query"), lenient.Has(m, "prompt", "methods"):
		return host.Certain
	case object == "response", strings.HasPrefix(object, "chat.completion"):
		return host.Certain
	case lenient.Has(m, "messages"), lenient.Has(m, "choices"), lenient.Has(m, "output") && typ == "", lenient.Has(m, "input", "model"):
		return host.Likely
	case lenient.Has(m, "role") && (lenient.Has(m, "content") || lenient.Has(m, "parts") || lenient.Has(m, "tool_calls")):
		return host.Likely
	case isItem(typ):
		return host.Likely
	}
	return host.No
}

func detectTrace(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		if o := lenient.String(m["object"]); o == "trace" || o == "trace.span" {
			return host.Certain
		}
	}
	return host.No
}
