package diff

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// Schema is the version of the JSON output: additive within it.
const Schema = "sixlink/diff/1"

type jsonResult struct {
	Schema    string          `json:"schema"`
	Verdict   string          `json:"verdict"` // equal, different (nothing that fails), failed, undecided
	ExitCode  int             `json:"exitCode"`
	FailOn    FailOn          `json:"failOn"`
	A         jsonSide        `json:"a"`
	B         jsonSide        `json:"b"`
	Counts    jsonCounts      `json:"counts"`
	Compared  jsonCompared    `json:"compared"`
	Sessions  []jsonPair      `json:"sessions"`
	Findings  []jsonFinding   `json:"findings"`
	Undecided []jsonUndecided `json:"undecided"`
	Noise     map[string]int  `json:"noise"`
	Unused    []string        `json:"unusedIgnores"`
	Dropped   map[Class]int   `json:"dropped,omitzero"`
}

type jsonSide struct {
	Recording string `json:"recording"`
	Torn      bool   `json:"torn"`
	Gaps      int    `json:"gaps"`
	Sessions  int    `json:"sessions"`
}

type jsonCounts struct {
	Breaking      int `json:"breaking"`
	NonBreaking   int `json:"nonBreaking"`
	Informational int `json:"informational"`
	Undecided     int `json:"undecided"`
}

type jsonCompared struct {
	Sessions int `json:"sessions"`
	Catalogs int `json:"catalogs"`
	Tools    int `json:"tools"`
	Calls    int `json:"calls"`
	Requests int `json:"requests"`
	Shape    int `json:"byShapeOnly"`
}

type jsonPair struct {
	A        string   `json:"a"`
	B        string   `json:"b"`
	Basis    string   `json:"basis"`
	ServerA  jsonPeer `json:"serverA"`
	ServerB  jsonPeer `json:"serverB"`
	Calls    int      `json:"calls"`
	Requests int      `json:"requests"`
}

type jsonPeer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type jsonFinding struct {
	Rule   string      `json:"rule"`
	Class  Class       `json:"class"`
	In     string      `json:"in"` // session, catalog, call or request
	Tool   string      `json:"tool,omitzero"`
	Method string      `json:"method,omitzero"`
	Path   string      `json:"path,omitzero"`
	Text   string      `json:"text"`
	Before string      `json:"before,omitzero"` // JSON text, cut
	After  string      `json:"after,omitzero"`
	Count  int         `json:"count"`
	Calls  int         `json:"calls,omitzero"` // in how many; of how many that were compared
	Of     int         `json:"of,omitzero"`
	Where  []jsonWhere `json:"where"`
}

type jsonWhere struct {
	SessionA string `json:"sessionA,omitzero"`
	SessionB string `json:"sessionB,omitzero"`
	CallA    string `json:"callA,omitzero"`
	CallB    string `json:"callB,omitzero"`
}

type jsonUndecided struct {
	Subject string   `json:"subject,omitzero"` // the tool, or the method
	Text    string   `json:"text"`
	Count   int      `json:"count"`
	Calls   []string `json:"calls"`
	Gates   bool     `json:"gates"`
}

// in is what a finding is about.
func (f *Finding) in() string {
	switch {
	case f.Catalog || f.Rule == CatalogOutcome:
		return "catalog"
	case f.Method != "":
		return "request"
	case f.Tool != "" || f.Rule == CallOrder:
		return "call"
	}
	return "session"
}

// Verdict is the result in a word.
func (r *Result) Verdict() string {
	switch r.ExitCode() {
	case 1:
		return "failed"
	case 3:
		return "undecided"
	}
	if len(r.Findings) > 0 {
		return "different"
	}
	return "equal"
}

// JSON writes the result by the schema "sixlink/diff/1".
func JSON(w io.Writer, r *Result) error {
	side := func(s Side) jsonSide { return jsonSide{s.ID, s.Torn, s.Gaps, s.Sessions} }
	out := jsonResult{Schema: Schema, Verdict: r.Verdict(), ExitCode: r.ExitCode(), FailOn: r.FailOn, A: side(r.A), B: side(r.B),
		Counts:   jsonCounts{r.Count(Breaking), r.Count(NonBreaking), r.Count(Informational), len(r.Undecided)},
		Compared: jsonCompared{len(r.Pairs), r.Compared.Catalogs, r.Compared.Tools, r.Compared.Calls, r.Compared.Requests, r.Compared.Shape},
		Sessions: []jsonPair{}, Findings: []jsonFinding{}, Undecided: []jsonUndecided{}, Noise: r.Noise, Unused: append([]string{}, r.Unused...), Dropped: r.Dropped}
	peer := func(p session.Peer) jsonPeer { return jsonPeer{visible.UTF8(p.Name), visible.UTF8(p.Version)} }
	for _, p := range r.Pairs {
		out.Sessions = append(out.Sessions, jsonPair{p.A, p.B, p.Basis, peer(p.ServerA), peer(p.ServerB), p.Calls, p.Requests})
	}
	for _, f := range r.Findings {
		j := jsonFinding{Rule: f.Rule, Class: f.Class, In: f.in(), Tool: visible.UTF8(f.Tool), Method: visible.UTF8(f.Method), Path: visible.UTF8(f.Path), Text: visible.UTF8(f.Text),
			Before: visible.UTF8(f.Before), After: visible.UTF8(f.After), Count: f.Count, Of: f.Of, Where: []jsonWhere{}}
		if j.In == "call" || j.In == "request" {
			j.Calls = f.Calls
		}
		for _, at := range f.Where {
			if at != (Where{}) {
				j.Where = append(j.Where, jsonWhere(at))
			}
		}
		out.Findings = append(out.Findings, j)
	}
	for _, u := range r.Undecided {
		out.Undecided = append(out.Undecided, jsonUndecided{visible.UTF8(u.Tool), visible.UTF8(u.Text), u.Count, append([]string{}, u.Calls...), u.Gates})
	}
	if err := json.MarshalWrite(w, out, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
