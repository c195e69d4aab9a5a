package match

// Outcome is pass, fail or error. Error means that evidence was missing or a limit
// was hit: never a pass, and nobody's fault.
type Outcome string

// The outcomes. An empty one stands for a part that does not exist.
const (
	Pass  Outcome = "pass"
	Fail  Outcome = "fail"
	Error Outcome = "error"
)

// Why says what an error is for want of.
type Why string

// The reasons of errors.
const (
	PartialCalls     Why = "partialCalls"        // calls may have been made that are not on record (grading.md 0.2.7)
	NoConversation   Why = "noConversation"      // which call belongs to which turn is not known (0.1)
	NoFinishedPrompt Why = "noFinishedPrompt"    // a negative case without a prompt on record, or with a turn that did not finish (0.1)
	Unreadable       Why = "unreadableArguments" // arguments that cannot be read
	OrderNotKnown    Why = "orderNotKnown"       // calls overlap within the uncertainty of the clocks (0.1 "Several servers")
	TooLarge         Why = "tooLarge"            // more to compare than the limits allow (0.2.9)
)

// State is an outcome with the reason of an error.
type State struct {
	Outcome Outcome
	Why     Why
}

func failed() State        { return State{Outcome: Fail} }
func passed() State        { return State{Outcome: Pass} }
func erred(why Why) State  { return State{Outcome: Error, Why: why} }
func (s State) fits() bool { return s.Outcome == Pass || s.Outcome == "" }

// and is what two parts make together: a failure stays one whatever else is not known,
// and of two errors the first one's reason is kept.
func (s State) and(o State) State {
	switch {
	case s.Outcome == Fail || o.Outcome == "":
		return s
	case o.Outcome == Fail || s.fits():
		return o
	}
	return s
}

// Result is what the matcher says of a trial.
type Result struct {
	// State is that of both scorers together.
	State
	// Turns are the turns of the case in order, those that nothing is expected in too,
	// then turns of the conversation beyond them that hold a call. Where the turns are
	// not known it is one turn with the number -1 that stands for all.
	Turns []Turn
	// Whole holds the expectations over all calls of the case (grading.md 0.2.13), and
	// the whole case where it has no turns; nil when neither is there.
	Whole *Turn
	// Match is the scorer toolCalls:match, of the link selection; nil when the case
	// says nothing about calls. Arguments is toolCalls:arguments, of the link call; nil
	// when no expectation compares arguments (grading.md 2.7).
	Match, Arguments *Score
}

// The scorers' ids and versions (grading.md 2.7).
const (
	MatchID          = "toolCalls:match"
	MatchVersion     = 3
	ArgumentsID      = "toolCalls:arguments"
	ArgumentsVersion = 1
)

// Score is the outcome of one of the two scorers. Both gate.
type Score struct {
	ID      string
	Version int
	State
	// Rationale names tools and argument keys, never values: at most 3 texts, and More
	// counts those that were left out.
	Rationale []string
	More      int64
}

// Turn is what the matcher says of one turn.
type Turn struct {
	// Number is the turn's, from 0; -1 for the whole case.
	Number int
	// State is that of the turn: Match and Arguments together. Arguments has no
	// outcome when no expectation of the turn compares arguments.
	State
	Match, Arguments State
	// Expected counts the expected calls, Calls those that were made.
	Expected, Calls int64
	// Asserts is one row an expectation, in authored order; empty in a negative case.
	Asserts []Assert
	// OutOfOrder of Sequence counts expected calls that were made with the right
	// arguments and in another order.
	Sequence Sequence
	Extras   Extras
	// Negative is the state of "no call was made"; no outcome unless the case is negative.
	Negative State

	// The categorized difference. Findings that are not Undecided are failures, extra
	// calls only where Extras fails or the case is negative.
	Missing, Extra, OutOfOrder, Mismatched Findings
}

// Assert is the row of one expectation (grading.md 2.6). A call that was made out of
// order leaves it passed.
type Assert struct {
	State
	// Turn and Position name the expectation: in the list of that turn, or of the whole
	// case (-1).
	Turn, Position int
	Expectation    *Expectation
	// Failure is why it did not pass: Missing where any of its calls is, else Arguments.
	Failure Category
	// Met counts the calls that met it; Missing, Mismatched and Unread those that do not
	// exist, have other arguments, and cannot be read.
	Met, Missing, Mismatched, Unread int64
}

// Sequence is the row of the order of calls.
type Sequence struct {
	State
	OutOfOrder int64
}

// Extras is the row of calls beyond the expected ones. Without a cap they are
// reported, not fatal.
type Extras struct {
	State
	Count int64
	Cap   *int64
}

// Category is a class of the categorized difference.
type Category string

// The categories.
const (
	Missing         Category = "missing"
	Extra           Category = "extra"
	OutOfOrder      Category = "outOfOrder"
	OtherArguments  Category = "arguments"
	maxListed                = 20 // findings listed a category and turn
	maxRationale             = 3  // texts of a score (grading.md 2.7)
	maxExpectations          = 1024
	// maxCells bounds the comparisons of one turn, expectations times calls: some
	// seconds and, at two bits each, 16 MiB.
	maxCells = 1 << 26
)

// Findings are what is wrong in one category: how many calls, and the first 20
// findings.
type Findings struct {
	Count int64
	List  []Finding
}

// Finding is one difference between what is expected and what was done.
type Finding struct {
	Category Category
	// Turn and Position name the expectation as in [Assert]; Expected is nil, and
	// Position -1, for an extra call.
	Turn, Position int
	Expected       *Expectation
	// Call is the actual call; nil for a missing one.
	Call *Call
	// Count is how many calls it stands for: a missing minCount of 3 is one finding.
	Count int64
	// Keys are the first differing keys of an argument mismatch, Differing their number;
	// 0 when they are not known, because the call's arguments cannot be read.
	Keys      []Difference
	Differing int
	// Undecided says that evidence is missing: it is no failure (grading.md 0.2.7).
	Undecided bool
	// Text says it in one line, without values.
	Text string
}

func (f *Findings) add(x Finding) {
	f.Count += x.Count
	if f.Count < 0 {
		f.Count = maxCount
	}
	if len(f.List) < maxListed {
		f.List = append(f.List, x)
	}
}

// maxCount is where sums of authored minCounts end.
const maxCount = 1<<63 - 1

func sum(a, b int64) int64 {
	if s := a + b; s >= 0 {
		return s
	}
	return maxCount
}
