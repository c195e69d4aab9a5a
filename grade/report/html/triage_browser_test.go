//go:build e2e

package html

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/report"
)

// The view of likely causes fits both widths and themes, holds no markup of a stranger's,
// and its button copies the prompt, or marks it where the browser does not let a file copy.
func TestBrowserTriage(t *testing.T) {
	recs, v := shop(t)
	bad, badVerdict := hostileRun(t)
	b := openBrowser(t)
	for name, write := range map[string]func(w io.Writer) error{
		"shop": func(w io.Writer) error {
			return Write(w, v, Options{Options: report.Options{Source: sourceOf(recs...)}})
		},
		"alone": func(w io.Writer) error { return Write(w, v, Options{}) },
		"hostile": func(w io.Writer) error {
			return Write(w, badVerdict, Options{Options: report.Options{Source: sourceOf(bad)}})
		},
	} {
		file := written(t, write)
		for _, width := range []int{390, 1440} {
			for _, theme := range []string{"light", "dark"} {
				what := fmt.Sprintf("%s %d %s", name, width, theme)
				b.trouble = nil
				b.visit(file, "triage", width, theme)
				b.eval("for (const e of document.querySelectorAll('summary')) e.click()")
				b.screenshot(strings.ReplaceAll("triage "+what, " ", "-"))
				if w := b.eval("document.documentElement.scrollWidth"); w != fmt.Sprint(width) {
					t.Errorf("%s: the page is %s wide", what, w)
				}
				if n := b.eval("document.querySelectorAll('#view article.tool').length > 0"); n != "true" {
					t.Errorf("%s: no cause is shown", what)
				}
				if n := b.eval(unnamed); n != "0" {
					t.Errorf("%s: %s controls have no name", what, n)
				}
				if n := b.eval("document.querySelectorAll('img, iframe, object, form, [onerror], #view script').length"); n != "0" {
					t.Errorf("%s: markup came out of a text", what)
				}
				b.eval("document.querySelector('#view button.act').focus()")
				b.press("Enter")
				b.until("/^(Copied|Marked)/.test(document.querySelector('#view button.act').textContent)")
				if b.trouble != nil {
					t.Errorf("%s: %.500q", what, b.trouble)
				}
			}
		}
	}
}
