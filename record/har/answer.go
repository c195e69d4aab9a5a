package har

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// whole says how much of a body a capture has.
type whole uint8

const (
	wholeBody whole = iota
	noBody          // there was none
	lacking         // there was one, or may have been; not all of it is in the capture
)

// answerBody judges the response's body. A capture has an empty text both for an
// empty body and for one that the browser did not keep (mostly event streams, large
// bodies, those of pages that were left): only where nothing could have been there
// is it an empty one. why says what is lacking.
func (e *entry) answerBody() (w whole, why string) {
	c := &e.answered
	c.decode()
	length := e.response.get("content-length")
	switch {
	case c.tooLong:
		return lacking, fmt.Sprintf("the body of the response is longer than the %d MiB that an import takes", maxText>>20)
	case c.broken != "":
		return lacking, "the capture's text of the response cannot be read: " + c.broken
	case len(c.text) > 0:
		return e.textWhole()
	case e.request.method == http.MethodHead, e.status < 200, e.status == 204, e.status == 205, e.status == 304, length == "0":
		return noBody, ""
	case e.beside:
		return lacking, "the capture keeps the body of the response in a file of its own, which is not read"
	case c.size <= 0 && e.bodySize <= 0 && (e.status == 202 || e.status >= 300 && !isJSON(e.kind()) || e.request.method == http.MethodDelete):
		return noBody, ""
	}
	return lacking, "the capture has no body of this response"
}

// kind is the media type of the response.
func (e *entry) kind() string {
	if t := mediaType(e.response.get("content-type")); t != "" {
		return t
	}
	return mediaType(e.mime)
}

func isJSON(t string) bool { return t == "application/json" || strings.HasSuffix(t, "+json") }

// textWhole tells whether a text is all of the body. Its own form decides before the
// sizes do, which browsers count differently.
func (e *entry) textWhole() (whole, string) {
	c := &e.answered
	switch kind := e.kind(); {
	case kind == eventStream:
		// Nothing in a capture says how a stream ended. Where the answer is its last event,
		// nothing depends on that.
		if e.failed == "" && endsWithReply(c.text) {
			return wholeBody, ""
		}
		return lacking, "the capture does not say whether this event stream ended"
	case isJSON(kind) && validJSON(c.text):
		return wholeBody, ""
	case e.failed != "":
		return lacking, "the browser broke off: " + clip(e.failed, 200)
	case c.size > float64(len(c.text)):
		return lacking, fmt.Sprintf("the capture has %d bytes of %.0f of the response's body", len(c.text), c.size)
	}
	return wholeBody, ""
}

func validJSON(b []byte) bool {
	return jsontext.Value(bytes.TrimSpace(b)).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// endsWithReply tells whether the last event of a stream is there to its end and is
// a reply to a request.
func endsWithReply(b []byte) bool {
	last := b[lastEvent(b):]
	t := bytes.TrimRight(last, "\r\n")
	if ends := last[len(t):]; bytes.Count(ends, []byte("\n")) < 2 && bytes.Count(ends, []byte("\r")) < 2 {
		return false
	}
	var data []byte
	for _, l := range bytes.FieldsFunc(t, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if d, ok := bytes.CutPrefix(l, []byte("data:")); ok {
			data = append(append(data, d...), '\n')
		}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if name := tok.String(); name == "result" || name == "error" {
			return true
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
	return false
}

// lastEvent is where the last event of a stream begins, firstEvent where the first
// one ends, blank lines included.
func lastEvent(b []byte) int {
	t := bytes.TrimRight(b, "\r\n")
	at := 0
	for _, blank := range blanks {
		if i := bytes.LastIndex(t, blank); i >= 0 {
			at = max(at, i+len(blank))
		}
	}
	return at
}

func firstEvent(b []byte) int {
	end := len(b)
	for _, blank := range blanks {
		if i := bytes.Index(b[:end], blank); i >= 0 {
			end = min(end, i+len(blank))
		}
	}
	return end
}

var blanks = [][]byte{[]byte("\n\n"), []byte("\r\n\r\n"), []byte("\r\r")}

// askedBody judges the request's body.
func (e *entry) askedBody() (w whole, why string) {
	c := &e.asked
	c.decode()
	c.form(e.request.get("content-type"))
	switch {
	case c.tooLong:
		return lacking, fmt.Sprintf("the body of the request is longer than the %d MiB that an import takes", maxText>>20)
	case c.broken != "":
		return lacking, "the capture's text of the request cannot be read: " + c.broken
	case len(c.text) > 0:
		if e.askedBytes > float64(len(c.text)) && !validJSON(c.text) {
			return lacking, fmt.Sprintf("the capture has %d bytes of %.0f of the request's body", len(c.text), e.askedBytes)
		}
		return wholeBody, ""
	case e.request.method != http.MethodPost && e.askedBytes <= 0, e.request.get("content-length") == "0":
		return noBody, ""
	}
	return lacking, "the capture has no body of this request"
}
