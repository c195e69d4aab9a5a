package lenient

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Long is a string, "" where the member is something else.
type Long string

// UnmarshalJSONFrom reads a string and skips what is none.
func (t *Long) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		*t = ""
		return dec.SkipValue()
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*t = Long(tok.String())
	return nil
}

// Word is an id, a name or a word: they are kept, so each is bounded. One over
// the bound is replaced by its beginning and its hash, which keeps equality.
type Word string

// maxWord bounds a word, in bytes; ids that hosts make have some 40.
const maxWord = 512

// UnmarshalJSONFrom reads a string and skips what is none.
func (t *Word) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var l Long
	if err := l.UnmarshalJSONFrom(dec); err != nil {
		return err
	}
	*t = Word(Bound(string(l)))
	return nil
}

// Bound gives a string as a Word holds it.
func Bound(s string) string {
	if len(s) <= maxWord {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:64], "") + "…sha256:" + hex.EncodeToString(sum[:])
}

// Flag is a boolean; Set tells that it was there as one.
type Flag struct{ On, Set bool }

// UnmarshalJSONFrom reads a boolean and skips what is none.
func (f *Flag) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 't', 'f':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*f = Flag{tok.Bool(), true}
		return nil
	default:
		*f = Flag{}
		return dec.SkipValue()
	}
}

// Options are those of all reading: bytes that are no UTF-8 are replaced, and of
// members of one name the last counts, as the hosts' own readers have it.
var Options = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// maxList bounds the elements of a list that are looked at.
const maxList = 100_000

// Each calls do for the elements of a list, with their index. Elements are read
// one by one, since a list of many small ones would take a multiple of its text.
func Each(list jsontext.Value, do func(i int, v jsontext.Value)) {
	if list.Kind() != '[' {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(list), Options)
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for n := 0; n < maxList && dec.PeekKind() != ']'; n++ {
		v, err := dec.ReadValue()
		if err != nil {
			return
		}
		do(n, v)
	}
}

// Into reads v as an object; false when it is none.
func Into(v jsontext.Value, to any) bool {
	return v.Kind() == '{' && json.Unmarshal(v, to, Options) == nil
}

// String is v as a string; "" when it is none.
func String(v jsontext.Value) string {
	var s Long
	if v.Kind() != '"' || json.Unmarshal(v, &s, Options) != nil {
		return ""
	}
	return string(s)
}

// Name is v as a word.
func Name(v jsontext.Value) string { return Bound(String(v)) }

// Member is one member of an object; nil when it is not there.
func Member(v jsontext.Value, name string) jsontext.Value {
	if v.Kind() != '{' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), Options)
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var found jsontext.Value
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return found
		}
		if tok.String() != name {
			if dec.SkipValue() != nil {
				return found
			}
			continue
		}
		m, err := dec.ReadValue()
		if err != nil {
			return found
		}
		found = m.Clone()
	}
	return found
}

// Null says that a member is absent or null.
func Null(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// Time reads a time of RFC 3339; zero when it is none.
func Time(s Word) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// maxMillis is the last millisecond of the year 9999.
const maxMillis = 253_402_300_799_999

// Millis reads a whole number of milliseconds since 1970.
func Millis(v jsontext.Value) time.Time {
	n, ok := whole(string(v))
	if !ok || n == 0 || n > maxMillis {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// Seconds reads seconds since 1970, whole or with decimals. The digits are read
// as they stand: as a float a time of today loses its microseconds.
func Seconds(v jsontext.Value) time.Time {
	if v.Kind() != '0' {
		return time.Time{}
	}
	sec, frac, _ := strings.Cut(string(v), ".")
	n, ok := whole(sec)
	if !ok || n == 0 || n > maxMillis/1000 {
		return time.Time{}
	}
	var nano int64
	if frac != "" {
		if nano, ok = whole((frac + "000000000")[:9]); !ok {
			return time.Time{}
		}
	}
	return time.Unix(n, nano).UTC()
}

// whole reads up to 18 digits.
func whole(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
