package report

import (
	"io"
	"strconv"
)

// CompareJSON writes a comparison by its schema.
func CompareJSON(w io.Writer, c *Comparison, _ Options) error {
	j := &writer{w: w}
	j.object(func() {
		j.key("schema").text(CompareSchema)
		jsonSide(j, "base", &c.Base)
		jsonSide(j, "new", &c.Compare)
		j.key("analyzerChanged").flag(c.AnalyzerChanged)
		j.key("suiteChanged").flag(c.SuiteChanged)
		j.key("servers").array(len(c.Servers), func(i int) {
			s := &c.Servers[i]
			j.object(func() {
				j.key("server").text(s.Server)
				for _, side := range []struct {
					name               string
					versions, catalogs []string
				}{{"base", s.BaseVersions, s.BaseCatalogs}, {"new", s.CompareVersions, s.CompareCatalogs}} {
					j.key(side.name).object(func() {
						j.key("versions").texts(side.versions)
						j.key("catalogs").texts(side.catalogs)
					})
				}
			})
		})
		j.key("counts").object(func() {
			for _, s := range Statuses {
				j.key(string(s)).num(int64(c.Count(s)))
			}
		})
		j.key("cases").array(len(c.Cases), func(i int) {
			jsonChange(j, &c.Cases[i])
			if len(j.out) > flushSize {
				j.flush()
			}
		})
		j.key("flaky").object(func() {
			var base, now []string
			for i := range c.Cases {
				k := &c.Cases[i]
				if k.BaseFlaky {
					base = append(base, k.ID)
				}
				if k.CompareFlaky {
					now = append(now, k.ID)
				}
			}
			j.key("base").texts(sortedTexts(base))
			j.key("new").texts(sortedTexts(now))
		})
		j.key("deltas").object(func() {
			jsonDelta(j, "passRate", c.PassRate)
			jsonDelta(j, "calls", c.Calls)
			jsonDelta(j, "tokens", c.Tokens)
			jsonDelta(j, "cost", c.Cost)
			jsonDelta(j, "durationMs", c.Duration)
			jsonDelta(j, "p50Ms", c.P50)
			jsonDelta(j, "p95Ms", c.P95)
			jsonDelta(j, "resultBytes", c.ResultBytes)
		})
		j.key("population").texts(c.Population)
		j.key("gates").array(len(c.Gates), func(i int) {
			g := &c.Gates[i]
			j.object(func() {
				j.key("name").text(g.Name)
				j.key("status").text(string(g.Status))
				j.key("text").text(g.Text)
				j.key("limit").float(g.Limit)
				j.key("actual").float(g.Actual)
				j.key("low").float(g.Low)
				j.key("high").float(g.High)
			})
		})
		j.key("verdict").text(string(c.Word))
	})
	j.out = append(j.out, '\n')
	j.flush()
	return j.err
}

func jsonSide(j *writer, name string, s *Side) {
	j.key(name).object(func() {
		j.key("suite").object(func() {
			j.key("id").text(s.SuiteID)
			j.key("hash").text(s.SuiteHash)
		})
		j.key("analyzerVersion").num(int64(s.AnalyzerVersion))
		j.key("verdict").text(string(s.Word))
	})
}

func jsonChange(j *writer, c *CaseChange) {
	j.object(func() {
		j.key("id").text(c.ID)
		j.key("title").maybe(c.Title)
		j.key("status").text(string(c.Status))
		j.key("base").text(string(c.Base))
		j.key("new").text(string(c.Compare))
		j.key("counted").flag(c.Counted)
		j.key("configChanged").flag(c.ConfigChanged)
		j.key("breakMoved").flag(c.BreakMoved())
		jsonBreak(j, "baseBreak", c.BaseBreak)
		jsonBreak(j, "newBreak", c.CompareBreak)
		j.key("trials").object(func() {
			j.key("base").num(int64(c.BaseTrials))
			j.key("new").num(int64(c.CompareTrials))
		})
		j.key("deltas").object(func() {
			jsonDelta(j, "passRate", c.PassRate)
			jsonDelta(j, "calls", c.Calls)
			jsonDelta(j, "tokens", c.Tokens)
			jsonDelta(j, "cost", c.Cost)
			jsonDelta(j, "durationMs", c.Duration)
			jsonDelta(j, "p50Ms", c.P50)
			jsonDelta(j, "p95Ms", c.P95)
			jsonDelta(j, "resultBytes", c.ResultBytes)
		})
		jsonPlace(j, c.At)
	})
}

func jsonDelta(j *writer, name string, d Delta) {
	delta, percent := d.Of()
	j.key(name).object(func() {
		j.key("base").float(d.Base)
		j.key("new").float(d.Compare)
		j.key("delta").float(delta)
		j.key("percentDelta").float(percent)
	})
}

// float writes a figure with six decimals, null for none: digits beyond are noise.
func (j *writer) float(x *float64) {
	if x == nil {
		j.raw("null")
		return
	}
	s := strconv.FormatFloat(*x, 'f', 6, 64)
	if s == "-0.000000" {
		s = s[1:]
	}
	j.raw(s)
}
