package triage

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/grade/report"
)

// Schema names the shape of the JSON, which is additive within a version.
const Schema = "sixlink/triage/1"

type jsonReport struct {
	Schema      string     `json:"schema"`
	Suite       string     `json:"suite"`
	Verdict     string     `json:"verdict"`
	Spots       []jsonSpot `json:"spots"`
	MoreSpots   int        `json:"moreSpots"`
	NotLookedAt []string   `json:"notLookedAt"`
}

type jsonSpot struct {
	Failing bool        `json:"failing"`
	Case    string      `json:"case,omitzero"`
	Title   string      `json:"title,omitzero"`
	Server  string      `json:"server,omitzero"`
	Tool    string      `json:"tool,omitzero"`
	Link    string      `json:"link,omitzero"`
	What    string      `json:"what"`
	Text    string      `json:"text"`
	Trials  int         `json:"trials"`
	Of      int         `json:"of"`
	At      []jsonAt    `json:"at"`
	Causes  []jsonCause `json:"causes"`
	More    int         `json:"moreCauses"`
}

type jsonAt struct {
	Recording string `json:"recording"`
	Session   string `json:"session"`
}

type jsonCause struct {
	ID         string       `json:"id"`
	Title      string       `json:"title"`
	Likelihood string       `json:"likelihood"`
	Rank       int          `json:"rank"`
	ShowsAt    string       `json:"showsAt,omitzero"`
	ComesFrom  string       `json:"comesFrom,omitzero"`
	Evidence   []string     `json:"evidence"`
	Records    []jsonRecord `json:"records"`
	Tools      []jsonTool   `json:"tools"`
	Prompt     string       `json:"prompt"`
}

type jsonRecord struct {
	Recording string `json:"recording,omitzero"`
	Seq       int64  `json:"seq"`
}

type jsonTool struct {
	Server      string `json:"server,omitzero"`
	Version     string `json:"version,omitzero"`
	Name        string `json:"name"`
	Listed      bool   `json:"listed"`
	Description string `json:"description,omitzero"`
	InputSchema string `json:"inputSchema,omitzero"`
}

// JSON writes the report by its schema, without a path of the machine.
func JSON(w io.Writer, r *Report) error {
	out := jsonReport{Schema: Schema, Suite: r.SuiteID, Verdict: string(r.Word), MoreSpots: r.MoreSpots, NotLookedAt: r.NotLookedAt}
	for _, s := range r.Spots {
		out.Spots = append(out.Spots, jsonOfSpot(s))
	}
	return json.MarshalWrite(w, out, jsontext.WithIndent("  "), json.Deterministic(true), json.FormatNilSliceAsNull(false))
}

func jsonOfSpot(s *Spot) jsonSpot {
	out := jsonSpot{Failing: s.Failing, Case: s.Case, Title: s.Title, Server: s.Server, Tool: s.Tool, Link: string(s.Link), What: s.What, Text: s.Text,
		Trials: s.Trials, Of: s.Of, More: s.More}
	for _, a := range s.At {
		out.At = append(out.At, jsonAt{a.Recording, a.Session})
	}
	for _, c := range s.Causes {
		k := jsonCause{ID: c.Cause.ID, Title: c.Cause.Title, Likelihood: c.Likelihood(), Rank: c.Rank, ShowsAt: string(c.Shows), ComesFrom: string(c.From),
			Evidence: c.Evidence, Records: jsonRecords(c.Records), Prompt: c.Prompt}
		for i := range c.Tools {
			k.Tools = append(k.Tools, jsonTool(c.Tools[i]))
		}
		out.Causes = append(out.Causes, k)
	}
	return out
}

func jsonRecords(list []report.Record) []jsonRecord {
	var out []jsonRecord
	for _, x := range list {
		out = append(out, jsonRecord{oneLine(x.Recording), x.Seq})
	}
	return out
}
