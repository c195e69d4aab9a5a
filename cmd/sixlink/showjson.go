package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// The schema "sixlink/show/1": additive within its version.
type shown struct {
	Schema    string         `json:"schema"`
	Recording shownRecording `json:"recording"`
	Sessions  []shownSession `json:"sessions"`
	// Talks are the conversations that the recording carries.
	Talks []shownTalk `json:"conversations,omitzero"`
}

type shownRecording struct {
	ID      string            `json:"id"`
	Format  [2]int            `json:"format"`
	State   record.State      `json:"state"`
	Torn    bool              `json:"torn"`
	Damage  string            `json:"damage,omitzero"`
	Gaps    []shownGap        `json:"gaps"`
	Records int64             `json:"records"`
	Unknown map[string]int    `json:"unknownKinds,omitzero"`
	Segs    int               `json:"segments"`
	Start   record.Time       `json:"start"`
	SpanMs  float64           `json:"spanMs"`
	Level   record.Level      `json:"level"`
	Labels  map[string]string `json:"labels"`
	Command []string          `json:"command"`
	Over    string            `json:"transport,omitzero"`
	Listen  string            `json:"listen,omitzero"`
	Up      string            `json:"upstream,omitzero"`
	Bridge  bool              `json:"bridge,omitzero"`
	By      record.Software   `json:"recorder"`
	From    *record.Derived   `json:"derivedFrom,omitzero"`
}

type shownGap struct {
	FirstSeq int64  `json:"firstSeq"`
	LastSeq  int64  `json:"lastSeq"`
	Bytes    int64  `json:"bytes"`
	Why      string `json:"why"`
}

type shownSession struct {
	ID         string          `json:"id"`
	Era        session.Era     `json:"era"`
	Transport  string          `json:"transport"`
	Version    string          `json:"protocolVersion"`
	Client     shownPeer       `json:"client"`
	Server     shownPeer       `json:"server"`
	Basis      string          `json:"basis"`
	FirstSeq   int64           `json:"firstSeq"`
	LastSeq    int64           `json:"lastSeq"`
	Messages   map[string]int  `json:"messages"`
	Capture    session.Capture `json:"capture"`
	Catalog    shownCatalog    `json:"catalog"`
	Calls      []shownCall     `json:"calls"`
	Requests   []shownRequest  `json:"requests"`
	Orphans    []shownOrphan   `json:"orphans"`
	Remarks    []shownRemark   `json:"remarks"`
	End        shownEnd        `json:"end"`
	Links      []shownLink     `json:"links"`
	FirstBreak string          `json:"firstBreak"`
}

type shownPeer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type shownCatalog struct {
	State string   `json:"state"` // complete, complete-but-racy, partial, failed, open, absent
	Pages int      `json:"pages"`
	Why   string   `json:"why,omitzero"`
	Tools []string `json:"tools"`
}

type shownCall struct {
	ID         string  `json:"id"` // seq, or seq.index in a batch
	Seq        int64   `json:"seq"`
	Tool       string  `json:"tool"`
	State      string  `json:"state"`
	AtMs       float64 `json:"atMs"`
	DurationMs any     `json:"durationMs"` // null without an answer
	WaitedMs   float64 `json:"waitedMs,omitzero"`
	AnswerSeq  int64   `json:"answerSeq,omitzero"`
	Attempts   int     `json:"attempts"`
	Exchange   int64   `json:"exchange,omitzero"` // of HTTP, of the first attempt
	Status     int     `json:"status,omitzero"`   // of the response to the last attempt
	Ended      string  `json:"ended,omitzero"`    // how its exchange ended, without an answer
	ToolUseID  string  `json:"toolUseId,omitzero"`
	ErrorCode  *int64  `json:"errorCode,omitzero"`
	Error      string  `json:"error,omitzero"`
}

type shownRequest struct {
	Seq       int64  `json:"seq"`
	From      string `json:"from"`
	Method    string `json:"method"`
	ID        string `json:"requestId"` // JSON text, as spelt
	State     string `json:"state"`
	AnswerSeq int64  `json:"answerSeq,omitzero"`
	// Over HTTP: the exchange that it came in, the status of the response to that, and
	// where the answer came: exchange, index of the event (null: a body), its id.
	Exchange int64  `json:"exchange,omitzero"`
	Status   int    `json:"status,omitzero"`
	AnswerX  int64  `json:"answerExchange,omitzero"`
	Event    *int   `json:"answerEvent,omitzero"`
	EventID  string `json:"answerEventId,omitzero"`
}

type shownOrphan struct {
	Seq       int64  `json:"seq"`
	From      string `json:"from"`
	ID        string `json:"requestId"`
	Duplicate bool   `json:"duplicate"`
	Hint      string `json:"hint,omitzero"`
	Exchange  int64  `json:"exchange,omitzero"`
}

type shownRemark struct {
	Seq    int64  `json:"seq,omitzero"`
	From   string `json:"from,omitzero"`
	Flag   string `json:"flag"`
	Detail string `json:"detail,omitzero"`
	Exch   int64  `json:"exchange,omitzero"`
}

type shownEnd struct {
	Code   *int   `json:"code,omitzero"`
	Signal string `json:"signal,omitzero"`
	First  string `json:"first,omitzero"` // who ended it: client, server, proxy
}

type shownLink struct {
	Link     string        `json:"link"`
	State    string        `json:"state"`
	Reason   string        `json:"reason"`
	Evidence shownEvidence `json:"evidence"`
}

type shownEvidence struct {
	Records    []int64 `json:"records"`
	Text       string  `json:"text,omitzero"`
	SameCallAs string  `json:"sameCallAs,omitzero"`
}

func showJSON(w io.Writer, l *loaded) error {
	out := shown{Schema: "sixlink/show/1", Recording: recordingJSON(l), Sessions: []shownSession{}}
	talks, err := talksOf(l)
	if err != nil {
		return err
	}
	joined := grade.Talks(talks)[l.header.ID]
	for _, s := range l.sessions {
		out.Sessions = append(out.Sessions, sessionJSON(s, l.sessions, joined[s.ID]))
	}
	for i := range talks.Conversations {
		out.Talks = append(out.Talks, talkJSON(&talks.Conversations[i]))
	}
	// Names and texts from a stranger may hold lone surrogates; what is written is valid.
	b, err := json.Marshal(out, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.Multiline(true), json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeHidden(b), '\n'))
	return err
}

func recordingJSON(l *loaded) shownRecording {
	h := l.header
	r := shownRecording{ID: h.ID, Format: h.Format, State: l.end.State, Torn: l.end.Torn, Gaps: []shownGap{},
		Records: l.end.Records, Segs: l.end.Segments, Start: h.Start, SpanMs: ms(l.spanNs), Level: h.Level,
		Labels: h.Labels, Command: l.command, Over: h.Transport, Listen: h.Listen, Up: h.Upstream, Bridge: h.Bridge, By: h.Recorder, From: h.DerivedFrom}
	if l.end.Damage != nil {
		r.Damage = l.end.Damage.Error()
	}
	for k, n := range l.end.Unknown {
		if r.Unknown == nil {
			r.Unknown = map[string]int{}
		}
		r.Unknown[string(k)] = n
	}
	for _, g := range l.gaps {
		s := shownGap{FirstSeq: g.Gap.FirstSeq, LastSeq: g.Gap.LastSeq, Why: g.Gap.Why}
		for _, st := range g.Gap.Streams {
			s.Bytes += st.Bytes
		}
		for _, st := range g.Gap.HTTP {
			s.Bytes += st.Bytes
		}
		r.Gaps = append(r.Gaps, s)
	}
	return r
}

func sessionJSON(s *session.Session, all []*session.Session, talks []*grade.Talk) shownSession {
	res := grade.Chain(s, all, talks...)
	out := shownSession{ID: s.ID, Era: s.Era, Transport: s.Transport, Version: s.ProtocolVersion,
		Client: shownPeer{s.Client.Name, s.Client.Version}, Server: shownPeer{s.Server.Name, s.Server.Version},
		Basis: s.Basis, FirstSeq: s.FirstSeq, LastSeq: s.LastSeq, Messages: map[string]int{}, Capture: s.Capture,
		Catalog: catalogJSON(s), FirstBreak: string(res.FirstBreak)}
	for from, n := range s.Messages {
		out.Messages[string(from)] = n
	}
	for _, c := range s.Calls {
		out.Calls = append(out.Calls, callJSON(c))
	}
	for _, x := range s.Requests {
		r := shownRequest{Seq: x.Seq, From: string(x.From), Method: x.Method, ID: x.ID.Raw, State: string(x.State), AnswerSeq: x.AnswerSeq}
		if h := x.HTTP; h != nil {
			r.Exchange, r.Status, r.AnswerX, r.EventID = h.Exchange, h.Status, h.AnswerExchange, h.AnswerEventID
			if h.AnswerEvent >= 0 && h.AnswerExchange != 0 {
				r.Event = &h.AnswerEvent
			}
		}
		out.Requests = append(out.Requests, r)
	}
	for _, o := range s.Orphans {
		out.Orphans = append(out.Orphans, shownOrphan{Seq: o.Seq, From: string(o.From), ID: o.ID.Raw, Duplicate: o.Duplicate, Hint: o.Hint, Exchange: o.Exchange})
	}
	for _, r := range s.Remarks {
		out.Remarks = append(out.Remarks, shownRemark{Seq: r.Seq, From: string(r.From), Flag: r.Flag, Detail: r.Detail, Exch: r.Exchange})
	}
	if e := s.End.Exit; e != nil {
		out.End.Code, out.End.Signal = e.Code, e.Signal
	}
	out.End.First = s.End.First
	for _, k := range res.Links {
		out.Links = append(out.Links, linkJSON(k))
	}
	return out
}

func catalogJSON(s *session.Session) shownCatalog {
	c := shownCatalog{State: "absent"}
	if n := len(s.Lists); n > 0 {
		last := s.Lists[n-1]
		c.State, c.Pages, c.Why = string(last.State), len(last.Pages), last.Why
		for _, t := range last.Tools {
			c.Tools = append(c.Tools, t.Name)
		}
	}
	return c
}

func callJSON(c *session.Call) shownCall {
	out := shownCall{ID: callID(c), Seq: c.Seq, Tool: c.Tool, State: string(c.State), AtMs: ms(c.At), WaitedMs: ms(c.WaitedNs),
		AnswerSeq: c.AnswerSeq, Attempts: len(c.Attempts), ToolUseID: c.ToolUseID, Error: c.ErrorText}
	if h := c.Attempts[0].HTTP; h != nil {
		out.Exchange, out.Ended = h.Exchange, c.Ended
		if last := c.Attempts[len(c.Attempts)-1].HTTP; last != nil {
			out.Status = last.Status
		}
	}
	if ns, ok := c.DurationNs(); ok {
		out.DurationMs = ms(ns)
	}
	if c.Error != nil {
		out.ErrorCode, out.Error = &c.Error.Code, c.Error.Message
	}
	return out
}

func linkJSON(k chain.Link) shownLink {
	return shownLink{Link: string(k.Link), State: string(k.State), Reason: string(k.Reason),
		Evidence: shownEvidence{Records: k.Evidence.Records, Text: k.Evidence.Text, SameCallAs: k.Evidence.SameCallAs}}
}

// callID is a call's id: its seq, or seq.index in a batch.
func callID(c *session.Call) string {
	if c.Index >= 0 {
		return fmt.Sprintf("%d.%d", c.Seq, c.Index)
	}
	return strconv.FormatInt(c.Seq, 10)
}

// ms is nanoseconds in milliseconds, to the microsecond.
func ms(ns int64) float64 { return math.Round(float64(ns)/1e3) / 1e3 }
