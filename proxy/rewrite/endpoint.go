package rewrite

import (
	"bytes"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// endpointRewriter rewrites the first endpoint event of an event stream. All other
// bytes pass when they come. Held back are only a line that may still turn out to
// be an event's name or an absolute URL with the upstream's origin, and, if that
// URL stands before the event's name, what follows it up to there.
//
// Once a URL has been sent on, a second name for the same event, behind its
// data, would come too late; no server is known that does so.
type endpointRewriter struct {
	rule *rule

	off  int64  // of held[0] in the upstream's body
	held []byte // not sent on yet
	line int    // where in held the line begins that is being read
	mid  bool   // the beginning of that line was sent on: it is of no interest
	cr   bool   // the last line ended with CR: LF belongs to it
	some bool   // the stream has begun: no byte order mark may follow
	done bool   // the endpoint event is over

	event string // the name of the event that is being read
	data  bool   // it has data …
	url   int    // … whose first line begins with the origin at held[url:]; -1: it does not …
	size  int    // … of so many bytes
}

func newEndpoint(r *rule) *endpointRewriter { return &endpointRewriter{rule: r, url: -1} }

// maxHeld bounds in bytes what is held back; an origin or a name is shorter.
const maxHeld = 64 << 10

// Next is [proxy.BodyRewriter].
func (e *endpointRewriter) Next(p []byte, last bool) (out []byte, patches []record.Patch) {
	if e.done {
		return p, nil
	}
	e.held = append(e.held, p...)
	for more := true; more && !e.done; {
		more = e.step()
		if e.url >= 0 && e.event == "endpoint" {
			patches = append(patches, record.Patch{Off: e.off + int64(e.url), Len: int64(e.size), Text: e.rule.to})
			out = append(append(out, e.held[:e.url]...), e.rule.to...)
			e.drop(e.url + e.size)
			e.done = true
		}
	}
	n := len(e.held)
	switch {
	case last || e.done:
	case n > maxHeld:
		e.url = -1
		e.pass()
	default:
		n = e.free()
	}
	out = append(out, e.held[:n]...)
	e.drop(n)
	return out, patches
}

// step takes a line from held, or what tells enough of an unfinished one. It
// reports whether there may be more.
func (e *endpointRewriter) step() bool {
	if e.line < len(e.held) && e.cr {
		if e.cr = false; e.held[e.line] == '\n' {
			e.line++
		}
	}
	rest := e.held[e.line:]
	end := bytes.IndexAny(rest, "\r\n")
	whole := end >= 0
	line := rest
	if whole {
		line = rest[:end]
	}
	if !e.mid {
		at := e.line
		if !e.some {
			n := len(line) - len(trimBOM(line))
			line, at = line[n:], at+n
		}
		e.field(line, at, whole)
	}
	if !whole {
		return false
	}
	e.some, e.mid = true, false
	e.cr = rest[end] == '\r'
	e.line += end + 1
	return true
}

// field looks at a line that begins at held[at:], as far as it is there.
func (e *endpointRewriter) field(line []byte, at int, whole bool) {
	if len(line) == 0 {
		if whole {
			// The event is over. One without data is never delivered.
			e.done = e.data && e.event == "endpoint"
			e.event, e.data, e.url = "", false, -1
		}
		return
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	switch string(name) {
	case "event":
		if whole {
			e.event = string(bytes.TrimPrefix(value, []byte{' '}))
		}
	case "data":
		if e.data {
			return
		}
		// URL parsers skip white space before a URL.
		url := bytes.TrimLeft(value, " \t")
		from := at + len(line) - len(url)
		if n := e.rule.match(string(url)); n > 0 && (whole || n < len(url)) {
			e.url, e.size = from, n
		}
		e.data = whole || e.url >= 0
	}
}

// free is how many bytes of held need not be kept.
func (e *endpointRewriter) free() int {
	switch {
	case e.url >= 0:
		return e.url // the event's name may follow
	case !e.mid && e.wanted(e.held[e.line:]):
		return e.line
	}
	e.pass()
	return len(e.held)
}

// pass lets go of the line that is being read.
func (e *endpointRewriter) pass() {
	if e.mid || e.line == len(e.held) {
		return
	}
	line := e.held[e.line:]
	if !e.some {
		line = trimBOM(line)
	}
	name, _, _ := bytes.Cut(line, []byte{':'})
	e.data = e.data || string(name) == "data"
	e.mid = true
}

// wanted tells whether an unfinished line may be of interest yet.
func (e *endpointRewriter) wanted(line []byte) bool {
	if !e.some {
		if bytes.HasPrefix(bom, line) {
			return len(line) > 0
		}
		line = trimBOM(line)
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	switch {
	case len(line) == 0:
		return false
	case !ok:
		return strings.HasPrefix("event", string(name)) || strings.HasPrefix("data", string(name)) && !e.data
	case string(name) == "event":
		return true
	case string(name) == "data" && !e.data:
		return e.mayMatch(string(bytes.TrimLeft(value, " \t")))
	}
	return false
}

// mayMatch tells whether s may be the beginning of the upstream's origin.
func (e *endpointRewriter) mayMatch(s string) bool {
	const sep = "://"
	want := e.rule.from.scheme + sep
	if len(s) <= len(want) {
		return strings.EqualFold(s, want[:len(s)])
	}
	// An origin can be spelt in more than one way (ports, IPv6): all of a short
	// authority is waited for.
	return strings.EqualFold(s[:len(want)], want) && strings.IndexFunc(s[len(want):], endsAuthority) < 0
}

// drop takes n bytes off held.
func (e *endpointRewriter) drop(n int) {
	e.off += int64(n)
	if e.held = e.held[n:]; len(e.held) == 0 {
		e.held = nil
	}
	e.line = max(e.line-n, 0)
	if e.url >= 0 {
		e.url -= n
	}
}
