package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func newRequestBody(src io.Reader) *requestBody {
	x := &exchange{p: &httpProxy{tap: newHTTPGuard(nil, nil)}, req: &http.Request{}}
	x.in.x = x
	b := &requestBody{x: x, src: src}
	x.body = b
	return b
}

// A request is kept until there is a response: a stream that answers one of 1 MiB may
// be open for hours, and there may be thousands.
func TestKeptRequestIsLetGo(t *testing.T) {
	const text = "0123456789"
	t.Run("read before the response", func(t *testing.T) {
		b := newRequestBody(strings.NewReader(text))
		io.ReadAll(b.reader())
		if again, err := b.again(); err != nil {
			t.Fatal(err)
		} else if got, err := io.ReadAll(again); string(got) != text || err != nil {
			t.Fatalf("again %q, %v", got, err)
		}
		b.answer()
		if len(b.kept) > 0 {
			t.Errorf("%q is kept", b.kept)
		}
		if _, err := b.again(); err == nil {
			t.Error("it could be sent again")
		}
	})
	t.Run("the server answers early", func(t *testing.T) {
		b := newRequestBody(&parts{text[:4], text[4:]})
		r := b.reader()
		p := make([]byte, 100)
		n, _ := r.Read(p)
		b.answer()
		rest, err := io.ReadAll(r)
		if got := string(p[:n]) + string(rest); got != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if len(b.kept) > 0 {
			t.Errorf("%q is kept", b.kept)
		}
	})
	t.Run("an attempt that was behind", func(t *testing.T) {
		b := newRequestBody(&parts{text[:4], text[4:]})
		first := b.reader()
		first.Read(make([]byte, 100))
		second, _ := b.again()
		b.answer()
		if got, err := io.ReadAll(second); len(got) > 0 || err == nil {
			t.Errorf("%q, %v: a body without its beginning", got, err)
		}
	})
}

// parts are read one at a time.
type parts []string

func (p *parts) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}
