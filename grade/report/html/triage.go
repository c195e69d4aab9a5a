package html

import (
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/grade/report/triage"
)

// triageData is the block "triage": the spots with their likely causes (docs/triage.md).
type triageData struct {
	Spots   []triageSpot  `json:"spots"`
	More    int           `json:"more,omitzero"`
	Not     []string      `json:"not"`
	Prompts []string      `json:"prompts"` // each once; causes have them by number
	Causes  []triageCause `json:"causes"`  // what is the same wherever it is found
}

type triageCause struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Fix   string `json:"fix"`
}

type triageSpot struct {
	Failing bool           `json:"bad,omitzero"`
	Case    string         `json:"case,omitzero"`
	Server  string         `json:"server,omitzero"`
	Tool    string         `json:"tool,omitzero"`
	Link    string         `json:"link,omitzero"`
	What    string         `json:"what"`
	Text    string         `json:"text,omitzero"`
	Trials  int            `json:"n"`
	Of      int            `json:"of"`
	More    int            `json:"more,omitzero"`
	Likely  []triageLikely `json:"likely"`
}

type triageLikely struct {
	Cause      int          `json:"c"`
	Likelihood string       `json:"l"`
	From       string       `json:"from,omitzero"` // where it is another link than the spot's
	Evidence   []string     `json:"e"`
	Records    string       `json:"r,omitzero"`
	Tools      []triageTool `json:"tools,omitzero"`
	Prompt     int          `json:"p"` // -1: left out, the file being large enough
}

type triageTool struct {
	Name string `json:"name"`
	Of   string `json:"of,omitzero"`
	Desc string `json:"desc,omitzero"`
	In   *shown `json:"in,omitzero"`
	Seen bool   `json:"seen,omitzero"`
}

// triage writes the block. It reads the recordings once more, one at a time.
func (r *builder) triage(p *printer, v *report.Verdict) error {
	t, err := triage.Of(v, triage.Options{Source: r.o.Source})
	if err != nil {
		return err
	}
	d := triageData{More: t.MoreSpots, Not: t.NotLookedAt}
	causes, prompts := map[string]int{}, map[string]int{}
	for _, s := range t.Spots {
		out := triageSpot{Failing: s.Failing, Case: s.Case, Server: s.Server, Tool: s.Tool, Link: string(s.Link), What: s.What, Text: s.Text, Trials: s.Trials, Of: s.Of, More: s.More}
		for _, c := range s.Causes {
			k, known := causes[c.Cause.ID]
			if !known {
				k = len(d.Causes)
				causes[c.Cause.ID] = k
				d.Causes = append(d.Causes, triageCause{c.Cause.ID, c.Cause.Title, c.Cause.Fix})
			}
			l := triageLikely{Cause: k, Likelihood: c.Likelihood(), Evidence: c.Evidence, Prompt: -1}
			if c.From != c.Shows {
				l.From = string(c.From)
			}
			l.Records = triage.Records(c.Records)
			for i := range c.Tools {
				l.Tools = append(l.Tools, r.triageTool(&c.Tools[i]))
			}
			n, known := prompts[c.Prompt]
			switch {
			case known:
				l.Prompt = n
			case int64(len(c.Prompt)) > r.room:
				r.rest.Cut = true
			default:
				r.room -= int64(len(c.Prompt))
				l.Prompt = len(d.Prompts)
				prompts[c.Prompt] = l.Prompt
				d.Prompts = append(d.Prompts, c.Prompt)
			}
			out.Likely = append(out.Likely, l)
		}
		d.Spots = append(d.Spots, out)
	}
	p.named("triage", &d)
	return p.err
}

func (r *builder) triageTool(t *triage.Tool) triageTool {
	out := triageTool{Name: t.Name, Of: t.Server, Desc: t.Description, Seen: t.Listed}
	if t.InputSchema != "" {
		out.In = r.detail(t.InputSchema)
	}
	return out
}
