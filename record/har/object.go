package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// walker reads the objects of a capture member by member.
type walker struct {
	*jsontext.Decoder
	bound *bound
	at    []string // the path of what is read, for errors
}

func newWalker(r io.Reader) *walker {
	b := &bound{src: r, max: maxText}
	return &walker{Decoder: jsontext.NewDecoder(b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), bound: b}
}

// Error names the place in a capture that could not be read.
type Error struct {
	Entry int    // counted from 1; 0: outside of the entries
	Field string // "request.url"
	What  string
}

func (e *Error) Error() string {
	s := ""
	if e.Entry > 0 {
		s = "entry " + strconv.Itoa(e.Entry) + ": "
	}
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.What
}

// fail is an error at the current place.
func (w *walker) fail(format string, args ...any) error {
	return &Error{Field: strings.Join(w.at, "."), What: fmt.Sprintf(format, args...)}
}

// broken is what the decoder says, with its place.
func (w *walker) broken(err error) error {
	var own *Error
	var syn *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return w.fail("the capture ends here: it was cut off")
	case errors.Is(err, errRun):
		return w.fail("%v", errRun)
	case errors.As(err, &syn):
		return w.fail("no valid JSON: %v", syn.Err)
	}
	return err
}

// null takes a null, which stands for a member that is missing.
func (w *walker) null() bool {
	if w.PeekKind() != 'n' {
		return false
	}
	_, err := w.ReadToken()
	return err == nil
}

func (w *walker) skip() error {
	if err := w.SkipValue(); err != nil {
		return w.broken(err)
	}
	return nil
}

// object calls member for each member of an object, which must read the value or
// return false for one that it does not know. A member that it knows may not come
// twice.
func (w *walker) object(member func(name string) (bool, error)) error {
	if w.null() {
		return nil
	}
	if err := w.open('{', "an object"); err != nil {
		return err
	}
	seen := make([]string, 0, 8)
	for w.PeekKind() == '"' {
		tok, err := w.ReadToken()
		if err != nil {
			return w.broken(err)
		}
		name := tok.String()
		if len(name) > maxName {
			if err := w.skip(); err != nil {
				return err
			}
			continue
		}
		w.at = append(w.at, name)
		known, err := member(name)
		if err != nil {
			return err
		}
		if !known {
			if err := w.skip(); err != nil {
				return err
			}
		} else {
			for _, s := range seen {
				if s == name {
					return w.fail("it is there twice")
				}
			}
			seen = append(seen, name)
		}
		w.at = w.at[:len(w.at)-1]
	}
	return w.close()
}

// maxName bounds the member names that are looked at, in bytes.
const maxName = 200

// array calls item before each item of an array; it must read the item.
func (w *walker) array(item func(i int) error) error {
	if w.null() {
		return nil
	}
	if err := w.open('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		switch w.PeekKind() {
		case ']':
			return w.close()
		case 0:
			_, err := w.ReadToken()
			return w.broken(err)
		}
		if err := item(i); err != nil {
			return err
		}
	}
}

func (w *walker) open(kind jsontext.Kind, what string) error {
	if k := w.PeekKind(); k != kind && k != 0 {
		return w.fail("want %s", what)
	}
	if _, err := w.ReadToken(); err != nil {
		return w.broken(err)
	}
	return nil
}

func (w *walker) close() error {
	if _, err := w.ReadToken(); err != nil {
		return w.broken(err)
	}
	return nil
}

// raw is the next value's JSON, until the next read, and whether a part of it was
// too long to be held.
func (w *walker) raw() (v jsontext.Value, cut bool, err error) {
	if v, err = w.ReadValue(); err != nil {
		return nil, false, w.broken(err)
	}
	end := w.InputOffset()
	return v, w.bound.isCut(end-int64(len(v)), end), nil
}

// text reads a string; null is an empty one.
func (w *walker) text(to *string) error {
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
	if cut {
		return w.fail("longer than %d MiB", maxText>>20)
	}
	b, _ := jsontext.AppendUnquote(nil, v) // what is no character becomes U+FFFD
	*to = string(b)
	return nil
}

// number reads a number; null and strings, which some write there, are none.
func (w *walker) number(to *float64) error {
	if k := w.PeekKind(); k == '"' || k == 'n' {
		return w.skip()
	} else if k != '0' && k != 0 {
		return w.fail("want a number")
	}
	v, _, err := w.raw()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil {
		return w.fail("the number %.40s is too large", bytes.TrimSpace(v))
	}
	*to = f
	return nil
}
