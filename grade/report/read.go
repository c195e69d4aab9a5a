package report

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
)

const (
	// maxValue bounds one trial of a verdict's JSON, and all else of one case or of the
	// run, in bytes.
	maxValue = 64 << 20
	// maxTrials bounds the trials, and maxCases the cases, of one verdict.
	maxTrials = 4 << 20
	maxCases  = 1 << 20
)

// Read reads a verdict's JSON, size bytes of it. Members that this version does not know
// are left out; what it knows and cannot be is refused. r must stay readable for as long
// as the verdict is used: trials are read when they are asked for.
func Read(r io.ReaderAt, size int64) (*Verdict, error) { return read(r, size, maxValue) }

// read is Read with another bound of one value.
func read(r io.ReaderAt, size, most int64) (*Verdict, error) {
	in := &bounded{r: io.NewSectionReader(r, 0, size), most: most}
	rd := &verdictReader{at: r, in: in, d: jsontext.NewDecoder(in)}
	v, err := rd.verdict()
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, errors.New("the verdict's JSON ends too early")
	}
	return nil, fmt.Errorf("not a verdict's JSON: %w", err)
}

// bounded is a reader that gives out no more than most bytes between two calls of
// allow: the decoder holds a value as long as it reads it.
type bounded struct {
	r          io.Reader
	most, left int64
}

func (b *bounded) allow() { b.left = b.most }

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("one value is over %d bytes", b.most)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

type verdictReader struct {
	at     io.ReaderAt
	in     *bounded
	d      *jsontext.Decoder
	trials int
}

// value reads the next value into to.
func (r *verdictReader) value(to any) error {
	r.in.allow()
	return json.UnmarshalDecode(r.d, to)
}

// members calls do for each member of the object that comes next; do must read its value.
func (r *verdictReader) members(what string, do func(name string) error) error {
	r.in.allow()
	t, err := r.d.ReadToken()
	if err != nil {
		return err
	}
	if t.Kind() != '{' {
		return fmt.Errorf("%s: expected an object", what)
	}
	for r.d.PeekKind() != '}' {
		r.in.allow()
		t, err := r.d.ReadToken()
		if err != nil {
			return err
		}
		if err := do(t.String()); err != nil {
			return err
		}
	}
	_, err = r.d.ReadToken()
	return err
}

// elements calls do for each element of the array that comes next.
func (r *verdictReader) elements(what string, do func() error) error {
	r.in.allow()
	t, err := r.d.ReadToken()
	if err != nil {
		return err
	}
	if t.Kind() != '[' {
		return fmt.Errorf("%s: expected an array", what)
	}
	for r.d.PeekKind() != ']' {
		r.in.allow()
		if err := do(); err != nil {
			return err
		}
	}
	_, err = r.d.ReadToken()
	return err
}

func (r *verdictReader) verdict() (*Verdict, error) {
	v := &Verdict{Paths: map[string]string{}}
	var schema, word string
	var suite struct {
		ID   string `json:"id"`
		Hash string `json:"hash"`
	}
	var coverage []wireCoverage
	var skipped []wireSkipped
	err := r.members("the verdict", func(name string) error {
		switch name {
		case "schema":
			if err := r.value(&schema); err != nil {
				return err
			}
			return knownSchema(schema)
		case "analyzerVersion":
			return r.value(&v.AnalyzerVersion)
		case "suite":
			return r.value(&suite)
		case "coverage":
			return r.value(&coverage)
		case "skipped":
			return r.value(&skipped)
		case "verdict":
			return r.value(&word)
		case "reasons":
			return r.value(&v.Reasons)
		case "cases":
			if schema == "" {
				return errors.New("no schema before its cases")
			}
			return r.elements("cases", func() error {
				if len(v.Cases) == maxCases {
					return fmt.Errorf("more than %d cases", maxCases)
				}
				c, err := r.oneCase()
				if err != nil {
					return fmt.Errorf("case %d: %w", len(v.Cases)+1, err)
				}
				v.Cases = append(v.Cases, c)
				return nil
			})
		}
		return r.d.SkipValue()
	})
	if err != nil {
		return nil, err
	}
	r.in.allow()
	if _, err := r.d.ReadToken(); err != io.EOF {
		return nil, errors.New("something follows the verdict")
	}
	f := &faults{}
	f.is(knownSchema(schema))
	v.SuiteID, v.SuiteHash = suite.ID, f.word("suite.hash", suite.Hash)
	if links := f.coverage("coverage", coverage); links != nil {
		v.Coverage = *links
	}
	for i := range skipped {
		s := &skipped[i]
		v.Skipped = append(v.Skipped, Skipped{Recording: s.Recording, Session: s.Session, Why: f.word("skipped.why", s.Why), Detail: s.Detail})
	}
	v.Word = f.verdict("verdict", word)
	for _, reason := range v.Reasons {
		f.word("reasons", reason)
	}
	return v, f.err
}

func knownSchema(schema string) error {
	if schema != grade.Schema {
		return fmt.Errorf("schema %q: expected %s", schema, grade.Schema)
	}
	return nil
}

// span is where a trial stands in the JSON.
type span struct{ at, n int64 }

func (r *verdictReader) oneCase() (*Case, error) {
	c := &Case{}
	var w wireCase
	var hasSpec bool
	var spans []span
	counts := map[grade.Word]int{}
	err := r.members("case", func(name string) error {
		switch name {
		case "id":
			return r.value(&c.ID)
		case "title":
			return r.value(&c.Title)
		case "verdict":
			return r.value(&w.Verdict)
		case "reason":
			return r.value(&w.Reason)
		case "counted":
			return r.value(&c.Counted)
		case "stats":
			return r.value(&w.Stats)
		case "coverage":
			return r.value(&w.Coverage)
		case "canFail":
			return r.value(&w.CanFail)
		case "configHash":
			return r.value(&w.ConfigHash)
		case "overridden":
			hasSpec = true
			return r.value(&w.Overridden)
		case "repetitions":
			hasSpec = true
			return r.value(&w.Repetitions)
		case "notMeasurable":
			hasSpec = true
			return r.value(&w.NotMeasurable)
		case "at":
			return r.value(&w.At)
		case "trials":
			return r.elements("trials", func() error {
				if r.trials++; r.trials > maxTrials {
					return fmt.Errorf("more than %d trials", maxTrials)
				}
				raw, err := r.d.ReadValue()
				if err != nil {
					return err
				}
				spans = append(spans, span{r.d.InputOffset() - int64(len(raw)), int64(len(raw))})
				return c.index(raw, counts)
			})
		}
		return r.d.SkipValue()
	})
	if err != nil {
		return nil, err
	}
	f := &faults{}
	c.Word, c.Reason, c.ConfigHash = f.verdict("verdict", w.Verdict), f.word("reason", w.Reason), f.word("configHash", w.ConfigHash)
	if w.Coverage != nil {
		c.Coverage, c.CanFail = f.coverage("coverage", w.Coverage), grade.CanFailWord(f.word("canFail", w.CanFail))
	}
	if hasSpec {
		c.Spec = &Spec{Overridden: w.Overridden, Repetitions: w.Repetitions, NotMeasurable: w.NotMeasurable, At: f.place("at", w.At)}
	}
	if w.Stats.Passed != counts[grade.Passed] || w.Stats.Failed != counts[grade.Failed] || w.Stats.Inconclusive != counts[grade.Inconclusive] || w.Stats.Trials != len(spans) {
		f.is(errors.New("stats: its counts are not those of its trials"))
	}
	if f.err != nil {
		return nil, f.err
	}
	c.Stats = grade.StatsOf(w.Stats.Passed, w.Stats.Failed, w.Stats.Inconclusive)
	at := r.at
	c.each = func(do func(t *Trial) error) error {
		for _, s := range spans {
			raw := make([]byte, s.n)
			if n, err := at.ReadAt(raw, s.at); n < len(raw) {
				return fmt.Errorf("read a trial again: %w", err)
			}
			t, err := readTrial(raw)
			if err == nil {
				err = do(t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c, nil
}

// index takes of a trial what is to be known before it is read again. All of it is
// checked now, so that a report does not break in its middle.
func (c *Case) index(raw []byte, counts map[grade.Word]int) error {
	t, err := readTrial(raw)
	if err != nil {
		return err
	}
	counts[t.Word]++
	for i := range t.Links {
		c.has(i, t.Links[i].State)
	}
	return nil
}

// readTrial reads one trial's JSON.
func readTrial(raw []byte) (*Trial, error) {
	var w wireTrial
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, err
	}
	f := &faults{}
	t := w.trial(f)
	if f.err != nil {
		return nil, fmt.Errorf("a trial: %w", f.err)
	}
	return t, nil
}

// faults reads what only some texts can stand for, and keeps the first that is wrong.
// A verdict may come from anywhere, and words are printed as they stand.
type faults struct{ err error }

func (f *faults) is(err error) {
	if f.err == nil {
		f.err = err
	}
}

// maxWord bounds a word, in bytes.
const maxWord = 200

// word is a name of this program's own: letters, digits and a little between them; it may
// be empty.
func (f *faults) word(member, s string) string {
	ok := len(s) <= maxWord
	for i := 0; i < len(s) && ok; i++ {
		c := s[i]
		ok = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == ':' || c == '_' || c == '-' || c == '.' || c == '#'
	}
	if !ok {
		f.is(fmt.Errorf("%s: %.80q is no name", member, s))
		return ""
	}
	return s
}

// oneOf is a word of a list.
func oneOf[T ~string](f *faults, member, s string, list ...T) T {
	if !slices.Contains(list, T(s)) {
		f.is(fmt.Errorf("%s: %.80q is none of %v", member, s, list))
	}
	return T(s)
}

func (f *faults) verdict(member, s string) grade.Word {
	return oneOf(f, member, s, grade.Passed, grade.Failed, grade.Inconclusive)
}

func (f *faults) place(member string, w *wirePlace) *Place {
	if w == nil {
		return nil
	}
	if w.File < 0 || w.Line < 1 || w.Column < 1 {
		f.is(fmt.Errorf("%s: no place in a file", member))
	}
	return &Place{File: w.File, Line: w.Line, Column: w.Column}
}

func (f *faults) coverage(member string, list []wireCoverage) *[6]grade.LinkCoverage {
	if len(list) != len(chain.Order) {
		f.is(fmt.Errorf("%s: expected %d links", member, len(chain.Order)))
		return nil
	}
	var out [6]grade.LinkCoverage
	for i, w := range list {
		out[i].Link = oneOf(f, member+".link", w.Link, chain.Order[i])
		out[i].State = oneOf(f, member+".state", w.State, grade.CoverDecided, grade.CoverObserved, grade.CoverRunnerOnly, grade.CoverNone)
		for _, by := range w.By {
			f.word(member+".by", by)
		}
		out[i].By = w.By
	}
	return &out
}
