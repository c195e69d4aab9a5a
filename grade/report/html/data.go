package html

import (
	"math/big"
)

// The types of this file are the blocks of JSON that the script reads: short names,
// since some stand in the file 50,000 times, and texts that are safe to show as they are.

// runData is the block "run", which comes first: all that lists and figures are made of.
type runData struct {
	Mode       string          `json:"mode"` // verdict, or recording: of one, without a suite
	Suite      string          `json:"suite,omitzero"`
	Hash       string          `json:"hash,omitzero"`
	Analyzer   int             `json:"analyzer"`
	Word       string          `json:"word,omitzero"`
	Reasons    []string        `json:"reasons"`
	Coverage   []coverData     `json:"coverage"`
	Cases      []caseData      `json:"cases"`
	Trials     []trialIndex    `json:"trials"`
	Hosts      []string        `json:"hosts"` // of trials, by number
	Sessions   []sessionIndex  `json:"sessions"`
	Recordings []recordingData `json:"recordings"`
	Skipped    []skippedData   `json:"skipped"`
	Earlier    []earlierRun    `json:"earlier"`
	Matrices   []matrixData    `json:"matrices"`
	By         string          `json:"by,omitzero"` // the matrix that is asked for
}

// earlierRun is a run before this one; of the cases that count.
type earlierRun struct {
	Name     string `json:"name"`
	Passed   int    `json:"passed"`
	Eligible int    `json:"eligible"`
	Trials   int    `json:"trials"`
	Same     bool   `json:"same"` // its suite had the same hash
}

// matrixData is what each group of trials did in each case.
type matrixData struct {
	By     string      `json:"by"`
	Groups []groupData `json:"groups"`
	Rows   []rowCells  `json:"rows"`
	// Mean is the mean of the groups' pass rates.
	Mean *float64 `json:"mean"`
}

type groupData struct {
	Name string    `json:"name"`
	Old  bool      `json:"old,omitzero"` // no newer run has it
	All  *cellData `json:"all"`
}

// rowCells is a case, by its number, with a cell a group; null: no trial.
type rowCells struct {
	Case  int         `json:"case"`
	Cells []*cellData `json:"cells"`
}

type cellData struct {
	Trials   int      `json:"n"`
	Passed   int      `json:"p"`
	Eligible int      `json:"e"`
	Dots     string   `json:"d"` // a letter a trial: p, f or i
	Median   *float64 `json:"ms,omitzero"`
	Tokens   *float64 `json:"u,omitzero"`
	Longest  float64  `json:"long,omitzero"` // of its trials, in milliseconds
}

// restData is the block "rest", which comes last: what was found in the recordings.
type restData struct {
	Recordings []recordingRest `json:"recordings"` // those of runData, in their order
	Catalogs   []catalogIndex  `json:"catalogs"`
	// Cut says that details were left out, the file being large enough.
	Cut bool `json:"cut,omitzero"`
}

type coverData struct {
	Link  string   `json:"link"`
	State string   `json:"state"`
	By    []string `json:"by"`
}

type caseData struct {
	ID            string      `json:"id"`
	Title         string      `json:"title,omitzero"`
	Word          string      `json:"word"`
	Reason        string      `json:"reason"`
	Counted       bool        `json:"counted"`
	Stats         statsData   `json:"stats"`
	Coverage      []coverData `json:"coverage"`
	CanFail       string      `json:"canFail,omitzero"`
	Overridden    []string    `json:"overridden,omitzero"`
	NotMeasurable []string    `json:"notMeasurable,omitzero"`
	Where         string      `json:"where,omitzero"` // file and line in the suite
	First         int         `json:"first"`          // its first trial's number
	// Breaks counts per link the trials that broke first there.
	Breaks [6]int `json:"breaks"`
}

type statsData struct {
	Trials    int      `json:"trials"`
	Passed    int      `json:"passed"`
	Failed    int      `json:"failed"`
	Errored   int      `json:"errored"`
	Rate      *float64 `json:"rate"` // null: none was eligible
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Stability *float64 `json:"stability"`
}

// trialIndex is one trial in lists.
type trialIndex struct {
	Case     int     `json:"c"`
	Word     string  `json:"w,omitzero"`
	States   string  `json:"s"`           // a letter a link, see stateLetters
	Break    int     `json:"b"`           // the link that broke first; -1: none
	Why      string  `json:"y,omitzero"`  // the reason of the break, else of the verdict
	Host     int     `json:"h"`           // -1: not known
	Calls    int     `json:"n"`           //
	Sessions []int   `json:"x"`           // its sessions
	Start    string  `json:"t,omitzero"`  // of the first one, UTC
	Ms       float64 `json:"ms,omitzero"` // to the last record of the last one
	// Stopped says that its iteration was cancelled or ran out of time.
	Stopped bool              `json:"z,omitzero"`
	Labels  map[string]string `json:"l,omitzero"`
	Name    string            `json:"k"`
	Servers []string          `json:"v,omitzero"`
	Model   string            `json:"m,omitzero"`
	Tokens  int64             `json:"u,omitzero"` // all of them
}

// sessionIndex is one session that a trial names.
type sessionIndex struct {
	Recording int    `json:"r"`
	ID        string `json:"id"`
}

type recordingData struct {
	ID   string `json:"id"`
	Path string `json:"path,omitzero"`
}

type recordingRest struct {
	Error string `json:"error,omitzero"` // why it could not be opened
	Facts []fact `json:"facts,omitzero"`
}

// fact is a line of a definition list.
type fact struct {
	Name string `json:"k"`
	Text string `json:"v"`
}

type skippedData struct {
	Recording string `json:"recording"`
	Session   string `json:"session,omitzero"`
	Why       string `json:"why"`
	Detail    string `json:"detail,omitzero"`
}

type catalogIndex struct {
	Server string `json:"server"`
	Hash   string `json:"hash"`
	Tools  int    `json:"tools"`
	Lint   int    `json:"lint"`
	State  string `json:"state"`
	Uses   int    `json:"uses"`
}

// trialData is the block "t" of a trial.
type trialData struct {
	Why      string       `json:"why,omitzero"`
	Category string       `json:"category,omitzero"`
	Links    []linkData   `json:"links"`
	Rows     []rowData    `json:"rows"`
	Runner   []runnerData `json:"runner"`
	Parts    []partData   `json:"parts,omitzero"`
	MoreRows int          `json:"moreRows,omitzero"`
}

// recordRef is a record: the number of its recording (-1: not known), and its seq.
type recordRef [2]int64

type linkData struct {
	Link    string      `json:"link"`
	State   string      `json:"state"`
	Reason  string      `json:"reason"`
	Text    string      `json:"text,omitzero"`
	Same    string      `json:"same,omitzero"`
	Records []recordRef `json:"records,omitzero"`
}

type rowData struct {
	Name     string      `json:"name"`
	Link     string      `json:"link"`
	Role     string      `json:"role"`
	Warn     bool        `json:"warn,omitzero"`
	Turn     int         `json:"turn"`
	Result   string      `json:"result"`
	Reason   string      `json:"reason,omitzero"`
	Expected string      `json:"expected,omitzero"`
	Actual   string      `json:"actual,omitzero"`
	Records  []recordRef `json:"records,omitzero"`
	Scorer   bool        `json:"scorer,omitzero"`
	Diff     []diffData  `json:"diff,omitzero"`
	MoreDiff int         `json:"moreDiff,omitzero"`
}

type diffData struct {
	Class    string      `json:"class"`
	Turn     int         `json:"turn"`
	Tool     string      `json:"tool"`
	Expected string      `json:"expected,omitzero"`
	Actual   string      `json:"actual,omitzero"`
	Allowed  bool        `json:"allowed,omitzero"`
	Records  []recordRef `json:"records,omitzero"`
}

type runnerData struct {
	ID       string `json:"id"`
	Link     string `json:"link"`
	State    string `json:"state"`
	Expected string `json:"expected,omitzero"`
	Actual   string `json:"actual,omitzero"`
}

type partData struct {
	Server  string `json:"server"`
	Session int    `json:"x"` // number; -1: none
	Lost    string `json:"lost,omitzero"`
}

// sessionData is the block "s" of a session.
type sessionData struct {
	StartMs float64    `json:"start"` // of the recording, Unix time
	FirstMs float64    `json:"first"` // since that
	LastMs  float64    `json:"last"`
	Server  string     `json:"server,omitzero"`
	Catalog int        `json:"cat,omitzero"` // number + 1; 0: none
	Facts   []fact     `json:"facts"`
	Capture []fact     `json:"capture"`
	Remarks []remark   `json:"remarks,omitzero"`
	More    int        `json:"moreRemarks,omitzero"`
	Calls   []callData `json:"calls"`
	// MoreCalls counts calls that are not shown.
	MoreCalls  int       `json:"moreCalls,omitzero"`
	Stderr     []lineOut `json:"stderr,omitzero"`
	StderrMore bool      `json:"stderrMore,omitzero"`
	Talk       *talkData `json:"talk,omitzero"`
}

type remark struct {
	Seq  int64  `json:"seq,omitzero"`
	Flag string `json:"flag"`
	Text string `json:"text,omitzero"`
}

type lineOut struct {
	Seq  int64   `json:"seq"`
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// callData is one call. Times are in milliseconds since the recording's start.
type callData struct {
	ID      string   `json:"id"`
	Tool    string   `json:"tool"`
	State   string   `json:"state"`
	Bad     bool     `json:"bad,omitzero"`  // it ended in an error
	Open    bool     `json:"open,omitzero"` // it has no answer
	At      float64  `json:"at"`
	Took    *float64 `json:"took,omitzero"`
	Waited  float64  `json:"waited,omitzero"`
	Turn    int      `json:"turn,omitzero"` // number + 1; 0: not known
	Args    *shown   `json:"args,omitzero"`
	Result  *shown   `json:"result,omitzero"`
	Error   string   `json:"error,omitzero"`
	Schema  []string `json:"schema,omitzero"` // violations of the tool's own input schema
	Unknown bool     `json:"unknown,omitzero"`
	Records []fact   `json:"records"`
	Notes   []string `json:"notes,omitzero"`
}

// shown is a text of a recording: cut where Size (in bytes) says that it is longer.
type shown struct {
	Text string `json:"text"`
	Size int64  `json:"size,omitzero"`
}

type talkData struct {
	Host  string     `json:"host"`
	State string     `json:"state,omitzero"`
	Facts []fact     `json:"facts"`
	Turns []turnData `json:"turns"`
	More  int        `json:"more,omitzero"`
}

type turnData struct {
	Status  string     `json:"status"`
	Prompts []shown    `json:"prompts"`
	Calls   []saidCall `json:"calls"`
	Final   *shown     `json:"final,omitzero"`
	State   string     `json:"state"` // of the final text
	Tokens  string     `json:"tokens,omitzero"`
	Error   string     `json:"error,omitzero"`
}

type saidCall struct {
	Tool string `json:"tool"`
	Call int    `json:"call"` // its place among the session's calls; -1: never on the wire
	Note string `json:"note,omitzero"`
}

// catalogData is the block "c" of a catalog.
type catalogData struct {
	Tools []toolData `json:"tools"`
	Lint  []string   `json:"lint,omitzero"` // of the catalog as a whole
	More  int        `json:"more,omitzero"`
}

type toolData struct {
	Name   string   `json:"name"`
	Desc   string   `json:"desc"`
	Marks  []string `json:"marks,omitzero"` // what its annotations say
	Input  *shown   `json:"input,omitzero"`
	Output *shown   `json:"output,omitzero"`
	Lint   []string `json:"lint,omitzero"`
}

func share(r *big.Rat) *float64 {
	if r == nil {
		return nil
	}
	f, _ := r.Float64()
	return &f
}
