package diff

import (
	"fmt"
	"strings"

	"github.com/sixlink/sixlink/record/session/catalog/drift"
)

// Class says what a difference means; see package drift.
type Class = drift.Class

// The classes.
const (
	Breaking      = drift.Breaking
	NonBreaking   = drift.NonBreaking
	Informational = drift.Informational
)

// Rule is one kind of difference. Its ID is stable.
type Rule struct {
	ID      string
	Class   Class
	Meaning string
}

// The rules beside those of a catalog.
const (
	SessionMissing    = "session-missing"
	SessionExtra      = "session-extra"
	ConnectionOutcome = "connection-outcome-changed"
	ServerInfo        = "server-info-changed"
	ProtocolVersion   = "protocol-version-changed"
	Instructions      = "instructions-changed"
	CapabilityRemoved = "capability-removed"
	CapabilityAdded   = "capability-added"
	CapabilityChanged = "capability-changed"
	CatalogOutcome    = "catalog-outcome-changed"

	CallMissing   = "call-missing"
	CallExtra     = "call-extra"
	CallArguments = "call-arguments-changed"
	CallOrder     = "call-order-changed"
	OutcomeWorse  = "outcome-now-failed"
	OutcomeBetter = "outcome-now-succeeds"
	OutcomeOther  = "outcome-fails-otherwise"
	ErrorText     = "error-text-changed"
	ErrorCode     = "error-code-changed"

	ResultValue          = "result-value-changed"
	ResultText           = "result-text-changed"
	ResultType           = "result-type-changed"
	ResultRemoved        = "result-property-removed"
	ResultAdded          = "result-property-added"
	ResultElementRemoved = "result-element-removed"
	ResultElementAdded   = "result-element-added"
	ResultOrder          = "result-order-changed"
	ResultMeta           = "result-meta-changed"

	ListedRemoved = "listed-removed"
	ListedAdded   = "listed-added"
	ListedChanged = "listed-changed"

	PromptArgumentRemoved  = "prompt-argument-removed"
	PromptArgumentRequired = "prompt-argument-now-required"
	PromptArgumentAdded    = "prompt-argument-added"
	PromptArgumentOptional = "prompt-argument-now-optional"

	ServerRequest = "server-requests-changed"
	Slower        = "tool-slower"
)

// sections are the rules with the headings of docs/diff-rules.md.
func sections() []section {
	catalog := []Rule{{CatalogOutcome, Breaking, "Tools were listed and are no longer, or the other way round."}}
	for _, r := range drift.Rules() {
		catalog = append(catalog, Rule(r))
	}
	return []section{
		{"Sessions", []Rule{
			{SessionMissing, Breaking, "A session in which the server was used has no counterpart."},
			{SessionExtra, Informational, "A session has no counterpart in the first recording; so has one that is missing, in which the server was only looked at."},
			{ConnectionOutcome, Breaking, "The handshake succeeded and fails now, or the other way round."},
			{CapabilityRemoved, Breaking, "The server no longer declares a capability, or declares it as false."},
			{CapabilityAdded, NonBreaking, "The server declares a capability that it did not."},
			{CapabilityChanged, Informational, "A capability is declared with another value."},
			{ProtocolVersion, Informational, "Another protocol version was agreed on."},
			{ServerInfo, Informational, "The server gives itself another name, title or version."},
			{Instructions, Informational, "The server's instructions are other ones."},
			{ServerRequest, Informational, "The server asked the client (sampling, elicitation, roots) more often or less often."},
		}},
		{"Catalog", catalog},
		{"Calls and other requests", []Rule{
			{CallMissing, Breaking, "A request that was made is not made again, where all requests are on record."},
			{OutcomeWorse, Breaking, "A request that was answered by a result is answered by an error, or not at all."},
			{OutcomeBetter, Breaking, "A request that failed is answered by a result: whatever refused it does so no more."},
			{OutcomeOther, Breaking, "A request fails as before, but in another way: a tool error, a protocol error, no answer."},
			{ErrorCode, Breaking, "A protocol error has another code."},
			{ErrorText, NonBreaking, "An error is told in other words."},
			{CallExtra, Informational, "A request is made that was not."},
			{CallArguments, Informational, "A call has other argument values than its counterpart: results are compared by outcome and shape only."},
			{CallOrder, Informational, "Calls that were made one after the other are made in another order."},
			{Slower, Breaking, "A tool's median time grew by the factor of --latency or more, and by 10 ms or more (off without that flag)."},
		}},
		{"Results", []Rule{
			{ResultRemoved, Breaking, "A property of a result is gone."},
			{ResultType, Breaking, "A value in a result has another JSON type."},
			{ResultValue, Breaking, "A number, text, true or false in a result is another one."},
			{ResultText, Breaking, "A text block is another one."},
			{ResultElementRemoved, Breaking, "An element of a list in a result is gone."},
			{ResultElementAdded, Breaking, "A list in a result has an element more: the answer is another one."},
			{ResultAdded, NonBreaking, "A result has a property more."},
			{ResultOrder, NonBreaking, "A list in a result has the same elements in another order."},
			{ResultMeta, Informational, "Something in _meta is different."},
		}},
		{"Lists of resources, resource templates and prompts", []Rule{
			{ListedRemoved, Breaking, "A resource, template or prompt is no longer listed."},
			{PromptArgumentRemoved, Breaking, "A prompt no longer takes an argument."},
			{PromptArgumentRequired, Breaking, "An argument of a prompt must be given: a new one, or one that could be left out."},
			{PromptArgumentAdded, NonBreaking, "A prompt takes another argument, which may be left out."},
			{PromptArgumentOptional, NonBreaking, "An argument of a prompt may be left out, and had to be given."},
			{ListedAdded, NonBreaking, "A resource, template or prompt is listed that was not."},
			{ListedChanged, Informational, "A resource, template or prompt is described otherwise, or stands in another place."},
		}},
	}
}

type section struct {
	title string
	rules []Rule
}

// Rules are all rules, in the order of docs/diff-rules.md.
func Rules() []Rule {
	var all []Rule
	for _, s := range sections() {
		all = append(all, s.rules...)
	}
	return all
}

var (
	classes = map[string]Class{}
	places  = map[string]int{} // of rules, for the order of findings
)

func init() {
	for i, r := range Rules() {
		classes[r.ID], places[r.ID] = r.Class, i
	}
}

// RulesTable is the part of docs/diff-rules.md that lists the rules.
func RulesTable() string {
	var b strings.Builder
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n### %s\n\n| rule | class | what it says |\n|---|---|---|\n", s.title)
		for _, r := range s.rules {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, r.Class, r.Meaning)
		}
	}
	return b.String()
}
