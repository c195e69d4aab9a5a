package rewrite

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/proxy"
)

// Config says what is rewritten.
type Config struct {
	// PassOAuth leaves everything of OAuth as it is (--oauth=pass). The endpoint
	// event of the legacy transport is rewritten anyway.
	PassOAuth bool
	// Note, if set, gets one line for the first answer of each kind that would
	// have been rewritten and could not be. It must not block.
	Note func(string)
}

// Rewriter is a [proxy.Rewriter]. It may be used by several goroutines.
type Rewriter struct {
	cfg Config

	mu        sync.Mutex
	noted     map[string]bool
	announced map[string]bool // paths that a rewritten resource_metadata named
}

// New makes a Rewriter.
func New(cfg Config) *Rewriter {
	return &Rewriter{cfg: cfg, noted: map[string]bool{}, announced: map[string]bool{}}
}

var _ proxy.Rewriter = (*Rewriter)(nil)

// maxAnnounced bounds what is remembered of a server that announces a new path
// with every answer.
const maxAnnounced = 64

// Response is [proxy.Rewriter.Response].
func (w *Rewriter) Response(own, upstream string, req *http.Request, resp *http.Response) (http.Header, proxy.BodyRewriter) {
	r := newRule(own, upstream)
	if r == nil {
		return nil, nil
	}
	var headers http.Header
	if !w.cfg.PassOAuth {
		headers = w.challenges(r, resp.Header)
	}
	if req.Method != http.MethodGet || resp.StatusCode != http.StatusOK {
		return headers, nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = "" // none, or one that no client could read
	}
	coding := contentCoding(resp.Header)
	switch {
	case media == "text/event-stream":
		if coding != "" {
			w.note("stream", fmt.Sprintf("an event stream of the upstream is compressed (%s): an endpoint event in it is not rewritten", coding))
			return headers, nil
		}
		return headers, newEndpoint(r)
	case w.cfg.PassOAuth || !mayBeDocument(media) || resp.ContentLength > maxDocument:
		return headers, nil
	case coding == "":
		return headers, &documentRewriter{rule: r}
	case !w.expected(req.URL.Path):
		return headers, nil
	case coding != "gzip" && coding != "x-gzip":
		w.note("document", fmt.Sprintf("the OAuth resource document at %s is compressed (%s) and was not rewritten: clients may refuse to sign in", req.URL.Path, coding))
		return headers, nil
	}
	if headers == nil {
		headers = http.Header{}
	}
	headers["Content-Encoding"] = []string{}
	return headers, &documentRewriter{rule: r, gzip: true}
}

// challenges gives the WWW-Authenticate fields, if one has to be changed.
func (w *Rewriter) challenges(r *rule, h http.Header) http.Header {
	values := h["Www-Authenticate"]
	var changed []string
	for i, v := range values {
		text, paths := r.challenge(v)
		if text == v {
			continue
		}
		if changed == nil {
			changed = append(changed, values...)
		}
		changed[i] = text
		w.announce(paths)
	}
	if changed == nil {
		return nil
	}
	return http.Header{"Www-Authenticate": changed}
}

func (w *Rewriter) announce(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range paths {
		if len(w.announced) < maxAnnounced {
			w.announced[p] = true
		}
	}
}

// wellKnown is where clients look for the document when nothing announced it; the
// resource's own path may follow (RFC 9728).
const wellKnown = "/.well-known/oauth-protected-resource"

// expected tells whether clients look for the document at path.
func (w *Rewriter) expected(path string) bool {
	if path == wellKnown || strings.HasPrefix(path, wellKnown+"/") {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.announced[path]
}

func (w *Rewriter) note(kind, line string) {
	w.mu.Lock()
	first := !w.noted[kind]
	w.noted[kind] = true
	w.mu.Unlock()
	if first && w.cfg.Note != nil {
		w.cfg.Note(line)
	}
}

// mayBeDocument: JSON, or what servers of static files call it. Clients decode the
// document whatever it is called. Types that are something else for sure are not
// held back.
func mayBeDocument(media string) bool {
	switch media {
	case "", "application/json", "text/json", "text/plain", "application/octet-stream":
		return true
	}
	return strings.HasSuffix(media, "+json")
}

// contentCoding is the Content-Encoding, "" for none.
func contentCoding(h http.Header) string {
	var codings []string
	for _, c := range strings.Split(strings.Join(h["Content-Encoding"], ","), ",") {
		if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	return strings.Join(codings, ", ")
}
