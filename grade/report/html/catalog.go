package html

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// maxTools bounds the tools of a catalog that are shown.
const maxTools = 1000

// catalog writes the session's catalog, once however many sessions have it, and returns
// its number + 1; 0: there is none.
func (r *builder) catalog(p *printer, s *session.Session) int {
	l := s.DeclaredCatalog()
	if l == nil {
		return 0
	}
	h := sha256.New()
	io.WriteString(h, string(l.State)+"\x00"+s.Server.Name)
	for i := range l.Tools {
		fmt.Fprintf(h, "\x00%d\x00", len(l.Tools[i].Raw))
		h.Write(l.Tools[i].Raw)
	}
	key := [32]byte(h.Sum(nil))
	n, ok := r.catalogs[key]
	if ok {
		r.rest.Catalogs[n].Uses++
		return n + 1
	}
	n = len(r.catalogs)
	r.catalogs[key] = n
	d := r.tools(l)
	lint := len(d.Lint)
	for i := range d.Tools {
		lint += len(d.Tools[i].Lint)
	}
	server := peer(s.Server)
	if server == "" {
		server = "a server that does not name itself"
	}
	r.rest.Catalogs = append(r.rest.Catalogs, catalogIndex{server, hex.EncodeToString(key[:6]), len(l.Tools), lint, string(l.State), 1})
	p.block('c', n, d)
	return n + 1
}

func (r *builder) tools(l *catalog.List) *catalogData {
	d := &catalogData{}
	for _, name := range l.Duplicates {
		d.Lint = append(d.Lint, "the name "+oneLine(predicate.Quoted(name))+" stands in the list twice")
	}
	if l.Why != "" {
		d.Lint = append(d.Lint, "the list is "+string(l.State)+": "+words(l.Why))
	}
	twins := likeOthers(l.Tools)
	for i := range l.Tools {
		if i == maxTools {
			d.More = len(l.Tools) - i
			break
		}
		t := &l.Tools[i]
		out := toolData{Name: oneLine(t.Name), Desc: r.detail(t.Description).Text, Lint: lint(t), Marks: marksOf(t)}
		if twins[i] != "" {
			out.Lint = append(out.Lint, twins[i])
		}
		if len(t.InputSchema) > 0 {
			out.Input = r.detail(string(t.InputSchema))
		}
		if len(t.OutputSchema) > 0 {
			out.Output = r.detail(string(t.OutputSchema))
		}
		d.Tools = append(d.Tools, out)
	}
	return d
}

// marksOf are the annotations that say what a tool does, in their own words.
func marksOf(t *catalog.Tool) []string {
	if len(t.Annotations) == 0 || len(t.Annotations) > maxValue {
		return nil
	}
	a, err := predicate.ParseArguments(t.Annotations)
	if err != nil || a.Kind != value.Object {
		return nil
	}
	var out []string
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if v, ok := a.Get(hint); ok && v.Kind == value.Bool {
			out = append(out, fmt.Sprintf("%s: %v", hint, v.Bool))
		}
	}
	return out
}
