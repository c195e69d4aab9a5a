// Package catalog holds the tools that a server listed: page by page, raw.
//
// It must not know calls, suites or checks.
package catalog

// State is how completely a page chain was captured (wire.md 3.2).
type State string

// The states of a list. Complete: from a request without cursor to a page
// without nextCursor, each cursor the nextCursor before it, and no change
// announced in between. Racy: the same with a change announced in between.
// Partial: the last page seen names another that was not fetched, or could not
// be. Failed: the first page is an error, or no list. Open: the recording ends
// before the answer, or a gap lies inside.
const (
	Complete State = "complete"
	Racy     State = "complete-but-racy"
	Partial  State = "partial"
	Failed   State = "failed"
	Open     State = "open"
)

// List is one page chain of tools/list.
type List struct {
	State State
	Pages []Page
	// Tools are the tools of all pages in order; a page that was sent again
	// (the cursor did not move) adds none.
	Tools []Tool
	// Changed is the seq of a list_changed after this list and before the next
	// one; 0: none.
	ChangedSeq int64
	// Stuck says that a cursor was answered by itself.
	Stuck bool
	// ErrorCode and ErrorMessage are those of the page that failed.
	ErrorCode    int64
	ErrorMessage string
	// Why says what keeps it from being complete.
	Why string
	// Duplicates are names that stand in the list twice, at most 16 of them.
	Duplicates []string

	headless bool            // begins with a cursor that no page named
	names    map[string]bool // while it is made
}

// Page is one tools/list request and its answer.
type Page struct {
	RequestSeq, AnswerSeq int64
	Cursor                string // as asked for; HasCursor tells "" from none
	HasCursor             bool
	Next                  string // nextCursor; HasNext tells "" from none
	HasNext               bool
	Failed                bool
	Tools                 int // that it added

	unanswered bool
	why        string
}

// Tool is one tool as the server listed it.
type Tool struct {
	Name        string
	HasName     bool // there is a name, and it is a string
	Description string
	HasDesc     bool
	// Raw is the tool's JSON text, InputSchema, OutputSchema and Annotations
	// members of it; nil when absent.
	Raw          []byte
	InputSchema  []byte
	OutputSchema []byte
	Annotations  []byte
	Seq          int64 // of the page
}

// Find returns the first tool of that name.
func (l *List) Find(name string) (*Tool, bool) {
	if l == nil {
		return nil, false
	}
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i], true
		}
	}
	return nil, false
}
