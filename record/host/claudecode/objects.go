package claudecode

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

// eachObject calls do for each object of a file: one a line, or the elements of
// one array. Lines that are none (terminal codes, a program's log) are counted,
// and what stands before an object on its line is dropped.
func eachObject(f *host.File, src *host.Source, do func(n int64, raw jsontext.Value)) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	br := bufio.NewReaderSize(r, 64<<10)
	head, err := br.Peek(4 << 10)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	if isArray(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))) {
		return eachElement(f.Name, br, src, do)
	}
	lines := host.NewLines(br, 0)
	for lines.Next() {
		switch {
		case lines.TooLong():
			src.Fail(lines.Number(), "longer than %d bytes, not read", host.DefaultMaxLine)
			continue
		case lines.Blank():
			src.Skip("blank line")
			continue
		}
		raw := lines.Bytes()
		at := bytes.IndexByte(raw, '{')
		if at < 0 {
			src.Skip("not JSON")
			continue
		}
		v := jsontext.Value(raw[at:])
		if v.IsValid(readOptions) {
			do(lines.Number(), v)
			continue
		}
		switch {
		case lines.Unended():
			src.Cut = true
			src.Fail(lines.Number(), "the file ends inside this line")
		case at == 0:
			src.Fail(lines.Number(), "no JSON object")
		default:
			src.Skip("not JSON")
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
// no end that could be looked for. What the decoder reads ahead makes the bound
// wider by some KiB.
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

// eachElement is eachObject for an array; elements count as lines.
func eachElement(name string, r io.Reader, src *host.Source, do func(n int64, raw jsontext.Value)) error {
	sum := sha256.New()
	ration := &rationed{r: io.TeeReader(r, sum), left: host.DefaultMaxLine}
	var in io.Reader = ration
	if b := bufio.NewReader(in); true { // a byte order mark is no JSON
		if head, _ := b.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
			_, _ = b.Discard(3)
		}
		in = b
	}
	dec := jsontext.NewDecoder(in, readOptions)
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' {
		var v jsontext.Value
		if v, err = dec.ReadValue(); err != nil {
			break
		}
		src.Lines++
		ration.left = host.DefaultMaxLine
		if v.Kind() != '{' {
			src.Skip("not an object")
			continue
		}
		do(src.Lines, v)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		src.Cut = true
		src.Fail(src.Lines+1, "the file ends inside the array")
	case errors.Is(err, errRation):
		src.Fail(src.Lines+1, "%v; what follows is not read", errRation)
	default:
		var bad *jsontext.SyntacticError
		if !errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", name, err)
		}
		src.Fail(src.Lines+1, "no JSON; what follows is not read")
	}
	// The rest counts for the hash.
	ration.left = 1 << 62
	if _, err := io.Copy(io.Discard, ration); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	src.Bytes, src.SHA256 = ration.read, hex.EncodeToString(sum.Sum(nil))
	return nil
}
