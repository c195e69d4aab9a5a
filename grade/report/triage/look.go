package triage

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Bounds of what is read and kept of recordings.
const (
	maxCalls   = 2000    // of a session
	maxResult  = 8 << 10 // bytes of a result's text that are kept
	maxFetch   = 1 << 20 // bytes of a value that is read at all
	maxTools   = 1000    // of a catalog
	maxPerTool = 3       // places that are named of one fault of a tool
	maxErring  = 20      // tools of a session whose errors are judged
)

// Bounds of what is large and slow where no check says so.
const (
	largeResult = 100_000        // bytes
	slowCall    = 10_000_000_000 // nanoseconds
)

// seen is what a recording shows of one session.
type seen struct {
	recording, session, server string
	list                       *shelf
	calls                      []*callSeen // empty unless a spot is about it
	moreCalls                  int
}

// shelf is a list of tools, as one server gave it.
type shelf struct {
	tools  []*toolSeen
	byName map[string]*toolSeen
	whole  bool
	why    string // what keeps it from being whole
}

func (l *shelf) find(name string) *toolSeen {
	if l == nil {
		return nil
	}
	return l.byName[name]
}

// names are those of all tools.
func (l *shelf) names() []string {
	var out []string
	for _, t := range l.tools {
		out = append(out, t.name)
	}
	return out
}

// callSeen is one call.
type callSeen struct {
	seq       int64
	recording string
	tool      string
	entry     *toolSeen
	state     session.CallState
	errText   string
	code      int64
	wrong     []violation
	args      *value.Value
	text      string // of the result
}

type violation struct{ class, path, message string }

// toolStats is what all sessions together show of one tool.
type toolStats struct {
	entry                *toolSeen
	server, name         string
	calls                int
	nameless             []string // what toolErrorNamesInput says, a session each
	pages                []string
	empty                int
	largest, slowest     int64
	namelessAt, emptyAt  []report.Record
	pageAt               []report.Record
	largestAt, slowestAt report.Record
}

type toolKey struct{ server, name string }

// looker reads recordings, one at a time.
type looker struct {
	sessions map[sessionKey]*seen
	shelves  map[[32]byte]*shelf
	stats    map[toolKey]*toolStats
	schemas  *predicate.Schemas
	unread   []string
	missing  int // recordings that are not at hand
}

type sessionKey struct{ recording, session string }

// look reads the recordings that the trials name, in the order of their ids; of the
// sessions in wanted also what was called.
func look(src report.Source, graded, wanted map[sessionKey]bool) *looker {
	l := &looker{sessions: map[sessionKey]*seen{}, shelves: map[[32]byte]*shelf{}, stats: map[toolKey]*toolStats{}}
	ids := map[string]bool{}
	for k := range graded {
		ids[k.recording] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		rec, done, err := src.Recording(id)
		switch {
		case err != nil:
			l.missing++
			if len(l.unread) < maxPerTool {
				l.unread = append(l.unread, oneLine(err.Error()))
			}
			continue
		case rec == nil:
			l.missing++
			continue
		}
		l.schemas = &predicate.Schemas{} // whose memory must not grow with the recordings
		for _, s := range rec.Sessions {
			if k := (sessionKey{id, s.ID}); graded[k] {
				l.sessions[k] = l.session(rec, s, wanted[k])
			}
		}
		if done != nil {
			done()
		}
	}
	return l
}

func serverOf(rec *report.Recording, s *session.Session) string {
	if n := rec.Header.Labels[grade.LabelServer]; n != "" {
		return n
	}
	return s.Server.Name
}

func (l *looker) session(rec *report.Recording, s *session.Session, whole bool) *seen {
	out := &seen{recording: rec.Header.ID, session: s.ID, server: serverOf(rec, s)}
	out.list = l.shelf(out, s)
	ev := grade.Evidence(s, rec.Sessions, l.schemas)
	erring := map[string]bool{}
	limits := false
	for i, c := range s.Calls {
		st := l.statsOf(out, c)
		st.calls++
		at := report.Record{Seq: c.Seq, Recording: out.recording}
		if ns, ok := c.DurationNs(); ok && ns > st.slowest {
			st.slowest, st.slowestAt = ns, at
		} else if d := c.CancelledAt - c.At - c.WaitedNs; !ok && c.State == session.CallClientTimeout && d > st.slowest {
			st.slowest, st.slowestAt = d, at
		}
		if n := c.Result.Len(); c.State == session.CallResult && n > st.largest {
			st.largest, st.largestAt = n, at
		}
		if c.State == session.CallResult && isEmpty(c.Result) {
			if st.empty++; len(st.emptyAt) < maxPerTool {
				st.emptyAt = append(st.emptyAt, at)
			}
		}
		if refused(c) && st.entry != nil && len(erring) < maxErring {
			erring[c.Tool] = true
		}
		limits = limits || c.Arguments.Len() > 0
		if !whole {
			continue
		}
		if i >= maxCalls {
			out.moreCalls++
			continue
		}
		out.calls = append(out.calls, l.call(out, ev, i, c))
	}
	for _, name := range slices.Sorted(maps.Keys(erring)) {
		if o := observe("toolErrorNamesInput", name, ev); o.Result == predicate.Fail {
			st := l.stats[toolKey{out.server, name}]
			if st.nameless = append(st.nameless, oneLine(o.Reason)); len(st.namelessAt) < maxPerTool {
				st.namelessAt = append(st.namelessAt, recordsOf(out, o.Records, 1)...)
			}
		}
	}
	if limits && observe("fullPageHasContinuation", "", ev).Result == predicate.Fail {
		for _, st := range l.toolsOf(out, s) {
			if o := observe("fullPageHasContinuation", st.name, ev); o.Result == predicate.Fail {
				if st.pages = append(st.pages, oneLine(o.Reason)); len(st.pageAt) < maxPerTool {
					st.pageAt = append(st.pageAt, recordsOf(out, o.Records, 1)...)
				}
			}
		}
	}
	return out
}

// refused tells of a call whose arguments may be what the server found wrong.
func refused(c *session.Call) bool {
	return c.State == session.CallToolError || c.State == session.CallProtocolError && c.Error != nil && c.Error.Code == predicate.CodeInvalidParams
}

// toolsOf are the tools that a session called, by name.
func (l *looker) toolsOf(of *seen, s *session.Session) []*toolStats {
	called := map[string]*toolStats{}
	for _, c := range s.Calls {
		called[c.Tool] = l.stats[toolKey{of.server, c.Tool}]
	}
	out := slices.Collect(maps.Values(called))
	slices.SortFunc(out, func(a, b *toolStats) int { return cmp.Compare(a.name, b.name) })
	return out[:min(len(out), maxErring)]
}

// observe judges one observation as a suite would.
func observe(kind, tool string, ev *predicate.Evidence) predicate.Outcome {
	var fields []value.Member
	if tool != "" {
		fields = append(fields, value.M("toolName", value.Text(tool)))
	}
	c, err := predicate.New(kind, predicate.Advisory, fields...)
	if err != nil {
		panic(err) // the kinds are those of package predicate
	}
	return predicate.Evaluate(c, ev)
}

// isDeprecated is the rule of noDeprecatedToolExposed on one tool.
func isDeprecated(t *catalog.Tool) bool {
	lower := strings.ToLower(t.Description)
	if !strings.Contains(lower, "deprecated") && !strings.Contains(lower, "instead") { // each form has one of the two
		return false
	}
	ev := &predicate.Evidence{Capture: session.Capture{ToolDeclarations: session.Complete}, Declarations: []predicate.Declaration{{Tool: t}}, Turn: -1}
	return observe("noDeprecatedToolExposed", "", ev).Result == predicate.Fail
}

func recordsOf(of *seen, seqs []int64, most int) []report.Record {
	var out []report.Record
	for _, s := range seqs[:min(len(seqs), most)] {
		out = append(out, report.Record{Seq: s, Recording: of.recording})
	}
	return out
}

// shelf is the session's list, shared by sessions that have the same.
func (l *looker) shelf(of *seen, s *session.Session) *shelf {
	list := s.DeclaredCatalog()
	if list == nil {
		return nil
	}
	h := sha256.New()
	h.Write([]byte(of.server + "\x00" + string(list.State)))
	for i := range list.Tools {
		h.Write([]byte{0})
		h.Write(list.Tools[i].Raw)
	}
	key := [32]byte(h.Sum(nil))
	if known := l.shelves[key]; known != nil {
		return known
	}
	out := &shelf{byName: map[string]*toolSeen{}, whole: list.State == catalog.Complete || list.State == catalog.Racy, why: oneLine(list.Why)}
	for i := range list.Tools[:min(len(list.Tools), maxTools)] {
		t := seeTool(of.server, s.Server.Version, of.recording, &list.Tools[i])
		out.tools = append(out.tools, t)
		if out.byName[t.name] == nil {
			out.byName[t.name] = t
		}
		l.statsFor(toolKey{of.server, t.name}).entry = t
	}
	if n := len(list.Tools); n > maxTools {
		out.whole, out.why = false, "it has more tools than are looked at"
	}
	l.shelves[key] = out
	return out
}

func (l *looker) statsFor(k toolKey) *toolStats {
	st := l.stats[k]
	if st == nil {
		st = &toolStats{server: k.server, name: k.name}
		l.stats[k] = st
	}
	return st
}

func (l *looker) statsOf(of *seen, c *session.Call) *toolStats {
	st := l.statsFor(toolKey{of.server, c.Tool})
	if t := of.list.find(c.Tool); t != nil {
		st.entry = t
	}
	return st
}

func (l *looker) call(of *seen, ev *predicate.Evidence, i int, c *session.Call) *callSeen {
	out := &callSeen{seq: c.Seq, recording: of.recording, tool: c.Tool, entry: of.list.find(c.Tool), state: c.State, errText: c.ErrorText}
	if c.Error != nil {
		out.errText, out.code = cutBytes(c.Error.Message, maxResult), c.Error.Code
	}
	if list, err := ev.Violations(i); err == nil {
		for k := range list[:min(len(list), 20)] {
			out.wrong = append(out.wrong, violation{string(list[k].Class), list[k].Path, list[k].Message})
		}
	}
	if b := small(c.Arguments, 64<<10); b != nil {
		if v, err := predicate.ParseArguments(b); err == nil {
			out.args = v
		}
	}
	if b := small(c.Result, maxFetch); b != nil {
		if v, err := predicate.ParseResult(b); err == nil {
			out.text = cutBytes(resultText(v), maxResult)
		}
	}
	return out
}

// small are the bytes of a value that is at most so long; nil: it is not, or not there.
func small(v session.Value, most int64) []byte {
	if v.IsZero() || v.TooDeep() || v.Len() > most {
		return nil
	}
	b, err := v.Bytes()
	if err != nil {
		return nil
	}
	return b
}

// resultText is the text of a result: its text blocks, and its structured content.
func resultText(v *value.Value) string {
	var out []string
	if content, ok := v.Get("content"); ok && content.Kind == value.Array {
		for i := range content.Arr {
			if t, ok := content.Arr[i].Get("text"); ok && t.Kind == value.String {
				out = append(out, t.Str)
			}
		}
	}
	if s, ok := v.Get("structuredContent"); ok {
		out = append(out, string(value.Plain(nil, s)))
	}
	return strings.Join(out, "\n")
}

// isEmpty tells of a result without error that says nothing: no content, blank text
// alone, or JSON that is null, or an empty list, or an object of nothing but empty lists.
func isEmpty(r session.Value) bool {
	b := small(r, 4<<10)
	if b == nil {
		return false
	}
	v, err := predicate.ParseResult(b)
	if err != nil || v.Kind != value.Object {
		return false
	}
	if s, ok := v.Get("structuredContent"); ok && s.Kind != value.Null {
		return holdsNothing(s)
	}
	content, ok := v.Get("content")
	if !ok || content.Kind != value.Array {
		return false
	}
	for i := range content.Arr {
		t, ok := content.Arr[i].Get("text")
		if !ok || t.Kind != value.String {
			return false // an image, a link
		}
		if strings.TrimSpace(t.Str) == "" {
			continue
		}
		payload, err := predicate.ParseResultText(t.Str)
		if err != nil || payload == nil || !holdsNothing(payload) {
			return false
		}
	}
	return true
}

func holdsNothing(v *value.Value) bool {
	switch v.Kind {
	case value.Null:
		return true
	case value.Array:
		return len(v.Arr) == 0
	case value.Object:
		for i := range v.Obj {
			if m := &v.Obj[i].Value; m.Kind != value.Array || len(m.Arr) > 0 {
				return false
			}
		}
		return true
	}
	return false
}
