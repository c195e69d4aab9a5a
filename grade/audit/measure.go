package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/internal/schema"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
	"github.com/sixlink/sixlink/record/session/jsonscan"
	"github.com/sixlink/sixlink/record/visible"
)

// Recording is a recording as this package takes it.
type Recording struct {
	grade.Recording
	// State is sealed, live or torn, Size that of its files in bytes.
	State string
	Size  int64
}

// Meter measures recordings. It may be used by several goroutines.
type Meter struct {
	filter  Filter
	grader  *grade.Grader
	builtIn bool
	pool    sync.Pool // of *predicate.Schemas
	hashes  sync.Map  // of tool arrays, by the hash of their bytes
	known   hashCount
}

type hashCount struct {
	sync.Mutex
	n int
}

// NewMeter makes a meter that grades by the suite.
func NewMeter(suite *grade.Suite, f Filter) (*Meter, error) {
	g, err := grade.NewGrader(suite, grade.Options{})
	if err != nil {
		return nil, err
	}
	return &Meter{filter: f, grader: g, builtIn: suite.ID == grade.BuiltInID}, nil
}

// Measure gives the rows of one recording. Nothing of r is kept.
func (m *Meter) Measure(r *Recording) *Measured {
	out := &Measured{Recording: visible.UTF8(r.ID), Path: r.Path, State: r.State, Size: r.Size, Gaps: int64(r.Gaps)}
	switch {
	case r.Unreadable != "":
		out.Skipped, out.Detail = SkipUnreadable, predicate.Sentence(r.Unreadable)
		return out
	case len(r.Sessions) == 0:
		out.Skipped, out.Detail = SkipNoSession, "no message in it"
		return out
	}
	cache, _ := m.pool.Get().(*predicate.Schemas)
	if cache == nil {
		cache = &predicate.Schemas{}
	}
	defer m.pool.Put(cache)
	trials := m.trials(r)
	for _, s := range r.Sessions {
		m.session(out, r, s, trials, cache)
	}
	return out
}

// outcome is a session's trial, or why it has none.
type outcome struct {
	trial *grade.Graded
	why   string
}

// WhyPart is the reason of a session that is a part of a trial over several
// recordings (label trial), of which a suite cannot judge one alone.
const WhyPart = "partOfTrial"

func (m *Meter) trials(r *Recording) map[string]outcome {
	out := map[string]outcome{}
	if r.Labels[grade.LabelTrial] != "" && !m.builtIn {
		for _, s := range r.Sessions {
			out[s.ID] = outcome{why: WhyPart}
		}
		return out
	}
	trials, skipped := m.grader.Trials(&r.Recording)
	for i := range trials {
		out[trials[i].Session] = outcome{trial: &trials[i]}
	}
	for _, s := range skipped {
		out[s.Session] = outcome{why: s.Why}
	}
	return out
}

func (m *Meter) session(out *Measured, r *Recording, s *session.Session, trials map[string]outcome, cache *predicate.Schemas) {
	row := sessionRow(out, r, s)
	switch takes, noTime := m.filter.session(&row, s); {
	case noTime:
		out.NoTime++
		out.LeftOut++
		return
	case !takes:
		out.LeftOut++
		return
	}
	o := trials[s.ID]
	row.NotGraded = o.why
	if o.trial != nil {
		row.grade(o.trial)
		m.rows(out, &row, o.trial)
	}
	first := len(out.Calls)
	m.calls(out, &row, r, s, cache)
	if len(m.filter.Tools) > 0 {
		row.Calls = int64(len(out.Calls) - first)
	}
	for i, l := range s.Lists {
		if l.State != catalog.Complete && l.State != catalog.Racy {
			continue
		}
		c, ok := m.list(&row, l, i)
		if !ok {
			out.Unkept++
		} else if !slices.Contains(row.Catalogs, c.Hash) { // hosts list again and again
			out.Catalogs = append(out.Catalogs, c)
			row.Catalogs = append(row.Catalogs, c.Hash)
		}
	}
	out.Sessions = append(out.Sessions, row)
}

func sessionRow(out *Measured, r *Recording, s *session.Session) Session {
	text := visible.UTF8
	row := Session{
		Recording: out.Recording, Session: s.ID, State: r.State, Duration: max(0, s.LastAt-s.FirstAt),
		Era: eraName(s.Era), Transport: s.Transport, Protocol: text(s.ProtocolVersion),
		Host: text(s.Client.Name), HostVersion: text(s.Client.Version),
		Server: text(r.Labels[grade.LabelServer]), ServerVersion: text(s.Server.Version),
		Basis: text(s.Basis), Used: len(s.Calls) > 0, Calls: int64(len(s.Calls)), Capture: s.Capture,
		Gaps: int64(len(s.Gaps)), Torn: s.Torn, EndedBy: s.End.First,
	}
	if row.Server == "" {
		row.Server = text(s.Server.Name)
	}
	if len(r.Labels) > 0 {
		row.Labels = map[string]string{}
		for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
			row.Labels[text(k)] = text(r.Labels[k])
		}
	}
	if t, _, ok := r.Clock.Between(s.FirstAt); ok && t > 0 {
		row.Start = t
	}
	row.Paging = paging(s)
	for _, l := range s.Lists {
		(*tally)(&row.Lists).add(string(l.State), 1)
	}
	return row
}

func eraName(e session.Era) string {
	if e == session.EraUnknown {
		return "unknown"
	}
	return string(e)
}

// paging says what became of the pages of the lists. That the host stopped is said
// only where it could have gone on: no gap or tear lies in the session, and the last
// page was answered.
func paging(s *session.Session) Paging {
	p := PagingNone
	cut := len(s.Gaps) > 0 || s.Torn || s.Connection.BeganMidway
	for _, l := range s.Lists {
		now := PagingUnknown
		switch l.State {
		case catalog.Complete, catalog.Racy:
			now = PagingWhole
		case catalog.Failed:
			now = PagingFailed
		case catalog.Partial:
			last := l.Pages[len(l.Pages)-1]
			switch {
			case l.Stuck:
				now = PagingStuck
			case cut || l.Pages[0].HasCursor:
			case last.AnswerSeq != 0 && !last.Failed && last.HasNext:
				now = PagingStopped
			default:
				now = PagingFailed
			}
		}
		if slices.Index(pagingOrder, now) > slices.Index(pagingOrder, p) {
			p = now
		}
	}
	return p
}

// pagingOrder: of several lists the last of these words counts.
var pagingOrder = []Paging{PagingNone, PagingWhole, PagingUnknown, PagingFailed, PagingStuck, PagingStopped}

// grade takes what the trial says.
func (row *Session) grade(t *grade.Graded) {
	row.Graded, row.Case, row.Verdict = true, visible.UTF8(t.Case), string(t.Word)
	row.Why = predicate.Sentence(t.Why)
	row.FirstBreak = string(t.Chain.FirstBreak)
	for i, l := range t.Chain.Links {
		row.Links[i], row.Reasons[i] = string(l.State), string(l.Reason)
	}
}

func (m *Meter) rows(out *Measured, s *Session, t *grade.Graded) {
	for i := range t.Rows {
		r := &t.Rows[i]
		out.Rows = append(out.Rows, Row{
			Recording: s.Recording, Session: s.Session, Case: s.Case, Check: r.Name, Link: string(r.Link), Role: string(r.Role), Turn: r.Turn,
			Result: string(r.Result), Reason: predicate.Sentence(r.Reason), Records: r.Records, Start: s.Start, Server: s.Server,
		})
	}
}

// calls measures the calls of a session. Evidence lists its parts in the order of the
// calls, so that one walk meets them all.
func (m *Meter) calls(out *Measured, s *Session, r *Recording, src *session.Session, cache *predicate.Schemas) {
	if len(src.Calls) == 0 {
		return
	}
	ev := grade.Evidence(src, r.Sessions, cache)
	var errors, timings, results, undecided int
	again := repeats{last: map[string]sentCall{}}
	for i, c := range src.Calls {
		row := Call{
			Recording: s.Recording, Session: s.Session, ID: ev.Calls[i].ID(), Seq: c.Seq, Index: c.Index,
			Server: s.Server, ServerVersion: s.ServerVersion, Host: s.Host, HostVersion: s.HostVersion, Era: s.Era, Transport: s.Transport,
			Labels: s.Labels, Case: s.Case, Tool: visible.UTF8(c.Tool), State: string(c.State), Waited: c.WaitedNs,
			Cancelled: ev.Calls[i].Cancelled, Attempts: max(1, len(c.Attempts)),
		}
		if t, _, ok := r.Clock.Between(c.At); ok && t > 0 {
			row.Start = t
		}
		is := func(seq int64, index int) bool { return seq == c.Seq && index == c.Index }
		if errors < len(ev.Errors) && is(ev.Errors[errors].Seq, ev.Errors[errors].Index) {
			e := &ev.Errors[errors]
			row.ErrorKind, row.Code, row.HasCode = string(e.Kind), e.Code, e.HasCode
			errors++
		}
		if undecided < len(ev.Undecided) && is(ev.Undecided[undecided].Seq, ev.Undecided[undecided].Index) {
			row.Undecided = true
			undecided++
		}
		if timings < len(ev.Timings) && is(ev.Timings[timings].Seq, ev.Timings[timings].Index) {
			row.Latency, row.HasLatency = max(0, ev.Timings[timings].Ns), true
			timings++
		}
		var result *predicate.ToolResult
		if results < len(ev.Results) && is(ev.Results[results].Seq, ev.Results[results].Index) {
			result = &ev.Results[results]
			results++
			if n, err := result.Size(); err == nil && n.Complete {
				row.Size, row.HasSize = n.Bytes, true
			}
		}
		again.see(&row, c)
		if !m.filter.tool(row.Tool) {
			continue
		}
		arguments(&row, ev, i)
		resultOf(&row, &ev.Calls[i], result, c, cache)
		out.Calls = append(out.Calls, row)
	}
}

// arguments holds the arguments against the tool's input schema.
func arguments(row *Call, ev *predicate.Evidence, i int) {
	entry := ev.Calls[i].Entry
	if row.Arguments = unlisted(&ev.Calls[i]); row.Arguments != "" {
		return
	}
	if len(entry.InputSchema) == 0 {
		row.Arguments = NoSchema
		return
	}
	found, err := ev.Violations(i)
	row.Arguments, row.ArgumentClasses = judged(found, err)
}

// unlisted says why there is no entry to hold a value against; empty: there is one.
func unlisted(c *predicate.CallEvidence) Checked {
	switch {
	case c.Entry != nil:
		return ""
	case strings.HasPrefix(c.EntryWhy, "the list"):
		return NotListed
	}
	return NoList
}

func judged(found []schema.Violation, err error) (Checked, []string) {
	if err != nil {
		return Unusable, nil
	}
	if len(found) == 0 {
		return Fits, nil
	}
	var classes []string
	for _, v := range found {
		classes = append(classes, string(v.Class))
	}
	slices.Sort(classes)
	return Violates, slices.Compact(classes)
}

// resultOf holds structuredContent against the tool's output schema (wire.md 3.4).
func resultOf(row *Call, call *predicate.CallEvidence, r *predicate.ToolResult, c *session.Call, cache *predicate.Schemas) {
	if row.Result = unlisted(call); row.Result != "" {
		return
	}
	switch entry := call.Entry; {
	case len(entry.OutputSchema) == 0:
		row.Result = NoSchema
	case c.State == session.CallInputRequired || c.State == session.CallTaskHandle:
		row.Result = NotSupported
	case r == nil:
		row.Result = NoResult
	case r.IsError:
		row.Result = IsError
	default:
		content, err := r.Content()
		switch {
		case err != nil || content.Unread != nil:
			row.Result = Unusable
		case content.Structured == nil:
			row.Result, row.ResultClasses = Violates, []string{NoStructured}
		default:
			s, err := cache.Compile(entry.OutputSchema)
			var found []schema.Violation
			if err == nil {
				found, err = s.Validate(content.Structured, content.StructuredLen)
			}
			row.Result, row.ResultClasses = judged(found, err)
		}
	}
}

// repeats knows the calls before, to tell repeats and retries.
type repeats struct {
	before *sentCall
	last   map[string]sentCall // by tool
}

type sentCall struct {
	tool   string
	args   [sha256.Size]byte
	known  bool
	failed bool
}

// maxCompared is how many bytes of arguments are compared with those before.
const maxCompared = 1 << 20

func (r *repeats) see(row *Call, c *session.Call) {
	now := sentCall{tool: c.Tool}
	now.args, now.known = argumentsHash(c)
	switch c.State {
	case session.CallResult, session.CallTaskHandle, session.CallInputRequired, session.CallPending:
	default:
		now.failed = true
	}
	if b := r.before; b != nil && b.tool == c.Tool {
		row.RepeatUnknown = !b.known || !now.known
		row.Repeat = b.known && now.known && b.args == now.args
	}
	if l, is := r.last[c.Tool]; is && l.failed {
		row.RepeatUnknown = row.RepeatUnknown || !l.known || !now.known
		row.Retry = l.known && now.known && l.args == now.args
	}
	r.before, r.last[c.Tool] = &now, now
}

// argumentsHash is equal for equal arguments; none count as {}.
func argumentsHash(c *session.Call) (sum [sha256.Size]byte, ok bool) {
	if c.Arguments.IsZero() {
		return sha256.Sum256([]byte("{}")), true
	}
	if c.TooDeep || c.Arguments.Len() > maxCompared {
		return sum, false
	}
	text, err := c.Arguments.Bytes()
	if err != nil {
		return sum, false
	}
	form, ok := jsonscan.Canonical(text)
	if !ok {
		return sum, false
	}
	return sha256.Sum256(form), true
}

// maxCatalog is how many bytes of tools are kept of one list.
const maxCatalog = 4 << 20

// list makes the row of a whole list that is not too long to be kept.
func (m *Meter) list(s *Session, l *catalog.List, place int) (Catalog, bool) {
	size := 2
	for i := range l.Tools {
		size += len(l.Tools[i].Raw) + 1
	}
	if size > maxCatalog {
		return Catalog{}, false
	}
	tools := make([]byte, 0, size)
	tools = append(tools, '[')
	for i := range l.Tools {
		if i > 0 {
			tools = append(tools, ',')
		}
		tools = append(tools, l.Tools[i].Raw...)
	}
	tools = append(tools, ']')
	hash, raw, ok := m.hash(tools)
	return Catalog{Server: s.Server, Version: s.ServerVersion, Hash: hash, Host: s.Host, Start: s.Start, Place: place, Tools: tools, Raw: raw}, ok
}

// maxHashes bounds the hashes that are remembered; past it they are made anew.
const maxHashes = 1 << 14

// hash is equal for lists that are equal as JSON, the order of the tools included; raw
// is that of the text. One server's list comes again and again, so that it is made
// canonical once.
func (m *Meter) hash(tools []byte) (hash, raw string, ok bool) {
	sum := sha256.Sum256(tools)
	raw = hex.EncodeToString(sum[:12])
	if h, ok := m.hashes.Load(sum); ok {
		return h.(string), raw, true
	}
	form, ok := jsonscan.Canonical(tools)
	if !ok {
		return "", raw, false
	}
	canonical := sha256.Sum256(form)
	hash = hex.EncodeToString(canonical[:12])
	m.known.Lock()
	if m.known.n < maxHashes {
		m.known.n++
		m.hashes.Store(sum, hash)
	}
	m.known.Unlock()
	return hash, raw, true
}
