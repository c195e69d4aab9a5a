package lenient

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// Named are the files that the user named. Those found beside one are of another
// host, which keeps subagents so.
func Named(files []*host.File) (out []*host.File) {
	for _, f := range files {
		if !f.Beside {
			out = append(out, f)
		}
	}
	return out
}

// Shape is how the objects of a file stand in it.
type Shape int

// The shapes.
const (
	Lines    Shape = iota // one a line
	Array                 // the elements of one array
	Document              // one object over many lines, or several
)

var bom = []byte("\xef\xbb\xbf")

// peekBytes is how much of a file is looked at to tell its shape.
const peekBytes = 64 << 10

// ShapeOf tells a file's shape from its first bytes. A first line that is an
// object, or that goes on beyond what is seen, makes lines; an object that is not
// at its end with its line makes a document.
func ShapeOf(head []byte) Shape {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	if len(head) == 0 {
		return Lines
	}
	line, _, whole := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSpace(line)
	switch {
	case head[0] == '[' && (!whole || !jsontext.Value(line).IsValid(Options)):
		return Array
	case head[0] == '[': // one line with an array: the array, when nothing follows
		return Array
	case head[0] == '{' && whole && !jsontext.Value(line).IsValid(Options):
		// A cut or broken first line of a file of lines ends in no opening.
		if n := len(line); line[n-1] == '{' || line[n-1] == '[' || line[n-1] == ',' {
			return Document
		}
	}
	return Lines
}

// Objects calls do for each object of a file with its number: the line, or the
// element of the array; 1 for a document. What is none is counted in src, and a
// file that ends inside an object is said to be cut. The bytes that do gets hold
// until it returns.
func Objects(f *host.File, src *host.Source, do func(n int64, raw jsontext.Value)) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	br := bufio.NewReaderSize(r, peekBytes)
	head, err := br.Peek(peekBytes)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	switch ShapeOf(head) {
	case Array:
		return elements(f.Name, br, src, true, do)
	case Document:
		return elements(f.Name, br, src, false, do)
	}
	lines := host.NewLines(br, 0)
	for lines.Next() {
		raw := jsontext.Value(bytes.TrimSpace(lines.Bytes()))
		switch {
		case lines.TooLong():
			src.Fail(lines.Number(), "longer than %d bytes, not read", host.DefaultMaxLine)
		case len(raw) == 0:
			src.Skip("blank line")
		case raw.IsValid(Options) && raw.Kind() == '{':
			do(lines.Number(), raw)
		case lines.Unended():
			src.Cut = true
			src.Fail(lines.Number(), "the file ends inside this line")
		default:
			src.Fail(lines.Number(), "no JSON object")
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	src.Lines = lines.Number()
	src.Bytes, src.SHA256 = lines.Sum()
	return nil
}

// rationed fails once more was read than left allows: an element of an array has
// no end that could be looked for.
type rationed struct {
	r    io.Reader
	left int64
	read int64
}

var errRation = fmt.Errorf("longer than %d bytes, not read", host.DefaultMaxLine)

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRation
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	r.read += int64(n)
	return n, err
}

// elements reads the values of one array, or documents.
func elements(name string, r io.Reader, src *host.Source, array bool, do func(n int64, raw jsontext.Value)) error {
	sum := sha256.New()
	ration := &rationed{r: io.TeeReader(r, sum), left: host.DefaultMaxLine}
	in := bufio.NewReader(ration)
	if head, _ := in.Peek(len(bom)); bytes.Equal(head, bom) { // no JSON
		_, _ = in.Discard(len(bom))
	}
	dec := jsontext.NewDecoder(in, Options)
	var err error
	if array {
		_, err = dec.ReadToken()
	}
	for err == nil && !(array && dec.PeekKind() == ']') {
		var v jsontext.Value
		if v, err = dec.ReadValue(); err != nil {
			if !array && err == io.EOF && src.Lines > 0 {
				err = nil // the end, after one document or several
			}
			break
		}
		src.Lines++
		ration.left = host.DefaultMaxLine
		if v.Kind() == '{' {
			do(src.Lines, v)
		} else {
			src.Skip("not an object")
		}
	}
	if err == nil && array {
		_, err = dec.ReadToken()
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		src.Cut = true
		src.Fail(src.Lines+1, "the file ends inside this record")
	case errors.Is(err, errRation):
		src.Fail(src.Lines+1, "%v; what follows is not read", errRation)
	default:
		var bad *jsontext.SyntacticError
		if !errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", name, err)
		}
		src.Fail(src.Lines+1, "no JSON; what follows is not read")
	}
	ration.left = 1 << 62 // the rest counts for the hash
	if _, err := io.Copy(io.Discard, ration); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	src.Bytes, src.SHA256 = ration.read, hex.EncodeToString(sum.Sum(nil))
	return nil
}

// Heads gives the members of the first objects of a file, from its first bytes:
// what tells its format.
func Heads(head []byte) []map[string]jsontext.Value {
	const maxHeads = 50
	head = bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	var out []map[string]jsontext.Value
	add := func(v jsontext.Value) {
		var m map[string]jsontext.Value
		if Into(v, &m) {
			out = append(out, m)
		}
	}
	switch ShapeOf(head) {
	case Array:
		dec := jsontext.NewDecoder(bytes.NewReader(head), Options)
		if _, err := dec.ReadToken(); err != nil {
			return nil
		}
		for len(out) < maxHeads && dec.PeekKind() == '{' {
			v, err := dec.ReadValue()
			if err != nil {
				if len(out) == 0 {
					out = append(out, opening(head[1:]))
				}
				break
			}
			add(v)
		}
	case Document:
		if v := jsontext.Value(bytes.TrimSpace(head)); v.IsValid(Options) {
			add(v)
		} else {
			out = append(out, opening(head))
		}
	default:
		for n := 0; n < maxHeads && len(head) > 0; n++ {
			line, rest, whole := bytes.Cut(head, []byte("\n"))
			head = rest
			line = bytes.TrimSpace(line)
			if !whole && len(line) > 0 && line[0] == '{' && !jsontext.Value(line).IsValid(Options) {
				out = append(out, opening(line))
				continue
			}
			add(line)
		}
	}
	return out
}

// opening gives the members of an object that goes on beyond what is seen; the
// one that was cut has the value null.
func opening(head []byte) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	dec := jsontext.NewDecoder(bytes.NewReader(head), Options)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return out
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return out
		}
		name := tok.String()
		out[name] = jsontext.Value("null")
		v, err := dec.ReadValue()
		if err != nil {
			return out
		}
		out[name] = v.Clone()
	}
	return out
}

// Has says that an object has all of these members.
func Has(m map[string]jsontext.Value, names ...string) bool {
	for _, n := range names {
		if _, ok := m[n]; !ok {
			return false
		}
	}
	return true
}
