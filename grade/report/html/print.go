package html

import (
	"html/template"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/visible"
)

// printer writes the file, and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
	return len(b), p.err
}

// blockOptions escape what could end the script element or begin a comment in it,
// which changes no value.
var blockOptions = json.JoinOptions(json.Deterministic(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true), json.FormatNilSliceAsNull(false))

// named writes one block of data. A browser executes no script of this type.
func (p *printer) named(id string, v any) {
	b, err := json.Marshal(v, blockOptions)
	if err != nil {
		if p.err == nil {
			p.err = err
		}
		return
	}
	io.WriteString(p, `<script type="application/json" id="`+id+`">`)
	p.Write(b)
	io.WriteString(p, "</script>\n")
}

// script writes the script.
func (p *printer) script() {
	if err := pages.ExecuteTemplate(p, "script.html", template.JS(script)); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *printer) block(kind byte, n int, v any) { p.named(string(kind)+strconv.Itoa(n), v) }

// Bounds, in bytes, of what one text shows.
const (
	maxLine  = 400      // one line: a name, a reason
	maxText  = 2 << 10  // a row's expected and actual, a link's evidence
	maxValue = 16 << 10 // arguments, a result, a prompt
)

// oneLine is a text from a stranger on one line.
func oneLine(s string) string { return limited(s, maxLine, visible.String) }

// words is a longer text on one line.
func words(s string) string { return limited(s, maxText, visible.String) }

func limited(s string, most int, show func(string) string) string {
	if len(s) <= most {
		return show(s)
	}
	return show(head(s, most)) + "…"
}

// head is the beginning of s, at most n bytes, and no half character.
func head(s string, n int) string {
	for i := n; i > max(0, n-4); i-- {
		if s[i]&0xc0 != 0x80 {
			return s[:i]
		}
	}
	return s[:n]
}

func lines(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = oneLine(s)
	}
	return out
}

// detail is a text of a recording with its line feeds, as far as there is room.
func (r *builder) detail(s string) *shown {
	d := &shown{}
	n := min(len(s), maxValue)
	if int64(n) > r.room {
		n, r.rest.Cut = 0, true
	}
	if n < len(s) {
		d.Size = int64(len(s))
		s = head(s, n)
	}
	d.Text = visible.Text(s)
	r.room -= int64(len(d.Text))
	return d
}

// ms is nanoseconds in milliseconds, to the microsecond.
func ms(ns int64) float64 { return math.Round(float64(ns)/1e3) / 1e3 }
