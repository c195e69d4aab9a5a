//go:build e2e && linux

package html

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/report"
)

// browser is a headless Chromium, spoken to over a pipe by its DevTools protocol: one
// page, its messages read one after the other.
type browser struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	session string
	id      int
	// trouble is what the console, the policy or the network said.
	trouble []string
	loaded  bool
}

type devtools struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// open starts the browser; without one the test is skipped.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine")
	}
	toIn, toOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromIn, fromOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, in: toOut, out: bufio.NewReaderSize(fromIn, 1<<20)}
	b.cmd = exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "--hide-scrollbars", "about:blank")
	b.cmd.ExtraFiles = []*os.File{toIn, fromOut} // descriptors 3 and 4
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toIn.Close()
	fromOut.Close()
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		b.in.Close()
		io.Copy(io.Discard, b.out)
		b.cmd.Wait()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network", "Audits"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) send(method string, params any) int {
	b.id++
	m := map[string]any{"id": b.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		b.t.Errorf("%s: %v", method, err)
	}
	return b.id
}

func (b *browser) next() (m devtools) {
	text, err := b.out.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	if err != nil {
		b.t.Fatalf("the browser said: %v", err)
	}
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening", "Audits.issueAdded":
		b.trouble = append(b.trouble, m.Method+" "+string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil || !strings.HasPrefix(p.Request.URL, "file:") {
			b.trouble = append(b.trouble, "request "+p.Request.URL)
		}
	case "Page.loadEventFired":
		b.loaded = true
	}
	return m
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	id := b.send(method, params)
	for {
		m := b.next()
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// eval is the value of an expression in the page.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	var text string
	if json.Unmarshal(r.Result.Value, &text) == nil {
		return text
	}
	return string(r.Result.Value)
}

// until waits in the page for a condition, at most 1,800 frames (half a minute).
func (b *browser) until(condition string) {
	b.t.Helper()
	if b.eval("new Promise((done) => { let n = 0; const look = () => { if ("+condition+") done(true); else if (++n > 1800) done(false); else requestAnimationFrame(look); }; look(); })") != "true" {
		b.t.Fatalf("never so: %s", condition)
	}
}

// visit loads a page at a route, in a window of a width and a theme.
func (b *browser) visit(file, route string, width int, theme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": fmt.Sprintf("file://%s?%d#/%s", file, b.id, route)}, nil)
	for !b.loaded {
		b.next()
	}
	b.until("document.documentElement.hasAttribute('data-ready')")
}

// press presses one key.
func (b *browser) press(key string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}
	p := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
	if len(key) == 1 {
		p["text"] = key
	}
	if key == "Enter" {
		p["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", p, nil)
	delete(p, "text")
	p["type"] = "keyUp"
	b.call("Input.dispatchKeyEvent", p, nil)
}

func (b *browser) focus() string {
	return b.eval(`(() => { const e = document.activeElement; return e.tagName + " " + (e.getAttribute("aria-label") || e.textContent).trim().slice(0, 60); })()`)
}

func (b *browser) screenshot(name string) {
	dir := os.Getenv("SIXLINK_KEEP")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// written is a page in a file.
func written(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unnamed counts what can be pressed, filled in or followed and has no name for who
// listens, and images of text that are not hidden from them.
const unnamed = `[...document.querySelectorAll("a, button, input, select, summary")].filter((e) => !e.closest("[aria-hidden=true], [hidden]") && !(e.getAttribute("aria-label") || e.textContent.trim() || e.title)).length`

// Every view, at the width of a phone and of a desk, light and dark: nothing is said on
// the console, nothing is loaded, nothing stands out of the window.
func TestBrowserViews(t *testing.T) {
	recs, v := shop(t)
	bad, badVerdict := hostileRun(t)
	talk := conversation(t)
	parts, two := twoServers(t)
	pages := []struct {
		name   string
		write  func(w io.Writer) error
		routes []string
	}{
		{"shop", func(w io.Writer) error {
			return Write(w, v, Options{Options: report.Options{Source: sourceOf(recs...), Earlier: []report.RunPoint{{Name: "run 13", Passed: 7, Eligible: 9, Trials: 10}}}})
		}, []string{"", "case/0", "case/3", "trial/0", "trial/4", "runs", "matrix", "catalog", "catalog/0", "ab/0/4", "trial/99", "nowhere"}},
		{"verdict alone", func(w io.Writer) error { return Write(w, v, Options{}) }, []string{"", "trial/2", "catalog", "ab/0/1", "runs"}},
		{"hostile", func(w io.Writer) error {
			return Write(w, badVerdict, Options{Options: report.Options{Source: sourceOf(bad), Earlier: []report.RunPoint{{Name: hostile}}}})
		}, []string{"", "case/0", "trial/0", "runs", "matrix", "catalog", "catalog/0"}},
		{"two servers", func(w io.Writer) error {
			return Write(w, two, Options{Options: report.Options{Source: sourceOf(parts...)}})
		}, []string{"", "trial/0", "matrix"}},
		{"recording", func(w io.Writer) error { return WriteRecording(w, bad, Options{}) }, []string{"", "catalog/0"}},
		{"conversation", func(w io.Writer) error { return WriteRecording(w, talk, Options{}) }, []string{""}},
	}
	b := openBrowser(t)
	for _, p := range pages {
		file := written(t, p.write)
		for _, width := range []int{390, 1440} {
			for _, theme := range []string{"light", "dark"} {
				for _, route := range p.routes {
					b.trouble = nil
					b.visit(file, route, width, theme)
					b.eval("for (const e of document.querySelectorAll('button.call, summary')) e.click()")
					what := fmt.Sprintf("%s %q %d %s", p.name, route, width, theme)
					if w := b.eval("document.documentElement.scrollWidth"); w != fmt.Sprint(width) {
						t.Errorf("%s: the page is %s wide", what, w)
					}
					if n := b.eval("[...document.querySelectorAll('h1')].filter((e) => e.offsetParent).length"); n != "1" {
						t.Errorf("%s: %s headings", what, n)
					}
					if n := b.eval(unnamed); n != "0" {
						t.Errorf("%s: %s controls have no name", what, n)
					}
					if n := b.eval("document.querySelectorAll('img, iframe, object, form, [onerror], #view script').length"); n != "0" {
						t.Errorf("%s: markup came out of a text", what)
					}
					if b.trouble != nil {
						t.Errorf("%s: %.500q", what, b.trouble)
					}
					b.screenshot(strings.ReplaceAll(fmt.Sprintf("%s-%s-%d-%s", p.name, route, width, theme), "/", "_"))
				}
			}
		}
	}
}

// From the address to the call that broke the trial, by keys alone.
func TestBrowserKeyboard(t *testing.T) {
	recs, v := shop(t)
	file := written(t, func(w io.Writer) error {
		return Write(w, v, Options{Options: report.Options{Source: sourceOf(recs...)}})
	})
	b := openBrowser(t)
	b.visit(file, "", 1440, "light")
	at := func(step, want string) {
		t.Helper()
		if got := b.focus(); !strings.HasPrefix(got, want) {
			t.Fatalf("%s: focus is on %q, want %q", step, got, want)
		}
	}
	b.press("Tab")
	at("first Tab", "A Skip to the content")
	b.press("Enter")
	if got := b.eval("document.querySelectorAll('#view table').length > 0 && document.activeElement.id"); got != "main" {
		t.Fatalf("the way past the navigation leads to %q", got)
	}
	b.press("/")
	at("/", "INPUT Search cases")
	for _, key := range "one" {
		b.press(string(key))
	}
	if got := b.eval("[...document.querySelectorAll('#view a.row')].map((e) => e.textContent).join()"); got != "refund-one-order" {
		t.Fatalf("searching for one leaves %s", got)
	}
	b.press("Escape")
	if got := b.eval("document.querySelectorAll('#view a.row').length"); got != "4" {
		t.Fatalf("Escape leaves %s cases", got)
	}
	b.press("Tab") // the select
	b.press("Tab")
	at("Tab to the list", "A refund-one-order")
	b.press("ArrowDown")
	at("ArrowDown", "A never-mails") // failed first
	b.press("ArrowUp")
	b.press("Enter")
	b.until("location.hash === '#/case/0' && document.activeElement.tagName === 'H1'")
	at("a case", "H1 ✕failed")
	b.eval("document.querySelectorAll('#view a.row')[2].focus()")
	b.press("Enter")
	b.until("location.hash === '#/trial/2' && document.activeElement.tagName === 'H1'")
	at("a trial", "H1 ✕failed")
	// From the first break's record to the call that it is of.
	b.eval("document.querySelector('.breaktext a').focus()")
	b.press("Enter")
	at("the record of the first break", "BUTTON refund")
	if got := b.eval("document.activeElement.getAttribute('aria-expanded') + ' ' + document.querySelector('tr.detail:not([hidden]) .code.bad pre').textContent"); got != "true the ledger is read-only since 09:00" {
		t.Fatalf("the call says %s", got)
	}
	b.press("ArrowUp")
	at("ArrowUp among the calls", "BUTTON find_order")
	b.press("Enter")
	if got := b.eval("document.querySelectorAll('tr.detail:not([hidden])').length"); got != "2" {
		t.Fatalf("%s calls are open", got)
	}
	if b.trouble != nil {
		t.Errorf("%q", b.trouble)
	}
}

// Of 1,000 trials and 50,000 calls the page makes what is looked at, and more when it is
// scrolled to.
func TestBrowserLarge(t *testing.T) {
	v, l := many(t, 1000, 50)
	file := written(t, func(w io.Writer) error { return Write(w, v, Options{Options: report.Options{Source: l}}) })
	b := openBrowser(t)
	for _, route := range []string{"", "runs", "case/3", "matrix", "trial/500"} {
		b.visit(file, route, 1440, "light")
		b.until("!document.querySelector('[data-waits]')")
		var n int
		if fmt.Sscan(b.eval("document.querySelectorAll('#view *').length"), &n); n > 12000 || n < 50 {
			t.Errorf("%q: %d elements", route, n)
		}
		t.Logf("%q: %s ms to the first paint, %d elements", route, b.eval("Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime)"), n)
	}
	b.visit(file, "runs", 1440, "light")
	before := b.eval("document.querySelectorAll('#view tbody tr').length")
	if before == "1000" {
		t.Error("all rows are made at once")
	}
	b.eval("scrollTo(0, document.body.scrollHeight)")
	b.until("document.querySelectorAll('#view tbody tr').length > " + before)
	b.eval("dispatchEvent(new Event('beforeprint'))")
	if got := b.eval("document.querySelectorAll('#view tbody tr').length"); got != "1000" {
		t.Errorf("%s rows on paper", got)
	}
	if b.trouble != nil {
		t.Errorf("%q", b.trouble)
	}
}
