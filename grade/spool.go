package grade

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/match"
	"github.com/sixlink/sixlink/grade/predicate"
)

// Spool is where trials wait for the report, so that a pile of any size takes the
// memory of a few: a temporary file, as a rule. It is written at its end alone.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// brief is what the verdict needs of a trial.
type brief struct {
	c                 *CaseSpec // nil: no case claims it
	word              Word
	unfinished, erred bool
	links             [6]chain.State
	// whole is the trial itself; nil when it is in the spool, n bytes at at.
	whole *Trial
	at    int64
	n     int
	// diffs are those of the scorers' rows that did not pass, which are not spooled.
	diffs []*match.Result
}

func briefOf(c *CaseSpec, t *Trial) brief {
	b := brief{c: c, word: t.Word, unfinished: t.unfinished, erred: t.erred, whole: t}
	for i := range t.Chain.Links {
		b.links[i] = t.Chain.Links[i].State
	}
	return b
}

// shelf is a spool with what is needed to read it.
type shelf struct {
	spool Spool
	end   int64
	err   error // of the first write that failed: trials stay in memory from then on
	// checks are those of the suite, by the number that stands for them.
	checks []*predicate.Check
	number map[*predicate.Check]int
	// words are texts that many trials have, by the number that stands for them.
	words  []string
	wordNo map[string]int
	buf    []byte
}

// maxWords bounds the words, and maxWord their length in bytes.
const (
	maxWords = 4096
	maxWord  = 200
)

// putWord puts a text that other trials probably have too.
func (s *shelf) putWord(b []byte, text string) []byte {
	n, known := s.wordNo[text]
	if !known && len(s.words) < maxWords && len(text) <= maxWord {
		if s.wordNo == nil {
			s.wordNo = map[string]int{}
		}
		text = strings.Clone(text) // it may be a part of something larger
		s.words = append(s.words, text)
		n, known = len(s.words), true
		s.wordNo[text] = n
	}
	b = binary.AppendVarint(b, int64(n))
	if !known {
		b = putText(b, text)
	}
	return b
}

func (s *shelf) word(r *reader) string {
	switch n := r.num(); {
	case n == 0:
		return r.text()
	case n > 0 && n <= int64(len(s.words)):
		return s.words[n-1]
	}
	r.b, r.bad = "", true
	return ""
}

// put moves the trial of b to the spool.
func (s *shelf) put(b *brief) {
	if s.err != nil {
		return
	}
	s.buf = s.trial(s.buf[:0], b.whole)
	n, err := s.spool.Write(s.buf)
	if s.end += int64(n); err != nil {
		s.err = err
		return
	}
	b.at, b.n = s.end-int64(n), n
	for i := range b.whole.Rows {
		if r := &b.whole.Rows[i]; r.Diff != nil && r.Result != predicate.Pass {
			b.diffs = append(b.diffs, r.Diff)
		}
	}
	b.whole = nil
}

// get returns the trial of b.
func (s *shelf) get(b *brief) (*Trial, error) {
	if b.whole != nil {
		return b.whole, nil
	}
	s.buf = slices.Grow(s.buf[:0], b.n)[:b.n]
	if _, err := s.spool.ReadAt(s.buf, b.at); err != nil {
		return nil, fmt.Errorf("read a trial again: %w", err)
	}
	r := reader{b: string(s.buf)} // all texts are parts of this one
	t := s.read(&r, b.diffs)
	if r.bad || len(r.b) > 0 {
		return nil, errors.New("read a trial again: it is not what was written")
	}
	t.unfinished, t.erred = b.unfinished, b.erred
	return t, nil
}

// trial appends what a report shows of a trial, [shelf.read] reads it.
func (s *shelf) trial(b []byte, t *Trial) []byte {
	for _, text := range []string{t.Recording, t.Session, string(t.Word), t.Why, string(t.Chain.FirstBreak), string(t.Chain.Category)} {
		b = putText(b, text)
	}
	b = binary.AppendVarint(b, int64(t.Calls))
	b = putTalk(b, t.Talk)
	b = binary.AppendVarint(b, int64(len(t.Labels)))
	for _, k := range slices.Sorted(maps.Keys(t.Labels)) {
		b = putText(putText(b, k), t.Labels[k])
	}
	b = binary.AppendVarint(b, int64(len(t.Parts)))
	for i := range t.Parts {
		p := &t.Parts[i]
		b = putText(putText(putText(b, p.Recording), p.Session), p.Server)
		b = putText(binary.AppendVarint(b, p.Base), p.Lost)
	}
	for i := range t.Chain.Links {
		l := &t.Chain.Links[i]
		b = s.putWord(s.putWord(s.putWord(b, string(l.Link)), string(l.State)), string(l.Reason))
		b = putNums(b, l.Evidence.Records)
		b = binary.AppendVarint(b, int64(len(l.Evidence.Turns)))
		for _, n := range l.Evidence.Turns {
			b = binary.AppendVarint(b, int64(n))
		}
		b = putText(putText(b, l.Evidence.Text), l.Evidence.SameCallAs)
	}
	b = binary.AppendVarint(b, int64(len(t.Chain.Runner)))
	for i := range t.Chain.Runner {
		c := &t.Chain.Runner[i]
		for _, text := range [...]string{c.ID, string(c.Link), string(c.State), c.Expected} {
			b = s.putWord(b, text)
		}
		b = putText(b, c.Actual)
	}
	b = binary.AppendVarint(b, int64(len(t.Rows)))
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, text := range [...]string{r.Name, string(r.Link), string(r.Role), string(r.Result), r.Expected} {
			b = s.putWord(b, text)
		}
		b = putText(putText(b, r.Reason), r.Actual)
		b = putFlag(putFlag(putFlag(b, r.Warn), r.ProtocolOnly), r.Diff != nil)
		b = binary.AppendVarint(b, int64(r.Turn))
		b = binary.AppendVarint(b, int64(s.numberOf(r.Check)))
		b = putNums(b, r.Records)
		b = binary.AppendVarint(b, int64(len(r.Calls)))
		for _, c := range r.Calls {
			b = binary.AppendVarint(binary.AppendVarint(b, c.Seq), int64(c.Index))
		}
	}
	return b
}

func (s *shelf) read(r *reader, diffs []*match.Result) *Trial {
	t := &Trial{Recording: r.text(), Session: r.text(), Word: Word(r.text()), Why: r.text()}
	t.Chain.FirstBreak, t.Chain.Category = predicate.Link(r.text()), chain.Category(r.text())
	t.Calls = int(r.num())
	t.Talk = r.talk()
	if n := r.count(); n > 0 {
		t.Labels = make(map[string]string, n)
		for range n {
			k := r.text()
			t.Labels[k] = r.text()
		}
	}
	for range r.count() {
		t.Parts = append(t.Parts, predicate.Part{Recording: r.text(), Session: r.text(), Server: r.text(), Base: r.num(), Lost: r.text()})
	}
	for i := range t.Chain.Links {
		l := &t.Chain.Links[i]
		l.Link, l.State, l.Reason = predicate.Link(s.word(r)), chain.State(s.word(r)), chain.Reason(s.word(r))
		l.Evidence.Records = r.nums()
		for range r.count() {
			l.Evidence.Turns = append(l.Evidence.Turns, int(r.num()))
		}
		l.Evidence.Text, l.Evidence.SameCallAs = r.text(), r.text()
	}
	t.Chain.Runner = make([]chain.RunnerCheck, r.count())
	for i := range t.Chain.Runner {
		t.Chain.Runner[i] = chain.RunnerCheck{ID: s.word(r), Link: predicate.Link(s.word(r)), State: chain.CheckState(s.word(r)), Expected: s.word(r), Actual: r.text()}
	}
	t.Rows = make([]Row, r.count())
	for i := range t.Rows {
		w := &t.Rows[i]
		w.Name, w.Link, w.Role, w.Result = s.word(r), predicate.Link(s.word(r)), predicate.Role(s.word(r)), predicate.Result(s.word(r))
		w.Expected = s.word(r)
		w.Reason, w.Actual = r.text(), r.text()
		w.Warn, w.ProtocolOnly = r.flag(), r.flag()
		if r.flag() {
			w.Diff = &match.Result{} // of a row that passed nothing is shown
			if w.Result != predicate.Pass && len(diffs) > 0 {
				w.Diff, diffs = diffs[0], diffs[1:]
			}
		}
		w.Turn = int(r.num())
		if n := r.num(); n > 0 && n <= int64(len(s.checks)) {
			w.Check = s.checks[n-1]
		}
		w.Records = r.nums()
		for range r.count() {
			w.Calls = append(w.Calls, predicate.CallRef{Seq: r.num(), Index: int(r.num())})
		}
	}
	return t
}

// numberOf stands for a check, from 1; 0: none.
func (s *shelf) numberOf(c *predicate.Check) int {
	if c == nil {
		return 0
	}
	n, known := s.number[c]
	if !known {
		if s.number == nil {
			s.number = map[*predicate.Check]int{}
		}
		s.checks = append(s.checks, c)
		n = len(s.checks)
		s.number[c] = n
	}
	return n
}

func putText(b []byte, s string) []byte { return append(binary.AppendVarint(b, int64(len(s))), s...) }

func putFlag(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}

func putNums(b []byte, list []int64) []byte {
	b = binary.AppendVarint(b, int64(len(list)))
	for _, n := range list {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// reader takes apart what was put.
type reader struct {
	b   string
	bad bool
}

func (r *reader) num() int64 {
	// As binary.Varint, of a string.
	var u uint64
	for i := range min(len(r.b), binary.MaxVarintLen64) {
		c := r.b[i]
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.b, r.bad = "", true
	return 0
}

// count is a number of things of at least a byte each.
func (r *reader) count() int {
	n := r.num()
	if n < 0 || n > int64(len(r.b)) {
		r.b, r.bad = "", true
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *reader) flag() bool {
	if len(r.b) == 0 {
		r.bad = true
		return false
	}
	is := r.b[0] != 0
	r.b = r.b[1:]
	return is
}

func (r *reader) nums() (list []int64) {
	n := r.count()
	if n > 0 {
		list = make([]int64, 0, n)
	}
	for range n {
		list = append(list, r.num())
	}
	return list
}
