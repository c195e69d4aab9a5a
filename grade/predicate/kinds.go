package predicate

import "slices"

// Link is one of the six links, in their order (grading.md 4.1).
type Link string

// The links.
const (
	Connection Link = "connection"
	Discovery  Link = "discovery"
	Selection  Link = "selection"
	Call       Link = "call"
	Response   Link = "response"
	UserValue  Link = "userValue"
)

// Info is what is known of a kind without evaluating it.
type Info struct {
	Name string
	// Link is where a row of the kind files: where its evidence is (grading.md 1.2).
	Link Link
	// Observation kinds must be stored with role advisory (grading.md 1.1).
	Observation bool
	// Turn kinds may be attached to one turn; the others are case-only.
	Turn bool
	// NeedsCall says that a gating check of this kind expects a call.
	NeedsCall bool
}

// infos is the table of all 36 kinds, by link.
var infos = []Info{
	{Name: "toolDescriptionsPresent", Link: Discovery},
	{Name: "toolAnnotationsPresent", Link: Discovery},
	{Name: "toolNamesUnique", Link: Discovery},
	{Name: "noDeprecatedToolExposed", Link: Discovery, Observation: true},
	{Name: "toolInputSchemasWellFormed", Link: Discovery},
	{Name: "toolOutputSchemasPresent", Link: Discovery},

	{Name: "toolCalledWith", Link: Selection, Turn: true, NeedsCall: true},
	{Name: "toolCalledAtLeastOnce", Link: Selection, Turn: true, NeedsCall: true},
	{Name: "toolNeverCalled", Link: Selection, Turn: true},
	{Name: "onlyToolsCalled", Link: Selection, Turn: true},
	{Name: "firstToolWas", Link: Selection, Turn: true, NeedsCall: true},
	{Name: "toolCallCountUnder", Link: Selection, Turn: true},
	{Name: "toolCalledBefore", Link: Selection, Turn: true},
	{Name: "noDeprecatedToolCalled", Link: Selection, Observation: true},
	{Name: "noDestructiveToolCalled", Link: Selection},

	{Name: "argumentsMatchToolSchema", Link: Call},
	{Name: "noRepeatedIdenticalCall", Link: Call, Observation: true, Turn: true},
	{Name: "toolInputMatches", Link: Call, Turn: true},

	{Name: "noToolErrors", Link: Response, Turn: true},
	{Name: "toolLatencyUnder", Link: Response},
	{Name: "toolResultContains", Link: Response},
	{Name: "toolResultMatches", Link: Response},
	{Name: "toolResultMatchesSchema", Link: Response},
	{Name: "toolResultSizeUnder", Link: Response},
	{Name: "toolErrorNamesInput", Link: Response, Observation: true},
	{Name: "fullPageHasContinuation", Link: Response, Observation: true},

	{Name: "responseCloseTo", Link: UserValue, Turn: true},
	{Name: "responseContains", Link: UserValue, Turn: true},
	{Name: "responseMatches", Link: UserValue, Turn: true},
	{Name: "finalAssistantMessageNonEmpty", Link: UserValue, Turn: true},
	{Name: "tokenBudgetUnder", Link: UserValue},
	{Name: "turnCountUnder", Link: UserValue},
	{Name: "widgetRendered", Link: UserValue, Turn: true},
	{Name: "widgetRenderLatencyUnder", Link: UserValue, Turn: true},
	{Name: "widgetNoConsoleErrors", Link: UserValue, Turn: true},
	{Name: "noEndingQuestion", Link: UserValue, Observation: true, Turn: true},
}

// built lists the kinds that can be evaluated, in the order of infos.
var built = []*Kind{
	toolDescriptionsPresent,
	toolAnnotationsPresent,
	toolNamesUnique,
	noDeprecatedToolExposed,
	toolInputSchemasWellFormed,
	toolOutputSchemasPresent,

	toolCalledWith,
	toolCalledAtLeastOnce,
	toolNeverCalled,
	onlyToolsCalled,
	firstToolWas,
	toolCallCountUnder,
	toolCalledBefore,
	noDeprecatedToolCalled,
	noDestructiveToolCalled,

	argumentsMatchToolSchema,
	noRepeatedIdenticalCall,
	toolInputMatches,

	noToolErrors,
	toolLatencyUnder,

	toolResultContains,
	toolResultMatches,
	toolResultMatchesSchema,
	toolResultSizeUnder,
	toolErrorNamesInput,
	fullPageHasContinuation,

	responseCloseTo,
	responseContains,
	responseMatches,
	finalAssistantMessageNonEmpty,
	tokenBudgetUnder,
	turnCountUnder,
	widgetRendered,
	widgetRenderLatencyUnder,
	widgetNoConsoleErrors,
	noEndingQuestion,
}

// Lookup returns what is known of a kind; k is nil when it is not built yet.
func Lookup(name string) (info Info, k *Kind, known bool) {
	i := slices.IndexFunc(infos, func(i Info) bool { return i.Name == name })
	if i < 0 {
		return Info{}, nil, false
	}
	j := slices.IndexFunc(built, func(k *Kind) bool { return k.Name == name })
	if j < 0 {
		return infos[i], nil, true
	}
	return infos[i], built[j], true
}

// Names returns the names of all kinds, by link.
func Names() []string {
	out := make([]string, len(infos))
	for i := range infos {
		out[i] = infos[i].Name
	}
	return out
}

// Built returns the kinds that can be evaluated.
func Built() []*Kind { return slices.Clone(built) }
