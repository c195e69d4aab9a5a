package join

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// A recording hides the credentials that its recorder knew, by filler of the same
// length; the transcript has them in clear. Where a call of the host is one on the
// wire, the two side by side tell what they are, so that nothing that was hidden comes
// back with the transcript (Conversation.Hidden).

const (
	// filler is the recorder's, minHidden the shortest credential that it hides, in bytes
	// (recorder.md 2.15).
	filler    = "*"
	minHidden = 8
	// maxHidden bounds the credentials of one conversation.
	maxHidden = 256
	// minContext is how many bytes beside a credential must be the same on both sides,
	// where the whole is not of one length.
	minContext = 4
	// maxAnswers bounds what is held of the results of one session for this, in bytes;
	// maxTries the places at which one text is looked for in another.
	maxAnswers = 4 << 20
	maxTries   = 64
)

var filled = []byte(strings.Repeat(filler, minHidden))

// hiddenIn are what may have been hidden in a result on the wire: its texts, and
// structured content as a whole, which some hosts show as text.
func hiddenIn(result []byte) (out []string) {
	if len(result) > maxMasked || !bytes.Contains(result, filled) {
		return nil
	}
	add := func(s string) {
		if len(out) < maxHidden && strings.Contains(s, string(filled)) {
			out = append(out, s)
		}
	}
	if v, ok := member(result, "structuredContent"); ok {
		if form, ok := jsonscan.Canonical(v); ok {
			add(string(form))
		}
		compact := jsontext.Value(bytes.Clone(v))
		if compact.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
			add(string(compact))
		}
	}
	for _, s := range texts(result) {
		add(s)
	}
	return out
}

// texts are the strings of a JSON value.
func texts(b []byte) (out []string) {
	d := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := d.ReadToken()
		if err != nil {
			return out
		}
		if t.Kind() == '"' {
			out = append(out, t.String())
		}
	}
}

// hidden finds the credentials of the conversation that are hidden on the wire.
func (t *talk) hidden() (out []string) {
	add := func(v string) {
		if len(v) >= minHidden && strings.Trim(v, filler) != "" && !slices.Contains(out, v) && len(out) < maxHidden {
			out = append(out, v)
		}
	}
	for _, h := range t.calls {
		if h.certainty == Ambiguous {
			continue
		}
		for _, c := range h.wires {
			if c.hidden != nil && h.c.Args != nil && h.c.Args.SHA256 == "" {
				if mine, ok := jsonscan.Canonical(h.c.Args.JSON); ok && len(mine) == len(c.hidden) {
					for _, v := range behind(string(c.hidden), string(mine)) {
						add(unescaped(v))
					}
				}
			}
			for _, s := range c.answer {
				for _, clear := range shown(h.c.Result) {
					for _, v := range behind(s, clear) {
						add(v)
					}
				}
			}
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return out
}

// shown are the texts of a result as the host has it.
func shown(r *host.CallResult) []string {
	if r == nil {
		return nil
	}
	out := []string{r.Text.Text}
	if r.Structured != nil && len(r.Structured.JSON) > 0 {
		out = append(out, string(r.Structured.JSON))
		if form, ok := jsonscan.Canonical(r.Structured.JSON); ok {
			out = append(out, string(form))
		}
		out = append(out, texts(r.Structured.JSON)...)
	}
	return out
}

// behind is what stands in clear where masked has filler: masked as a whole must be a
// part of clear, but for the filler.
func behind(masked, clear string) []string {
	if len(masked) > len(clear) {
		return nil
	}
	at, n := longest(masked)
	if n < minContext {
		if len(masked) != len(clear) {
			return nil
		}
		return fit(masked, clear)
	}
	part := masked[at : at+n]
	for from, tries := 0, 0; tries < maxTries; tries++ {
		i := strings.Index(clear[from:], part)
		if i < 0 {
			return nil
		}
		begin := from + i - at
		if begin >= 0 && begin+len(masked) <= len(clear) {
			if out := fit(masked, clear[begin:begin+len(masked)]); out != nil {
				return out
			}
		}
		from += i + 1
	}
	return nil
}

// longest is the longest part of masked that is no filler.
func longest(masked string) (at, n int) {
	for i := 0; i < len(masked); {
		j := i
		for j < len(masked) && masked[j] != filler[0] {
			j++
		}
		if j-i > n {
			at, n = i, j-i
		}
		i = j + 1
	}
	return at, n
}

// fit compares two texts of one length; nil: they differ where nothing is hidden.
func fit(masked, clear string) (out []string) {
	for i := 0; i < len(masked); {
		if masked[i] == clear[i] && masked[i] != filler[0] {
			i++
			continue
		}
		if masked[i] != filler[0] {
			return nil
		}
		j := i
		for j < len(masked) && masked[j] == filler[0] {
			j++
		}
		if j-i >= minHidden {
			out = append(out, clear[i:j])
		} else if masked[i:j] != clear[i:j] {
			return nil
		}
		i = j
	}
	return out
}

// unescaped is a part of a JSON string as the string has it.
func unescaped(v string) string {
	if b, err := jsontext.AppendUnquote(nil, `"`+v+`"`); err == nil {
		return string(b)
	}
	return v
}
