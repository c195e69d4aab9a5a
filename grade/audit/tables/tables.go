// Package tables writes the rows of an audit as Parquet: the tables sessions, calls,
// rows and catalog_changes of docs/audit.md, for DuckDB, ClickHouse, BigQuery and the
// like. The same rows in the same order give the same bytes.
//
// It must not know how rows are made, nor where files stand.
package tables

import (
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"

	"github.com/sixlink/sixlink/grade/audit"
)

// Schema names the shape of the tables; columns may be added within a version. Every
// file has it in its metadata, under the key sixlink.schema.
const Schema = "sixlink/audit-tables/1"

// Names are the tables.
var Names = []string{"sessions", "calls", "rows", "catalog_changes"}

// Session is a row of sessions. What is optional is null where it was not measured; of
// times that is 0.
type Session struct {
	Recording       string `parquet:"recording,dict"`
	Session         string `parquet:"session,dict"`
	RecordingState  string `parquet:"recording_state,dict"`
	Start           int64  `parquet:"start,optional,timestamp(microsecond)"`
	DurationNs      int64  `parquet:"duration_ns"`
	Era             string `parquet:"era,dict"`
	Transport       string `parquet:"transport,dict"`
	ProtocolVersion string `parquet:"protocol_version,dict"`
	Host            string `parquet:"host,dict"`
	HostVersion     string `parquet:"host_version,dict"`
	Server          string `parquet:"server,dict"`
	ServerVersion   string `parquet:"server_version,dict"`
	Labels          string `parquet:"labels,dict"` // a JSON object
	Basis           string `parquet:"basis,dict"`
	Used            bool   `parquet:"used"`
	Calls           int64  `parquet:"calls"`
	Gaps            int64  `parquet:"gaps"`
	Torn            bool   `parquet:"torn"`
	EndedBy         string `parquet:"ended_by,dict"`
	Paging          string `parquet:"paging,dict"`

	CaptureToolCalls        string `parquet:"capture_tool_calls,dict"`
	CaptureToolErrors       string `parquet:"capture_tool_errors,dict"`
	CaptureToolResults      string `parquet:"capture_tool_results,dict"`
	CaptureToolCallTimings  string `parquet:"capture_tool_call_timings,dict"`
	CaptureToolInventory    string `parquet:"capture_tool_inventory,dict"`
	CaptureToolDeclarations string `parquet:"capture_tool_declarations,dict"`

	Graded     bool    `parquet:"graded"`
	NotGraded  *string `parquet:"not_graded,optional,dict"`
	Case       *string `parquet:"case,optional,dict"`
	Verdict    *string `parquet:"verdict,optional,dict"`
	Why        *string `parquet:"why,optional,dict"`
	FirstBreak *string `parquet:"first_break,optional,dict"`
	Connection *string `parquet:"connection,optional,dict"`
	Discovery  *string `parquet:"discovery,optional,dict"`
	Selection  *string `parquet:"selection,optional,dict"`
	Call       *string `parquet:"call,optional,dict"`
	Response   *string `parquet:"response,optional,dict"`
	UserValue  *string `parquet:"user_value,optional,dict"`
	// Reason is that of the first break.
	Reason   *string  `parquet:"first_break_reason,optional,dict"`
	Catalogs []string `parquet:"catalogs,list"`
}

// Call is a row of calls.
type Call struct {
	Recording     string   `parquet:"recording,dict"`
	Session       string   `parquet:"session,dict"`
	Call          string   `parquet:"call"`
	Seq           int64    `parquet:"seq"`
	Index         *int32   `parquet:"index,optional"`
	Start         int64    `parquet:"start,optional,timestamp(microsecond)"`
	Server        string   `parquet:"server,dict"`
	ServerVersion string   `parquet:"server_version,dict"`
	Host          string   `parquet:"host,dict"`
	HostVersion   string   `parquet:"host_version,dict"`
	Era           string   `parquet:"era,dict"`
	Transport     string   `parquet:"transport,dict"`
	Labels        string   `parquet:"labels,dict"`
	Case          *string  `parquet:"case,optional,dict"`
	Tool          string   `parquet:"tool,dict"`
	State         string   `parquet:"state,dict"`
	ErrorKind     *string  `parquet:"error_kind,optional,dict"`
	ErrorCode     *int64   `parquet:"error_code,optional"`
	Undecided     bool     `parquet:"undecided"`
	LatencyNs     *int64   `parquet:"latency_ns,optional"`
	WaitedNs      int64    `parquet:"waited_ns"`
	ResultBytes   *int64   `parquet:"result_bytes,optional"`
	Cancelled     bool     `parquet:"cancelled"`
	Attempts      int32    `parquet:"attempts"`
	Repeat        *bool    `parquet:"repeat,optional"`
	Retry         *bool    `parquet:"retry,optional"`
	Arguments     string   `parquet:"arguments,dict"`
	ArgClasses    []string `parquet:"argument_classes,list"`
	Result        string   `parquet:"result,dict"`
	ResultClasses []string `parquet:"result_classes,list"`
}

// Row is a row of rows: one check on one trial.
type Row struct {
	Recording string  `parquet:"recording,dict"`
	Session   string  `parquet:"session,dict"`
	Start     int64   `parquet:"start,optional,timestamp(microsecond)"`
	Server    string  `parquet:"server,dict"`
	Case      string  `parquet:"case,dict"`
	Check     string  `parquet:"check,dict"`
	Link      string  `parquet:"link,dict"`
	Role      string  `parquet:"role,dict"`
	Turn      *int32  `parquet:"turn,optional"`
	Result    string  `parquet:"result,dict"`
	Reason    string  `parquet:"reason,dict"`
	Records   []int64 `parquet:"records,list"`
}

// Change is a row of catalog_changes.
type Change struct {
	Server      string  `parquet:"server,dict"`
	FromVersion string  `parquet:"from_version,dict"`
	ToVersion   string  `parquet:"to_version,dict"`
	FromCatalog string  `parquet:"from_catalog,dict"`
	ToCatalog   string  `parquet:"to_catalog,dict"`
	FirstSeen   int64   `parquet:"first_seen,optional,timestamp(microsecond)"`
	Rule        string  `parquet:"rule,dict"`
	Class       string  `parquet:"class,dict"`
	Tool        *string `parquet:"tool,optional,dict"`
	Path        *string `parquet:"path,optional,dict"`
	Text        string  `parquet:"text"`
	Before      *string `parquet:"before,optional"`
	After       *string `parquet:"after,optional"`
}

// groupRows bounds the rows of a row group, and so what is held before it is written.
const groupRows = 64 << 10

// Writer writes the four tables.
type Writer struct {
	sessions *parquet.GenericWriter[Session]
	calls    *parquet.GenericWriter[Call]
	rows     *parquet.GenericWriter[Row]
	changes  *parquet.GenericWriter[Change]
	// Rows counts what was written, by the table's name.
	Rows map[string]int64
}

// NewWriter begins the tables, each on the writer of its name.
func NewWriter(to map[string]io.Writer) *Writer {
	opts := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(128 << 10),
		parquet.KeyValueMetadata("sixlink.schema", Schema), parquet.CreatedBy("sixlink", "", "")}
	return &Writer{
		sessions: parquet.NewGenericWriter[Session](to["sessions"], opts...), calls: parquet.NewGenericWriter[Call](to["calls"], opts...),
		rows: parquet.NewGenericWriter[Row](to["rows"], opts...), changes: parquet.NewGenericWriter[Change](to["catalog_changes"], opts...),
		Rows: map[string]int64{},
	}
}

// Add writes what one recording gave.
func (w *Writer) Add(m *audit.Measured) error {
	if len(m.Sessions) > 0 {
		sessions := make([]Session, len(m.Sessions))
		for i := range m.Sessions {
			if err := session(&sessions[i], &m.Sessions[i]); err != nil {
				return err
			}
		}
		if err := put(w, "sessions", w.sessions, sessions); err != nil {
			return err
		}
	}
	// All calls of a recording have its labels.
	labels := "{}"
	if len(m.Calls) > 0 {
		var err error
		if labels, err = object(m.Calls[0].Labels); err != nil {
			return err
		}
	}
	const batch = 1024
	calls := make([]Call, 0, min(batch, len(m.Calls)))
	for i := range m.Calls {
		calls = append(calls, call(&m.Calls[i], labels))
		if len(calls) == batch || i == len(m.Calls)-1 {
			if err := put(w, "calls", w.calls, calls); err != nil {
				return err
			}
			calls = calls[:0]
		}
	}
	rows := make([]Row, 0, len(m.Rows))
	for i := range m.Rows {
		r := &m.Rows[i]
		rows = append(rows, Row{r.Recording, r.Session, micros(r.Start), r.Server, r.Case, r.Check, r.Link, r.Role, turn(r.Turn), r.Result, r.Reason, r.Records})
	}
	return put(w, "rows", w.rows, rows)
}

// Close writes the changes of catalogs and ends the tables.
func (w *Writer) Close(changes []audit.Change) error {
	out := make([]Change, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		out = append(out, Change{c.Server, c.FromVersion, c.ToVersion, c.FromCatalog, c.ToCatalog, micros(c.At()), c.Rule, c.Class,
			text(c.Tool), text(c.Path), c.Text, text(c.Before), text(c.After)})
	}
	if err := put(w, "catalog_changes", w.changes, out); err != nil {
		return err
	}
	for _, c := range []io.Closer{w.sessions, w.calls, w.rows, w.changes} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

func put[T any](w *Writer, name string, to *parquet.GenericWriter[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	n, err := to.Write(rows)
	w.Rows[name] += int64(n)
	return err
}

func session(out *Session, s *audit.Session) error {
	labels, err := object(s.Labels)
	if err != nil {
		return err
	}
	c := &s.Capture
	*out = Session{
		Recording: s.Recording, Session: s.Session, RecordingState: s.State, Start: micros(s.Start), DurationNs: s.Duration, Era: s.Era, Transport: s.Transport,
		ProtocolVersion: s.Protocol, Host: s.Host, HostVersion: s.HostVersion, Server: s.Server, ServerVersion: s.ServerVersion, Labels: labels, Basis: s.Basis,
		Used: s.Used, Calls: s.Calls, Gaps: s.Gaps, Torn: s.Torn, EndedBy: s.EndedBy, Paging: string(s.Paging),
		CaptureToolCalls: string(c.ToolCalls), CaptureToolErrors: string(c.ToolErrors), CaptureToolResults: string(c.ToolResults),
		CaptureToolCallTimings: string(c.ToolCallTimings), CaptureToolInventory: string(c.ToolInventory), CaptureToolDeclarations: string(c.ToolDeclarations),
		Graded: s.Graded, NotGraded: text(s.NotGraded), Case: text(s.Case), Verdict: text(s.Verdict), Why: text(s.Why), FirstBreak: text(s.FirstBreak),
		Connection: text(s.Links[0]), Discovery: text(s.Links[1]), Selection: text(s.Links[2]), Call: text(s.Links[3]), Response: text(s.Links[4]), UserValue: text(s.Links[5]),
		Reason: text(s.BreakReason()), Catalogs: s.Catalogs,
	}
	return nil
}

func call(c *audit.Call, labels string) Call {
	out := Call{
		Recording: c.Recording, Session: c.Session, Call: c.ID, Seq: c.Seq, Start: micros(c.Start), Server: c.Server, ServerVersion: c.ServerVersion,
		Host: c.Host, HostVersion: c.HostVersion, Era: c.Era, Transport: c.Transport, Labels: labels, Case: text(c.Case), Tool: c.Tool, State: c.State,
		ErrorKind: text(c.ErrorKind), Undecided: c.Undecided, WaitedNs: c.Waited, Cancelled: c.Cancelled, Attempts: int32(min(c.Attempts, 1<<30)),
		Arguments: string(c.Arguments), ArgClasses: c.ArgumentClasses, Result: string(c.Result), ResultClasses: c.ResultClasses,
	}
	if c.Index >= 0 {
		out.Index = turn(c.Index)
	}
	if c.HasCode {
		out.ErrorCode = &c.Code
	}
	if c.HasLatency {
		out.LatencyNs = &c.Latency
	}
	if c.HasSize {
		out.ResultBytes = &c.Size
	}
	if !c.RepeatUnknown {
		out.Repeat, out.Retry = &c.Repeat, &c.Retry
	}
	return out
}

// micros is 0, which is written as null, for a time that is not known.
func micros(t audit.Time) int64 { return time.Unix(0, t).UnixMicro() }

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func turn(n int) *int32 {
	if n < 0 || n > 1<<30 {
		return nil
	}
	t := int32(n)
	return &t
}

func object(m map[string]string) (string, error) {
	if len(m) == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	return string(b), err
}
