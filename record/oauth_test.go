package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

// danceSecrets are all that is secret in dance.
var danceSecrets = map[string]string{
	"client secret": "cs-5ecret-0001", "registration token": "rt-5ecret-0002", "code": "code-5ecret-0003", "verifier": "ver-5ecret-0004-abcdefghijklmnopqrstuvwxyz",
	"access token": "at-5ecret-0005.x.y", "refresh token": "rf-5ecret-0006", "id token": "id-5ecret-0007", "cookie": "ck-5ecret-0008",
	"packed token": "at-5ecret-0009", "API key": "ak-5ecret-0010", "session": "se-5ecret-0011", "new refresh token": "rf-5ecret-0012",
	"nested token": "xo-5ecret-0013", "token in a URL": "ur-5ecret-0014", "password": "pw-5ecret-0015", "form token": "fo-5ecret-0016",
	"trailing cookie": "tr-5ecret-0017", "device code": "de-5ecret-0018", "upstream's password": "up-5ecret-0019",
}

// dance offers an OAuth flow with every credential of it, from registration to a
// call, its bodies in pieces of at most n bytes.
func dance(r *Recorder, n int, lost func(step int) (end func())) {
	s := danceSecrets
	ex := int64(0)
	do := func(method, target string, h Fields, body string, status int, ah Fields, answer []byte) {
		ex++
		end := lost(int(ex))
		r.Event(Record{Kind: KindRequest, Exchange: ex, From: Client, Request: &HTTPRequest{Method: method, Target: target, Proto: "HTTP/1.1", Host: "h", Headers: h, Length: int64(len(body))}})
		end()
		send := func(from From, p []byte, x Fields) {
			for off := 0; ; {
				k := min(n, len(p)-off)
				b := &Body{Exchange: ex, From: from, Off: int64(off), Data: p[off : off+k]}
				if off += k; off == len(p) {
					b.End, b.Trailers = BodyLast, x
				}
				if r.Body(b); off == len(p) {
					return
				}
			}
		}
		send(Client, []byte(body), nil)
		r.Event(Record{Kind: KindResponse, Exchange: ex, From: Server, Response: &HTTPResponse{Status: status, Headers: ah, Length: -1, Sent: ah}})
		send(Server, answer, Fields{"Set-Cookie": {"t=" + s["trailing cookie"]}})
		r.Done(ex)
	}
	form := Fields{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}, "Cookie": {"sid=" + s["cookie"]}}
	js := Fields{"Content-Type": {"application/json"}}
	do("POST", "/mcp", js, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 401, Fields{"Www-Authenticate": {`Bearer resource_metadata="http://h/.well-known/oauth-protected-resource"`}}, nil)
	do("POST", "/register", js, `{"client_name":"c","redirect_uris":["http://127.0.0.1/cb"]}`, 201, js,
		fmt.Appendf(nil, `{"client_id":"c","client_secret":"%s","registration_access_token":"%s"}`, s["client secret"], s["registration token"]))
	do("GET", "/register/c", Fields{"Authorization": {"Bearer " + s["registration token"]}}, "", 200, js, fmt.Appendf(nil, `{"client_id":"c","client_secret":"%s"}`, s["client secret"]))
	do("POST", "/login?next=%2Fauthorize%3Fclient_id%3Dc", form, "username=u&password="+s["password"], 302,
		Fields{"Set-Cookie": {"sid=" + s["cookie"] + "; HttpOnly"}, "Location": {"http://127.0.0.1/cb?code=" + s["code"] + "&state=x"}}, []byte("Found. Redirecting to http://127.0.0.1/cb?code="+s["code"]+"&state=x"))
	do("GET", "/authorize?client_id=c&code_challenge=x", nil, "", 302, Fields{"Location": {"http://127.0.0.1/cb?code=" + s["code"] + "&state=x"}, "Content-Type": {"text/html"}},
		[]byte(`<a href="http://127.0.0.1/cb?code=`+s["code"]+`&amp;state=x">Found</a>.`))
	do("GET", "/cb?code="+s["code"]+"&state=x&iss=http://as/", Fields{"Referer": {"http://as/?id_token_hint=" + s["id token"]}}, "", 200, nil, []byte("<p>done</p>"))
	do("POST", "/oauth/token", form, "grant_type=authorization_code&code="+s["code"]+"&code_verifier="+s["verifier"]+"&client_id=c&client_secret="+s["client secret"], 200, js,
		fmt.Appendf(nil, `{"access_token":"%s","token_type":"Bearer","refresh_token":"%s","id_token":"%s"}`, s["access token"], s["refresh token"], s["id token"]))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, `{"access_token":"%s","refresh_token":"%s"}`, s["packed token"], s["new refresh token"])
	z.Close()
	do("POST", "/oauth/token", form, "grant_type=refresh_token&refresh_token="+s["refresh token"], 200, Fields{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, packed.Bytes())
	do("POST", "/api/oauth.v2.access", form, "code="+s["code"], 200, js, fmt.Appendf(nil, `{"ok":true,"authed_user":{"access_token":"%s"}}`, s["nested token"]))
	do("POST", "/login/oauth/access_token", js, `{"refresh_token":"`+s["new refresh token"]+`"}`, 200, form, []byte("access_token="+s["form token"]+"&scope=a&token_type=bearer"))
	do("POST", "/device_authorization", form, "client_id=c", 200, js, fmt.Appendf(nil, `{"device_code":"%s","user_code":"AB"}`, s["device code"]))
	do("POST", "/introspect", form, "token="+s["access token"], 200, js, []byte(`{"active":true}`))
	do("POST", "/mcp?access_token="+s["token in a URL"], Fields{"Authorization": {"Bearer " + s["access token"]}, "X-Api-Key": {s["API key"]}, "Mcp-Session-Id": {s["session"]}},
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, 200, Fields{"Mcp-Session-Id": {s["session"]}, "Content-Type": {"application/json"}}, []byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`))
}

// Of a whole OAuth flow no credential is in the recording in clear, however its
// bodies were cut and whatever was lost between; all of them are at level raw.
func TestOAuthDance(t *testing.T) {
	none := func(int) func() { return func() {} }
	for _, c := range []struct {
		name  string
		raw   bool
		press bool
		n     int
		lose  bool
	}{
		{"whole bodies", false, false, 1 << 20, false}, {"bodies byte by byte", false, false, 1, false}, {"chunk runs", false, true, 7, false},
		{"heads of requests lost", false, false, 9, true}, {"raw", true, false, 1 << 20, false}, {"raw chunk runs", true, true, 1 << 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Dir: t.TempDir(), Transport: "http", Level: LevelFull, Listen: "127.0.0.1:1", Upstream: "http://u:" + danceSecrets["upstream's password"] + "@h/mcp",
				Masker: mask.New(mask.RandomKey()), press: func() bool { return c.press }}
			if c.raw {
				cfg.Masker, cfg.Level = nil, LevelRaw
			}
			r, err := Begin(cfg)
			if err != nil {
				t.Fatal(err)
			}
			lost := none
			if c.lose {
				lost = func(int) func() {
					full := fillQueue(r, false, true)
					return func() { fillQueue(r, full, false) }
				}
			}
			dance(r, c.n, lost)
			r.Close(time.Minute)
			recs, end := readAll(t, r.Path(), Options{Verify: true})
			if end.State != Sealed || (end.Gaps > 0) != c.lose {
				t.Fatalf("%+v", end)
			}
			var text strings.Builder
			bodies := map[bodyKey][]byte{}
			for _, rec := range recs {
				text.Write(rec.Line)
				text.WriteByte('\n')
				if rec.Kind == KindBody {
					k := keyOf(rec.Exchange, rec.From)
					bodies[k] = append(append(bodies[k], rec.Data...), rec.EOL...)
				}
			}
			all := text.String()
			for _, b := range bodies {
				if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
					var out bytes.Buffer
					out.ReadFrom(z)
					b = out.Bytes()
				}
				all += string(b) + "\n"
			}
			for what, s := range danceSecrets {
				if strings.Contains(all, s) != c.raw {
					t.Errorf("the %s is in the recording: %v", what, !c.raw)
				}
			}
			// What is no credential is there.
			for _, s := range []string{"grant_type=authorization_code", "username=u", `{"active":true}`, `"method":"tools/list"`, `"authed_user"`, "resource_metadata", "state=x"} {
				if !strings.Contains(all, s) && !strings.Contains(all, strings.ReplaceAll(s, `"`, `\"`)) {
					t.Errorf("%s is not in the recording", s)
				}
			}
		})
	}
}

// A gap inside of a token answer: what follows it cannot be told apart, so all of
// it is hidden.
func TestGapInATokenAnswer(t *testing.T) {
	r, err := Begin(Config{Dir: t.TempDir(), Transport: "http", Level: LevelFull, Upstream: "http://h", Masker: mask.New(mask.RandomKey())})
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(r)
	w.request(1, HTTPRequest{Method: "POST", Target: "/token", Length: 0, End: true})
	w.response(1, HTTPResponse{Status: 200, Length: -1})
	w.piece(1, Server, []byte(`{"expires_in":3,"x":`), BodyMore)
	full := fillQueue(r, false, true)
	w.piece(1, Server, []byte(`1,"access_token":"abc`), BodyMore)
	fillQueue(r, full, false)
	w.piece(1, Server, []byte(`defghij","scope":"a"}`), BodyLast)
	w.done(1)
	r.Close(time.Minute)
	recs, _ := readAll(t, r.Path(), Options{Verify: true})
	w.accounts(t, recs, "defghij")
	var got []string
	for _, rec := range recs {
		if rec.Kind == KindBody {
			got = append(got, string(rec.Data))
		}
	}
	if len(got) != 2 || got[0] != `{"expires_in":3,"x":` || got[1] != strings.Repeat("*", 21) {
		t.Errorf("%q", got)
	}
}
