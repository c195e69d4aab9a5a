package mask

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var marked = regexp.MustCompile(`\[masked (\d+) [0-9a-f]{12}\]`)

// blunt removes the hashes, so that a table can show what is left.
func blunt(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = marked.ReplaceAllString(a, "[$1]")
	}
	return out
}

func TestArgv(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []string
		want []string
	}{
		{"option with the value in the same argument", []string{"server", "--api-key=case-argv-rrrr8888"}, []string{"server", "--api-key=[18]"}},
		{"option with the value in the next argument", []string{"server", "--token", "case-argv2-ssss9999", "--port", "80"}, []string{"server", "--token", "[19]", "--port", "80"}},
		{"password too short to be looked for", []string{"s", "--password", "hunter2"}, []string{"s", "--password", "[7]"}},
		{"password of digits", []string{"s", "--password=1234"}, []string{"s", "--password=[4]"}},
		{"password with separators of lists", []string{"s", "--password=a;b=1&c,d"}, []string{"s", "--password=[9]"}},
		{"value that begins with a hyphen", []string{"s", "--token", "-aB3dE5fG7"}, []string{"s", "--token", "[10]"}},
		{"option without its value", []string{"s", "--token", "--port", "80"}, []string{"s", "--token", "--port", "80"}},
		{"single hyphen, as Go's flags", []string{"s", "-token", "abc123def456"}, []string{"s", "-token", "[12]"}},
		{"camel case", []string{"s", "--apiKey", "abc123def456"}, []string{"s", "--apiKey", "[12]"}},
		{"system property", []string{"java", "-Dpassword=abc123def"}, []string{"java", "-Dpassword=[9]"}},
		{"names that only talk about tokens", []string{"s", "--max-tokens", "4096", "--token-file", "/run/t0ken", "--no-password", "x", "--use-token-auth", "y", "--auth-mode", "oauth"}, []string{"s", "--max-tokens", "4096", "--token-file", "/run/t0ken", "--no-password", "x", "--use-token-auth", "y", "--auth-mode", "oauth"}},
		{"weak name with an ordinary value", []string{"s", "--key", "name", "--auth", "none"}, []string{"s", "--key", "name", "--auth", "none"}},
		{"weak name with a file", []string{"s", "--key", "/etc/tls/server.key"}, []string{"s", "--key", "/etc/tls/server.key"}},
		{"weak name with a credential", []string{"s", "--key", "0f1e2d3c4b5a6978"}, []string{"s", "--key", "[16]"}},
		{"variable that nobody replaced", []string{"s", "--token", "${API_TOKEN}", "--password=$PASS"}, []string{"s", "--token", "${API_TOKEN}", "--password=$PASS"}},
		{"assignment", []string{"env", "ACME_TOKEN=tok-1234567", "server"}, []string{"env", "ACME_TOKEN=[11]", "server"}},
		{"assignment for docker", []string{"docker", "run", "-e", "API_KEY=k-12345678", "--env=DB_PASSWORD=p-12345678", "image"}, []string{"docker", "run", "-e", "API_KEY=[10]", "--env=DB_PASSWORD=[10]", "image"}},
		{"header", []string{"mcp-remote", "https://h.example/mcp", "--header", "Authorization: Bearer abc-123-def"}, []string{"mcp-remote", "https://h.example/mcp", "--header", "Authorization: Bearer [11]"}},
		{"header without a space", []string{"mcp-remote", "--header", "X-Api-Key:abc-123-def"}, []string{"mcp-remote", "--header", "X-Api-Key:[11]"}},
		{"header in one argument", []string{"c", "--header=X-Acme-Auth-Token: abc-123-def", "-HX-Api-Key:abc-123-deg"}, []string{"c", "--header=X-Acme-Auth-Token: [11]", "-HX-Api-Key:[11]"}},
		{"header that is none", []string{"c", "-H", "Accept: text/html", "-H", "X-Page: 2"}, []string{"c", "-H", "Accept: text/html", "-H", "X-Page: 2"}},
		{"cookie", []string{"c", "-H", "Cookie: sid=case-cookie-eeee5555; theme=dark"}, []string{"c", "-H", "Cookie: sid=[20]; theme=dark"}},
		{"bearer alone", []string{"s", "Bearer", "abc-123-def"}, []string{"s", "Bearer", "[11]"}},
		{"bearer in one argument", []string{"s", "--auth", "Bearer abc-123-def"}, []string{"s", "--auth", "Bearer [11]"}},
		{"bearer in a sentence", []string{"s", "--description", "wants a Bearer token"}, []string{"s", "--description", "wants a Bearer token"}},
		{"image whose name says secret", []string{"docker", "run", "my-secret:latest"}, []string{"docker", "run", "my-secret:latest"}},
		{"password in a URL", []string{"s", "postgres://ann:p%40ss@db.example:5432/main"}, []string{"s", "postgres://ann:[6]@db.example:5432/main"}},
		{"password in a URL behind an option", []string{"s", "--url=https://ann:pass-1234@h.example/"}, []string{"s", "--url=https://ann:[9]@h.example/"}},
		{"token as user of a URL", []string{"git", "clone", "https://ghx_0123456789abcdef@git.example/r"}, []string{"git", "clone", "https://[20]@git.example/r"}},
		{"user of a URL", []string{"git", "clone", "ssh://git@git.example/r", "https://r.example:4873/@scope/pkg"}, []string{"git", "clone", "ssh://git@git.example/r", "https://r.example:4873/@scope/pkg"}},
		{"query", []string{"s", "https://h.example/mcp?api_key=case-query-ffff6666&page=2#access_token=case-frag-1"}, []string{"s", "https://h.example/mcp?api_key=[19]&page=2#access_token=[11]"}},
		{"signed URL", []string{"s", "https://h.example/f?X-Amz-Signature=case-sig-qqqq7777&X-Amz-Date=20260101T000000Z"}, []string{"s", "https://h.example/f?X-Amz-Signature=[17]&X-Amz-Date=20260101T000000Z"}},
		{"OAuth code", []string{"s", "https://h.example/cb?code=case-code-nnnn4444&status=1&code=404"}, []string{"s", "https://h.example/cb?code=[18]&status=1&code=404"}},
		{"shell", []string{"sh", "-c", "TOKEN='abc-123-def' exec server --api-key \"abc-123-deg\" --port 80"}, []string{"sh", "-c", "TOKEN='[11]' exec server --api-key \"[11]\" --port 80"}},
		{"curl in a shell", []string{"sh", "-c", "curl -H 'Authorization: Bearer abc-123-def' -H \"X-Api-Key: abc-123-deg\" https://h.example"}, []string{"sh", "-c", "curl -H 'Authorization: Bearer [11]' -H \"X-Api-Key: [11]\" https://h.example"}},
		{"JSON", []string{"s", "--config", `{"apiKey":"abc-123-def","n":{"password":"a\"b","region":"eu"},"tokens":["t-12345678"]}`}, []string{"s", "--config", `{"apiKey":"[11]","n":{"password":"[4]","region":"eu"},"tokens":["[10]"]}`}},
		{"JSON in JSON", []string{"s", "--config", `"{\"apiKey\":\"abc-123-def\"}"`}, []string{"s", "--config", `"{\"apiKey\":\"[11]\"}"`}},
		{"connection string", []string{"s", "Server=db.example;Password=abc-123-def;Database=main"}, []string{"s", "Server=db.example;Password=[11];Database=main"}},
		{"the same credential where nothing says so", []string{"s", "--token", "abc-123-def", "note:abc-123-def"}, []string{"s", "--token", "[11]", "note:[11]"}},
		{"nothing", []string{"npx", "-y", "@scope/server", "/data", "--port", "80", "-v"}, []string{"npx", "-y", "@scope/server", "/data", "--port", "80", "-v"}},
		{"empty arguments", []string{"s", "", "--token", "", "--password="}, []string{"s", "", "--token", "", "--password="}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := FromProcess(RandomKey(), tc.in, nil)
			if d := cmp.Diff(tc.want, blunt(m.Argv())); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestArgvOfNothing(t *testing.T) {
	m := FromProcess(RandomKey(), nil, nil)
	if !m.Empty() || len(m.Argv()) != 0 {
		t.Errorf("%v: empty %v, argv %q", m, m.Empty(), m.Argv())
	}
	if m.String("abc") != "abc" || m.Held([]byte("abc")) != 0 || m.Mask([]byte("abcdefghijk"), nil) != nil || m.Torn([]byte("abcdefghijk"), true, true, nil) != nil {
		t.Error("an empty masker masks")
	}
}

// A hash says which credential it was, whatever its encoding and its place.
func TestPlaceholderIsKeyed(t *testing.T) {
	const secret = "p@ss/word+1"
	key := RandomKey()
	m := FromProcess(key, []string{"s", "--password", secret, "https://u:p%40ss%2Fword+1@h.example/"}, nil)
	want := "[masked 11 " + key.MAC(secret) + "]"
	if got := m.Argv()[2]; got != want || got != key.Placeholder(secret) {
		t.Errorf("argv has %s, want %s", got, want)
	}
	if !strings.Contains(m.Argv()[3], key.MAC(secret)) {
		t.Errorf("the same credential in a URL has another hash: %s", m.Argv()[3])
	}
	if other := RandomKey(); other.MAC(secret) == key.MAC(secret) || other.ID() == key.ID() {
		t.Error("two keys agree")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		for _, s := range []string{fmt.Sprintf(verb, key), fmt.Sprintf(verb, m), fmt.Sprintf(verb, struct{ K Key }{key})} {
			if strings.Contains(s, "word") || len(s) > 60 {
				t.Errorf("%s prints %s", verb, s)
			}
		}
	}
}

func TestFromEnv(t *testing.T) {
	for _, tc := range []struct {
		name   string
		env    string
		secret string // what must be masked; empty: nothing
	}{
		{"api key", "ACME_API_KEY=case-env-tttt0000", "case-env-tttt0000"},
		{"token", "GITHUB_TOKEN=ghx_0123456789abcdef", "ghx_0123456789abcdef"},
		{"no borders in the name", "PGPASSWORD=abc-123-def", "abc-123-def"},
		{"small letters", "npm_config__authToken=abc-123-def", "abc-123-def"},
		{"number behind", "TOKEN_2=abc-123-def", "abc-123-def"},
		{"weak name", "STRIPE_KEY=sk_0123456789", "sk_0123456789"},
		{"bearer", "AUTHORIZATION=Bearer abc-123-def", "abc-123-def"},
		{"basic", "HTTP_AUTHORIZATION=Basic YW5uOmNhc2UtYmFzaWMtcGFzcy03Nzc3", "case-basic-pass-7777"},
		{"line feed at the end", "API_TOKEN=abc-123-def\n", "abc-123-def"},
		{"quotes", "API_TOKEN='abc-123-def'", "abc-123-def"},
		{"password in another variable", "DATABASE_URL=postgres://u:abc-123-def@h/db", "abc-123-def"},
		{"connection string", "STORE=AccountName=a;AccountKey=Zm9vYmFyMTIz;Suffix=x", "Zm9vYmFyMTIz"},
		{"list of headers", "OTEL_HEADERS=x=1,authorization=Bearer%20abc-123-def", "abc-123-def"},
		{"JSON in another variable", `MCP_CONFIG={"servers":{"a":{"headers":{"Authorization":"Bearer abc-123-def"}}}}`, "abc-123-def"},
		{"JSON credential", `SERVICE_CREDENTIALS={"type":"account","private_key_id":"0123456789abcdef"}`, "0123456789abcdef"},
		{"long password of letters", "DB_PASSWORD=correcthorsebatterystaple", "correcthorsebatterystaple"},

		{"PWD", "PWD=/home/ann/abc123def456", ""},
		{"OLDPWD", "OLDPWD=abc-123-def", ""},
		{"path", "GOOGLE_APPLICATION_CREDENTIALS=/home/ann/key-1.json", ""},
		{"relative path", "TLS_KEY=certs/server1.pem", ""},
		{"URL", "TOKEN_SOURCE_SECRET=https://auth.example/oauth2/token", ""},
		{"word", "SECRET=production", ""},
		{"words", "SECRET=service-account", ""},
		{"number", "API_TOKEN=1234567890", ""},
		{"date", "API_TOKEN=2026-01-01", ""},
		{"short", "API_TOKEN=abc-123", ""},
		{"drawn", "API_TOKEN=xxxxxxxxxxxxxxxxxxxxxxxx", ""},
		{"reference", "API_TOKEN=${OTHER_TOKEN_1}", ""},
		{"socket", "SSH_AUTH_SOCK=/tmp/agent.123", ""},
		{"name of another thing", "TOKENIZERS_PARALLELISM=false-0001", ""},
		{"amount", "MAX_TOKENS=abc-123-def", ""},
		{"public key", "PUBLIC_KEY=abc-123-def", ""},
		{"ordinary", "HOME_NAME=abc-123-def", ""},
		{"no variable", "abc-123-def", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			key := RandomKey()
			m := FromProcess(key, []string{"s"}, []string{tc.env})
			if tc.secret == "" {
				if !m.Empty() {
					t.Fatalf("looks for %q", m.needles)
				}
				return
			}
			p := []byte("<" + tc.secret + ">")
			spans := m.Mask(p, nil)
			want := []Span{{1, int64(len(tc.secret)), key.MAC(tc.secret)}}
			if d := cmp.Diff(want, spans); d != "" || strings.Trim(string(p), "*") != "<"+strings.Repeat("*", len(tc.secret))+">" {
				t.Errorf("%s %s", p, d)
			}
		})
	}
}

func TestMoreCredentialsThanAreLookedFor(t *testing.T) {
	env := []string{"STORE=https://u:inside-0001@h/"}
	for i := range MaxValues {
		env = append(env, fmt.Sprintf("WEAK_%c%c_KEY=weak-%04d", 'A'+i/26, 'A'+i%26, i))
	}
	env = append(env, "LAST_TOKEN=strong-0001")
	m := FromProcess(RandomKey(), []string{"s", "--token", "argv-0001"}, env)
	if m.Values() != MaxValues || m.Dropped() != 3 {
		t.Errorf("%d values, %d dropped", m.Values(), m.Dropped())
	}
	got := m.String("argv-0001 strong-0001 weak-0029 weak-0030 inside-0001")
	if got = marked.ReplaceAllString(got, "[$1]"); got != "[9] [11] [9] weak-0030 inside-0001" {
		t.Errorf("the surest are not first: %s", got)
	}
}

func TestNameStrength(t *testing.T) {
	for name, want := range map[string]Strength{
		"": None, "-": None, "PWD": None, "MYSQL_PWD": Strong, "X-Api-Key": Strong, "X-Acme-Auth-Token": Strong,
		"Authorization": Strong, "Proxy-Authorization": Strong, "Cookie": Weak, "Set-Cookie": Weak, "X-Refreshed-Token": Strong,
		"token_type": None, "expires_in": None, "grant_type": None, "client_id": None, "client_secret": Strong, "refresh_token": Strong,
		"id_token": Strong, "page": None, "theme": None, "X-Amz-Date": None, "X-Amz-Security-Token": Strong, "Content-Type": None,
		"AWS_ACCESS_KEY_ID": Strong, "AWS_SECRET_ACCESS_KEY": Strong, "apiKEY": Strong, "HTTPAuthToken": Strong, "DB_PASS": Strong,
		"Mcp-Session-Id": None, "CLAUDE_CODE_SESSION_ID": None, "SECRET_KEY_BASE": Strong, "keyboard": None, "monkey": None, "KEY": Weak,
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS": None, "budgetTokens": None, "passthrough": None, "compass": None,
	} {
		if got := NameStrength(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]Strength{"code": Strong, "code_verifier": Strong, "X-Amz-Signature": Strong, "state": None, "page": None, "api_key": Strong} {
		if got := ParamStrength(name); got != want {
			t.Errorf("parameter %q: %d, want %d", name, got, want)
		}
	}
}
