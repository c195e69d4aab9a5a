package desktoplog

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record"
)

// entry is one line of the host's own in a log.
type entry struct {
	at     time.Time
	server string
	text   string
}

// parse reads "<ISO> [NAME] [level] text" (mcp-server-NAME.log) or
// "<ISO> [level] [NAME] text" (mcp.log). Other lines are the server's own output
// or the rest of an object that the host printed.
func parse(line []byte) (e entry, ok bool) {
	stamp, rest, ok := strings.Cut(string(line), " ")
	if !ok || len(stamp) < len("2025-01-02T03:04:05Z") || !strings.HasPrefix(rest, "[") {
		return e, false
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return e, false
	}
	first, rest, ok := strings.Cut(rest[1:], "] [")
	if !ok {
		return e, false
	}
	second, text, ok := strings.Cut(rest, "] ")
	if !ok {
		return e, false
	}
	e = entry{at: at.UTC(), server: first, text: text}
	if level(first) && !level(second) {
		e.server = second
	} else if !level(second) {
		return e, false
	}
	return e, e.server != "" && len(e.server) <= maxName
}

// maxName bounds a server's name, in bytes.
const maxName = 200

func level(s string) bool {
	switch s {
	case "info", "error", "warn", "warning", "debug":
		return true
	}
	return false
}

// message tells that the host logged a message, and whose.
func (e *entry) message() (from record.From, payload string, ok bool) {
	if p, ok := strings.CutPrefix(e.text, "Message from client: "); ok {
		return record.Client, p, true
	}
	if p, ok := strings.CutPrefix(e.text, "Message from server: "); ok {
		return record.Server, p, true
	}
	return "", "", false
}

// cutMark is what newer versions put in the place of what they leave out.
var cutMark = regexp.MustCompile(`\.\.\.\[(\d{1,12}) chars truncated\]\.\.\.`)

// verbatim is the message as it was sent, without the object that the host prints
// behind it; false when the log does not have all of it. lost is about how many
// bytes the message had then: characters that were left out count as bytes.
func verbatim(payload string) (msg []byte, lost int64, ok bool) {
	bare := strings.TrimSuffix(strings.TrimSpace(payload), " { metadata: undefined }")
	if m := cutMark.FindStringSubmatchIndex(bare); m != nil {
		n, _ := strconv.ParseInt(bare[m[2]:m[3]], 10, 64)
		return nil, n + int64(len(bare)-(m[1]-m[0])), false
	}
	dec := jsontext.NewDecoder(bytes.NewBufferString(payload), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := dec.ReadValue()
	if err != nil {
		return nil, int64(len(bare)), false
	}
	end := dec.InputOffset()
	tail := strings.TrimSpace(payload[end:])
	if tail != "" && !strings.HasPrefix(tail, "{ metadata") || !isMessage(v) {
		return nil, int64(len(bare)), false
	}
	return []byte(strings.TrimSpace(payload[:end])), 0, true
}

// isMessage says that a value is a message, or a batch. Versions that log only
// method and id leave "jsonrpc" out (hosts.md 3.2).
func isMessage(v jsontext.Value) bool {
	if v.Kind() == '[' {
		return bytes.Contains(v, []byte(`"jsonrpc"`))
	}
	if v.Kind() != '{' {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if tok.String() == "jsonrpc" {
			return true
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
	return false
}

// asked says that a message is the client's initialize, with which a process
// begins.
func asked(msg []byte) bool {
	var method bool
	dec := jsontext.NewDecoder(bytes.NewBuffer(msg), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if tok.String() != "method" {
			if dec.SkipValue() != nil {
				return false
			}
			continue
		}
		if tok, err = dec.ReadToken(); err != nil {
			return false
		}
		method = tok.Kind() == '"' && tok.String() == "initialize"
	}
	return method
}
