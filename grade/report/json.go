package report

import (
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/visible"
)

// JSON writes the verdict by its schema: keys in a fixed order, valid UTF-8, no
// HTML escapes, and no path of the machine.
func JSON(w io.Writer, v *Verdict) error {
	j := &writer{w: w}
	j.object(func() {
		j.key("schema").text(grade.Schema)
		j.key("analyzerVersion").num(int64(v.AnalyzerVersion))
		j.key("suite").object(func() {
			j.key("id").text(v.SuiteID)
			j.key("hash").text(v.SuiteHash)
		})
		jsonCoverage(j, &v.Coverage)
		j.key("cases").array(len(v.Cases), func(i int) { jsonCase(j, v.Cases[i]) })
		j.key("skipped").array(len(v.Skipped), func(i int) {
			s := &v.Skipped[i]
			j.object(func() {
				j.key("recording").text(s.Recording)
				j.key("session").text(s.Session)
				j.key("why").text(s.Why)
				j.key("detail").text(s.Detail)
			})
		})
		j.key("verdict").text(string(v.Word))
		j.key("reasons").texts(v.Reasons)
	})
	j.out = append(j.out, '\n')
	j.flush()
	return j.err
}

func jsonCase(j *writer, c *Case) {
	j.object(func() {
		j.key("id").text(c.ID)
		j.key("title").maybe(c.Title)
		j.key("verdict").text(string(c.Word))
		j.key("reason").text(c.Reason)
		j.key("counted").flag(c.Counted)
		jsonStats(j, &c.Stats)
		if c.Coverage != nil {
			jsonCoverage(j, c.Coverage)
			j.key("canFail").text(string(c.CanFail))
		}
		if c.ConfigHash != "" {
			j.key("configHash").text(c.ConfigHash)
		}
		if c.Spec != nil {
			j.key("overridden").texts(c.Spec.Overridden)
			j.key("repetitions").num(c.Spec.Repetitions)
			j.key("notMeasurable").texts(c.Spec.NotMeasurable)
			jsonPlace(j, c.Spec.At)
		}
		j.key("trials").enclose('[', ']', func() {
			err := c.Each(func(t *Trial) error {
				j.newline()
				jsonTrial(j, t)
				if len(j.out) > flushSize {
					j.flush()
				}
				return j.err
			})
			if j.err == nil {
				j.err = err
			}
		})
	})
}

// jsonPlace writes where in the suite something stands, on one line; nothing where
// that is in no file.
func jsonPlace(j *writer, at *Place) {
	if at == nil {
		return
	}
	j.key("at").raw(fmt.Sprintf(`{"file": %d, "line": %d, "column": %d}`, at.File, at.Line, at.Column))
}

// jsonStats writes a case's counts; shares are decimals with six digits, and null
// where nothing was eligible.
func jsonStats(j *writer, s *grade.Stats) {
	j.key("stats").object(func() {
		j.key("trials").num(int64(s.Trials))
		j.key("passed").num(int64(s.Passed))
		j.key("failed").num(int64(s.Failed))
		j.key("inconclusive").num(int64(s.Errored))
		j.key("passRate").share(s.PassRate)
		j.key("stability").share(s.Stability)
		j.key("wilson95").object(func() {
			if s.PassRate == nil {
				j.key("low").raw("null")
				j.key("high").raw("null")
				return
			}
			j.key("low").raw(strconv.FormatFloat(s.WilsonLow, 'f', 6, 64))
			j.key("high").raw(strconv.FormatFloat(s.WilsonHigh, 'f', 6, 64))
		})
		for _, at := range []struct {
			name string
			list []grade.AtK
		}{{"passAtK", s.PassAt}, {"passHatK", s.PassHat}} {
			j.key(at.name).object(func() {
				for _, k := range at.list {
					j.key(strconv.Itoa(k.K)).share(k.Share)
				}
			})
		}
	})
}

func jsonDifference(j *writer, t *Trial, d *Difference) {
	j.object(func() {
		j.key("class").text(d.Class)
		j.key("turn").num(int64(d.Turn))
		j.key("tool").text(d.Tool)
		j.key("expected").maybe(d.Expected)
		j.key("actual").maybe(d.Actual)
		jsonRecords(j, t, d.Records)
		if d.Allowed {
			j.key("allowed").flag(true)
		}
		jsonPlace(j, d.At)
	})
}

func jsonTrial(j *writer, t *Trial) {
	j.object(func() {
		j.key("recording").text(t.Recording)
		j.key("session").text(t.Session)
		j.key("labels").object(func() {
			for _, k := range slices.Sorted(maps.Keys(t.Labels)) {
				j.key(k).text(t.Labels[k])
			}
		})
		if len(t.Parts) > 0 {
			j.key("parts").array(len(t.Parts), func(i int) { jsonPart(j, &t.Parts[i]) })
		}
		if c := t.Conversation; c != nil {
			j.key("conversation").object(func() {
				j.key("host").text(c.Host)
				j.key("session").maybe(c.Session)
				j.key("join").text(c.Join)
				j.key("why").text(c.Why)
				j.key("hostOnly").texts(c.HostOnly)
				if c.More > 0 {
					j.key("more").num(int64(c.More))
				}
			})
		}
		j.key("verdict").text(string(t.Word))
		j.key("why").maybe(t.Why)
		jsonLinks(j, t, &t.Links, t.FirstBreak)
		j.key("failureCategory").maybe(string(t.FailureCategory))
		j.key("rows").array(len(t.Rows), func(i int) { jsonRow(j, t, &t.Rows[i]) })
		j.key("runnerChecks").array(len(t.Runner), func(i int) {
			c := &t.Runner[i]
			j.object(func() {
				j.key("id").text(c.ID)
				j.key("link").text(string(c.Link))
				j.key("state").text(string(c.State))
				j.key("expected").maybe(c.Expected)
				j.key("actual").maybe(c.Actual)
			})
		})
		jsonFacts(j, &t.Facts)
	})
}

func jsonRow(j *writer, t *Trial, r *Row) {
	j.object(func() {
		j.key("check").text(r.Name)
		j.key("link").text(string(r.Link))
		j.key("role").text(string(r.Role))
		if r.Warn {
			j.key("severity").text("warn")
		}
		if r.Turn >= 0 {
			j.key("turn").num(int64(r.Turn))
		}
		j.key("outcome").text(string(r.Result))
		j.key("reason").text(r.Reason)
		j.key("expected").maybe(r.Expected)
		j.key("actual").maybe(r.Actual)
		jsonRecords(j, t, r.Records)
		jsonPlace(j, r.At)
		if r.Scorer {
			j.key("differences").array(len(r.Differences), func(i int) { jsonDifference(j, t, &r.Differences[i]) })
		}
	})
}

// jsonFacts writes what a trial was made with and what it took; null is not known.
func jsonFacts(j *writer, f *grade.Facts) {
	j.key("facts").object(func() {
		jsonTime(j, "startedAt", f.StartedAt)
		j.key("durationNs").num(f.DurationNs)
		j.key("host").maybe(f.Host)
		j.key("hostVersion").maybe(f.HostVersion)
		j.key("model").maybe(f.Model)
		j.key("servers").array(len(f.Servers), func(i int) {
			s := &f.Servers[i]
			j.object(func() {
				j.key("key").maybe(s.Key)
				j.key("name").maybe(s.Name)
				j.key("version").maybe(s.Version)
				j.key("catalog").maybe(s.Catalog)
				j.key("tools").num(int64(s.Tools))
			})
		})
		j.key("calls").num(int64(f.Calls))
		j.key("resultBytes").num(f.ResultBytes)
		j.key("latency").object(func() {
			j.key("count").num(int64(f.Latency.Count))
			j.key("ns").nums(f.Latency.Ns)
		})
		if f.Tokens == nil {
			j.key("tokens").raw("null")
			return
		}
		j.key("tokens").object(func() {
			for _, n := range []struct {
				name string
				n    int64
			}{{"input", f.Tokens.Input}, {"output", f.Tokens.Output}, {"total", f.Tokens.Total}} {
				if n.n < 0 {
					j.key(n.name).raw("null")
					continue
				}
				j.key(n.name).num(n.n)
			}
		})
	})
}

// startFormat is how the beginning of a trial is written, in UTC.
const startFormat = "2006-01-02T15:04:05.000000000Z"

// jsonPart writes one session of a trial over several; lost says why nothing of it
// could be read.
func jsonPart(j *writer, p *Part) {
	j.object(func() {
		j.key("recording").text(p.Recording)
		j.key("session").maybe(p.Session)
		j.key("server").text(p.Server)
		if p.Lost != "" {
			j.key("lost").text(p.Lost)
		}
	})
}

// jsonRecords writes the records of a row, a link or a difference; where several
// recordings meet, beside each the recording that has it and its server.
func jsonRecords(j *writer, t *Trial, records []Record) {
	seqs := make([]int64, len(records))
	for i := range records {
		seqs[i] = records[i].Seq
	}
	j.key("records").nums(seqs)
	if t == nil || len(t.Parts) == 0 {
		return
	}
	j.key("recordings").array(len(records), func(i int) { j.quote(records[i].Recording) })
	j.key("servers").array(len(records), func(i int) { j.quote(records[i].Server) })
}

// jsonLinks writes the members links and firstBreak. t is nil where there is no trial.
func jsonLinks(j *writer, t *Trial, links *[6]Link, firstBreak predicate.Link) {
	j.key("links").array(len(links), func(i int) {
		l := &links[i]
		j.object(func() {
			j.key("link").text(string(l.Link))
			j.key("state").text(string(l.State))
			j.key("reason").text(string(l.Reason))
			j.key("evidence").object(func() {
				jsonRecords(j, t, l.Records)
				j.key("text").text(l.Text)
				if l.SameCallAs != "" {
					j.key("sameCallAs").text(l.SameCallAs)
				}
			})
		})
	})
	j.key("firstBreak").maybe(string(firstBreak))
}

// ChainJSON returns a session's chain as a JSON object with the members links,
// firstBreak and failureCategory, for reports that embed one.
func ChainJSON(r *chain.Result) []byte {
	j := &writer{}
	j.object(func() {
		links := ofLinks(nil, r)
		jsonLinks(j, nil, &links, r.FirstBreak)
		j.key("failureCategory").maybe(string(r.Category))
	})
	return j.out
}

// flushSize is how many bytes of JSON are gathered before they are written.
const flushSize = 64 << 10

// writer appends JSON, two blanks a level.
type writer struct {
	w     io.Writer // nil: all is gathered
	err   error     // the first
	out   []byte
	depth int
	first bool // nothing written yet in the innermost object or array
}

func (j *writer) flush() {
	if j.err == nil {
		_, j.err = j.w.Write(j.out)
	}
	j.out = j.out[:0]
}

func (j *writer) newline() {
	if !j.first {
		j.out = append(j.out, ',')
	}
	j.first = false
	j.out = append(j.out, '\n')
	for i := 0; i < j.depth; i++ {
		j.out = append(j.out, ' ', ' ')
	}
}

func (j *writer) enclose(open, end byte, body func()) {
	j.out = append(j.out, open)
	j.depth++
	j.first = true
	body()
	j.depth--
	if !j.first {
		j.first = true
		j.newline()
	}
	j.first = false
	j.out = append(j.out, end)
}

func (j *writer) object(body func()) { j.enclose('{', '}', body) }

func (j *writer) array(n int, each func(i int)) {
	j.enclose('[', ']', func() {
		for i := 0; i < n; i++ {
			j.newline()
			each(i)
		}
	})
}

func (j *writer) key(k string) *writer {
	j.newline()
	j.quote(k)
	j.out = append(j.out, ':', ' ')
	return j
}

func (j *writer) text(s string) { j.quote(s) }
func (j *writer) raw(s string)  { j.out = append(j.out, s...) }
func (j *writer) flag(b bool)   { j.out = strconv.AppendBool(j.out, b) }

// share writes a fraction as a decimal, null for none.
func (j *writer) share(r *big.Rat) {
	if r == nil {
		j.raw("null")
		return
	}
	j.raw(r.FloatString(6))
}

func (j *writer) num(n int64) { j.out = strconv.AppendInt(j.out, n, 10) }

// maybe writes null for an empty text.
func (j *writer) maybe(s string) {
	if s == "" {
		j.out = append(j.out, "null"...)
		return
	}
	j.quote(s)
}

func (j *writer) texts(list []string) { j.array(len(list), func(i int) { j.quote(list[i]) }) }

// nums writes numbers on one line.
func (j *writer) nums(list []int64) {
	j.out = append(j.out, '[')
	for i, n := range list {
		if i > 0 {
			j.out = append(j.out, ", "...)
		}
		j.num(n)
	}
	j.out = append(j.out, ']')
}

const hexDigits = "0123456789abcdef"

// quote writes a JSON string. What a terminal would obey or hide is escaped,
// which changes no value; a lone surrogate, which no UTF-8 can hold and many
// readers refuse even as an escape, reads \ud83d as text.
func (j *writer) quote(s string) {
	j.out = append(j.out, '"')
	plain := 0 // bytes at the beginning that stand for themselves: all of most texts
	for plain < len(s) && ' ' <= s[plain] && s[plain] <= '~' && s[plain] != '"' && s[plain] != '\\' {
		plain++
	}
	j.out = append(j.out, s[:plain]...)
	for _, r := range visible.UTF8(s[plain:]) {
		switch {
		case r == '"' || r == '\\':
			j.out = append(j.out, '\\', byte(r))
		case r == '\n':
			j.out = append(j.out, '\\', 'n')
		case r == '\t':
			j.out = append(j.out, '\\', 't')
		case r > 0xffff && visible.Hidden(r):
			j.unit(0xd800 + (r-0x10000)>>10)
			j.unit(0xdc00 + (r-0x10000)&0x3ff)
		case visible.Hidden(r):
			j.unit(r)
		default:
			j.out = utf8.AppendRune(j.out, r)
		}
	}
	j.out = append(j.out, '"')
}

func (j *writer) unit(u rune) {
	j.out = append(j.out, '\\', 'u', hexDigits[u>>12&15], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
