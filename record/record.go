// Package record holds the recording: its record types, the writer that a
// proxy feeds, the strict reader, and repair. FORMAT.md beside this file is the
// format's document.
//
// It knows bytes, lines and order. It must not know what a message means:
// JSON-RPC, sessions, tools and verdicts live further down the flow, in
// record/session and grade.
package record

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind names what a record is. A reader keeps records of kinds it does not know
// (see [Record.Line]) and counts them.
type Kind string

// The record kinds of format version 1. FORMAT.md has the members of each.
const (
	KindHeader      Kind = "header"      // first line of every segment; takes no seq
	KindStart       Kind = "start"       // the server's process was started; also continues a long argv
	KindFrame       Kind = "frame"       // one stdio line, or a part of one
	KindClose       Kind = "close"       // somebody closed something, or sent a signal
	KindExit        Kind = "exit"        // how the server's process ended
	KindError       Kind = "error"       // the server could not be started or reached
	KindUndelivered Kind = "undelivered" // recorded bytes that the other side never got
	KindStall       Kind = "stall"       // a write that was blocked by its reader
	KindGap         Kind = "gap"         // records that were not kept
	KindClock       Kind = "clock"       // wall clock against the monotonic one
	// KindConversation is a line of a host's transcript that was attached afterwards.
	KindConversation Kind = "conversation"
	// KindRemoved tells which files went for a limit on the recording or its folder.
	KindRemoved Kind = "removed"
	KindCheck   Kind = "check"   // count and CRC of the lines before; takes no seq
	KindClosing Kind = "closing" // the last line of a segment; takes no seq
)

// From is the direction of bytes: who wrote them.
type From string

// The directions of a stdio recording.
const (
	Client From = "client" // the host, towards the server's stdin
	Server From = "server" // the server's stdout, towards the host
	Stderr From = "stderr" // the server's stderr
)

// Form is how the bytes of a frame are kept in its line (FORMAT.md "Frames").
type Form uint8

// The forms of a frame. FormMessage is embedded JSON, FormText a JSON string,
// FormRaw base64.
const (
	FormMessage Form = iota + 1
	FormText
	FormRaw
)

// Level is the capture level of a recording.
type Level string

// The capture levels that this version writes. [LevelFull] keeps every byte
// except known credentials; [LevelRaw] keeps those too.
const (
	LevelFull Level = "full"
	LevelRaw  Level = "raw"
)

// Record is one entry of a recording as a reader hands it out. Slices are the
// caller's to keep: the reader does not reuse them.
type Record struct {
	Kind Kind
	// Seq is the record's place in the order in which last bytes were read: it
	// grows by one per record over all directions. 0 for header and closing.
	Seq int64
	// At is when the last byte was read: nanoseconds since the recording's
	// start, monotonic.
	At int64

	// From is the direction, for frame, undelivered and stall; else empty.
	From From
	// Off is where the record's first byte stands in its direction, counted in
	// bytes from 0. For frame and undelivered.
	Off int64

	// Frame members.

	Form Form
	// Data is the exact bytes of the frame (or of this part), or of this piece of
	// a body, without EOL.
	Data []byte
	// EOL is the end of the line: trailing white space of the frame, then
	// "\n"; empty for a part that is not the last and for an unterminated tail.
	EOL []byte
	// More says that the line goes on in the next frame record of this direction.
	More bool
	// Cont says that this record continues the line of the frame record before
	// it in this direction.
	Cont bool
	// Headless says that the beginning of this line was lost in a gap, so that
	// Data is no message whatever it looks like.
	Headless bool
	// Len is the length in bytes of the whole line without EOL; on parts that
	// are not the last it is 0.
	Len int64
	// Since is set when the frame's bytes came in more than one read.
	Since *Since
	// Masked lists the credentials that were replaced in Data, by offset in Data.
	Masked []Mask

	Start    *Start
	Close    *Close
	Exit     *Exit
	Error    *Error
	Lost     *Undelivered
	Stall    *Stall
	Gap      *Gap
	Clock    *Clock
	Closing  *Closing
	Header   *Header
	Attached *Attached
	Removed  *Removed

	// Exchange numbers the HTTP exchange of http_request, http_response and body
	// records, and of what else belongs to one: from 1, in the order of the
	// requests. 0: none.
	Exchange int64
	// End, Trailers and Patch are a body's.
	End      BodyEnd
	Trailers Fields
	Patch    []Patch

	Request  *HTTPRequest
	Response *HTTPResponse

	// Line is the record's line as it stands in the recording, without LF.
	Line []byte
	// Ref says where the line is, for [Store.Fetch].
	Ref Ref
}

// Since tells when the first byte of a frame was read that came in several reads.
type Since struct {
	// After is the last seq that had been taken before the first byte was read:
	// every record with a larger seq (this one included) ended later.
	After int64 `json:"after"`
	// At is when the first byte was read (nanoseconds since start).
	At int64 `json:"at"`
}

// Mask is one replaced credential: Len bytes at Off are filler. MAC is equal for
// equal values under the same key, and says nothing else about the value.
type Mask struct {
	Off int64  `json:"off"`
	Len int64  `json:"len"`
	MAC string `json:"mac"`
}

// Header is what is known when a segment begins.
type Header struct {
	Format   [2]int   `json:"format"`         // major, minor
	Needs    []string `json:"needs,omitzero"` // features a reader must understand
	ID       string   `json:"id"`             // of the recording: the same in all of its segments
	Segment  int      `json:"segment"`        // 0, 1, 2 …
	FirstSeq int64    `json:"firstSeq"`       // seq of the segment's first record
	Start    Time     `json:"start"`          // wall clock at At = 0 of the recording
	At       int64    `json:"at"`             // monotonic nanoseconds at which the segment began
	Recorder Software `json:"recorder"`
	// Transport is "stdio" or "http": what the host speaks.
	Transport string `json:"transport"`
	// Listen is the address at which the host was served, Upstream the URL of the
	// server (its credentials replaced), for HTTP.
	Listen   string `json:"listen,omitzero"`
	Upstream string `json:"upstream,omitzero"`
	// Bridge says that sixlink itself spoke HTTP for a host that speaks stdio: the
	// frames are the host's, the exchanges are sixlink's.
	Bridge bool              `json:"bridge,omitzero"`
	Level  Level             `json:"level"`
	Labels map[string]string `json:"labels,omitzero"`
	// Command is the argv that was started, known credentials replaced. A long
	// one is continued in start records.
	Command []string `json:"command,omitzero"`
	Cwd     string   `json:"cwd,omitzero"`
	// Env has the names of the environment variables, sorted; EnvValues the
	// values of the few that are no secret (FORMAT.md "Header").
	Env       []string          `json:"env,omitzero"`
	EnvValues map[string]string `json:"envValues,omitzero"`
	// MaskKey is the id of the key behind the MACs; empty when nothing is masked.
	MaskKey string `json:"maskKey,omitzero"`
	// Prev is the SHA-256 (hex) of the previous segment, or "torn".
	Prev string `json:"prev,omitzero"`
	// DerivedFrom says which recording a tool made this one of.
	DerivedFrom *Derived `json:"derivedFrom,omitzero"`
}

// Software names a program and its version.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Derived says where a rewritten recording comes from.
type Derived struct {
	SHA256 string `json:"sha256"` // hex, of the file that was read
	Tool   string `json:"tool"`
}

// Time is a wall-clock time, written as RFC 3339 with nanoseconds in UTC.
type Time struct{ time.Time }

// Start tells that the server's process runs, or continues a long argv.
type Start struct {
	PID     int      `json:"pid,omitzero"`
	Command []string `json:"command,omitzero"`
	Env     []string `json:"env,omitzero"`
}

// Who of a [Close].
const (
	ByClient = "client" // the host
	ByServer = "server" // the server's process
	ByProxy  = "proxy"  // sixlink itself
)

// What of a [Close].
const (
	Stdin      = "stdin"  // the stream from host to server
	Stdout     = "stdout" // the stream from server to host
	StderrPipe = "stderr" // the server's stderr
	Signal     = "signal" // a signal: from the host (who client) or from sixlink itself (who proxy)

	// Of HTTP: the body that was broken off, or the client's connection.
	RequestBody  = "request"
	ResponseBody = "response"
	Connection   = "connection"
)

// Close tells who ended what. The streams are named as the server sees them:
// {client, stdin} is the host's end of file, {client, stdout} a host that no
// longer reads, {server, stdin} a server that no longer reads, {server, stdout}
// the server's end of file.
type Close struct {
	Who string `json:"who"`
	// What is stdin, stdout, stderr or signal; for HTTP request, response (of
	// Record.Exchange) or connection (number Conn).
	What string `json:"what"`
	Conn int64  `json:"conn,omitzero"`
	// Signal is the signal's name without SIG ("TERM"), when What is signal.
	Signal string `json:"signal,omitzero"`
	// To says who got the signal: "child", "group", or "" when it was not passed on.
	To    string `json:"to,omitzero"`
	Error string `json:"error,omitzero"` // the error that showed it, if one did
	Why   string `json:"why,omitzero"`   // sixlink's own reason, who proxy only
}

// Exit tells how the server's process ended: exactly one of Code and Signal.
type Exit struct {
	Code   *int   `json:"code,omitzero"`
	Signal string `json:"signal,omitzero"` // without SIG
	// Held lists streams that a grandchild still held open when sixlink left.
	Held []string `json:"held,omitzero"`
}

// Made as the What of an [Error] says that the server's line that follows was made by
// sixlink, for want of an answer of the server's (recordings of a bridge alone).
const Made = "made"

// Error tells that the server was not reached, or gave no answer.
type Error struct {
	What  string `json:"what"`          // "spawn"; for HTTP "connect", "tls", "send", [Made]
	Error string `json:"error"`         // the system's words
	Code  int    `json:"code,omitzero"` // the exit code that sixlink ended with: 126 or 127
}

// Undelivered tells that bytes from Record.Off on (direction Record.From) were
// recorded but not written to the other side.
type Undelivered struct {
	Bytes int64  `json:"bytes,omitzero"`
	Error string `json:"error"`
}

// Stall tells that a write of direction Record.From was blocked by its reader.
type Stall struct {
	Ms int64 `json:"ms"`
}

// Gap tells what was not kept, and why.
type Gap struct {
	FirstSeq int64              `json:"firstSeq"`
	LastSeq  int64              `json:"lastSeq"`
	Streams  map[From]GapStream `json:"streams,omitzero"`
	// HTTP has what was lost of HTTP. Exchanges whose records may be among that
	// are those that were open meanwhile, and others that nobody knows of.
	HTTP map[From]GapHTTP `json:"http,omitzero"`
	Why  string           `json:"why"`
	// Cut is set when the gap is the end of a message that is over the limit.
	Cut *Cut `json:"cut,omitzero"`
}

// GapStream is what a gap swallowed of one direction.
type GapStream struct {
	Off    int64 `json:"off"`    // where the loss begins
	Bytes  int64 `json:"bytes"`  // how many bytes
	Frames int64 `json:"frames"` // how many line ends were among them
}

// Clock pairs the wall clock with Record.At.
type Clock struct {
	Wall Time `json:"wall"`
	// Offset is how far the wall clock is from start + at, in nanoseconds. It
	// moves when the machine slept or its clock was set.
	Offset int64 `json:"offset"`
}

// Closing ends a segment.
type Closing struct {
	Records int64  `json:"records"` // records of the segment that took a seq
	LastSeq int64  `json:"lastSeq"`
	SHA256  string `json:"sha256"` // hex, of all lines of the segment but check and closing
	Last    bool   `json:"last"`   // no further segment follows
	// Torn says that a repair ended the recording where its writer was cut off.
	Torn bool `json:"torn,omitzero"`
}

// State of a recording.
type State string

// The states. A live recording is being written; a torn one ends without its
// closing record, which is normal after a kill.
const (
	Sealed State = "sealed"
	Live   State = "live"
	Torn   State = "torn"
)

// Ref is where a record's line stands: File is the index of the recording's
// file (0 unless a write error or rotation opened another), Frame the offset of
// its zstd frame in that file, Off the offset of the line in the unpacked frame,
// Len the line's length without LF, all in bytes.
type Ref struct {
	File  int32
	Len   int32
	Frame int64
	Off   int64
}

// Attached is one line of a conversation in the neutral format (docs/conversation.md),
// or a piece of a long one: FORMAT.md 11.
type Attached struct {
	// Entry is the line, a JSON object; else Part is a piece of its text, with More on
	// all but the last.
	Entry jsontext.Value `json:"entry,omitzero"`
	Part  string         `json:"part,omitzero"`
	More  bool           `json:"more,omitzero"`
}
