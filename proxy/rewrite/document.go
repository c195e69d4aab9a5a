package rewrite

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record"
)

// maxDocument is the most that is held back of an answer that may be a
// protected-resource document, in bytes, as it came and decoded. A longer one
// passes as it is.
const maxDocument = 1 << 20

// documentRewriter rewrites a protected-resource document. It holds back the body
// until its end, unless its first byte, its size, or the end of its first object
// tells that it is none: what a server says bit by bit shall not wait.
type documentRewriter struct {
	rule *rule
	gzip bool // the body is compressed, and the client was told that it is not

	held []byte
	pass bool
	object
}

// object finds the end of a JSON object in pieces. Whether it is one at all is for
// others to tell.
type object struct {
	depth      int
	inString   bool
	esc, ended bool
}

// feed takes the next piece and tells whether the object has ended by now.
func (o *object) feed(p []byte) bool {
	for i := 0; i < len(p) && !o.ended; i++ {
		switch c := p[i]; {
		case o.esc:
			o.esc = false
		case o.inString:
			o.esc = c == '\\'
			o.inString = c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			o.depth--
			o.ended = o.depth <= 0
		}
	}
	return o.ended
}

// Next is [proxy.BodyRewriter].
func (d *documentRewriter) Next(p []byte, last bool) ([]byte, []record.Patch) {
	if d.pass {
		return p, nil
	}
	d.held = append(d.held, p...)
	if !last && len(d.held) <= maxDocument && d.mayBe(p) {
		return nil, nil
	}
	held := d.held
	d.held, d.pass = nil, true
	if !last || len(held) > maxDocument {
		return held, nil
	}
	if d.gzip {
		return d.decoded(held)
	}
	patches := d.rule.document(held)
	return apply(held, patches), patches
}

// mayBe tells whether what is held, of which p came last, may still be a document.
func (d *documentRewriter) mayBe(p []byte) bool {
	switch {
	case d.gzip:
		return true
	case !mayBeObject(d.held):
		return false
	case d.ended:
		return len(bytes.TrimLeft(p, " \t\r\n")) == 0
	case d.feed(p):
		return len(d.rule.document(d.held)) > 0
	}
	return true
}

// decoded gives a compressed document without its compression. What cannot be
// decoded goes on as it is: the client could not have read it either.
func (d *documentRewriter) decoded(held []byte) ([]byte, []record.Patch) {
	z, err := gzip.NewReader(bytes.NewReader(held))
	if err != nil {
		return held, nil
	}
	doc, err := io.ReadAll(io.LimitReader(z, maxDocument+1))
	if err != nil || len(doc) > maxDocument {
		return held, nil
	}
	out := apply(doc, d.rule.document(doc))
	return out, []record.Patch{{Off: 0, Len: int64(len(held)), Text: string(out)}}
}

// mayBeObject tells whether p may be the beginning of a JSON object.
func mayBeObject(p []byte) bool {
	p = bytes.TrimLeft(trimBOM(p), " \t\r\n")
	return len(p) == 0 || p[0] == '{' || len(p) < len(bom) && bytes.HasPrefix(bom, p)
}

// bom is a byte order mark: JSON has none, but fetch and browsers skip it.
var bom = []byte("\ufeff")

func trimBOM(p []byte) []byte { return bytes.TrimPrefix(p, bom) }

// document gives the patches of a protected-resource document: the origin of
// resource, where it is the upstream's. It is empty for anything else.
func (r *rule) document(p []byte) []record.Patch {
	doc := trimBOM(p)
	base := len(p) - len(doc)
	d := jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var patches []record.Patch
	servers := false
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		member := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		switch {
		case member == "authorization_servers":
			servers = true
		case member == "resource" && v.Kind() == '"':
			// Of two the last one counts to a client, or the first one.
			if n := r.matchQuoted(v); n > 0 {
				off := base + int(d.InputOffset()) - len(v) + 1
				patches = append(patches, record.Patch{Off: int64(off), Len: int64(n), Text: r.quotedTo()})
			}
		}
	}
	if _, err := d.ReadToken(); err != nil || !servers {
		return nil
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil // something follows: no document that a client could read
	}
	return patches
}

// quotedTo is the new origin as it stands inside of a JSON string.
func (r *rule) quotedTo() string {
	q, err := jsontext.AppendQuote(nil, r.to)
	if err != nil {
		return r.to // an origin that has been compared is ASCII
	}
	return string(q[1 : len(q)-1])
}

// matchQuoted is how many bytes behind the quotation mark of a JSON string are
// the upstream's origin, in whatever way they are spelt.
func (r *rule) matchQuoted(v jsontext.Value) int {
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return 0
	}
	n := r.match(string(text))
	if n == 0 {
		return 0
	}
	at := 1
	for done := 0; done < n; {
		size, decoded := 1, 1
		if v[at] == '\\' {
			if size = 2; v[at+1] == 'u' {
				size = 6
				if hi := hex4(v[at+2:]); hi >= 0xd800 && hi < 0xdc00 {
					size = 12
				}
			}
			c, err := jsontext.AppendUnquote(nil, append(append([]byte{'"'}, v[at:at+size]...), '"'))
			if err != nil {
				return 0
			}
			decoded = len(c)
		}
		at += size
		if done += decoded; done > n {
			return 0
		}
	}
	return at - 1
}

func hex4(p []byte) (n int) {
	for _, c := range p[:4] {
		n <<= 4
		switch {
		case c <= '9':
			n |= int(c - '0')
		default:
			n |= int(c|0x20-'a') + 10
		}
	}
	return n
}

// apply gives p with its patches.
func apply(p []byte, patches []record.Patch) []byte {
	if len(patches) == 0 {
		return p
	}
	var out []byte
	last := int64(0)
	for _, c := range patches {
		out = append(append(out, p[last:c.Off]...), c.Text...)
		last = c.Off + c.Len
	}
	return append(out, p[last:]...)
}
