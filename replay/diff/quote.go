package diff

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/visible"
)

// quoted is a text as JSON. What is no UTF-8 in it is spelt out.
func quoted(s string) []byte {
	b, err := jsontext.AppendQuote(nil, visible.UTF8(s))
	if err != nil {
		return []byte(`""`)
	}
	return b
}

func quote(s string) string { return string(quoted(s)) }

// head is the beginning of a longer text.
func head(s string) string {
	if len(s) <= shownText {
		return s
	}
	return strings.ToValidUTF8(s[:shownText], "") + "…"
}
