package session

import (
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// field is a member that somebody here looks at. All other members of a message
// are walked over and not kept, so a message costs the same whatever is in it.
type field uint8

const (
	fNone field = iota
	// The envelope.
	fJSONRPC
	fID
	fMethod
	fParams
	fResult
	fError
	// Params and results.
	fMeta
	fName
	fArguments
	fCursor
	fRequestID
	fReason
	fProgressToken
	fProtocolVersion
	fClientInfo
	fServerInfo
	fCapabilities
	fInputResponses
	fInputRequests
	fRequestState
	fTask
	fTaskID
	fStatus
	fStatusMessage
	fTools
	fNextCursor
	fContent
	fIsError
	fResultType
	fSupportedVersions
	fExtensions
	// Inside other objects.
	fCode
	fMessage
	fType
	fText
	fVersion
	fTitle
	fMetaVersion
	fMetaClient
	fMetaServer
	fMetaClientCaps
	fMetaTask
	fMetaToolUse
	fMetaCallID
	fMetaCodex
	fieldCount
)

// fieldOf compares names as they are: "ID" is not "id".
func fieldOf(name []byte) field {
	switch string(name) {
	case "jsonrpc":
		return fJSONRPC
	case "id":
		return fID
	case "method":
		return fMethod
	case "params":
		return fParams
	case "result":
		return fResult
	case "error":
		return fError
	case "_meta":
		return fMeta
	case "name":
		return fName
	case "arguments":
		return fArguments
	case "cursor":
		return fCursor
	case "requestId":
		return fRequestID
	case "reason":
		return fReason
	case "progressToken":
		return fProgressToken
	case "protocolVersion":
		return fProtocolVersion
	case "clientInfo":
		return fClientInfo
	case "serverInfo":
		return fServerInfo
	case "capabilities":
		return fCapabilities
	case "inputResponses":
		return fInputResponses
	case "inputRequests":
		return fInputRequests
	case "requestState":
		return fRequestState
	case "task":
		return fTask
	case "taskId":
		return fTaskID
	case "status":
		return fStatus
	case "statusMessage":
		return fStatusMessage
	case "tools":
		return fTools
	case "nextCursor":
		return fNextCursor
	case "content":
		return fContent
	case "isError":
		return fIsError
	case "resultType":
		return fResultType
	case "supportedVersions":
		return fSupportedVersions
	case "extensions":
		return fExtensions
	case "code":
		return fCode
	case "message":
		return fMessage
	case "type":
		return fType
	case "text":
		return fText
	case "version":
		return fVersion
	case "title":
		return fTitle
	case "io.modelcontextprotocol/protocolVersion":
		return fMetaVersion
	case "io.modelcontextprotocol/clientInfo":
		return fMetaClient
	case "io.modelcontextprotocol/serverInfo":
		return fMetaServer
	case "io.modelcontextprotocol/clientCapabilities":
		return fMetaClientCaps
	case "io.modelcontextprotocol/related-task":
		return fMetaTask
	case "claudecode/toolUseId": // Claude Code (hosts.md)
		return fMetaToolUse
	case "callId": // Codex (hosts.md)
		return fMetaCallID
	case "x-codex-turn-metadata":
		return fMetaCodex
	}
	return fNone
}

// object is one object of a line with the members that are looked at.
type object struct {
	data []byte
	span jsonscan.Span
	// found has a bit for each member that is there; only their places count, so
	// that an object can be used again without clearing all of it.
	found  uint64
	places [fieldCount]place
	dup    bool // a member that is looked at stands in it twice
}

// place is a [jsonscan.Span] of a line, which has less than 2 GiB.
type place struct{ start, end, depth int32 }

// Each field has its bit in object.found.
const _ = uint(64 - fieldCount)

func (o *object) has(f field) bool { return o.found>>f&1 != 0 }

// at is where a member's value stands; the zero Span when it is absent.
func (o *object) at(f field) jsonscan.Span {
	if !o.has(f) {
		return jsonscan.Span{}
	}
	p := &o.places[f]
	return jsonscan.Span{Start: int(p.start), End: int(p.end), Depth: int(p.depth)}
}

// clear makes it an object without members.
func (o *object) clear(data []byte) {
	o.data, o.span, o.found, o.dup = data, jsonscan.Span{}, 0, false
}

// token is the JSON text of a member; nil when it is absent.
func (o *object) token(f field) []byte {
	if !o.has(f) {
		return nil
	}
	p := &o.places[f]
	return o.data[p.start:p.end]
}

// text is the text of a member that is a string.
func (o *object) text(f field) (string, bool) {
	t := o.token(f)
	if t == nil {
		return "", false
	}
	return jsonscan.String(t)
}

// is tells whether the member is a value that begins with c ('{', '[', 'n' …).
func (o *object) is(f field, c byte) bool {
	t := o.token(f)
	return len(t) > 0 && t[0] == c
}

// none is an object without members; nobody writes to it.
var none object

// object reads the member as an object; ok is false when it is none.
func (o *object) object(f field) (in *object, ok bool) {
	if !o.is(f, '{') {
		return &none, false
	}
	in = new(object)
	_, err := in.scan(o.data, o.at(f).Start, nil)
	return in, err == nil
}

// scan reads the object at i. inner, when given, takes a member of interest
// whose value begins at at, and walks over it.
func (o *object) scan(data []byte, i int, inner func(f field, at int) (jsonscan.Span, error)) (jsonscan.Span, error) {
	o.clear(data)
	var err error
	o.span, err = jsonscan.Members(data, i, func(name []byte, at int) (jsonscan.Span, error) {
		f := fieldOf(name)
		var s jsonscan.Span
		var err error
		if f != fNone && inner != nil {
			s, err = inner(f, at)
		} else {
			s, err = jsonscan.Skip(data, at)
		}
		// A value that the data ends with may be the beginning of a number.
		if f != fNone && err == nil && s.End < len(data) {
			o.dup = o.dup || o.has(f)
			o.found |= 1 << f
			o.places[f] = place{int32(s.Start), int32(s.End), int32(s.Depth)} // of duplicates the last holds, as in TypeScript and Go (wire.md 2.1)
		}
		return s, err
	})
	return o.span, err
}

// kind of a message (wire.md 2.1).
type kind uint8

const (
	kNone kind = iota
	kRequest
	kNotification
	kReply
)

// message is a JSON-RPC message by its raw members. It is reused: it must not
// outlive its line.
type message struct {
	object
	kind   kind
	why    string // what keeps it from being a message
	params object
	result object
	valid  bool // "jsonrpc":"2.0" is there
	id     ID
	method string
}

// peek reads the message at i and returns where it stands. An error means that
// there is no JSON object; kind is kNone when there is one that is no message.
// On an error, what was found before it is in m.
func (m *message) peek(data []byte, i int) (jsonscan.Span, error) {
	m.params.clear(nil)
	m.result.clear(nil)
	s, err := m.scan(data, i, func(f field, at int) (jsonscan.Span, error) {
		into := &m.params
		switch f {
		case fParams:
		case fResult:
			into = &m.result
		default:
			return jsonscan.Skip(data, at)
		}
		if at = jsonscan.Space(data, at); at < len(data) && data[at] == '{' {
			return into.scan(data, at, nil)
		}
		into.clear(nil)
		return jsonscan.Skip(data, at)
	})
	m.classify()
	return s, err
}

func (m *message) classify() {
	m.kind, m.why, m.id, m.method = kNone, "", ID{}, ""
	version, _ := m.text(fJSONRPC)
	m.valid = version == "2.0"
	if m.has(fID) {
		m.id = parseID(m.token(fID))
	}
	method, isText := methodCall, string(m.token(fMethod)) == `"tools/call"` // the frequent one costs no memory
	if !isText {
		method, isText = m.text(fMethod)
	}
	m.method = method
	switch {
	case m.has(fMethod) && !isText:
		m.why = "method is no string"
	case isText && m.has(fID) && (m.valid || m.id.Pairs()):
		m.kind = kRequest
	case isText && m.valid:
		m.kind = kNotification
	case isText:
		m.why = "a method without jsonrpc and id" // log lines look like that
	case (m.outcome(fResult) || m.outcome(fError)) && (m.valid || m.has(fID)), m.valid && m.has(fID):
		m.kind = kReply
	default:
		m.why = "a JSON object that is no JSON-RPC message"
	}
}

// outcome tells whether result or error is there. A null beside the other one
// is JSON-RPC 1.0's way to say absent.
func (m *message) outcome(f field) bool {
	other := fResult
	if f == fResult {
		other = fError
	}
	return m.has(f) && (!m.is(f, 'n') || f == fResult && !m.has(other))
}
