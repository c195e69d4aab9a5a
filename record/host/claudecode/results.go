package claudecode

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// resultOf reads a tool result's content: a string or content blocks, of which
// at most max bytes of text are kept.
func resultOf(content jsontext.Value, keep *host.Keeper, max int) *host.CallResult {
	r := &host.CallResult{}
	list, _ := blocks(content)
	var whole strings.Builder // at most a line of the file
	for i := range list {
		b := &list[i]
		switch {
		case b.Type == "text":
			r.HasText = true
			whole.WriteString(string(b.Text))
		case b.Source != nil:
			m := mediaOf(b)
			r.Media = append(r.Media, m)
			r.Bytes += m.Bytes
		}
	}
	r.Bytes += int64(whole.Len())
	r.Text = keep.Result(whole.String(), max)
	return r
}

// mediaOf describes an image or a document by size and hash. Data that is no
// base64 is described by its type alone.
func mediaOf(b *block) host.Media {
	var s struct {
		Media text `json:"media_type"`
		Data  long `json:"data"`
		URL   long `json:"url"`
	}
	into(b.Source, &s)
	m := host.Media{Type: string(s.Media)}
	if m.Type == "" {
		m.Type = string(b.Type)
	}
	if data, err := base64.StdEncoding.DecodeString(string(s.Data)); err == nil && len(data) > 0 {
		return host.NewMedia(m.Type, data)
	}
	if len(s.URL) <= maxURI {
		m.URI = withoutQuery(string(s.URL))
	}
	return m
}

// maxURI bounds a media's address, in bytes.
const maxURI = 2048

// withoutQuery drops what signed addresses carry (hosts.md 6).
func withoutQuery(u string) string {
	if i := strings.IndexAny(u, "?#"); i >= 0 {
		return u[:i]
	}
	return u
}

// refusal says from a failed result's text who kept the call from being sent.
// These are the host's own sentences, the same in all versions that were seen.
func refusal(s string) (denied, refused string) {
	switch {
	case strings.HasPrefix(s, "Claude requested permissions to "):
		return host.DeniedUnstated, ""
	case strings.HasPrefix(s, "The user doesn't want to "):
		return host.DeniedByUser, ""
	case strings.HasPrefix(s, "Permission to use ") && strings.Contains(s, "denied"):
		return host.DeniedByRule, ""
	}
	inner, ok := strings.CutPrefix(s, "<tool_use_error>")
	switch {
	case !ok:
		return "", ""
	case strings.Contains(inner, "No such tool available"):
		return "", host.RefusedTool
	case strings.HasPrefix(inner, "InputValidationError"):
		return "", host.RefusedSchema
	}
	return "", host.RefusedUse
}
