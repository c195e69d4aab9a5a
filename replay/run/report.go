package run

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Schema names the report's JSON: additive within its version.
const Schema = "sixlink/replay-run/1"

// Report is what a run did: everything that was sent otherwise than recorded, or not.
type Report struct {
	Schema    string `json:"schema"`
	Recording string `json:"recording"`
	// New is the id of the new recording; empty: a plan.
	New      string `json:"newRecording,omitzero"`
	Sessions int    `json:"sessions"`
	Sent     int    `json:"sent"`     // requests, of those in the recording
	Answered int    `json:"answered"` // of those
	// Partial says that something was not sent, or not answered as far as recorded,
	// that would have to be for a comparison of the whole.
	Partial bool `json:"partial"`
	// AllowedAll says that every call was sent, whatever it writes.
	AllowedAll bool        `json:"allowedAll,omitzero"`
	Steps      []StepLine  `json:"steps"`
	Carried    []Carried   `json:"substitutions"`
	Answers    []Answered  `json:"answers"`
	Notes      []string    `json:"notes"`
	Interrupt  bool        `json:"interrupted,omitzero"`
	Ends       []ServerEnd `json:"ends,omitzero"`
}

// State of a step in a report.
const (
	StateSent       = "sent"     // and answered, if the report is of a run
	StateWould      = "maybe"    // of a plan: sent if the new server's catalog says so, too
	StateSkipped    = "skipped"  // a hole
	StateLeft       = "left-out" // no hole
	StateUnanswered = "unanswered"
)

// StepLine is one request of the recording.
type StepLine struct {
	Session string `json:"session"`
	ID      string `json:"id"` // seq, or seq.index, as show has it
	Method  string `json:"method"`
	Tool    string `json:"tool,omitzero"`
	State   string `json:"state"`
	// By is the permission: named, read-only, idempotent, allowed.
	By   string `json:"by,omitzero"`
	Rule string `json:"rule,omitzero"`
	Why  string `json:"why,omitzero"`
	// NewID is the JSON-RPC id in the new recording, where it was sent.
	NewID *int `json:"newId,omitzero"`
	// Tainted: an earlier call was skipped, so that the result may rightly differ.
	Tainted bool `json:"tainted,omitzero"`
	Late    bool `json:"late,omitzero"`
}

// Carried is a minted value that was replaced in a request.
type Carried struct {
	Session string `json:"session"`
	ID      string `json:"id"`     // the request's
	At      string `json:"at"`     // JSON pointer into its params
	From    string `json:"from"`   // the request whose answer minted it
	FromAt  string `json:"fromAt"` // pointer into that answer's result; behind # into the JSON in a text
	Was     string `json:"was"`    // JSON text
	Is      string `json:"is"`
}

// How a request of the new server's was answered.
type How string

// The ways.
const (
	ByEqual  How = "recorded"  // as an equal request was
	ByOrder  How = "by-order"  // as the next recorded request of the method was
	Declined How = "declined"  // the recording has no answer, or it may not be given
	Rewrote  How = "rewritten" // an accept in an input round became a decline
)

// Answered is one request of the new server's to the client.
type Answered struct {
	Session string `json:"session"`
	Method  string `json:"method"`
	How     How    `json:"how"`
	Why     string `json:"why,omitzero"`
	// Partial: the recording has an answer, and permission was missing.
	Partial bool `json:"partial,omitzero"`
}

// ServerEnd says how a session ended before all was sent.
type ServerEnd struct {
	Session string `json:"session"`
	Why     string `json:"why"`
}

// Skipped are the steps that make the run partial.
func (r *Report) Skipped() []StepLine { return r.with(StateSkipped) }

// Unanswered are those that were sent and got no answer, though the recorded ones did.
func (r *Report) Unanswered() []StepLine { return r.with(StateUnanswered) }

func (r *Report) with(state string) []StepLine {
	var out []StepLine
	for _, s := range r.Steps {
		if s.State == state {
			out = append(out, s)
		}
	}
	return out
}

func (st *step) line() StepLine {
	l := StepLine{Session: st.session.ID, ID: st.ref(), Method: st.method(), Tool: st.tool, By: st.sent, Tainted: st.taint}
	switch st.done {
	case skipped:
		l.State, l.Rule, l.Why = StateLeft, st.skip.Rule, st.skip.Why
		if st.skip.partial() {
			l.State = StateSkipped
		}
	case noAnswer, gone, stopped:
		l.State, l.Why = StateUnanswered, "no answer in time"
		switch st.done {
		case gone:
			l.Why = "the server ended"
		case stopped:
			l.Why = "sixlink was told to end"
		}
		if !st.expected() {
			l.State, l.Why = StateSent, "" // as recorded
		}
	default:
		l.State = StateSent
	}
	if st.done != skipped && st.kind == request && st.sent != "" {
		id := st.id
		l.NewID = &id
	}
	return l
}

// Dry is the plan as a report: what would be sent, skipped, and why. Nothing is
// started, so whether the new server calls a tool read-only is not known: "maybe".
func (p *Plan) Dry() *Report {
	r := p.report()
	off := map[*step]bool{}
	taint := false
	for _, st := range p.Steps {
		by, skip := p.opts.permit(st, nil, false)
		for _, from := range st.origins() {
			if skip.Rule == "" && off[from] {
				skip = fromSkipped(from)
			}
		}
		taint = taint || st.lost
		st.taint = taint && st.ex != nil && st.ex.Method == methodCall
		st.sent, st.skip = by, skip
		if skip.Rule != "" {
			st.done, st.sent, st.taint = skipped, "", false
			off[st] = true
			taint = taint || p.opts.taints(st)
			r.Partial = r.Partial || skip.partial()
		}
		l := st.line()
		l.NewID = nil
		if l.State == StateSent {
			if by == "read-only" || by == "idempotent" {
				l.State = StateWould
			}
			if st.kind == request {
				r.Sent++
			}
		}
		r.Steps = append(r.Steps, l)
		st.done, st.skip, st.sent, st.taint = waiting, Skip{}, "", false
	}
	return r
}

func (p *Plan) report() *Report {
	return &Report{Schema: Schema, Recording: p.Recording, Sessions: len(p.sessions), AllowedAll: p.opts.AllowAll,
		Steps: []StepLine{}, Carried: []Carried{}, Answers: []Answered{}, Notes: []string{}}
}

// origins are the requests whose answers this one's values came from.
func (st *step) origins() []*step {
	all := append([]*step(nil), st.needs...)
	for _, u := range st.uses {
		all = append(all, u.from)
	}
	return all
}

func fromSkipped(from *step) Skip {
	return Skip{SkipOrigin, "an argument first appeared in the answer to " + from.ref() + " (" + from.name() + "), which was not sent"}
}

// taints tells whether what was not sent could have changed what later answers say.
func (o *Options) taints(st *step) bool {
	switch {
	case st.ex == nil || st.skip.Rule == LeftUndelivered || st.skip.Rule == LeftNotNeeded:
		return false
	case st.ex.Method != methodCall:
		// Methods that are known to write nothing but a setting of the session's own.
		switch st.ex.Method {
		case "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen":
			return false
		}
		return !named[st.ex.Method]
	case st.skip.Rule == LeftOut && st.call != nil:
		return !hintsOf(st.call.Catalog, st.tool).readOnly
	}
	return true
}

// IDs are the JSON texts of the JSON-RPC ids under which the recorded requests were
// sent, by the requests' names.
func (r *Report) IDs() map[string]string {
	out := map[string]string{}
	for _, s := range r.Steps {
		if s.NewID != nil {
			out[s.ID] = strconv.Itoa(*s.NewID)
		}
	}
	return out
}

// Unsent are the requests that were not sent, by their names, with the reason. whole
// tells that it is no hole: nothing is missing without them.
func (r *Report) Unsent(whole bool) map[string]string {
	out := map[string]string{}
	for _, s := range r.Steps {
		if s.Method != noteInitialized && (s.State == StateSkipped && !whole || s.State == StateLeft && whole) {
			out[s.ID] = s.Why
		}
	}
	return out
}

// Tainted are the requests whose results compare by outcome and shape only.
func (r *Report) Tainted() map[string]bool {
	out := map[string]bool{}
	for _, s := range r.Steps {
		if s.Tainted {
			out[s.ID] = true
		}
	}
	return out
}

// Same are the minted values of the recording that stand for others in the new one:
// texts decoded, numbers as spelt.
func (r *Report) Same() map[string]string {
	plain := func(json string) string {
		if b, err := jsontext.AppendUnquote(nil, json); err == nil {
			return string(b)
		}
		return json
	}
	out := map[string]string{}
	for _, c := range r.Carried {
		out[plain(c.Was)] = plain(c.Is)
	}
	return out
}
