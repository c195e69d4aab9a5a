package mask

import (
	"strings"
	"testing"
)

// What a user gives with every request is never in clear: in its own field whatever
// it is, elsewhere if it is special enough to be looked for.
func TestFromHeaders(t *testing.T) {
	key := RandomKey()
	m := FromHeaders(key, "https://me:pa55-w0rd-x@h/mcp?api_key=0123abcd4567efgh&q=1",
		[][2]string{{"Authorization", "Bearer s3cr3t-t0ken-1"}, {"x-team", "red"}, {"X-Plain", "changeme"}}, []string{"ACME_TOKEN=env-t0ken-value-9", "HOME=/home/me"})
	for _, c := range []struct{ name, value, want string }{
		{"Authorization", "Bearer s3cr3t-t0ken-1", "Bearer **************"},
		{"X-Team", "red", "***"},
		{"X-PLAIN", "changeme", "********"},
		{"X-Other", "red", "red"},
		{"X-Other", "see s3cr3t-t0ken-1", "see **************"},
	} {
		got, spans := m.Header(c.name, c.value)
		if got != c.want || (len(spans) == 0) != (got == c.value) {
			t.Errorf("%s: %s became %s (%v)", c.name, c.value, got, spans)
		}
	}
	text := []byte("s3cr3t-t0ken-1 pa55-w0rd-x 0123abcd4567efgh env-t0ken-value-9 red changeme")
	m.Mask(text, nil)
	if got := string(text); strings.Trim(strings.TrimSuffix(got, " red changeme"), "* ") != "" {
		t.Errorf("text: %s", got)
	}
	if m.Argv() != nil {
		t.Errorf("argv %q", m.Argv())
	}
}
