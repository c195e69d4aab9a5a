package bridge

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The codes of the errors that we make (package comment). JSON-RPC leaves
// -32099 to -32000 to implementations; MCP and its SDKs use others of them.
const (
	codeUnreachable  = -32090
	codeUnauthorized = -32091
	codeNotFound     = -32092
	codeServerError  = -32093
	codeStatus       = -32094
	codeUnreadable   = -32095
	codeNoAnswer     = -32096
	codeTooLong      = -32097
)

// maxQuote is how many bytes of a body an error quotes.
const maxQuote = 2 << 10

// fault is why a request has no answer of its own.
type fault struct {
	code    int
	why     string // the word that belongs to code
	message string
	status  int
	head    http.Header // of the response
	body    []byte
	failure []byte // the server's error that named no id
}

// statusFault is the fault of a response that is no success.
func statusFault(status int, h http.Header, body []byte) fault {
	f := fault{status: status, head: h, body: body, message: "the server answered " + statusText(status)}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.code, f.why = codeUnauthorized, "unauthorized"
		f.message += ": credentials are given with --header"
	case status == http.StatusNotFound:
		f.code, f.why = codeNotFound, "notFound"
		f.message += ": the URL is wrong, or the server has ended the session"
	case status >= 500:
		f.code, f.why = codeServerError, "serverError"
	default:
		f.code, f.why = codeStatus, "status"
	}
	return f
}

func statusText(status int) string {
	b, _ := json.Marshal(status)
	if t := http.StatusText(status); t != "" {
		return string(b) + " " + t
	}
	return string(b)
}

type madeData struct {
	MadeBy   string         `json:"madeBy"`
	Why      string         `json:"why"`
	Status   int            `json:"status,omitzero"`
	Type     string         `json:"contentType,omitzero"`
	Auth     string         `json:"wwwAuthenticate,omitzero"`
	Location string         `json:"location,omitzero"`
	Body     string         `json:"body,omitzero"`
	Error    jsontext.Value `json:"error,omitzero"`
}

type madeError struct {
	Code    jsontext.Value `json:"code"`
	Message string         `json:"message"`
	Data    madeData       `json:"data"`
}

type madeAnswer struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Error   madeError      `json:"error"`
}

// made is the JSON-RPC error for the request with this id.
func (f fault) made(id []byte) []byte {
	data := madeData{MadeBy: "sixlink", Why: f.why, Status: f.status}
	if f.head != nil {
		data.Type = clean(f.head.Get("Content-Type"))
		data.Auth = clean(f.head.Get("Www-Authenticate"))
		data.Location = clean(f.head.Get("Location"))
	}
	code, message := jsontext.Value(nil), "sixlink: "+f.message
	if f.failure != nil {
		// The server's own words, but for the id: hosts decide by them which
		// era a server speaks.
		var e struct {
			Code    jsontext.Value `json:"code"`
			Message string         `json:"message"`
		}
		opts := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if json.Unmarshal(f.failure, &e, opts) == nil && e.Code.Kind() == '0' {
			code, message = e.Code, e.Message
		}
		data.Error = oneLine(f.failure)
	} else {
		data.Body = clean(string(f.body[:min(len(f.body), maxQuote)]))
	}
	if code == nil {
		code, _ = json.Marshal(f.code)
	}
	if id == nil {
		id = []byte("null")
	}
	line, err := json.Marshal(madeAnswer{"2.0", id, madeError{code, clean(message), data}},
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		// What was quoted cannot be written: without it.
		f.failure, f.body, f.head = nil, nil, nil
		return f.made(nil)
	}
	return line
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
