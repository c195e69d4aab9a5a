package host

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// cutText is a Text that is not whole, as JSON.
type cutText struct {
	Text   string `json:"text"`
	Cut    bool   `json:"cut"`
	Bytes  int64  `json:"bytes,omitzero"`
	SHA256 string `json:"sha256,omitzero"`
}

// IsZero says that there is nothing to write.
func (t Text) IsZero() bool { return t == Text{} }

// MarshalJSONTo writes a string, or an object where the text was cut.
func (t Text) MarshalJSONTo(enc *jsontext.Encoder) error {
	if !t.Cut {
		return enc.WriteToken(jsontext.String(t.Text))
	}
	return json.MarshalEncode(enc, cutText(t))
}

// UnmarshalJSONFrom reads either form.
func (t *Text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch k := dec.PeekKind(); k {
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*t = Text{Text: tok.String()}
		return nil
	case '{':
		var c cutText
		if err := json.UnmarshalDecode(dec, &c); err != nil {
			return err
		}
		*t = Text(c)
		if !t.Cut { // one form for one thing
			t.Bytes, t.SHA256 = 0, ""
		}
		return nil
	default:
		return fmt.Errorf("want a string, or an object with the members text, cut, bytes and sha256")
	}
}

// finalText is FinalText without its methods.
type finalText FinalText

// UnmarshalJSONFrom reads an object, or a plain string: the text itself, state
// empty where it is blank.
func (f *FinalText) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		*f = FinalText{State: HasText, Text: Text{Text: tok.String()}}
		if blank(f.Text.Text) {
			*f = FinalText{State: EmptyText}
		}
		return nil
	}
	return json.UnmarshalDecode(dec, (*finalText)(f))
}

// blank says that s has no character but white space as JSON and people know
// it; a text of that kind is no answer (hosts.md 1).
func blank(s string) bool {
	for _, r := range s {
		switch r {
		case ' ', '\t', '\n', '\r', '\v', '\f', 0x85, 0xA0, 0x2028, 0x2029, 0xFEFF:
		default:
			return false
		}
	}
	return true
}
