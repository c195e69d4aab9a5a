package claudecode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// Names of figures (Usage.Source).
const (
	fromResponses  = "responses"  // the sum over the model's responses
	fromResult     = "result"     // result.usage of stream-json
	fromModelUsage = "modelUsage" // cumulative over the process or the session
)

// usageOf reads a response's usage. Anthropic's input_tokens exclude the cache
// and output_tokens include thinking (hosts.md 4, rule 3). nil when there is none.
func usageOf(v jsontext.Value) *host.Usage {
	var u struct {
		Input   jsontext.Value `json:"input_tokens"`
		Read    jsontext.Value `json:"cache_read_input_tokens"`
		Write   jsontext.Value `json:"cache_creation_input_tokens"`
		Output  jsontext.Value `json:"output_tokens"`
		Details jsontext.Value `json:"output_tokens_details"`
	}
	if !into(v, &u) {
		return nil
	}
	out := &host.Usage{InputUncached: host.ParseCount(u.Input), CacheRead: host.ParseCount(u.Read),
		CacheWrite: host.ParseCount(u.Write), Output: host.ParseCount(u.Output), ReasoningInOutput: true}
	if !out.InputUncached.Known && !out.Output.Known {
		return nil
	}
	var d struct {
		Thinking jsontext.Value `json:"thinking_tokens"`
	}
	if into(u.Details, &d) {
		out.Reasoning = host.ParseCount(d.Thinking)
	}
	out.Total = out.InputUncached.Plus(out.CacheRead).Plus(out.CacheWrite).Plus(out.Output)
	return out
}

// modelUsageOf adds the figures of a modelUsage object up over its models: all
// agents and the auxiliary calls of the host.
func modelUsageOf(v jsontext.Value) *host.Usage {
	var models map[string]jsontext.Value
	const max = 1 << 20 // some hundred bytes a model
	if v.Kind() != '{' || len(v) > max || json.Unmarshal(v, &models, readOptions) != nil || len(models) == 0 {
		return nil
	}
	var out *host.Usage
	for _, m := range models { // sums do not depend on the order
		var u struct {
			Input  jsontext.Value `json:"inputTokens"`
			Output jsontext.Value `json:"outputTokens"`
			Read   jsontext.Value `json:"cacheReadInputTokens"`
			Write  jsontext.Value `json:"cacheCreationInputTokens"`
		}
		if !into(m, &u) {
			return nil
		}
		one := &host.Usage{InputUncached: host.ParseCount(u.Input), Output: host.ParseCount(u.Output),
			CacheRead: host.ParseCount(u.Read), CacheWrite: host.ParseCount(u.Write), ReasoningInOutput: true}
		one.Total = one.InputUncached.Plus(one.CacheRead).Plus(one.CacheWrite).Plus(one.Output)
		if out == nil {
			out = one
			continue
		}
		out.Add(one)
	}
	out.Source, out.Scope, out.Agents = fromModelUsage, host.OfSession, host.AllAgents
	return out
}

// turnUsage is one turn's sum over responses of the main agent or its subagents.
type turnUsage struct {
	sum  *host.Usage
	lack bool // a response has no usage
}

func (t *turnUsage) add(u *host.Usage) {
	switch {
	case u == nil:
		t.lack = true
	case t.sum == nil:
		c := *u
		t.sum = &c
	default:
		t.sum.Add(u)
	}
}

// same says that two figures count the same.
func same(a, b *host.Usage) bool {
	return a.InputUncached == b.InputUncached && a.CacheRead == b.CacheRead && a.CacheWrite == b.CacheWrite && a.Output == b.Output
}
