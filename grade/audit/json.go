package audit

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON writes the report by its schema: the same bytes for the same recordings, and no
// path of the machine.
func JSON(w io.Writer, r *Report) error {
	if err := json.MarshalWrite(w, r, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.EscapeForHTML(false)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
