package predicate

import (
	"fmt"
	"math"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/record/session"
)

var fullPageHasContinuation = &Kind{
	Name:  "fullPageHasContinuation",
	Title: "A full page says whether there is more",
	Text: `An observation. A call that asks for at most n entries and gets exactly n got a full page, and its
result must say whether there are more: by one of the keys nextCursor, next_cursor, hasMore, has_more, cursor,
nextPage, next_page, nextPageToken, truncated, whatever their value. n is the first of the arguments limit,
page_size, pageSize, per_page, perPage, max_results, maxResults, first, top that is a positive whole number; the page is the
longest top-level list of the result's JSON, or the JSON itself. A bare list that is full fails: it cannot say
anything. Results that are not captured whole, cut or not readable are errors.`,
	Example:  `{type: fullPageHasContinuation, toolName: list_orders, role: advisory}`,
	Since:    1,
	Channels: []Channel{ToolCalls, ToolResults},
	Fields:   []Field{toolNameField},
	Notes:    []string{"It is right about what it sees and may be wrong about what it means: a full page may be the last one."},
	Evaluate: reads(beginFullPage),
	begin:    beginFullPage,
}

var (
	limitKeys        = []string{"limit", "page_size", "pageSize", "per_page", "perPage", "max_results", "maxResults", "first", "top"}
	continuationKeys = []string{"nextCursor", "next_cursor", "hasMore", "has_more", "cursor", "nextPage", "next_page", "nextPageToken", "truncated"}
)

// pageAsked is what a call says of the page that it wants; of no interest when it has no key.
type pageAsked struct {
	n   int64
	key string
	err error
}

// pageGot is what a result says of its page.
type pageGot struct {
	length int64
	said   bool
	err    error
}

func beginFullPage(c *Check, ev *Evidence) *reading {
	if s := ev.State(ToolResults); s != session.Complete {
		return decided(errorOutcome("pages cannot be told: results are %s", s))
	}
	name, named := c.Text("toolName")
	var pairs []*ToolResult // made for the first call in scope
	// What goes by is kept of the few calls that ask for a page.
	limits := map[int]pageAsked{}
	pages := map[*ToolResult]pageGot{}
	wanted := map[*ToolResult]bool{}
	return &reading{call: func(i int, a *sent) {
		if named && a.c.Tool != name {
			return
		}
		if pairs == nil {
			pairs = ev.pairResults()
		}
		if pairs[i] == nil {
			return
		}
		n, key, err := pageLimit(a)
		if err != nil || key != "" {
			limits[i] = pageAsked{n, key, err}
		}
		if key != "" {
			wanted[pairs[i]] = true
		}
	}, result: func(_ int, g *received) {
		if len(wanted) > 0 && wanted[g.r] {
			var p pageGot
			p.length, p.said, p.err = page(g)
			pages[g.r] = p
		}
	}, end: func() Outcome {
		o := Outcome{Expected: "full pages that say whether there is more"}
		var wrong []string
		var bad unread
		full, failed := 0, 0
		for i := range pairs {
			r := pairs[i]
			ask, is := limits[i]
			switch {
			case r == nil || !is:
				continue
			case ask.err != nil:
				bad.add(r.String(), ask.err, ev.Calls[i].Seq)
				continue
			}
			p, went := pages[r]
			if !went { // it went by before its call
				p.length, p.said, p.err = page(&received{r: r})
			}
			switch {
			case p.err != nil:
				bad.add(r.String(), p.err, r.Seq, r.Record)
			case p.length != ask.n:
			case p.said:
				full++
			default:
				full++
				if failed++; len(wrong) < maxListed {
					wrong = append(wrong, fmt.Sprintf("%s: %s for %s %d, and no word of more", r, pageLength(p.length), ask.key, ask.n))
				}
				o.citeResult(r)
			}
		}
		o.Actual = fmt.Sprintf("%d of %s", failed, count(full, "full page"))
		if failed > 0 {
			o.Result = Fail
			o.Reason = list(wrong, failed)
			return o
		}
		if bad.decide(&o) {
			return o
		}
		o.Result = Pass
		if o.Actual = "no full page"; full > 0 {
			o.Actual = fmt.Sprintf("%s, each says whether there is more", count(full, "full page"))
		}
		o.Reason = o.Actual
		return o
	}}
}

func pageLength(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// pairResults finds the result of each call, nil where there is none: by the
// call's record, else by the host's id of the tool use, else the first of the same
// tool that is not used up (grading.md 1.5).
func (ev *Evidence) pairResults() []*ToolResult {
	if out := ev.pairInOrder(); out != nil {
		return out
	}
	byCall := map[CallRef]int{}
	byUse := map[string]int{}
	allHaveUse := true
	for i := range ev.Results {
		r := &ev.Results[i]
		if r.Seq != 0 {
			byCall[CallRef{r.Seq, r.Index}] = i
			continue
		}
		if r.ToolUseID == "" {
			allHaveUse = false
		} else if _, twice := byUse[r.ToolUseID]; !twice {
			byUse[r.ToolUseID] = i
		}
	}
	used := make([]bool, len(ev.Results))
	next := map[string]int{} // per tool: results before it are used or not the tool's
	out := make([]*ToolResult, len(ev.Calls))
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if c.HostOnly {
			continue // it never reached the server
		}
		at, ok := byCall[CallRef{c.Seq, c.Index}]
		if !ok && c.ToolUseID != "" {
			at, ok = byUse[c.ToolUseID]
		}
		if !ok && !(c.ToolUseID != "" && allHaveUse) {
			for at = next[c.Tool]; at < len(ev.Results); at++ {
				if r := &ev.Results[at]; r.Seq == 0 && r.Tool == c.Tool && !used[at] {
					ok = true
					break
				}
			}
			next[c.Tool] = at
		}
		if ok {
			used[at] = true
			out[i] = &ev.Results[at]
		}
	}
	return out
}

// pairInOrder pairs results that name their calls and come in the calls' order, as
// those of a recording do; nil: these do not.
func (ev *Evidence) pairInOrder() []*ToolResult {
	out := make([]*ToolResult, len(ev.Calls))
	at := 0
	for i := range ev.Calls {
		c := &ev.Calls[i]
		if at < len(ev.Results) && !c.HostOnly && c.Seq != 0 && ev.Results[at].Seq == c.Seq && ev.Results[at].Index == c.Index {
			if i > 0 && ev.Calls[i-1].Seq == c.Seq && ev.Calls[i-1].Index == c.Index {
				return nil
			}
			out[i] = &ev.Results[at]
			at++
		}
	}
	if at < len(ev.Results) {
		return nil
	}
	return out
}

// pageLimit is how many entries a call asks for, and by which argument; key is
// empty when it does not.
func pageLimit(a *sent) (n int64, key string, err error) {
	args, _, err := a.arguments()
	if err != nil {
		return 0, "", err
	}
	for _, key := range limitKeys {
		v, ok := args.Get(key)
		if !ok || v.Kind != value.Number {
			continue
		}
		n, fits, whole := value.Integer(v.Str)
		if !whole || fits && n <= 0 || v.Str[0] == '-' {
			continue
		}
		if !fits {
			n = math.MaxInt64 // no page is as long
		}
		return n, key, nil
	}
	return 0, "", nil
}

// page is the length of a result's page, -1 without one, and whether the result
// says that there is more, or that there is not.
func page(g *received) (length int64, said bool, err error) {
	c, err := g.Content()
	if err != nil {
		return 0, false, err
	}
	v, _, err := g.payload()
	if err == nil && v == nil && c.Truncated {
		err = errCut
	}
	if err != nil {
		return 0, false, err
	}
	length = -1
	switch {
	case v == nil:
	case v.Kind == value.Array:
		length = int64(len(v.Arr))
	case v.Kind == value.Object:
		for i := range v.Obj {
			if m := &v.Obj[i].Value; m.Kind == value.Array {
				length = max(length, int64(len(m.Arr)))
			}
		}
		for _, k := range continuationKeys {
			_, has := v.Get(k)
			said = said || has
		}
	}
	return length, said, nil
}
