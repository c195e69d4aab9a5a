package run

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session/catalog"
)

// Skip says why a step was not sent. The rules are stable: reports and scripts name them.
type Skip struct {
	Rule string
	Why  string
}

// The rules by which something is not sent.
const (
	SkipMethod   = "method"       // no method that is sent by default (recorder.md 5.2)
	SkipWrites   = "not-readonly" // a catalog does not say that the tool is read-only (5.1)
	SkipUnlisted = "unlisted"     // no catalog before the call has the tool
	SkipMasked   = "masked"       // it holds a credential that the recording replaced (5.5)
	SkipOrigin   = "from-skipped" // its arguments first appeared in an answer that did not come (5.3)
	SkipLost     = "handle-lost"  // the new answer has no value in the place of a minted one
	SkipGone     = "server-gone"  // the new server had left, or did not answer any more
	SkipStopped  = "stopped"      // we were told to end
	SkipNoID     = "no-id"        // a call without an id: nothing can answer it
	SkipUnread   = "unreadable"   // the request cannot be read from the recording

	// What is left out by these does not make a run partial.
	LeftOut         = "left-out"    // --only names other tools
	LeftUndelivered = "undelivered" // the recorded server never got it
	LeftNotNeeded   = "not-needed"  // the new server did not ask for it: no further page, no input
)

// partial tells whether a step that was not sent for this reason leaves a hole.
func (s Skip) partial() bool {
	switch s.Rule {
	case "", LeftOut, LeftUndelivered, LeftNotNeeded:
		return false
	}
	return true
}

// named are the methods that are sent (recorder.md 5.2): they read.
var named = map[string]bool{
	methodInitialize: true, methodDiscover: true, methodPing: true,
	methodTools: true, "prompts/list": true, "resources/list": true, "resources/templates/list": true, "tasks/list": true,
	"resources/read": true, "prompts/get": true, "completion/complete": true,
}

// hints are what a catalog says of a tool.
type hints struct {
	listed, readOnly, safeToRepeat bool
}

// hintsOf reads a tool's annotations; where a list has the name twice, all must say so.
func hintsOf(l *catalog.List, tool string) hints {
	h := hints{}
	if l == nil {
		return h
	}
	for i := range l.Tools {
		t := &l.Tools[i]
		if !t.HasName || t.Name != tool {
			continue
		}
		var a map[string]jsontext.Value
		if len(t.Annotations) > 0 && json.Unmarshal(t.Annotations, &a) != nil {
			a = nil // malformed, or a member twice: it says nothing
		}
		is := func(name, word string) bool { return string(a[name]) == word }
		readOnly := is("readOnlyHint", "true")
		// What is not said to be harmless counts as destructive: that is the protocol's default.
		repeat := is("idempotentHint", "true") && is("destructiveHint", "false")
		if !h.listed {
			h = hints{true, readOnly, repeat}
			continue
		}
		h.readOnly, h.safeToRepeat = h.readOnly && readOnly, h.safeToRepeat && repeat
	}
	return h
}

// permit decides whether a step may be sent: by what permission, or why not. now is
// the new server's catalog; nil with known false while nobody has asked (a dry run).
func (o *Options) permit(st *step, now *catalog.List, known bool) (by string, skip Skip) {
	if st.kind == initialized {
		return "named", Skip{}
	}
	method := st.ex.Method
	switch {
	case st.ex.Undelivered:
		return "", Skip{LeftUndelivered, "the recorded server never got it"}
	case !st.ex.ID.Pairs():
		return "", Skip{SkipNoID, "it was sent without an id that can be answered"}
	case method == methodCall && o.leftOut(st.tool):
		return "", Skip{LeftOut, "--only names other tools"}
	case st.masked:
		return "", Skip{SkipMasked, "it holds a credential that the recording replaced"}
	}
	if st.unclear && !o.AllowAll {
		return "", Skip{SkipUnread, "its params do not say in one way alone which tool is meant; servers differ in what they read there"}
	}
	if st.tool == "" && method != methodCall {
		switch {
		case named[method]:
			return "named", Skip{}
		case o.named(method):
			return "allowed", Skip{}
		}
		return "", Skip{SkipMethod, method + " is no method that only reads; --allow " + method}
	}
	if o.leftOut(st.tool) {
		return "", Skip{LeftOut, "--only names other tools"}
	}
	if o.named(st.tool) {
		return "allowed", Skip{}
	}
	var list *catalog.List
	if st.call != nil {
		list = st.call.Catalog
	}
	then, is := hintsOf(list, st.tool), hintsOf(now, st.tool)
	if !known {
		is = hints{true, true, true}
	}
	switch {
	case then.readOnly && is.readOnly:
		return "read-only", Skip{}
	case o.AllowIdempotent && (then.readOnly || then.safeToRepeat) && (is.readOnly || is.safeToRepeat):
		return "idempotent", Skip{}
	case !then.listed:
		return "", Skip{SkipUnlisted, "no recorded catalog before the call has the tool; --allow " + st.tool}
	case !is.listed:
		return "", Skip{SkipUnlisted, "the new server does not list the tool; --allow " + st.tool}
	case !then.readOnly && !is.readOnly:
		return "", Skip{SkipWrites, "not read-only in either catalog; --allow " + st.tool}
	case !then.readOnly:
		return "", Skip{SkipWrites, "not read-only in the recorded catalog; --allow " + st.tool}
	}
	return "", Skip{SkipWrites, "not read-only in the new server's catalog; --allow " + st.tool}
}

// consents tells whether a recorded consent may be replayed for the tool (recorder.md 5.2).
func (o *Options) consents(tool string) bool { return tool != "" && o.named(tool) }
