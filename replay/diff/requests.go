package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
	"github.com/sixlink/sixlink/replay/key"
)

// two is a request and its counterpart.
type two struct {
	a, b *asked
	// shape: results are compared by outcome and shape only.
	shape bool
}

// sessions compares two sessions.
func (d *differ) sessions(p *pair) {
	d.handshake(p)
	d.catalogs(p)
	both, restA, restB := d.pairRequests(p)
	for _, a := range restA {
		d.missing(p, a)
	}
	for _, b := range restB {
		d.extra(p, b)
	}
	d.callOrder(p, both)
	ctx := &pairing{same: d.opts.Same, span: [2]moments{p.a.span(), p.b.span()}}
	ctx.uuids = [2]map[string]string{{}, {}}
	ctx.renamed = d.renamed
	calls, requests := 0, 0
	for i := range both {
		d.request(p, &both[i], ctx)
		if both[i].a.call != nil {
			calls++
		} else {
			requests++
		}
	}
	if d.learn != nil {
		return
	}
	d.serverRequests(p)
	c := &d.res.Compared
	if greeting(p.a.Session) != nil && greeting(p.b.Session) != nil || calls+requests > 0 {
		c.Sessions++
	}
	d.res.Pairs = append(d.res.Pairs, Pair{A: p.a.ID, B: p.b.ID, Basis: p.basis, ServerA: p.a.Server, ServerB: p.b.Server, Client: p.a.Client, Calls: calls, Requests: requests})
}

// renames are the minted values that are looked for within other texts, the longest
// first. nil: none.
func renames(same map[string]string) *strings.Replacer {
	var old, pairs []string
	for o := range same {
		if len(o) >= minSubstituted {
			old = append(old, o)
		}
	}
	slices.SortFunc(old, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, o := range old {
		pairs = append(pairs, o, same[o])
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// minSubstituted is how long a minted value must be to be looked for within other
// texts (recorder.md 5.4).
const minSubstituted = 8

// span is when the session was, by the wall clock.
func (s *sess) span() moments {
	first, _, ok := s.rec.Clock.Between(s.FirstAt)
	_, last, ok2 := s.rec.Clock.Between(s.LastAt)
	return moments{first, last, ok && ok2}
}

func (s *sess) answered(a *asked) moments {
	at := a.ex.AnswerAt
	if a.call != nil {
		at = a.call.AnswerAt
	}
	first, last, ok := s.rec.Clock.Between(at)
	return moments{first, last, ok && at != 0}
}

// pairRequests pairs the requests of two sessions: those that the caller knows to be
// the same; then equal ones, the first with the first; then calls of one tool whose
// arguments have the same names and types, in order.
func (d *differ) pairRequests(p *pair) (both []two, restA, restB []*asked) {
	gone := map[*asked]bool{}
	take := func(a, b *asked, shape bool) {
		gone[a], gone[b] = true, true
		both = append(both, two{a, b, shape || d.shape || d.opts.Tainted[a.id]})
	}
	rest := func(s *sess) []*asked {
		var out []*asked
		for i := range s.asked {
			if a := &s.asked[i]; !gone[a] {
				out = append(out, a)
			}
		}
		return out
	}
	if len(d.opts.Sent) > 0 {
		byID := map[requestID]*asked{}
		for i := range p.b.asked {
			if b := &p.b.asked[i]; b.ex != nil {
				byID[requestID{b.ex.ID.Kind, b.ex.ID.Value}] = b
			}
		}
		for _, a := range rest(p.a) {
			raw, sent := d.opts.Sent[a.id]
			if b := byID[idOf(raw)]; sent && b != nil && !gone[b] && same(a, b) {
				take(a, b, false)
			}
		}
	}
	byKey := map[key.Key][]*asked{}
	for _, b := range rest(p.b) {
		byKey[b.key] = append(byKey[b.key], b)
	}
	for _, a := range rest(p.a) {
		if d.unsent(a.id) {
			continue
		}
		if list := byKey[a.key]; len(list) > 0 && same(a, list[0]) {
			byKey[a.key] = list[1:]
			take(a, list[0], false)
		}
	}
	// What differs in argument values alone.
	byShape := map[string][]*asked{}
	for _, b := range rest(p.b) {
		k := d.argumentShape(b)
		byShape[k] = append(byShape[k], b)
	}
	for _, a := range rest(p.a) {
		if d.unsent(a.id) {
			continue
		}
		k := d.argumentShape(a)
		if list := byShape[k]; len(list) > 0 {
			byShape[k] = list[1:]
			take(a, list[0], true)
			d.otherArguments(p, a, list[0])
		}
	}
	slices.SortStableFunc(both, func(x, y two) int { return int(min(1, max(-1, x.a.seq()-y.a.seq()))) })
	return both, rest(p.a), rest(p.b)
}

// requestID is what two equal JSON-RPC ids have in common.
type requestID struct {
	kind  session.IDKind
	value string
}

func idOf(raw string) requestID {
	b := []byte(raw)
	if sp, err := jsonscan.Skip(b, 0); err != nil || sp.End != len(b) {
		return requestID{}
	}
	if s, ok := jsonscan.String(b); ok {
		return requestID{session.IDString, s}
	}
	if kind(b) != '0' {
		return requestID{}
	}
	return requestID{session.IDNumber, jsonscan.Number(b)}
}

func same(a, b *asked) bool {
	ta, ma := a.what()
	tb, mb := b.what()
	return ta == tb && ma == mb
}

// argumentShape is equal for requests for the same, with params of the same names and types.
func (d *differ) argumentShape(a *asked) string {
	tool, method := a.what()
	out := []byte(tool + "\n" + method + "\n")
	if params := d.params(a.ex); params != nil {
		if tool != "" || a.call != nil {
			params = d.bytes(a.call.Arguments)
		}
		out = appendShape(out, params, 0)
	}
	return string(out)
}

// appendShape appends the names and types of a value. A list is any list.
func appendShape(dst, b []byte, depth int) []byte {
	switch k := kind(b); {
	case len(b) == 0 || k != '{' || depth > maxDepth:
		return append(dst, k)
	default:
		ms, _ := jsonscan.Object(b)
		slices.SortFunc(ms, func(a, b jsonscan.Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range ms {
			if depth == 0 && m.Name == "_meta" {
				continue
			}
			dst = append(appendShape(append(fmt.Appendf(dst, "%q", m.Name), ':'), m.Value, depth+1), ',')
		}
		return append(dst, '}')
	}
}

func (d *differ) otherArguments(p *pair, a, b *asked) {
	if d.learn != nil {
		return
	}
	tool, method := a.what()
	m := method
	if m == "" {
		m = "tools/call"
	}
	list, n := d.opts.Args.Diff(m, d.params(a.ex), d.params(b.ex))
	f := Finding{Rule: CallArguments, Tool: tool, Method: method, Text: "was asked otherwise; results are compared by outcome and shape only"}
	if len(list) > 0 {
		f.Before, f.After = cut([]byte(list[0].Recorded)), cut([]byte(list[0].Live))
		f.Text = fmt.Sprintf("was asked with another %s; results are compared by outcome and shape only", list[0].Path)
		if n > 1 {
			f.Text = fmt.Sprintf("was asked with another %s and %d more; results are compared by outcome and shape only", list[0].Path, n-1)
		}
	}
	d.add(f, d.at(p, a, b))
}

func (d *differ) at(p *pair, a, b *asked) Where {
	w := p.where()
	if a != nil {
		w.CallA = a.id
	}
	if b != nil {
		w.CallB = b.id
	}
	return w
}

// unsent tells that a request of A has no counterpart, since it was not sent.
func (d *differ) unsent(id string) bool {
	_, skipped := d.opts.Skipped[id]
	_, left := d.opts.LeftOut[id]
	return skipped || left
}

func (d *differ) missing(p *pair, a *asked) {
	tool, method := a.what()
	if _, left := d.opts.LeftOut[a.id]; left {
		return
	}
	if why, skipped := d.opts.Skipped[a.id]; skipped {
		d.undecided(tool+method, "not sent: %s", true, why, a.id)
		return
	}
	if d.partial(p.b) {
		d.undecided(tool+method, "whether it was asked again: the second recording is not whole%s", true, "", a.id)
		return
	}
	d.add(Finding{Rule: CallMissing, Tool: tool, Method: method, Text: "was not asked again", Before: d.arguments(a)}, d.at(p, a, nil))
}

func (d *differ) arguments(a *asked) string {
	if a.call != nil {
		return cut(d.bytes(a.call.Arguments))
	}
	return cut(d.params(a.ex))
}

func (d *differ) extra(p *pair, b *asked) {
	tool, method := b.what()
	if d.partial(p.a) {
		d.undecided(tool+method, "whether it was asked before: the first recording is not whole%s", false, "", b.id)
		return
	}
	d.add(Finding{Rule: CallExtra, Tool: tool, Method: method, Text: "was asked in the second recording only", After: d.arguments(b)}, d.at(p, nil, b))
}

// partial tells that requests of the session may be missing from the recording.
func (d *differ) partial(s *sess) bool { return s.Capture.ToolCalls != session.Complete }

// callOrder finds calls that were made one after the other in A and the other way
// round in B. Calls that were open together have no order.
func (d *differ) callOrder(p *pair, both []two) {
	for i := 1; i < len(both); i++ {
		x, y := both[i-1], both[i]
		if x.a.end() != 0 && x.a.end() < y.a.seq() && y.b.end() != 0 && y.b.end() < x.b.seq() {
			tool, method := y.a.what()
			before, _ := x.a.what()
			if before == "" {
				before = x.a.ex.Method
			}
			d.add(Finding{Rule: CallOrder, Text: fmt.Sprintf("calls were made in another order: %s before %s", tool+method, before)}, Where{SessionA: p.a.ID, SessionB: p.b.ID, CallA: y.a.id, CallB: y.b.id})
			return
		}
	}
}

// end is the record of the answer; 0: none.
func (a *asked) end() int64 {
	if a.call != nil {
		return a.call.AnswerSeq
	}
	return a.ex.AnswerSeq
}

// serverRequests compares how often the server asked the client for what.
func (d *differ) serverRequests(p *pair) {
	if d.partial(p.a) || d.partial(p.b) {
		return
	}
	count := func(s *sess) map[string]int {
		m := map[string]int{}
		for _, ex := range s.Requests {
			if ex.From == record.Server && ex.Method != "ping" {
				m[ex.Method]++
			}
		}
		return m
	}
	a, b := count(p.a), count(p.b)
	var methods []string
	for m := range a {
		methods = append(methods, m)
	}
	for m := range b {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	for _, m := range slices.Compact(methods) {
		if a[m] != b[m] {
			d.add(Finding{Rule: ServerRequest, Text: fmt.Sprintf("the server asked the client %s %s, was %d", m, often(b[m]), a[m])}, p.where())
		}
	}
}

func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// outcome is how a request ended, as far as it is the server's doing.
type outcome string

const (
	answered      outcome = "answered by a result"
	toolError     outcome = "a tool error"
	protocolError outcome = "a protocol error"
	malformed     outcome = "an answer that is malformed"
	unanswered    outcome = "never answered"
	dropped       outcome = "never answered: the server ended"
	gaveUp        outcome = "not answered before the client gave up"
	inputRequired outcome = "a question that was not answered"
	taskHandle    outcome = "a task whose result is not on record"
	// unknown: the client or the recording ended it.
	unknown outcome = ""
)

// ended is how a request ended, with the words for it where that is unknown.
func (a *asked) ended(s *sess) (outcome, string) {
	if a.call != nil {
		switch a.call.State {
		case session.CallResult:
			return answered, ""
		case session.CallToolError:
			return toolError, ""
		case session.CallProtocolError:
			return protocolError, ""
		case session.CallMalformed:
			return malformed, ""
		case session.CallInputRequired:
			return inputRequired, ""
		case session.CallTaskHandle:
			return taskHandle, ""
		case session.CallClientTimeout:
			return gaveUp, ""
		case session.CallNeverAnswered:
			return unanswered, ""
		case session.CallConnectionDrop:
			return dropped, ""
		case session.CallCancelled:
			return unknown, "the client cancelled it"
		case session.CallClientGone:
			return unknown, "the client left while it was open"
		case session.CallUndelivered:
			return unknown, "it never reached the server"
		case session.CallNoID:
			return unknown, "it was sent without an id"
		}
		return unknown, "the recording does not have all of it"
	}
	switch a.ex.State {
	case session.ExchangeResult:
		return answered, ""
	case session.ExchangeError:
		return protocolError, ""
	case session.ExchangeMalformed:
		return malformed, ""
	case session.ExchangeCancelled:
		return unknown, "the client cancelled it"
	}
	if a.ex.Undelivered {
		return unknown, "it never reached the server"
	}
	if s.Capture.ToolResults != session.Complete {
		return unknown, "the recording does not have all of it"
	}
	if s.End.First == "client" {
		return unknown, "the client left while it was open"
	}
	return unanswered, ""
}

// byClient tells whether the client ended the call.
func byClient(c *session.Call) bool {
	return c != nil && (c.State == session.CallCancelled || c.State == session.CallClientGone)
}

// errorOf is the protocol error that a request was answered by.
func (a *asked) errorOf() *session.RPCError {
	if a.call != nil {
		return a.call.Error
	}
	return a.ex.Error
}

func (a *asked) result() session.Value {
	if a.call != nil {
		return a.call.Result
	}
	return a.ex.Result
}

// told is the error's message, for the words of a finding.
func (a *asked) told() string {
	switch {
	case a.call != nil && a.call.State == session.CallToolError:
		return a.call.ErrorText
	case a.errorOf() != nil:
		return a.errorOf().Message
	}
	return ""
}

// request compares a request with its counterpart.
func (d *differ) request(p *pair, q *two, ctx *pairing) {
	tool, method := q.a.what()
	x, whyX := q.a.ended(p.a)
	y, whyY := q.b.ended(p.b)
	if d.learn != nil {
		d.learn.call(q.a)
	}
	switch {
	case x == unknown && y == unknown && whyX == whyY:
	case x == gaveUp && (y == gaveUp || y == unknown && byClient(q.b.call)):
		// Over HTTP a client that gives up closes its exchange. The server had not
		// answered, either time.
		y = gaveUp
	case x == gaveUp:
		d.undecided(tool+method, "how it would have ended before: %s", false, "the client gave up waiting", q.a.id)
		return
	case x == unknown:
		d.undecided(tool+method, "how it ended before: %s", false, whyX, q.a.id)
		return
	case y == unknown:
		d.undecided(tool+method, "how it ended now: %s", true, whyY, q.a.id)
		return
	}
	if d.learn == nil {
		t := d.tool(tool + method)
		t.Calls++
		t.Request = method != ""
		if q.a.call != nil {
			d.res.Compared.Calls++
		} else {
			d.res.Compared.Requests++
		}
		if q.shape {
			d.res.Compared.Shape++
		}
		d.time(q)
	}
	if x != y {
		f := Finding{Rule: OutcomeOther, Tool: tool, Method: method, Text: fmt.Sprintf("is %s, was %s", y, x)}
		switch {
		case x == answered:
			f.Rule = OutcomeWorse
		case y == answered:
			f.Rule = OutcomeBetter
		}
		if t := q.a.told(); t != "" {
			f.Before = quote(head(t))
		}
		if t := q.b.told(); t != "" {
			f.After = quote(head(t))
		}
		d.add(f, d.at(p, q.a, q.b))
		return
	}
	switch x {
	case protocolError:
		d.errors(p, q, ctx)
	case answered, toolError, inputRequired, taskHandle:
		d.results(p, q, x == toolError, ctx)
	}
}

func (d *differ) calling(p *pair, q *two, ctx *pairing) *calling {
	sent := []byte(nil)
	return &calling{pairing: ctx, answer: [2]moments{p.a.answered(q.a), p.b.answered(q.b)}, sent: func(text string) bool {
		if sent == nil {
			sent = bytes.ToLower(append([]byte(" "), d.params(q.a.ex)...))
		}
		return bytes.Contains(sent, []byte(text))
	}}
}

// walk makes the comparison of two values of a request. rule may change a change's
// rule, or say that it is none ("").
func (d *differ) walk(p *pair, q *two, ctx *pairing, rule func(*change)) *values {
	tool, method := q.a.what()
	c := d.calling(p, q, ctx)
	v := &values{shape: q.shape}
	v.ignored = func(at *path) bool { return d.ignored(tool, method, at) }
	v.noise = func(at *path, a, b []byte) bool {
		why, ok := d.matchers.scalar(c, at.last(), a, b)
		if ok {
			d.pass(why...)
		}
		return ok
	}
	v.found = func(ch change) {
		if ch.rule == ResultValue && handle(ch.path) {
			d.pass(noiseSame)
			return
		}
		rule(&ch)
		d.change(p, q, &ch)
	}
	return v
}

// pass counts values that differ and were let pass.
func (d *differ) pass(why ...string) {
	if d.learn == nil {
		for _, w := range why {
			d.res.Noise[w]++
		}
	}
}

// handle tells whether the protocol has a value of the server's own making at this
// place, which means nothing by itself: a cursor, the state of an input round, a task.
func handle(p *path) bool {
	if p == nil || p.index {
		return false
	}
	switch {
	case p.up == nil:
		return p.name == "nextCursor" || p.name == "requestState"
	case p.name == "taskId":
		return p.up.name == "io.modelcontextprotocol/related-task" || p.up.name == "task" && p.up.up == nil
	}
	return false
}

func (d *differ) ignored(tool, method string, at *path) bool {
	if len(d.opts.Ignore) == 0 {
		return false
	}
	segs := at.segments(false)
	for i := range d.opts.Ignore {
		if p := &d.opts.Ignore[i]; (p.tool == "" || p.tool == tool || p.tool == method) && p.matches(segs) {
			d.used[i] = true
			d.pass(noiseIgnored)
			return true
		}
	}
	return false
}

// change takes a difference between two results.
func (d *differ) change(p *pair, q *two, ch *change) {
	tool, method := q.a.what()
	pattern := ch.path.pointer(true)
	if d.learn != nil {
		d.learn.add(q.a, ch.rule, ch.path)
		return
	}
	if d.opts.Noise.has(q.a, ch.rule, ch.path) {
		d.res.Noise[noiseLearned]++
		return
	}
	f := Finding{Rule: ch.rule, Tool: tool, Method: method, Path: ch.path.pointer(false), Text: ch.text}
	if ch.before != nil && ch.after != nil && kind(ch.before) == '"' && kind(ch.after) == '"' {
		f.Before, f.After = around(ch.before, ch.after)
	} else {
		f.Before, f.After = cut(ch.before), cut(ch.after)
	}
	if f.Text == "" {
		f.Text = ruleWords[ch.rule]
	}
	d.kept.add(f, pattern, d.at(p, q.a, q.b))
}

// ruleWords are what a finding says beside its values.
var ruleWords = map[string]string{
	ResultValue: "is another value", ResultText: "is another text", ResultRemoved: "is gone", ResultAdded: "is new", ResultOrder: "has the same elements in another order",
	ResultMeta: "is different", ListedChanged: "is described otherwise", ListedRemoved: "is no longer listed", ListedAdded: "is listed now",
	ErrorText: "the error is told in other words",
}

// errors compares two protocol errors.
func (d *differ) errors(p *pair, q *two, ctx *pairing) {
	a, b := q.a.errorOf(), q.b.errorOf()
	if a == nil || b == nil {
		return
	}
	top := (*path)(nil).member("error")
	v := d.walk(p, q, ctx, func(c *change) {
		switch c.path.last() {
		case "code":
			c.rule = ErrorCode
			c.text = fmt.Sprintf("the error's code is %s, was %s", c.after, c.before)
		default:
			c.rule, c.text = ErrorText, "the error is told in other words"
		}
	})
	v.compare(top.member("code"), code(a), code(b), 0)
	if q.shape {
		return
	}
	x, y := d.members(a), d.members(b)
	v.objects(top, object(x), object(y), 0)
}

// members are those of a protocol error but its code.
func (d *differ) members(e *session.RPCError) []jsonscan.Member {
	if all, ok := jsonscan.Object(d.bytes(e.Whole)); ok {
		return without(all, "code")
	}
	return []jsonscan.Member{{Name: "message", Value: quoted(e.Message)}}
}

func code(e *session.RPCError) []byte {
	if e.RawCode != "" {
		if _, err := jsonscan.Skip([]byte(e.RawCode), 0); err == nil {
			return []byte(e.RawCode)
		}
		return quoted(e.RawCode)
	}
	return fmt.Append(nil, e.Code)
}

// results compares two results.
func (d *differ) results(p *pair, q *two, isError bool, ctx *pairing) {
	a, b := d.bytes(q.a.result()), d.bytes(q.b.result())
	if a == nil || b == nil || bytes.Equal(a, b) {
		if (a == nil) != (b == nil) {
			tool, method := q.a.what()
			d.undecided(tool+method, "whether the result is the same: it nests too deep, or is not on record%s", true, "", q.a.id)
		}
		return
	}
	_, method := q.a.what()
	listed := method == "resources/list" || method == "resources/templates/list" || method == "prompts/list"
	v := d.walk(p, q, ctx, func(c *change) {
		switch {
		case inMeta(c.path):
			c.rule, c.text = ResultMeta, ""
		case isError && c.path.root() == "content":
			c.rule = ErrorText
			if c.text == "" {
				c.text = "the error is told in other words"
			}
		case listed && c.path.root() != "nextCursor":
			relist(c)
		}
	})
	if v.ignored(nil) {
		return // all of it; its outcome was compared
	}
	x, okX := jsonscan.Object(a)
	y, okY := jsonscan.Object(b)
	if !okX || !okY {
		v.compare(nil, a, b, 0)
		return
	}
	// The outcome was compared already, and its members with it: isError and resultType
	// have a value where they are left out.
	x, y = without(x, "isError", "resultType"), without(y, "isError", "resultType")
	if twin := twins(x, y); twin >= 0 {
		x, y = withoutText(x, twin), withoutText(y, twin)
	}
	v.objects(nil, object(x), object(y), 0)
}

// relist gives a change in a list of resources, templates or prompts its rule: arguments
// of prompts count like properties of a schema (grading.md 8).
func relist(c *change) {
	segs := c.path.segments(false)
	argument := segs[0] == "prompts" && len(segs) >= 4 && segs[2] == "arguments"
	required := func(b []byte) bool {
		ms, _ := jsonscan.Object(b)
		return string(member(ms, "required")) == "true"
	}
	switch {
	case c.rule == ResultElementRemoved && len(segs) == 2:
		c.rule, c.text = ListedRemoved, ""
	case c.rule == ResultElementAdded && len(segs) == 2:
		c.rule, c.text = ListedAdded, ""
	case argument && len(segs) == 4 && c.rule == ResultElementRemoved:
		c.rule, c.text = PromptArgumentRemoved, "is an argument that was removed"
	case argument && len(segs) == 4 && c.rule == ResultElementAdded && required(c.after):
		c.rule, c.text = PromptArgumentRequired, "is an argument that was added and is required"
	case argument && len(segs) == 4 && c.rule == ResultElementAdded:
		c.rule, c.text = PromptArgumentAdded, "is an argument that was added"
	case argument && len(segs) == 5 && segs[4] == "required" && string(c.after) == "true":
		c.rule, c.text = PromptArgumentRequired, "is required now"
	case argument && len(segs) == 5 && segs[4] == "required" && string(c.before) == "true":
		c.rule, c.text = PromptArgumentOptional, "is no longer required"
	default:
		c.rule = ListedChanged
		if c.text == "" {
			c.text = "is described otherwise"
		}
	}
}

func inMeta(p *path) bool {
	for ; p != nil; p = p.up {
		if p.name == "_meta" && !p.index {
			return true
		}
	}
	return false
}

func without(ms []jsonscan.Member, names ...string) []jsonscan.Member {
	return slices.DeleteFunc(ms, func(m jsonscan.Member) bool { return slices.Contains(names, m.Name) })
}

// object writes members as an object.
func object(ms []jsonscan.Member) []byte {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.Name)...), ':'), m.Value...)
	}
	return append(out, '}')
}

func member(ms []jsonscan.Member, name string) []byte {
	for _, m := range ms {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// twins finds the text block that says in both results the same as structuredContent:
// what changed there is not said twice. -1: none.
func twins(x, y []jsonscan.Member) int {
	sx, sy := member(x, "structuredContent"), member(y, "structuredContent")
	if sx == nil || sy == nil {
		return -1
	}
	cx, _ := jsonscan.Array(member(x, "content"))
	cy, _ := jsonscan.Array(member(y, "content"))
	for i := range min(len(cx), len(cy), 8) {
		if twin(cx[i], sx) && twin(cy[i], sy) {
			return i
		}
	}
	return -1
}

func twin(block, structured []byte) bool {
	ms, _ := jsonscan.Object(block)
	text, ok := jsonscan.String(member(ms, "text"))
	if !ok {
		return false
	}
	b := holdsJSON(text)
	return b != nil && jsonscan.Equal(b, structured)
}

// withoutText blanks the text of a content block.
func withoutText(ms []jsonscan.Member, block int) []jsonscan.Member {
	for i, m := range ms {
		if m.Name != "content" {
			continue
		}
		list, _ := jsonscan.Array(m.Value)
		inner, _ := jsonscan.Object(list[block])
		list[block] = object(without(inner, "text"))
		ms[i].Value = append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
	}
	return ms
}
