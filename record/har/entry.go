package har

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of what is read, so that a stranger's capture costs no more than its size.
const (
	// maxText bounds a text of a capture in its JSON form, in bytes. What is longer is
	// not taken: the recording says that this body is missing.
	maxText   = 32 << 20
	maxFields = 1000    // header fields of a head
	maxHead   = 1 << 20 // bytes of them, as a recorder's listener
	maxParams = 10_000  // fields of a form
	// maxPrefix is how much of a response is looked at to tell what it is, in bytes.
	maxPrefix = 512
)

// entry is one exchange of a capture.
type entry struct {
	start      string // RFC 3339
	took       float64
	timings    [5]float64 // blocked, dns, connect, send, wait; milliseconds, -1: none
	request    head
	asked      content
	response   head
	answered   content
	answer     bool // there is a response
	status     float64
	reason     string
	failed     string // what the browser says of an exchange that failed
	webSocket  bool
	mime       string
	prefix     []byte // of the response's text, in its JSON form (light)
	beside     bool   // the content is in a file beside the capture
	bodySize   float64
	askedBytes float64 // of the request's body, as counted
}

type head struct {
	method, url, proto string
	fields             []field
}

type field struct{ name, value string }

// get is the first value of a field; name in lower case.
func (h *head) get(name string) string {
	for _, f := range h.fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return ""
}

// content is a body as a capture has it.
type content struct {
	text    []byte
	size    float64 // decoded bytes, as the capture counts them; 0 or -1 may be: unknown
	there   bool    // with a text, or with parameters
	tooLong bool
	broken  string // why the text is not the body: "no valid base64"
	params  []field
	base64  bool
}

var timingNames = [5]string{"blocked", "dns", "connect", "send", "wait"}

// entry reads one entry. light: of the response's text the beginning alone.
func (w *walker) entry(light bool) (*entry, error) {
	e := &entry{timings: [5]float64{-1, -1, -1, -1, -1}, answered: content{size: -1}, bodySize: -1, askedBytes: -1}
	there := false
	err := w.object(func(name string) (bool, error) {
		switch name {
		case "startedDateTime":
			return true, w.text(&e.start)
		case "time":
			return true, w.number(&e.took)
		case "timings":
			return true, w.object(func(name string) (bool, error) {
				if i := slices.Index(timingNames[:], name); i >= 0 {
					return true, w.number(&e.timings[i])
				}
				return false, nil
			})
		case "request":
			there = true
			return true, w.request(e)
		case "response":
			return true, w.response(e, light)
		case "_webSocketMessages":
			e.webSocket = w.PeekKind() != 'n'
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	if !there {
		w.at = append(w.at, "request")
		return nil, w.fail("it is missing")
	}
	return e, nil
}

func (w *walker) request(e *entry) error {
	return w.object(func(name string) (bool, error) {
		h := &e.request
		switch name {
		case "method":
			return true, w.text(&h.method)
		case "url":
			return true, w.text(&h.url)
		case "httpVersion":
			return true, w.text(&h.proto)
		case "headers":
			return true, w.fields(&h.fields, maxFields)
		case "bodySize":
			return true, w.number(&e.askedBytes)
		case "postData":
			return true, w.object(func(name string) (bool, error) {
				c := &e.asked
				switch name {
				case "text":
					return true, w.content(c, nil)
				case "params":
					return true, w.fields(&c.params, maxParams)
				case "encoding", "_encoding":
					return true, w.encoding(c)
				case "_file":
					e.asked.broken = "it is in a file beside the capture"
				}
				return false, nil
			})
		}
		return false, nil
	})
}

func (w *walker) response(e *entry, light bool) error {
	e.answer = w.PeekKind() == '{'
	return w.object(func(name string) (bool, error) {
		h := &e.response
		switch name {
		case "status":
			return true, w.number(&e.status)
		case "statusText":
			return true, w.text(&e.reason)
		case "httpVersion":
			return true, w.text(&h.proto)
		case "headers":
			return true, w.fields(&h.fields, maxFields)
		case "bodySize":
			return true, w.number(&e.bodySize)
		case "_error":
			return true, w.text(&e.failed)
		case "content":
			return true, w.object(func(name string) (bool, error) {
				c := &e.answered
				switch name {
				case "size":
					return true, w.number(&c.size)
				case "mimeType":
					return true, w.text(&e.mime)
				case "encoding":
					return true, w.encoding(c)
				case "text":
					if light {
						return true, w.content(c, &e.prefix)
					}
					return true, w.content(c, nil)
				case "_file":
					e.beside = true
				}
				return false, nil
			})
		}
		return false, nil
	})
}

func (w *walker) encoding(c *content) error {
	var s string
	if err := w.text(&s); err != nil {
		return err
	}
	switch strings.ToLower(s) {
	case "":
	case "base64":
		c.base64 = true
	default:
		c.broken = "its encoding is not known"
	}
	return nil
}

// content reads a body's text, or its beginning alone.
func (w *walker) content(c *content, prefix *[]byte) error {
	if w.null() {
		return nil
	}
	if k := w.PeekKind(); k != '"' && k != 0 {
		return w.fail("want a string")
	}
	v, cut, err := w.raw()
	if err != nil {
		return err
	}
	c.tooLong = cut
	c.there = len(v) > len(`""`)
	switch {
	case cut:
	case prefix != nil:
		*prefix = bytes.Clone(v[:min(len(v), maxPrefix)])
	default:
		if c.text, err = jsontext.AppendUnquote(nil, v); err != nil {
			// Half of a surrogate pair: no UTF-8 has it, so these were not the bytes.
			c.text, c.broken = nil, "it holds what is no character"
		}
	}
	return nil
}

// decode undoes base64, once all of the object was read.
func (c *content) decode() {
	if c.broken != "" {
		c.text = nil
	}
	if !c.base64 || c.text == nil {
		return
	}
	n, err := base64.StdEncoding.Decode(c.text, c.text)
	if err != nil {
		c.text, c.broken = nil, "it is no valid base64"
		return
	}
	c.text, c.base64 = c.text[:n], false
}

// form makes the body of a form from the parameters that stand in its place.
func (c *content) form(mimeType string) {
	if c.there || len(c.params) == 0 || !strings.HasPrefix(strings.ToLower(mimeType), "application/x-www-form-urlencoded") {
		return
	}
	for i, p := range c.params {
		if i > 0 {
			c.text = append(c.text, '&')
		}
		c.text = append(c.text, url.QueryEscape(p.name)+"="+url.QueryEscape(p.value)...)
	}
	c.there = true
}

// fields reads a list of {name, value}.
func (w *walker) fields(to *[]field, most int) error {
	size := 0
	return w.array(func(i int) error {
		if i == most {
			return w.fail("more than %d", most)
		}
		var f field
		err := w.object(func(name string) (bool, error) {
			switch name {
			case "name":
				return true, w.text(&f.name)
			case "value":
				return true, w.text(&f.value)
			}
			return false, nil
		})
		if size += len(f.name) + len(f.value); err == nil && size > maxHead {
			return w.fail("more than %d MiB", maxHead>>20)
		}
		*to = append(*to, f)
		return err
	})
}

// layouts of startedDateTime: HAR asks for the first one; the others were seen.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00"}

// times are when the exchange began, when its response's head came and when it
// ended. A response's times are cut to milliseconds, as the start mostly is: else
// the rounding could put an answer behind the request that followed it.
func (e *entry) times() (start, head, end time.Time, ok bool) {
	for _, l := range layouts {
		t, err := time.Parse(l, e.start)
		if err != nil {
			continue
		}
		if t.Year() < 1970 || t.Year() > 2200 {
			return start, head, end, false
		}
		start = t.UTC()
		wait := 0.0
		for _, ms := range e.timings {
			wait += max(ms, 0)
		}
		end = later(start, e.took)
		head = later(start, wait)
		if head.After(end) {
			head = end
		}
		return start, head, end, true
	}
	return start, head, end, false
}

// maxTook bounds how long an exchange may have taken, in milliseconds: 30 days.
const maxTook = 30 * 24 * 3600 * 1000

func later(start time.Time, ms float64) time.Time {
	t := start.Add(time.Duration(min(max(ms, 0), maxTook) * 1e6)).Truncate(time.Millisecond)
	if t.Before(start) {
		return start
	}
	return t
}

// skipMark goes behind a byte order mark.
func skipMark(r io.ReaderAt) int64 {
	var b [3]byte
	if n, _ := r.ReadAt(b[:], 0); n == 3 && string(b[:]) == "\xef\xbb\xbf" {
		return 3
	}
	return 0
}
