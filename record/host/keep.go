package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Keeper keeps texts and values within the bounds of one conversation
// (MaxText, MaxValue, MaxKept). The zero value is ready.
type Keeper struct{ texts, values int }

// Text keeps a prompt or a final text of at most max bytes.
func (k *Keeper) Text(s string, max int) Text { return keepText(s, max, &k.texts) }

// Result keeps a result's text of at most max bytes.
func (k *Keeper) Result(s string, max int) Text { return keepText(s, max, &k.values) }

// keepText keeps a text whole or cut between characters. What is no UTF-8 is
// replaced.
func keepText(s string, max int, held *int) Text {
	max = min(max, MaxKept-*held)
	if len(s) > max {
		t := Text{Cut: true, Bytes: int64(len(s)), SHA256: hashOf(s)}
		cut := s[:max]
		for cut != "" && !utf8.RuneStart(s[len(cut)]) {
			cut = cut[:len(cut)-1]
		}
		t.Text = strings.Clone(valid(cut)) // the whole is not held on to
		*held += len(t.Text)
		return t
	}
	*held += len(s)
	return Text{Text: valid(s)}
}

// Value keeps a JSON value of at most MaxValue bytes, else its length and the
// hash of its canonical form. v is copied. A value that is no JSON gives nil.
func (k *Keeper) Value(v []byte) *Value { return k.ValueUpTo(v, MaxValue) }

// ValueUpTo is Value with another bound.
func (k *Keeper) ValueUpTo(v []byte, max int) *Value {
	if len(v) == 0 {
		return nil
	}
	if !utf8.Valid(v) {
		v = bytes.ToValidUTF8(v, []byte("\ufffd"))
	}
	if len(v) <= min(max, MaxKept-k.values) {
		c := jsontext.Value(v).Clone()
		if err := c.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			return nil
		}
		k.values += len(c)
		return &Value{JSON: c}
	}
	form, ok := jsonscan.Canonical(v)
	if !ok {
		return nil
	}
	sum := sha256.Sum256(form)
	return &Value{Bytes: int64(len(v)), SHA256: hex.EncodeToString(sum[:])}
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func hashOf(s string) string {
	h := sha256.New()
	_, _ = h.Write([]byte(s))
	return hex.EncodeToString(h.Sum(nil))
}

// NewMedia describes a blob by its size and hash.
func NewMedia(typ string, data []byte) Media {
	sum := sha256.Sum256(data)
	return Media{Type: typ, Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}

// Fail counts an error of the source and keeps the first MaxErrors.
func (s *Source) Fail(line int64, format string, args ...any) {
	s.ErrorCount++
	if len(s.Errors) < MaxErrors {
		text := fmt.Sprintf(format, args...)
		if line > 0 {
			text = fmt.Sprintf("line %d: %s", line, text)
		}
		s.Errors = append(s.Errors, text)
	}
}

// maxType bounds a type's name as it is counted, in bytes.
const maxType = 64

// Took counts a record that the conversation rests on; Skip one that it does not.
func (s *Source) Took(typ string) { countType(&s.Understood, typ) }

// Skip counts a record that is not part of the conversation.
func (s *Source) Skip(typ string) { countType(&s.Skipped, typ) }

func countType(m *map[string]int64, typ string) {
	if *m == nil {
		*m = map[string]int64{}
	}
	if len(typ) > maxType {
		typ = typ[:maxType]
	}
	typ = valid(typ)
	if _, ok := (*m)[typ]; !ok && len(*m) >= MaxTypes {
		typ = "other"
	}
	(*m)[typ]++
}

// SkippedTypes lists what was skipped, most frequent first, then by name.
func (s *Source) SkippedTypes() []string {
	types := make([]string, 0, len(s.Skipped))
	for t := range s.Skipped {
		types = append(types, t)
	}
	sort.Slice(types, func(i, j int) bool {
		if a, b := s.Skipped[types[i]], s.Skipped[types[j]]; a != b {
			return a > b
		}
		return types[i] < types[j]
	})
	return types
}

// Whole takes over what is true of a file as a whole, for a conversation that
// shares the file with others.
func (s *Source) Whole(file *Source) {
	s.Lines, s.Bytes, s.SHA256, s.Cut = file.Lines, file.Bytes, file.SHA256, file.Cut
	s.ErrorCount += file.ErrorCount
	for _, e := range file.Errors {
		if len(s.Errors) < MaxErrors {
			s.Errors = append(s.Errors, e)
		}
	}
	for typ, n := range file.Skipped {
		if s.Skipped == nil {
			s.Skipped = map[string]int64{}
		}
		s.Skipped[typ] += n
	}
}
