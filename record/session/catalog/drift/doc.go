// Package drift says what changed between two catalogs, and whether it matters to
// somebody who relied on the first one.
//
// Its classes are those of grading.md section 8 for what goes into a tool, and the
// opposite way for what comes out of it: a host that sends less than before breaks
// nothing, a server that promises less does.
//
// It must not know recordings, calls or reports, and its words blame nobody.
package drift

// Class says what a change means to a host or model that relied on what was before.
type Class string

// The classes. Breaking: what worked may fail. NonBreaking: what worked still works.
// Informational: nothing follows from the change alone.
const (
	Breaking      Class = "breaking"
	NonBreaking   Class = "non-breaking"
	Informational Class = "informational"
)

// Rank orders classes: the higher, the worse.
func (c Class) Rank() int {
	switch c {
	case Breaking:
		return 2
	case NonBreaking:
		return 1
	}
	return 0
}

// Rule is one kind of change. Its ID is stable: reports and CI files name it.
type Rule struct {
	ID      string
	Class   Class
	Meaning string
}

// The rules of a catalog.
const (
	ToolRemoved     = "tool-removed"
	ToolAdded       = "tool-added"
	ToolDescription = "tool-description-changed"
	ToolTitle       = "tool-title-changed"
	ToolAnnotation  = "tool-annotation-changed"
	ToolOrder       = "tool-order-changed"
	ToolMember      = "tool-member-changed"
	ToolRepeated    = "tool-repeated"

	InputPropertyRemoved  = "input-property-removed"
	InputRequiredAdded    = "input-required-property-added"
	InputPropertyAdded    = "input-property-added"
	InputNowRequired      = "input-property-now-required"
	InputNowOptional      = "input-property-now-optional"
	InputType             = "input-type-changed"
	InputEnumNarrowed     = "input-enum-narrowed"
	InputEnumWidened      = "input-enum-widened"
	InputSchemaAdded      = "input-schema-added"
	InputSchemaRemoved    = "input-schema-removed"
	InputText             = "input-text-changed"
	InputOther            = "input-schema-changed"
	OutputPropertyRemoved = "output-property-removed"
	OutputPropertyAdded   = "output-property-added"
	OutputNowOptional     = "output-property-now-optional"
	OutputNowRequired     = "output-property-now-required"
	OutputTypeWidened     = "output-type-widened"
	OutputTypeNarrowed    = "output-type-narrowed"
	OutputType            = "output-type-changed"
	OutputEnumWidened     = "output-enum-widened"
	OutputEnumNarrowed    = "output-enum-narrowed"
	OutputSchemaAdded     = "output-schema-added"
	OutputSchemaRemoved   = "output-schema-removed"
	OutputText            = "output-text-changed"
	OutputOther           = "output-schema-changed"
)

// Rules are all rules of this package, in the order of docs/diff-rules.md.
func Rules() []Rule {
	return []Rule{
		{ToolRemoved, Breaking, "A tool is no longer listed."},
		{ToolAdded, NonBreaking, "A tool is listed that was not."},
		{InputRequiredAdded, Breaking, "An argument was added that must be sent."},
		{InputPropertyRemoved, Breaking, "An argument is gone."},
		{InputNowRequired, Breaking, "An argument that could be left out must be sent."},
		{InputType, Breaking, "An argument's type is another one, also where it takes more types than before."},
		{InputEnumNarrowed, Breaking, "An argument no longer takes a value that it took."},
		{InputPropertyAdded, NonBreaking, "An argument was added that may be left out."},
		{InputNowOptional, NonBreaking, "An argument that had to be sent may be left out."},
		{InputEnumWidened, NonBreaking, "An argument takes a value that it did not take."},
		{InputSchemaAdded, Informational, "The tool has an input schema, and had none."},
		{InputSchemaRemoved, Informational, "The tool has no input schema, and had one."},
		{InputText, Informational, "A title, description, comment or example in the input schema is another one."},
		{InputOther, Informational, "Something else in the input schema is another one, such as a pattern, a limit or a default."},
		{OutputPropertyRemoved, Breaking, "A property of the result is no longer promised at all."},
		{OutputNowOptional, Breaking, "A property of the result may be missing, and always came."},
		{OutputTypeWidened, Breaking, "A property of the result may have a type that it never had."},
		{OutputType, Breaking, "A property of the result has another type."},
		{OutputEnumWidened, Breaking, "A property of the result may have a value that it never had."},
		{OutputPropertyAdded, NonBreaking, "The result has a property more."},
		{OutputNowRequired, NonBreaking, "A property of the result always comes, and could be missing."},
		{OutputTypeNarrowed, NonBreaking, "A property of the result has fewer types than it could have."},
		{OutputEnumNarrowed, NonBreaking, "A property of the result has fewer values than it could have."},
		{OutputSchemaAdded, Informational, "The tool has an output schema, and had none."},
		{OutputSchemaRemoved, Informational, "The tool has no output schema, and had one."},
		{OutputText, Informational, "A title, description, comment or example in the output schema is another one."},
		{OutputOther, Informational, "Something else in the output schema is another one."},
		{ToolDescription, Informational, "A tool's description is another one."},
		{ToolTitle, Informational, "A tool's title is another one."},
		{ToolAnnotation, Informational, "A hint in a tool's annotations is another one, such as readOnlyHint."},
		{ToolMember, Informational, "Another member of a tool is another one, such as _meta, icons or execution."},
		{ToolOrder, Informational, "The tools are the same, and stand in another order."},
		{ToolRepeated, Informational, "A name stands more or less often in the list than before."},
	}
}

var classes = func() map[string]Class {
	m := map[string]Class{}
	for _, r := range Rules() {
		m[r.ID] = r.Class
	}
	return m
}()
