package report

import (
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Verdict is a verdict as its JSON has it, and the one thing that every format is made
// of: [Of] makes it of a grading, [Read] of the JSON, and both give the same bytes in
// every format.
type Verdict struct {
	AnalyzerVersion    int
	SuiteID, SuiteHash string
	Coverage           [6]grade.LinkCoverage
	Cases              []*Case
	Skipped            []Skipped
	Word               grade.Word
	Reasons            []string

	// Paths are where recordings stand, by their ids, and SuiteFiles the suite's files,
	// by the File of a [Place]. They are for people, come from the command line, and are
	// in no JSON; either may be empty.
	Paths      map[string]string
	SuiteFiles []string
}

// Skipped is a session, or a whole recording, that is no trial.
type Skipped struct {
	Recording, Session, Why, Detail string
	// Path is where the recording stood, for people.
	Path string
}

// Case is a case with its trials, which are not in memory: see [Case.Each].
type Case struct {
	ID, Title string
	Word      grade.Word
	Reason    string
	// Counted says that the case is part of the run's verdict.
	Counted bool
	Stats   grade.Stats
	// Coverage says which links its checks decide; nil: not known.
	Coverage *[6]grade.LinkCoverage
	CanFail  grade.CanFailWord
	// Spec is what the verdict tells of the case in its suite; nil for the unassigned.
	Spec *Spec
	// ConfigHash is equal for cases that ask the same (grading.md 7.1); empty: the
	// verdict is of an older version.
	ConfigHash string

	states [6]map[chain.State]bool
	each   func(do func(t *Trial) error) error
}

// Each calls do for each trial in order; its first error ends it. The trial is
// read anew each time, and do may keep it.
func (c *Case) Each(do func(t *Trial) error) error { return c.each(do) }

// Has tells whether any trial has the link at that place of [chain.Order] in the state.
func (c *Case) Has(link int, s chain.State) bool { return c.states[link][s] }

// Spec is what a verdict tells of a case in its suite.
type Spec struct {
	Overridden    []string
	Repetitions   int64
	NotMeasurable []string
	At            *Place
}

// Trial is one session, or several together, graded against one case.
type Trial struct {
	Recording, Session string
	Labels             map[string]string
	// Parts are the sessions of a trial over several; empty: it is one session.
	Parts []Part
	// Conversation is how the host's transcript joins; nil: none is joined.
	Conversation *Conversation
	Word         grade.Word
	Why          string
	// Links are in the order of [chain.Order].
	Links           [6]Link
	FirstBreak      predicate.Link // empty: none
	FailureCategory chain.Category
	Rows            []Row
	Runner          []chain.RunnerCheck
	Facts           grade.Facts
}

// Conversation is a host's transcript as it joins with a trial.
type Conversation struct {
	// Host is the program, Session its own id of the session.
	Host, Session string
	// Join is the verdict of the join, Why says it in one line.
	Join, Why string
	// HostOnly are the calls that never reached the wire, More counts those beyond.
	HostOnly []string
	More     int
}

// Part is one session of a trial over several; Lost says why nothing of it could be read.
type Part struct{ Recording, Session, Server, Lost string }

// Record is a record of a recording. Recording and Server are set where several meet.
type Record struct {
	Seq               int64
	Recording, Server string
}

// Link is the state of one link, and what that rests on.
type Link struct {
	Link    predicate.Link
	State   chain.State
	Reason  chain.Reason
	Records []Record
	Text    string
	// SameCallAs names the call that already failed the call link.
	SameCallAs string
}

// Row is one check's outcome, or a scorer's.
type Row struct {
	Name                     string
	Link                     predicate.Link
	Role                     predicate.Role
	Warn                     bool
	Turn                     int // from 0; -1: the whole case
	Result                   predicate.Result
	Reason, Expected, Actual string
	Records                  []Record
	// Scorer rows have differences, the categorized difference of expected and actual calls.
	Scorer      bool
	Differences []Difference
	// At is where the check stands in the suite; nil: in no file.
	At *Place
}

// Difference is one line of the categorized difference (grading.md 2.3).
type Difference struct {
	Class            string // missing, extra, outOfOrder, arguments
	Turn             int    // from 0; -1: the whole case
	Tool             string
	Expected, Actual string
	Records          []Record
	// Allowed says that it is an extra call that no rule forbids.
	Allowed bool
	// At is where the expectation stands in the suite.
	At *Place
}

// Restates says that Actual tells no more than Class and Tool do.
func (d *Difference) Restates() bool {
	return d.Actual != "" && (d.Class == "extra" || d.Class == "outOfOrder")
}

// Place is a place in the suite: line and column from 1, and which of its files, 0
// being its own and then those that it extends.
type Place struct{ File, Line, Column int }
