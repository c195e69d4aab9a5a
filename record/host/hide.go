package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Hide replaces values wherever they stand: credentials that the recording hides, and
// that would be in clear beside it. keepHash is as in Redact.
func (c *Conversation) Hide(values []string, keepHash func(call int) bool) {
	if len(values) == 0 {
		return
	}
	h := hider{}
	for _, v := range values {
		quoted, err := jsontext.AppendQuote(nil, v)
		if v == "" || err != nil {
			continue
		}
		h.plain = append(h.plain, v, Redacted)
		if inside := string(quoted[1 : len(quoted)-1]); inside != v {
			h.plain = append(h.plain, inside, Redacted) // JSON in a text
		}
	}
	h.in = strings.NewReplacer(h.plain...)
	for i := range c.Turns {
		t := &c.Turns[i]
		for p := range t.Prompts {
			h.text(&t.Prompts[p].Text)
		}
		h.text(&t.FinalText.Text)
		for e := range t.Earlier {
			h.text(&t.Earlier[e].Text)
		}
		t.Error = h.in.Replace(t.Error)
	}
	for i := range c.Calls {
		k := &c.Calls[i]
		k.Args = h.value(k.Args, keepHash != nil && keepHash(i))
		k.ArgsError = h.in.Replace(k.ArgsError)
		if k.Result != nil {
			h.text(&k.Result.Text)
			k.Result.Structured = h.value(k.Result.Structured, false)
		}
	}
	for i := range c.Notes {
		c.Notes[i].Text = h.in.Replace(c.Notes[i].Text)
	}
}

type hider struct {
	plain []string
	in    *strings.Replacer
}

func (h *hider) text(t *Text) { t.Text = h.in.Replace(t.Text) }

func (h *hider) value(v *Value, keepHash bool) *Value {
	if v == nil || len(v.JSON) == 0 {
		return v
	}
	out := jsontext.Value(h.in.Replace(string(v.JSON)))
	if bytes.Equal(out, v.JSON) {
		return v
	}
	if !out.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		out = jsontext.Value(`"` + Redacted + `"`)
	}
	r := &Value{JSON: out, Bytes: v.Bytes, SHA256: v.SHA256}
	if r.SHA256 == "" && keepHash {
		if form, ok := jsonscan.Canonical(v.JSON); ok {
			sum := sha256.Sum256(form)
			r.Bytes, r.SHA256 = int64(len(v.JSON)), hex.EncodeToString(sum[:])
		}
	}
	return r
}
