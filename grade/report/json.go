package report

import (
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
func JSON(w io.Writer, v *grade.Verdict) error {
	j := &writer{w: w}
	j.object(func() {
		j.key("schema").text(grade.Schema)
		j.key("analyzerVersion").num(int64(v.AnalyzerVersion))
		j.key("suite").object(func() {
			j.key("id").text(v.SuiteID)
			j.key("hash").text(v.SuiteHash)
		})
		jsonCoverage(j, &v.Coverage)
		j.key("cases").array(len(v.Cases), func(i int) { jsonCase(j, &v.Cases[i]) })
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

func jsonCase(j *writer, c *grade.Case) {
	j.object(func() {
		j.key("id").text(c.ID)
		j.key("title").maybe(c.Title)
		j.key("verdict").text(string(c.Word))
		j.key("reason").text(c.Reason)
		j.key("counted").flag(c.Counted)
		jsonStats(j, &c.Stats)
		if c.Coverage != nil {
			jsonCoverage(j, &c.Coverage.Links)
			j.key("canFail").text(string(c.Coverage.CanFail))
		}
		if c.Spec != nil {
			j.key("overridden").texts(c.Spec.Overridden)
			j.key("repetitions").num(c.Spec.Repetitions)
			j.key("notMeasurable").texts(c.Spec.NotMeasurable)
		}
		j.key("trials").enclose('[', ']', func() {
			err := c.Each(func(t *grade.Trial) error {
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

func jsonDifference(j *writer, t *grade.Trial, d *difference) {
	j.object(func() {
		j.key("class").text(d.Class)
		j.key("turn").num(int64(d.Turn))
		j.key("tool").text(d.Tool)
		j.key("expected").maybe(d.Expected)
		j.key("actual").maybe(d.Actual)
		jsonRecords(j, t, d.Records)
	})
}

func jsonTrial(j *writer, t *grade.Trial) {
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
		if n := t.Talk; n != nil {
			j.key("conversation").object(func() {
				j.key("host").text(n.Host)
				j.key("session").maybe(n.SessionID)
				j.key("join").text(n.Verdict)
				j.key("why").text(n.Why)
				j.key("hostOnly").array(len(n.HostOnly), func(i int) { j.text(n.HostOnly[i]) })
			})
		}
		j.key("verdict").text(string(t.Word))
		j.key("why").maybe(t.Why)
		jsonChain(j, t, &t.Chain)
		j.key("failureCategory").maybe(string(t.Chain.Category))
		j.key("rows").array(len(t.Rows), func(i int) {
			r := &t.Rows[i]
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
				if r.Diff != nil {
					list := differences(r)
					j.key("differences").array(len(list), func(i int) { jsonDifference(j, t, &list[i]) })
				}
			})
		})
		j.key("runnerChecks").array(len(t.Chain.Runner), func(i int) {
			c := &t.Chain.Runner[i]
			j.object(func() {
				j.key("id").text(c.ID)
				j.key("link").text(string(c.Link))
				j.key("state").text(string(c.State))
				j.key("expected").maybe(c.Expected)
				j.key("actual").maybe(c.Actual)
			})
		})
	})
}

// jsonPart writes one session of a trial over several; lost says why nothing of it
// could be read.
func jsonPart(j *writer, p *predicate.Part) {
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
func jsonRecords(j *writer, t *grade.Trial, handles []int64) {
	if t == nil || len(t.Parts) == 0 {
		j.key("records").nums(handles)
		return
	}
	seqs := make([]int64, len(handles))
	recordings, servers := make([]string, len(handles)), make([]string, len(handles))
	for i, h := range handles {
		p, seq := t.Place(h)
		if seqs[i] = seq; p != nil {
			recordings[i], servers[i] = p.Recording, p.Server
		}
	}
	j.key("records").nums(seqs)
	j.key("recordings").texts(recordings)
	j.key("servers").texts(servers)
}

// jsonChain writes the members links and firstBreak. t is nil where there is no trial.
func jsonChain(j *writer, t *grade.Trial, r *chain.Result) {
	j.key("links").array(len(r.Links), func(i int) {
		l := &r.Links[i]
		j.object(func() {
			j.key("link").text(string(l.Link))
			j.key("state").text(string(l.State))
			j.key("reason").text(string(l.Reason))
			j.key("evidence").object(func() {
				jsonRecords(j, t, l.Evidence.Records)
				j.key("text").text(l.Evidence.Text)
				if l.Evidence.SameCallAs != "" {
					j.key("sameCallAs").text(l.Evidence.SameCallAs)
				}
			})
		})
	})
	j.key("firstBreak").maybe(string(r.FirstBreak))
}

// ChainJSON returns a session's chain as a JSON object with the members links,
// firstBreak and failureCategory, for reports that embed one.
func ChainJSON(r *chain.Result) []byte {
	j := &writer{}
	j.object(func() {
		jsonChain(j, nil, r)
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
