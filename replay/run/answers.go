package run

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session"
)

// The server's requests that a host answers by asking a person or a model.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// reply is what the recorded client answered to a request of the server's.
type reply struct {
	method string
	key    string // the request's params in one spelling, without _meta
	result session.Value
	err    *session.RPCError
	masked bool
	used   bool
}

// newReply keeps a recorded answer; nil when the request had none.
func newReply(s *session.Session, ex *session.Exchange, masked *Masks) *reply {
	r := &reply{method: ex.Method, result: ex.Result, err: ex.Error}
	if ex.AnswerSeq == 0 || ex.Result.IsZero() && ex.Error == nil {
		return nil
	}
	exchange := int64(0)
	if ex.HTTP != nil {
		exchange = ex.HTTP.AnswerExchange
	}
	r.masked = masked.in(ex.AnswerSeq, exchange) > 0
	if !ex.Params.IsZero() {
		if params, err := ex.Params.Bytes(); err == nil {
			r.key = spelling(params)
		}
	}
	return r
}

// spelling is an object in one spelling, without its _meta. Numbers stay as they are.
func spelling(object []byte) string {
	all, ok := members(object)
	if !ok {
		return string(object)
	}
	var out []byte
	for _, m := range all {
		if m.name == "_meta" {
			continue
		}
		out, _ = jsontext.AppendQuote(append(out, ','), m.name)
		out = append(append(out, ':'), object[m.start:m.end]...)
	}
	v := jsontext.Value(append(append([]byte{'{'}, bytes.TrimPrefix(out, []byte{','})...), '}'))
	if v.Compact(append(slices.Clone(anyJSON), jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false))...) != nil {
		return string(object)
	}
	return string(v)
}

// answer is what the new server gets for a request of its own.
type answer struct {
	result string // JSON text; empty: an error
	code   int64
	text   string
	said   Answered
}

// reply finds the answer to a request of the new server's. open are the tools of the
// calls in flight: a consent counts for nothing but a call that the user allowed.
func (d *driver) reply(method string, params []byte, open []string) answer {
	if method == methodPing {
		return answer{result: "{}"}
	}
	a := answer{code: -32601, text: "sixlink replay: the recording has no answer to " + method,
		said: Answered{Session: d.session.ID, Method: method, How: Declined, Why: "the recording has no answer"}}
	switch method {
	case methodElicit:
		a.result = `{"action":"decline"}`
	case methodSample:
		a.code, a.text = -1, "sixlink replay: the recording has no answer to this sampling request"
	case methodRoots:
	default:
		return a
	}
	r, how := d.find(method, spelling(params))
	if r == nil {
		return a
	}
	if r.masked {
		a.said.Why = "the recorded answer holds a credential that the recording replaced"
		return a
	}
	if r.err != nil {
		r.used = true
		return answer{code: r.err.Code, text: r.err.Message, said: Answered{Session: d.session.ID, Method: method, How: how}}
	}
	b, err := r.result.Bytes()
	if err != nil {
		a.said.Why = err.Error()
		return a
	}
	if method == methodElicit && accepts(b) {
		if how != ByEqual {
			// A consent to another question is none.
			a.said.Why = anotherQuestion
			return a
		}
		for _, tool := range open {
			if !d.opts.consents(tool) {
				a.said.Why = fmt.Sprintf("a consent is replayed only for a tool that is allowed by name; --allow %s", tool)
				a.said.Partial = true
				return a
			}
		}
		if len(open) == 0 {
			a.said.Why = "no call is open that the recorded consent could belong to"
			return a
		}
	}
	r.used = true
	return answer{result: string(b), said: Answered{Session: d.session.ID, Method: method, How: how}}
}

// find takes the recorded answer to an equal request, else the next one to the method.
// Roots stay what they are: their last answer is given again.
func (d *driver) find(method, key string) (*reply, How) {
	var next, last *reply
	for _, r := range d.plan.replies[d.session] {
		if r.method != method {
			continue
		}
		last = r
		if r.used {
			continue
		}
		if r.key == key {
			return r, ByEqual
		}
		if next == nil {
			next = r
		}
	}
	switch {
	case next != nil:
		return next, ByOrder
	case method == methodRoots && last != nil:
		return last, ByEqual
	}
	return nil, Declined
}

const anotherQuestion = "the recorded consent is to another question"

// accepts tells whether any server could read a consent in an answer: of two members
// either may hold, and some parsers take "Action" for "action".
func accepts(answer []byte) bool {
	all, _ := members(answer)
	return slices.ContainsFunc(all, func(m member) bool {
		v := answer[m.start:m.end]
		b, err := jsontext.AppendUnquote(nil, v)
		return strings.EqualFold(m.name, "action") && (err != nil || strings.EqualFold(string(b), "accept"))
	})
}

// questionOf is a request of the server's within an input round, in one spelling, without
// its _meta.
func questionOf(request []byte) string {
	if params := get(request, "params"); params != nil {
		request = with(request, "params", spelling(params))
	}
	return spelling(request)
}
