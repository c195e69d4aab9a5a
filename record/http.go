package record

// The record kinds of HTTP (FORMAT.md 10).
const (
	KindRequest  Kind = "http_request"  // the head of a request
	KindResponse Kind = "http_response" // the head of a response, an interim one (1xx) included
	KindBody     Kind = "body"          // a piece of a body, and how a body ended
)

// NeedHTTP stands in [Header.Needs] of every recording with records of HTTP: a
// reader that does not know them would take it for one without traffic.
const NeedHTTP = "http"

// Fields are header fields: canonical names, for each its values in the order in
// which they came. The order of different names is not kept (net/http has lost it).
type Fields map[string][]string

// HTTPRequest is the head of a request as the client sent it.
type HTTPRequest struct {
	// Conn numbers the client's connections from 1; Peer is the address at its
	// other end.
	Conn   int64  `json:"conn,omitzero"`
	Peer   string `json:"peer,omitzero"`
	Method string `json:"method"`
	// Target is the request target as it was sent, byte for byte.
	Target  string `json:"target"`
	Proto   string `json:"proto"`
	Host    string `json:"host"`
	Headers Fields `json:"headers,omitzero"`
	// RawHeaders has, in base64, the values of fields that have a value which is
	// no UTF-8; Headers does not have those fields.
	RawHeaders Fields `json:"rawHeaders,omitzero"`
	// Length is the body's length in bytes as announced; -1: not announced.
	Length int64 `json:"length"`
	// Sent has the fields that the upstream got otherwise than the client sent
	// them ("Host" among them); an empty list is a field that was left out.
	Sent Fields `json:"sent,omitzero"`
	// Masked lists replaced credentials.
	Masked []HeadMask `json:"masked,omitzero"`
	// End says that no body follows.
	End bool `json:"end,omitzero"`
}

// HTTPResponse is the head of a response as the upstream sent it.
type HTTPResponse struct {
	Status     int        `json:"status"`
	Reason     string     `json:"reason,omitzero"` // the phrase behind the status
	Proto      string     `json:"proto,omitzero"`
	Headers    Fields     `json:"headers,omitzero"`
	RawHeaders Fields     `json:"rawHeaders,omitzero"`
	Length     int64      `json:"length"` // -1: not announced
	Sent       Fields     `json:"sent,omitzero"`
	Masked     []HeadMask `json:"masked,omitzero"`
	End        bool       `json:"end,omitzero"`
	// Made says that sixlink made this response itself, and Why it did: the
	// upstream never gave it.
	Made bool   `json:"made,omitzero"`
	Why  string `json:"why,omitzero"`
	// Attempts counts how often the request was sent, when more than once:
	// net/http repeats some on a connection that had just been closed.
	Attempts int `json:"attempts,omitzero"`
}

// HeadMask is a replaced credential of a head: Len bytes at Off of the value
// number N of the field In are filler. In is "target" for the request target
// (no field has a name in lower case here).
type HeadMask struct {
	In  string `json:"in"`
	N   int    `json:"n,omitzero"`
	Off int64  `json:"off"`
	Len int64  `json:"len"`
	MAC string `json:"mac"`
}

// Patch is what was changed of a body on its way: the receiver got Text in the
// place of Len bytes at Off, counted from the body's first byte as it was read.
type Patch struct {
	Off  int64  `json:"off"`
	Len  int64  `json:"len"`
	Text string `json:"text"`
}

// BodyEnd says whether a body ends with a piece.
type BodyEnd uint8

// The ends of a body. A close record says who cut one off.
const (
	BodyMore BodyEnd = iota // more follows
	BodyLast                // it ended in order
	BodyCut                 // it was broken off
)

// Body is a piece of a body on its way into a recording.
type Body struct {
	Exchange int64
	From     From  // [Client] for a request's body, [Server] for a response's
	Off      int64 // of the piece's first byte in its body
	Data     []byte
	End      BodyEnd
	Trailers Fields // of a body that ended in order
	Patch    []Patch
}

// GapHTTP is what a gap swallowed of HTTP in one direction.
type GapHTTP struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"` // of bodies
}
