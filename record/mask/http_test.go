package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeader(t *testing.T) {
	m := New(RandomKey())
	for _, tc := range []struct{ name, field, in, want string }{
		{"bearer", "Authorization", "Bearer abc.def-1", "Bearer *********"},
		{"small letters", "authorization", "bearer  abc", "bearer  ***"},
		{"basic", "Authorization", "Basic dTpw", "Basic ****"},
		{"digest", "Authorization", `Digest username="u", response="r"`, "Digest **************************"},
		{"DPoP", "Authorization", "DPoP eyJ0", "DPoP ****"},
		{"signed request", "Authorization", "AWS4-HMAC-SHA256 Credential=A/b, Signature=c", "AWS4-HMAC-SHA256 ***************************"},
		{"SCRAM", "Authorization", "SCRAM-SHA-256 data=x", "SCRAM-SHA-256 ******"},
		{"no scheme", "Authorization", "sk-0123", "*******"},
		{"a credential with a blank and no scheme", "Authorization", "sk-0123 more", "************"},
		{"scheme alone", "Authorization", "Bearer", "******"},
		{"tab", "Authorization", "Bearer\tabc", "Bearer\t***"},
		{"empty", "Authorization", "", ""},
		{"proxy", "Proxy-Authorization", "Basic dTpw", "Basic ****"},
		{"cookies", "Cookie", `a=1; session="x y"; theme=dark; b`, "a=*; session=*****; theme=****; *"},
		{"Set-Cookie", "Set-Cookie", "sid=abc=; Path=/; HttpOnly", "sid=****; Path=/; HttpOnly"},
		{"Set-Cookie without a name", "Set-Cookie", "abc", "***"},
		{"API key", "X-Api-Key", "k1", "**"},
		{"API key of Google", "X-Goog-Api-Key", "AIzaSy0123456789", "****************"},
		{"subscription key", "Ocp-Apim-Subscription-Key", "0123456789abcdef", "****************"},
		{"token field", "X-Auth-Token", "abc", "***"},
		{"access token", "X-Forwarded-Access-Token", "abc", "***"},
		{"forwarded authorization", "X-Forwarded-Authorization", "Bearer abc", "Bearer ***"},
		{"JWT", "Cf-Access-Jwt-Assertion", "eyJ0", "****"},
		{"session of MCP", "Mcp-Session-Id", "1868a90c", "********"},
		{"session of MCP, spelt otherwise", "MCP-Session-ID", "1868a90c", "********"},
		{"parameter in a header, by its name", "Mcp-Param-Api-Key", "abc", "***"},
		{"parameter in a header", "Mcp-Param-Region", "eu-west-1a2b3c", "eu-west-1a2b3c"},
		{"code in Location", "Location", "http://127.0.0.1:8/cb?code=abc12345&state=s&iss=https://as", "http://127.0.0.1:8/cb?code=********&state=s&iss=https://as"},
		{"token in a fragment", "Location", "https://h/cb#access_token=abc&token_type=Bearer&expires_in=3600", "https://h/cb#access_token=***&token_type=Bearer&expires_in=3600"},
		{"relative Location", "Location", "/cb?next=http://h/&code=abc12345", "/cb?next=http://h/&code=********"},
		{"code before a URL", "Location", "/cb?code=abc12345&redirect_uri=http://h/?x=1", "/cb?code=********&redirect_uri=http://h/?x=1"},
		{"code in a URL in a URL", "Location", "/login?to=https%3A%2F%2Fh%2Fcb%3Fcode%3Dabc12345&x=1", "/login?to=**************************************&x=1"},
		{"authorization request", "Location", "https://as/authorize?response_type=code&client_id=c&code_challenge=E9Mel&code_challenge_method=S256&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&scope=a+b&state=xyz&resource=https%3A%2F%2Fh%2Fmcp",
			"https://as/authorize?response_type=code&client_id=c&code_challenge=E9Mel&code_challenge_method=S256&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&scope=a+b&state=xyz&resource=https%3A%2F%2Fh%2Fmcp"},
		{"referer", "Referer", "https://u:pass@h/p?token=abc", "https://u:****@h/p?token=***"},
		{"links", "Link", `<https://h/?token=abc>; rel="next", </b?api_key=d&p=2>; rel="prev"`, `<https://h/?token=***>; rel="next", </b?api_key=*&p=2>; rel="prev"`},
		{"refresh", "Refresh", "0; url=https://h/?access_token=abc", "0; url=https://h/?access_token=***"},
		{"original URL", "X-Original-Url", "/mcp?api_key=abc", "/mcp?api_key=***"},

		{"challenge", "Www-Authenticate", `Bearer resource_metadata="https://h/.well-known/x", error="invalid_token"`, `Bearer resource_metadata="https://h/.well-known/x", error="invalid_token"`},
		{"challenge of a proxy", "Proxy-Authenticate", "Basic realm=x", "Basic realm=x"},
		{"CORS", "Access-Control-Allow-Headers", "Authorization, Mcp-Session-Id", "Authorization, Mcp-Session-Id"},
		{"CORS expose", "Access-Control-Expose-Headers", "X-Api-Key", "X-Api-Key"},
		{"version", "MCP-Protocol-Version", "2025-11-25", "2025-11-25"},
		{"method", "Mcp-Method", "tools/call", "tools/call"},
		{"name", "Mcp-Name", "get_token_9f8e7d6c", "get_token_9f8e7d6c"},
		{"content type", "Content-Type", "application/json", "application/json"},
		{"content security", "Content-Security-Policy", "default-src 'none'", "default-src 'none'"},
		{"ETag", "Etag", `"33a64df551425fcc55e4d42a148795d9f25f89d4"`, `"33a64df551425fcc55e4d42a148795d9f25f89d4"`},
		{"idempotency", "Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"},
		{"WebSocket", "Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="},
		{"rate limit", "X-Ratelimit-Remaining-Tokens", "149984", "149984"},
		{"request id", "X-Request-Id", "8e03978e-40d5-43dd-bc93", "8e03978e-40d5-43dd-bc93"},
		{"event id", "Last-Event-Id", "8e03978e-40d5", "8e03978e-40d5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 { // the second time the rule is known
				got, spans := m.Header(tc.field, tc.in)
				if got != tc.want {
					t.Errorf("%s: %q, want %q", tc.field, got, tc.want)
				}
				keptApart(t, tc.in, got, spans)
			}
		})
	}
}

// keptApart: nothing but spans changed, and they stand in order.
func keptApart(t *testing.T, in, out string, spans []Span) {
	t.Helper()
	if len(in) != len(out) {
		t.Fatalf("%q became %q", in, out)
	}
	last := int64(0)
	for _, s := range spans {
		if s.Off < last || s.Len < 1 || s.Off+s.Len > int64(len(in)) {
			t.Fatalf("span %+v behind %d in %q", s, last, in)
		}
		if in[last:s.Off] != out[last:s.Off] {
			t.Fatalf("%q became %q, which %+v does not say", in, out, spans)
		}
		last = s.Off + s.Len
	}
	if in[last:] != out[last:] {
		t.Fatalf("%q became %q, which %+v does not say", in, out, spans)
	}
}

func TestTarget(t *testing.T) {
	m := New(RandomKey())
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "/mcp", "/mcp"},
		{"star", "*", "*"},
		{"odd queries stay", "/a%zz?&&=&a=%&b;c?d#", "/a%zz?&&=&a=%&b;c?d#"},
		{"API key", "/mcp?api_key=abc&x=1", "/mcp?api_key=***&x=1"},
		{"encoded name", "/mcp?api%5Fkey=abc", "/mcp?api%5Fkey=***"},
		{"Google's key", "/mcp?key=AIzaSy0123456789", "/mcp?key=****************"},
		{"key that is a word", "/mcp?key=name", "/mcp?key=name"},
		{"brackets", "/mcp?user[password]=abc", "/mcp?user[password]=***"},
		{"second one", "/mcp?token=a&token=b", "/mcp?token=*&token=*"},
		{"value with signs", "/mcp?token=a?b=c;d=e&x", "/mcp?token=*********&x"},
		{"code", "/cb?code=abc12345&state=1", "/cb?code=********&state=1"},
		{"status code", "/cb?code=404", "/cb?code=404"},
		{"scheme", "/mcp?authorization=Bearer+abc", "/mcp?authorization=Bearer+***"},
		{"absolute", "http://u:p@h/mcp?token=a", "http://u:*@h/mcp?token=*"},
		{"at sign in a query", "http://h/mcp?mail=a@b", "http://h/mcp?mail=a@b"},
		{"session of the old transport", "/messages?sessionId=8e03978e-40d5", "/messages?sessionId=8e03978e-40d5"},
		{"page", "/x?page_token_type=a&max_tokens=5", "/x?page_token_type=a&max_tokens=5"},
		{"verifier", "/x?code_verifier=dBjftJeZ4CVP&code_challenge=E9", "/x?code_verifier=************&code_challenge=E9"},
		{"encoded too often", "/x?u=" + strings.Repeat("%25", 40) + "3D", "/x?u=" + strings.Repeat("%25", 40) + "3D"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, spans := m.Target(tc.in)
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			keptApart(t, tc.in, got, spans)
		})
	}
	// One credential has one hash, wherever it stands.
	_, a := m.Target("/?token=a%2Fb%2Bc")
	_, b := m.Header("Authorization", "Bearer a/b+c")
	p := []byte(`{"access_token":"a\/b+c"}`)
	c := NewJSON().Mask(m, p, true, nil)
	q := []byte(`token=a%2fb%2Bc`)
	d := NewForm().Mask(m, q, true, nil)
	if a[0].MAC == "" || a[0].MAC != b[0].MAC || a[0].MAC != c[0].MAC || a[0].MAC != d[0].MAC {
		t.Errorf("%v %v %v %v", a, b, c, d)
	}
}

func TestTokenEndpoint(t *testing.T) {
	for target, want := range map[string]bool{
		"/token": true, "/oauth/token": true, "/oauth2/v1/token?x": true, "/token/": true, "/register": true, "/connect/register": true,
		"/register/client-1": true, "/introspect": true, "/oauth2/introspection": true, "/revoke": true, "/device_authorization": true,
		"https://as.example/oauth2/token": true, "/OAuth/Token": true, "/login/oauth/access_token": true,
		"/mcp": false, "/": false, "": false, "*": false, "/mcp?path=/token": false, "/sse": false, "/authorize": false, "/token/a/b": false,
	} {
		if got := TokenEndpoint(target); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}

const rpc = `{"jsonrpc":"2.0","id":1,"result":{"access_token":"abc","x":[{"token":"d"}]}}`

func TestFields(t *testing.T) {
	m := New(RandomKey())
	for _, tc := range []struct {
		name     string
		form     bool
		in, want string
	}{
		{"code exchange", true, "grant_type=authorization_code&code=abc&redirect_uri=http%3A%2F%2Fh%2Fcb&client_id=c&code_verifier=v1&resource=https%3A%2F%2Fh",
			"grant_type=authorization_code&code=***&redirect_uri=http%3A%2F%2Fh%2Fcb&client_id=c&code_verifier=**&resource=https%3A%2F%2Fh"},
		{"refresh", true, "grant_type=refresh_token&refresh_token=abc&scope=a+b", "grant_type=refresh_token&refresh_token=***&scope=a+b"},
		{"client credentials", true, "client_id=c&client_secret=abc%3D&grant_type=client_credentials", "client_id=c&client_secret=******&grant_type=client_credentials"},
		{"client assertion", true, "client_assertion_type=urn%3Ax&client_assertion=eyJ0", "client_assertion_type=urn%3Ax&client_assertion=****"},
		{"pushed authorization request", true, "response_type=code&client_id=c&client_secret=s&code_challenge=E9&state=x", "response_type=code&client_id=c&client_secret=*&code_challenge=E9&state=x"},
		{"token exchange", true, "subject_token=a&subject_token_type=urn&actor_token=b", "subject_token=*&subject_token_type=urn&actor_token=*"},
		{"device", true, "device_code=abc", "device_code=***"},
		{"revoke", true, "token=abc&token_type_hint=refresh_token", "token=***&token_type_hint=refresh_token"},
		{"login", true, "username=u&password=p%26q&remember=1", "username=u&password=*****&remember=1"},
		{"encoded name", true, "client%5Fsecret=abc", "client%5Fsecret=***"},
		{"equals signs", true, "token=a=b==&x", "token=*****&x"},
		{"nothing", true, "", ""},
		{"no value", true, "token=&token&=x&&", "token=&token&=x&&"},
		{"JSON with curl's label", true, `{"jsonrpc":"2.0","params":{"u":"https://h/?a=b&token=c"}}`, `{"jsonrpc":"2.0","params":{"u":"https://h/?a=b&token=c"}}`},
		{"long name", true, strings.Repeat("x", 200) + "_token=abc", strings.Repeat("x", 200) + "_token=abc"},

		{"token answer", false, `{"access_token":"abc","token_type":"Bearer","expires_in":3600,"refresh_token":"d\"e","scope":"a","id_token":"f.g"}`,
			`{"access_token":"***","token_type":"Bearer","expires_in":3600,"refresh_token":"****","scope":"a","id_token":"***"}`},
		{"white space", false, "\n{\n  \"access_token\" : \"abc\"\n}\n", "\n{\n  \"access_token\" : \"***\"\n}\n"},
		{"escaped name", false, `{"access\u005ftoken":"abc"}`, `{"access\u005ftoken":"***"}`},
		{"registration", false, `{"client_id":"c","client_secret":"s1","client_secret_expires_at":0,"registration_access_token":"r","registration_client_uri":"https://h/register/c","token_endpoint_auth_method":"none","redirect_uris":["http://h/cb"]}`,
			`{"client_id":"c","client_secret":"**","client_secret_expires_at":0,"registration_access_token":"*","registration_client_uri":"https://h/register/c","token_endpoint_auth_method":"none","redirect_uris":["http://h/cb"]}`},
		{"introspection", false, `{"active":true,"sub":"u","token_type":"Bearer","client_id":"c"}`, `{"active":true,"sub":"u","token_type":"Bearer","client_id":"c"}`},
		{"token of a user inside", false, `{"ok":true,"authed_user":{"access_token":"abc","id":"U"},"l":[[{"token":"d"}]]}`, `{"ok":true,"authed_user":{"access_token":"***","id":"U"},"l":[[{"token":"*"}]]}`},
		{"device authorization", false, `{"device_code":"d","user_code":"AB-CD","verification_uri":"https://h/d","verification_uri_complete":"https://h/d?user_code=AB-CD"}`,
			`{"device_code":"*","user_code":"*****","verification_uri":"https://h/d","verification_uri_complete":"***************************"}`},
		{"error", false, `{"error":"invalid_grant","error_description":"token expired"}`, `{"error":"invalid_grant","error_description":"token expired"}`},
		{"behind an error", false, `{"error":null,"access_token":"abc"}`, `{"error":null,"access_token":"***"}`},
		{"JSON-RPC", false, rpc, rpc},
		{"JSON-RPC, its version last", false, `{"id":1,"result":{"access_token":"abc"},"jsonrpc":"2.0"}`, `{"id":1,"result":{"access_token":"abc"},"jsonrpc":"2.0"}`},
		{"JSON-RPC batch", false, "[" + rpc + "]", "[" + rpc + "]"},
		{"no string", false, `{"token":1,"secret":null,"password":{"x":"y"},"pwd":["z"]}`, `{"token":1,"secret":null,"password":{"x":"y"},"pwd":["z"]}`},
		{"cut off", false, `{"access_token":"ab`, `{"access_token":"**`},
		{"HTML", false, `<a href="?token=x">`, `<a href="?token=x">`},
		{"two objects", false, `{"a":1}{"token":"b"}`, `{"a":1}{"token":"b"}`},
		{"closing more than was open", false, `{}}}{"token":"b"}`, `{}}}{"token":"b"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			whole := []byte(tc.in)
			spans := newFields(tc.form).Mask(m, whole, true, nil)
			if string(whole) != tc.want {
				t.Fatalf("%q, want %q", whole, tc.want)
			}
			keptApart(t, tc.in, string(whole), spans)
			for _, s := range spans {
				if s.MAC == "" && tc.name != "cut off" {
					t.Errorf("%+v has no hash", s)
				}
			}
			for cut := range len(tc.in) {
				inPieces(t, m, tc.form, tc.in, tc.want, []int{cut})
			}
		})
	}
}

func newFields(form bool) *Fields {
	if form {
		return NewForm()
	}
	return NewJSON()
}

func inPieces(t *testing.T, m *Masker, form bool, in, want string, cuts []int) {
	t.Helper()
	f := newFields(form)
	var out []byte
	at := 0
	for i := range len(cuts) + 1 {
		end := len(in)
		if i < len(cuts) {
			end = max(at, min(cuts[i], len(in)))
		}
		p := []byte(in[at:end])
		spans := f.Mask(m, p, i == len(cuts), nil)
		keptApart(t, in[at:end], string(p), spans)
		out = append(out, p...)
		at = end
	}
	if string(out) != want {
		t.Fatalf("cut at %v: %q, want %q", cuts, out, want)
	}
}

// FuzzFields: pieces give what the whole gives, JSON stays valid, and neither a
// JSON-RPC message nor the names of members change.
func FuzzFields(f *testing.F) {
	for _, s := range []string{rpc, `{"access_token":"a\"b","x":{"secret":"y"}}`, "token=a&code=b%20c&x", `[{"token":"x"}]`, `{"a\u0062":{"b":[{"password":"\ud83d"}]}}`} {
		f.Add([]byte(s), true, uint16(3), uint16(9))
		f.Add([]byte(s), false, uint16(17), uint16(2))
	}
	m := New(Key{}, "abc-123-def")
	f.Fuzz(func(t *testing.T, in []byte, form bool, a, b uint16) {
		if len(in) > 4<<10 {
			return
		}
		whole := slices.Clone(in)
		spans := newFields(form).Mask(m, whole, true, nil)
		keptApart(t, string(in), string(whole), spans)
		cuts := []int{int(a) % (len(in) + 1), int(b) % (len(in) + 1)}
		slices.Sort(cuts)
		inPieces(t, m, form, string(in), string(whole), cuts)
		if !json.Valid(in) {
			return
		}
		if !json.Valid(whole) && (!form || bytes.IndexByte([]byte("{["), bytes.TrimSpace(in)[0]) >= 0) {
			t.Fatalf("%q is no JSON any more: %q", in, whole)
		}
		// As a message's own member, in whatever order.
		for _, msg := range []string{
			`{"jsonrpc":"2.0","id":"token","params":%s}`, `{"result":%s,"id":1,"jsonrpc":"2.0"}`, `{"id":1,"error":%s,"jsonrpc":"2.0"}`, `[{"id":1,"params":%s,"jsonrpc":"2.0"}]`,
		} {
			msg = fmt.Sprintf(msg, in)
			inPieces(t, m, form, msg, msg, cuts)
		}
	})
}

// FuzzHead: heads and targets keep their length, and nothing but spans changes.
func FuzzHead(f *testing.F) {
	for _, s := range []string{"Bearer abc", "a=b; c", "https://u:p@h/?token=a%zz#code=12345678", `<x?key=0123456789abcdef>; rel="a"`, "/?u=%2F%3Ftoken%3Da+b&sig=\xff", "//@?//@"} {
		for _, n := range []string{"Authorization", "Cookie", "Set-Cookie", "Link", "Location", "X-Api-Key", "X-Key", "X-Url", "Mcp-Session-Id", "Etag"} {
			f.Add(n, s)
		}
	}
	m, empty := New(Key{}, "abc-123-def", "0123456789abcdef"), New(Key{})
	f.Fuzz(func(t *testing.T, name, s string) {
		for _, m := range []*Masker{m, empty} {
			got, spans := m.Header(name, s)
			keptApart(t, s, got, spans)
			if again, _ := m.Header(name, s); again != got {
				t.Fatalf("%q: %q, then %q", name, got, again)
			}
			got, spans = m.Target(s)
			keptApart(t, s, got, spans)
			TokenEndpoint(s)
		}
	})
}

// Every strong parameter is masked in targets and in forms alike, however the
// values are spelt.
func TestParamsEverywhere(t *testing.T) {
	m := New(RandomKey())
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		v := make([]byte, 8+rnd.IntN(20))
		for i := range v {
			v[i] = byte(33 + rnd.IntN(94))
		}
		q := url.Values{"access_token": {string(v)}, "state": {"x"}, "code": {string(v)}}.Encode()
		want := "access_token=" + strings.Repeat("*", len(url.QueryEscape(string(v)))) + "&code=" + strings.Repeat("*", len(url.QueryEscape(string(v)))) + "&state=x"
		target, spans := m.Target("/a?" + q)
		form := []byte(q)
		in := NewForm().Mask(m, form, true, nil)
		if target != "/a?"+want || string(form) != want {
			t.Fatalf("%q: %q and %q", q, target, form)
		}
		if d := cmp.Diff(spans[0].MAC, in[0].MAC); d != "" || spans[0].MAC != m.key.mac(string(v)) {
			t.Fatal(d)
		}
	}
}

func BenchmarkFields(b *testing.B) {
	m := New(RandomKey())
	msg := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 20_000) + `"}]}}`)
	last := append([]byte(`{"id":1,"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 20_000)), `"}]},"jsonrpc":"2.0"}`...)
	form := []byte("grant_type=authorization_code&code=abc&x=" + strings.Repeat("y", 20_000))
	for _, c := range []struct {
		name string
		form bool
		p    []byte
	}{{"message", false, msg}, {"message, version last", false, last}, {"form", true, form}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.p)))
			b.ReportAllocs()
			for b.Loop() {
				newFields(c.form).Mask(m, c.p, true, nil)
			}
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	m := New(RandomKey())
	for _, h := range [][2]string{{"Content-Type", "application/json"}, {"Authorization", "Bearer abcdefghijklmnopqrst"}, {"Location", "/x?a=b&c=d"}} {
		b.Run(h[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Header(h[0], h[1])
			}
		})
	}
}
