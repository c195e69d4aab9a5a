package host

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/mask"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Redacted stands for a value that a key rule hides.
const Redacted = "[redacted]"

// Redact hides the values of credential-named members in arguments and structured
// results, and the queries of addresses (signed URLs). Ids, times and names stay:
// joins need them. Arguments that change keep the hash of their canonical form where
// keepHash says so of the call, so that a call on the wire, which has the value
// anyway, is still found. Redacting twice is redacting once.
func (c *Conversation) Redact(keepHash func(call int) bool) {
	for i := range c.Calls {
		k := &c.Calls[i]
		k.Args = redactValue(k.Args, keepHash != nil && keepHash(i))
		if k.Result != nil {
			k.Result.Structured = redactValue(k.Result.Structured, false)
			for n := range k.Result.Media {
				k.Result.Media[n].URI = withoutQuery(k.Result.Media[n].URI)
			}
		}
	}
	for i := range c.Turns {
		for p := range c.Turns[i].Prompts {
			for n := range c.Turns[i].Prompts[p].Media {
				m := &c.Turns[i].Prompts[p].Media[n]
				m.URI = withoutQuery(m.URI)
			}
		}
	}
	for i := range c.Messages {
		for p := range c.Messages[i].Parts {
			if m := c.Messages[i].Parts[p].Media; m != nil {
				m.URI = withoutQuery(m.URI)
			}
		}
	}
}

func withoutQuery(uri string) string {
	if i := strings.IndexByte(uri, '?'); i >= 0 && strings.Contains(uri[:i], "://") {
		return uri[:i] + "?" + Redacted
	}
	return uri
}

// redactValue is v without what credential-named members hold.
func redactValue(v *Value, keepHash bool) *Value {
	if v == nil || len(v.JSON) == 0 {
		return v
	}
	out, changed := redactJSON(nil, v.JSON, 0)
	if !changed {
		return v
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

// redactDepth bounds the nesting that is looked into; deeper values are hidden whole.
const redactDepth = 200

// redactJSON appends the value b, which is valid, and says whether it hid anything.
func redactJSON(dst, b []byte, depth int) (out []byte, changed bool) {
	i := jsonscan.Space(b, 0)
	b = b[i:]
	switch {
	case len(b) == 0:
		return dst, false
	case b[0] != '{' && b[0] != '[':
		return append(dst, b...), false
	case depth > redactDepth:
		return append(dst, `"`+Redacted+`"`...), true
	case b[0] == '[':
		dst = append(dst, '[')
		_, _ = jsonscan.Elements(b, 0, func(n, at int) (jsonscan.Span, error) {
			s, err := jsonscan.Skip(b, at)
			if err == nil {
				if n > 0 {
					dst = append(dst, ',')
				}
				var c bool
				dst, c = redactJSON(dst, b[s.Start:s.End], depth+1)
				changed = changed || c
			}
			return s, err
		})
		return append(dst, ']'), changed
	}
	dst = append(dst, '{')
	first := true
	_, _ = jsonscan.Members(b, 0, func(name []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(b, at)
		if err != nil {
			return s, err
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		quoted, _ := jsontext.AppendQuote(nil, name) // an error is for what is no UTF-8, which it mends
		dst = append(dst, quoted...)
		dst = append(dst, ':')
		v := b[s.Start:s.End]
		if mask.NameStrength(string(name)) == mask.Strong && hides(v) {
			dst = append(dst, `"`+Redacted+`"`...)
			changed = true
			return s, nil
		}
		var c bool
		dst, c = redactJSON(dst, v, depth+1)
		changed = changed || c
		return s, nil
	})
	return append(dst, '}'), changed
}

// hides says that a value may be a credential: a text or a number that is not empty.
func hides(v []byte) bool {
	switch v[0] {
	case '"':
		return len(v) > 2 && string(v) != `"`+Redacted+`"`
	case '{', '[', 't', 'f', 'n':
		return false
	}
	return true
}
