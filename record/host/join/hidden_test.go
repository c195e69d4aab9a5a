package join

import (
	"slices"
	"strings"
	"testing"
)

func TestBehindTheFiller(t *testing.T) {
	mask := strings.Repeat("*", 12)
	for name, row := range map[string]struct {
		masked, clear string
		want          []string
	}{
		"the whole":                         {mask, "sk-live-1234", []string{"sk-live-1234"}},
		"the whole, of another length":      {mask, "key sk-live-1234", nil},
		"a part":                            {"key " + mask + " ok", "key sk-live-1234 ok", []string{"sk-live-1234"}},
		"a part of what the host shows":     {"key " + mask, "first\nkey sk-live-1234\nlast", []string{"sk-live-1234"}},
		"two":                               {"a=" + mask + " and b=" + mask, "a=sk-live-1234 and b=pw-live-5678", []string{"sk-live-1234", "pw-live-5678"}},
		"the second place fits":             {"key " + mask + "!", "key x. key sk-live-1234!", []string{"sk-live-1234"}},
		"other words beside it":             {"key " + mask + " ok", "key sk-live-1234 no", nil},
		"asterisks that the server sent":    {"key ****** ok", "key ****** ok", nil},
		"asterisks that the host has not":   {"key ****** ok", "key abcdef ok", nil},
		"the same asterisks on both sides":  {"rule " + mask, "rule " + mask, []string{mask}}, // left out as no credential
		"behind the end of what host shows": {"key " + mask, "key sk-live", nil},
		"nothing":                           {"", "", nil},
	} {
		if got := behind(row.masked, row.clear); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, not %q", name, got, row.want)
		}
	}
	// Many places that nearly fit take no time of their own.
	behind("aaaa"+mask+"b", strings.Repeat("a", maxMasked))
}

func TestHiddenIn(t *testing.T) {
	got := hiddenIn([]byte(`{"content":[{"type":"text","text":"a \"q\" ********"},{"type":"text","text":"none"}],"structuredContent":{"b": "*********","a":1}}`))
	want := []string{got[0], `{"b":"*********","a":1}`, `a "q" ********`, "*********"}
	if !slices.Equal(got, want) || !strings.HasPrefix(got[0], `{"a":1,"b":"*********"`) { // the first is jsonscan's canonical form
		t.Errorf("%q", got)
	}
}
