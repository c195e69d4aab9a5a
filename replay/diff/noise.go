package diff

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// The matchers: kinds of values that differ between any two runs.
const (
	// MatchUUID: two random or time-based UUIDs (versions 1, 4, 6, 7) that were not in
	// the call's arguments, each always in the place of the same other one. A server
	// that hands out the wrong one of two ids is found.
	MatchUUID = "uuid"
	// MatchClock: two times, both of them a moment of their own session in the 10 minutes
	// before the answer, or both as far from their own call. A time that is data (an appointment, a due date), and a
	// clock in another time zone, are found.
	MatchClock = "clock"
	// MatchTime: any two times of day with a date.
	MatchTime = "time"
	// MatchDuration: any two durations ("12 ms", "1m2s", "PT3S", or a number in a member
	// that is called durationMs, elapsed, took …).
	MatchDuration = "duration"
)

// Matchers are all of them; DefaultMatchers those that are on unless told otherwise:
// they compare with what is on record, so that no value is let pass for its looks.
var (
	Matchers        = []string{MatchUUID, MatchClock, MatchTime, MatchDuration}
	DefaultMatchers = []string{MatchUUID, MatchClock}
)

// What else is not counted as a difference, as Result.Noise names it.
const (
	noiseTolerance = "tolerance"
	noiseIgnored   = "ignored"
	noiseLearned   = "learned"
	noiseSame      = "substituted"
)

// Tolerance is how far two numbers may be apart. nil: not at all.
type Tolerance struct {
	by       *big.Rat
	relative bool // of the first number
}

// ParseTolerance reads "0.5" (as far apart) or "2%" (of the recorded number).
func ParseTolerance(s string) (*Tolerance, error) {
	text, relative := strings.CutSuffix(s, "%")
	by := number(text)
	if by == nil || by.Sign() < 0 {
		return nil, fmt.Errorf("%q is no tolerance: write a number that is not negative, or a percentage such as 2%%", s)
	}
	if relative {
		by.Quo(by, big.NewRat(100, 1))
	}
	return &Tolerance{by, relative}, nil
}

// number reads a JSON number exactly; nil when it is none, or one that is not worth
// the arithmetic (hostile exponents).
func number(s string) *big.Rat {
	if sp, err := jsonscan.Skip([]byte(s), 0); s == "" || len(s) > 100 || err != nil || sp.End != len(s) || kind([]byte(s)) != '0' {
		return nil
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 5 {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

func (t *Tolerance) near(a, b string) bool {
	if t == nil {
		return false
	}
	x, y := number(a), number(b)
	if x == nil || y == nil {
		return false
	}
	limit := t.by
	if t.relative {
		limit = new(big.Rat).Mul(t.by, new(big.Rat).Abs(x))
	}
	d := y.Sub(y, x)
	return d.Abs(d).Cmp(limit) <= 0
}

// The forms of values, as they stand in texts.
const (
	uuidForm     = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`
	isoForm      = `\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?`
	httpForm     = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d?\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})`
	cForm        = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d(?: \d{4})? \d\d:\d\d:\d\d(?: GMT[+-]\d{4})?(?: \d{4})?`
	dayForm      = `\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AaPp][Mm]\b)?`
	epochForm    = `\b\d{10}(?:\d{3}){0,3}(?:\.\d+)?\b`
	durationForm = `\bPT(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?\b|\b(?:\d+(?:\.\d+)? ?(?:ns|us|µs|ms|milliseconds?|minutes?|min|seconds?|secs?|hours?|[smh])\b ?)+`
	numberForm   = `-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?`
)

var (
	isUUID     = regexp.MustCompile(`^` + uuidForm + `$`)
	isTime     = regexp.MustCompile(`^(?:` + isoForm + `|` + httpForm + `|` + cForm + `)$`)
	isEpoch    = regexp.MustCompile(`^\d{10}(?:\d{3}){0,3}(?:\.\d+)?$`)
	isDay      = regexp.MustCompile(`^` + dayForm + `$`)
	isDuration = regexp.MustCompile(`^(?:` + durationForm + `)$`)
	// durationName is a member that holds a duration as a number.
	durationName = regexp.MustCompile(`(?i)^(?:.*[_-])?(?:duration|elapsed|took|latency|runtime|uptime|responseTime|response_time)(?:[_-]?(?:in[_-]?)?(?:n|u|m)?s|[_-]?(?:time|seconds?|secs?|millis|milliseconds|micros|nanos|minutes?))?$|(?:Duration|Elapsed|Latency)(?:Ms|Sec|Secs|Seconds|Ns|Us)?$`)
)

// maxTokens is how long texts may be to be looked at for values in them, in bytes.
const maxTokens = 1 << 20

// matchers is what of the values that differ counts for nothing.
type matchers struct {
	on        map[string]bool
	tolerance *Tolerance
	tokens    *regexp.Regexp // the forms of values within texts; nil: none
}

func newMatchers(names []string, tolerance *Tolerance) (*matchers, error) {
	m := &matchers{on: map[string]bool{}, tolerance: tolerance}
	for _, n := range names {
		if n == "none" {
			if len(names) > 1 {
				return nil, fmt.Errorf("%q stands alone: it turns all matchers off", n)
			}
			continue
		}
		if !slices.Contains(Matchers, n) {
			return nil, fmt.Errorf("%q is no matcher: there are %s, and none", n, strings.Join(Matchers, ", "))
		}
		m.on[n] = true
	}
	var forms []string
	if m.on[MatchUUID] {
		forms = append(forms, uuidForm)
	}
	if m.on[MatchClock] || m.on[MatchTime] {
		forms = append(forms, isoForm, httpForm, cForm)
	}
	if m.on[MatchClock] {
		forms = append(forms, dayForm)
	}
	if m.on[MatchDuration] {
		forms = append(forms, durationForm)
	}
	if m.on[MatchClock] || m.on[MatchTime] {
		forms = append(forms, epochForm)
	}
	if tolerance != nil {
		forms = append(forms, numberForm)
	}
	if forms != nil {
		m.tokens = regexp.MustCompile(strings.Join(forms, "|"))
	}
	return m, nil
}

// pairing is what a pair of sessions has shown so far, for the matchers.
type pairing struct {
	uuids [2]map[string]string // each side's, and what stands for it on the other
	same  map[string]string    // values of A, and what the caller says stands for them in B
	// renamed puts those in the place of the others in a text: at once, since a value may
	// stand for another one of the list.
	renamed *strings.Replacer
	span    [2]moments // of the sessions
}

// moments are two times by the wall clock, in nanoseconds since 1970; ok: known.
type moments struct {
	first, last int64
	ok          bool
}

// maxUUIDs bounds what is remembered of a pair of sessions; later ones are compared
// as they are.
const maxUUIDs = 100_000

// calling is the call that a value comes from, on both sides.
type calling struct {
	*pairing
	answer [2]moments
	// sent tells whether a text is in the first side's arguments, in any case.
	sent func(text string) bool
}

// slack is how far clocks of server and recorder may be apart, and how unlike two
// runs may be.
const slack = 10 * time.Second

// recent is how long before its call a moment of the session may be: less than clocks
// of different zones are apart.
const recent = 10 * time.Minute

// scalar tells whether two values that differ count for nothing, and why. They are
// JSON texts of the same type.
func (m *matchers) scalar(c *calling, name string, a, b []byte) (why []string, ok bool) {
	if kind(a) == '0' {
		x, y := string(a), string(b)
		if c.same[x] == y && y != "" {
			return []string{noiseSame}, true
		}
		if w := m.token(c, name, x, y); w != "" {
			return []string{w}, true
		}
		return nil, false
	}
	if kind(a) != '"' {
		return nil, false
	}
	x, _ := jsonscan.String(a)
	y, _ := jsonscan.String(b)
	return m.text(c, name, x, y)
}

func (m *matchers) text(c *calling, name, x, y string) (why []string, ok bool) {
	if c.same[x] == y && y != "" {
		return []string{noiseSame}, true
	}
	if len(x) > maxTokens || len(y) > maxTokens {
		return nil, false
	}
	if name == "blob" || name == "data" {
		// Bytes in base64 (resources, images): they may be text.
		p, err := base64.StdEncoding.DecodeString(x)
		q, err2 := base64.StdEncoding.DecodeString(y)
		if err == nil && err2 == nil && utf8.Valid(p) && utf8.Valid(q) {
			if why, ok := m.text(c, "", string(p), string(q)); ok {
				return why, true
			}
		}
	}
	if c.renamed != nil {
		if z := c.renamed.Replace(x); z != x {
			why = append(why, noiseSame)
			if x = z; x == y {
				return why, true
			}
		}
	}
	if m.tokens == nil {
		return nil, false
	}
	p, q := m.tokens.FindAllStringIndex(x, -1), m.tokens.FindAllStringIndex(y, -1)
	if len(p) != len(q) || len(p) == 0 {
		return nil, false
	}
	// First all that stands between the values must be the same: what a uuid stands
	// for is remembered.
	i, j := 0, 0
	for n := range p {
		if x[i:p[n][0]] != y[j:q[n][0]] {
			return nil, false
		}
		i, j = p[n][1], q[n][1]
	}
	if x[i:] != y[j:] {
		return nil, false
	}
	for n := range p {
		s, t := x[p[n][0]:p[n][1]], y[q[n][0]:q[n][1]]
		if s == t {
			continue
		}
		w := m.token(c, name, s, t)
		if w == "" {
			return nil, false
		}
		why = append(why, w)
	}
	return why, true
}

// token says what two values that differ are, if that counts for nothing.
func (m *matchers) token(c *calling, name, s, t string) string {
	switch {
	case m.on[MatchUUID] && isUUID.MatchString(s) && isUUID.MatchString(t):
		if c.uuid(strings.ToLower(s), strings.ToLower(t)) {
			return MatchUUID
		}
		return ""
	case (m.on[MatchClock] || m.on[MatchTime]) && timed(s) && timed(t):
		x, okX := instant(s)
		y, okY := instant(t)
		switch {
		case !okX || !okY:
		case m.on[MatchClock] && c.clock(x, y):
			return MatchClock
		case m.on[MatchTime] && isTime.MatchString(s) == isTime.MatchString(t) && plausible(x) && plausible(y):
			return MatchTime
		}
	}
	if m.on[MatchClock] && isDay.MatchString(s) && isDay.MatchString(t) && c.day(s, t) {
		return MatchClock
	}
	if m.on[MatchDuration] {
		s, t := strings.TrimSpace(s), strings.TrimSpace(t)
		if isDuration.MatchString(s) && isDuration.MatchString(t) && s != "PT" && t != "PT" {
			return MatchDuration
		}
		if durationName.MatchString(name) && number(s) != nil && number(t) != nil {
			return MatchDuration
		}
	}
	if m.tolerance.near(s, t) {
		return noiseTolerance
	}
	return ""
}

// uuid takes two UUIDs that stand for each other; false when they do not.
func (c *calling) uuid(s, t string) bool {
	if !minted(s) || !minted(t) || c.sent(s) {
		return false
	}
	x, known := c.uuids[0][s]
	y, knownY := c.uuids[1][t]
	if known || knownY {
		return x == t && y == s
	}
	if len(c.uuids[0]) >= maxUUIDs {
		return false
	}
	c.uuids[0][s], c.uuids[1][t] = t, s
	return true
}

// minted tells whether a UUID is of a version that is another one each time: 3, 5 and
// 8 are made from data, and the nil and maximum ones are constants.
func minted(u string) bool {
	return strings.IndexByte("1467", u[14]) >= 0 && strings.IndexByte("89ab", u[19]) >= 0
}

func timed(s string) bool { return isTime.MatchString(s) || isEpoch.MatchString(s) }

// layouts are how times are read, the zone aside.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "Mon, 02 Jan 2006 15:04:05", "Mon, 2 Jan 2006 15:04:05", "Mon 2 Jan 2006 15:04:05",
	"Mon Jan _2 15:04:05 2006", "Mon Jan _2 2006 15:04:05", "Mon Jan 02 2006 15:04:05"}

var zones = []string{"", "Z07:00", "Z0700", " MST", " -0700", " GMT-0700"}

// instant reads a time, in nanoseconds since 1970. One without a zone is read as UTC.
func instant(s string) (int64, bool) {
	if isEpoch.MatchString(s) {
		whole, fraction, _ := strings.Cut(s, ".")
		n := number(whole)
		if n == nil {
			return 0, false
		}
		for d := len(whole); d < 19; d += 3 {
			n.Mul(n, big.NewRat(1000, 1))
			if d == len(whole) && fraction != "" && len(fraction) < 20 {
				f := number("0." + fraction)
				n.Add(n, f.Mul(f, big.NewRat(1000, 1)))
			}
		}
		i := new(big.Int).Quo(n.Num(), n.Denom())
		return i.Int64(), i.IsInt64()
	}
	if len(s) > 10 && s[4] == '-' {
		s = s[:10] + "T" + strings.ToUpper(strings.Replace(s[11:], ",", ".", 1))
	}
	for _, l := range layouts {
		for _, z := range zones {
			if t, err := time.Parse(l+z, s); err == nil {
				return t.UnixNano(), true
			}
		}
	}
	return 0, false
}

// plausible tells whether a time is in the years 1990 to 2100: other numbers of ten
// digits are no times.
func plausible(ns int64) bool {
	return ns > 631_152_000e9 && ns < 4_102_444_800e9
}

// clock tells whether two times are both a moment of their own session, or equally far
// from their own call.
func (c *calling) clock(x, y int64) bool {
	during := func(side int, at int64) bool {
		s, a := c.span[side], c.answer[side]
		return s.ok && a.ok && at >= max(s.first, a.last-int64(recent))-int64(slack) && at <= a.last+int64(slack)
	}
	if during(0, x) && during(1, y) {
		return true
	}
	a, b := c.answer[0], c.answer[1]
	if !a.ok || !b.ok || !plausible(x) || !plausible(y) {
		return false
	}
	d := (x - a.last) - (y - b.last)
	return d >= -int64(slack) && d <= int64(slack)
}

// CheckMatchers tells what is wrong with a list of matchers.
func CheckMatchers(names []string) error {
	_, err := newMatchers(names, nil)
	return err
}

// day tells whether two times of day, without a date, are equally far from their own
// call, whatever the zone of the machine.
func (c *calling) day(s, t string) bool {
	a, b := c.answer[0], c.answer[1]
	x, okX := timeOfDay(s)
	y, okY := timeOfDay(t)
	if !okX || !okY || !a.ok || !b.ok {
		return false
	}
	const day = int64(24 * time.Hour)
	d := ((x-a.last%day)-(y-b.last%day))%day + day
	d %= day
	return d <= int64(slack) || d >= day-int64(slack)
}

// timeOfDay reads "15:04:05" or "3:04:05 PM", in nanoseconds since midnight.
func timeOfDay(s string) (int64, bool) {
	s = strings.ToUpper(strings.ReplaceAll(strings.Replace(s, ",", ".", 1), " ", ""))
	for _, l := range []string{"15:04:05", "3:04:05PM"} {
		if t, err := time.Parse(l, s); err == nil {
			return t.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds(), true
		}
	}
	return 0, false
}
