package grade_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/chain"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// at0 is when the recordings of these tests begin.
var at0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// served is a recording of one server, as part of the trial "7". A line of its script
// is "MS WORD ...": at that millisecond.
//
//	MS list TOOL...   tools/list; a tool is NAME, NAME! (no description) or NAME=TYPE (of its input q)
//	MS call TOOL ARGS a call that returns a result 1 ms later; "fail" for isError, "deny" for a protocol error, "ask" for no answer
//	MS clock OFFSET   a clock record, in milliseconds
//	MS gap            a record that was not kept
//
// It begins with initialize, at 0; "refused" instead: which is answered by an error.
func served(id, server string, start time.Duration, script string) *fixtures.Recording {
	r := &fixtures.Recording{Name: id, State: record.Sealed, Header: record.Header{Format: [2]int{1, 0}, ID: id, FirstSeq: 1, Transport: "stdio", Command: []string{"s"},
		Start: record.Time{Time: at0.Add(start)}, Labels: map[string]string{"trial": "7"}}}
	r.Add(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
	n := 0
	ask := func(at int64, method, params, answer string) {
		n++
		r.AddLine(record.Client, at, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, n, method, params), "\n")
		if answer != "" {
			r.AddLine(record.Server, at+1e6, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, n, answer), "\n")
		}
	}
	answer := fmt.Sprintf(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":"1"}}`, server)
	if strings.Contains(script, "refused") {
		answer = `"error":{"code":-32603,"message":"no"}`
	}
	ask(0, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}`, answer)
	last := int64(0)
	for line := range strings.Lines(script) {
		var ms int64
		var word string
		rest := strings.Fields(line)
		if len(rest) < 2 {
			continue
		}
		fmt.Sscan(rest[0], &ms)
		word, rest = rest[1], rest[2:]
		at := ms * 1e6
		last = at + 1e6
		args := "{}"
		if len(rest) > 1 {
			args = rest[1]
		}
		switch word {
		case "list":
			var tools []string
			for _, name := range rest {
				more := `,"description":"Does it.","annotations":{"destructiveHint":false}`
				name, plain := strings.CutSuffix(name, "!")
				if plain {
					more = ""
				}
				name, kind, typed := strings.Cut(name, "=")
				if typed {
					more += fmt.Sprintf(`,"inputSchema":{"type":"object","properties":{"q":{"type":%q}}}`, kind)
				} else {
					more += `,"inputSchema":{"type":"object"}`
				}
				tools = append(tools, fmt.Sprintf(`{"name":%q%s}`, name, more))
			}
			ask(at, "tools/list", "{}", `"result":{"tools":[`+strings.Join(tools, ",")+`]}`)
		case "call":
			ask(at, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, rest[0], args), `"result":{"content":[{"type":"text","text":"found"}]}`)
		case "fail":
			ask(at, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, rest[0], args), `"result":{"isError":true,"content":[{"type":"text","text":"out of paper"}]}`)
		case "deny":
			ask(at, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, rest[0], args), `"error":{"code":-32000,"message":"closed"}`)
		case "ask":
			ask(at, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, rest[0], args), "")
			r.AddLine(record.Client, at+1e5, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n), "\n")
		case "clock":
			var offset int64
			fmt.Sscan(rest[0], &offset)
			r.Add(record.Record{Kind: record.KindClock, At: at, Clock: &record.Clock{Offset: offset * 1e6}})
		case "gap":
			seq := int64(len(r.Records)) + 1
			r.Add(record.Record{Kind: record.KindGap, At: at, Gap: &record.Gap{FirstSeq: seq, LastSeq: seq, Why: "test"}})
		case "torn":
			r.State = record.Torn
		}
	}
	if r.State == record.Torn {
		return r
	}
	code := 0
	r.Add(record.Record{Kind: record.KindClose, At: last + 1e6, Close: &record.Close{Who: record.ByClient, What: record.Stdin}})
	r.Add(record.Record{Kind: record.KindExit, At: last + 2e6, Exit: &record.Exit{Code: &code}})
	return r
}

func toGrade(t testing.TB, r *fixtures.Recording) grade.Recording {
	t.Helper()
	res, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End})
	if err != nil {
		t.Fatal(err)
	}
	out := grade.Recording{ID: r.Name, Path: "/somewhere/" + r.Name, Torn: res.Torn, Labels: r.Header.Labels, Sessions: res.Sessions, Clock: res.Clock}
	for _, s := range res.Sessions {
		out.Gaps += len(s.Gaps)
	}
	return out
}

// shop and bank are two servers of one trial; the one begins 10 s after the other.
func shop(script string) *fixtures.Recording { return served("r-shop", "shop", 0, script) }
func bank(script string) *fixtures.Recording {
	return served("r-bank", "bank", 10*time.Second, script)
}

func labelled(r *fixtures.Recording, labels ...string) *fixtures.Recording {
	m := map[string]string{}
	for k, v := range r.Header.Labels {
		m[k] = v
	}
	for i := 0; i < len(labels); i += 2 {
		if m[labels[i]] = labels[i+1]; labels[i+1] == "" {
			delete(m, labels[i])
		}
	}
	r.Header.Labels = m
	return r
}

func lost(id string, labels map[string]string) grade.Recording {
	return grade.Recording{ID: id, Path: "/somewhere/" + id, Labels: labels, Unreadable: "no zstd"}
}

// told is a trial in short: its verdict, what is not passed of its links, its rows
// that are not passed, and its parts.
func told(tr *grade.Trial) string {
	var out []string
	out = append(out, string(tr.Word))
	for i := range tr.Chain.Links {
		if l := &tr.Chain.Links[i]; l.State == chain.Failed {
			out = append(out, string(l.Link)+" failed")
		}
	}
	for i := range tr.Rows {
		if r := &tr.Rows[i]; r.Result != predicate.Pass {
			out = append(out, r.Name+" "+string(r.Result))
		}
	}
	var parts []string
	for _, p := range tr.Parts {
		name := p.Server
		if p.Lost != "" {
			name += "(lost)"
		}
		parts = append(parts, name)
	}
	return strings.Join(append(out, strings.Join(parts, "+")), ", ")
}

func TestTrialsOverSeveralServers(t *testing.T) {
	const noErrors = "defaults: {assertions: [{type: noToolErrors}]}"
	check := func(c string) string { return "defaults: {assertions: [" + c + "]}" }
	before := check("{type: toolCalledBefore, toolName: find, beforeToolName: pay}")
	first := check("{type: firstToolWas, toolName: find}")
	repeated := check("{type: noToolErrors}, {type: noRepeatedIdenticalCall, role: advisory}")
	expect := func(order string) string {
		return "cases: [{id: c, match: {labels: {trial: '7'}}, matchOptions: {toolCallOrder: " + order + "}, assertions: [], turns: [{prompt: x, expectedToolCalls: [{toolName: find}, {toolName: pay}]}]}]"
	}
	const find, pay = "1 list find\n20 call find", "1 list pay\n20 call pay"
	seven := map[string]string{"trial": "7"}
	for name, c := range map[string]struct {
		suite   string
		recs    []*fixtures.Recording
		more    []grade.Recording
		o       grade.Options
		want    string // a line a trial
		skipped string
		word    grade.Word // of the run
		shows   string     // in the text report, line ends aside
	}{
		"nothing is wrong":                               {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"a tool failed at one server":                    {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("1 list pay\n20 fail pay")}, want: "failed, response failed, noToolErrors fail, bank+shop", word: grade.Failed, shows: `"pay" of "bank" (record r-bank:6, seen in 7)`},
		"a call was refused at one server":               {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("1 list pay\n20 deny pay")}, want: "failed, call failed, noToolErrors fail, bank+shop", word: grade.Failed, shows: "records 6 of bank, 7 of bank"},
		"one server refused to connect":                  {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("0 refused")}, want: "passed, connection failed, bank(unnamed)+shop", word: grade.Inconclusive},
		"both servers refused to connect":                {suite: noErrors, recs: []*fixtures.Recording{shop("0 refused"), bank("0 refused")}, want: "inconclusive, connection failed, noToolErrors error, bank(unnamed)+shop(unnamed)", word: grade.Inconclusive},
		"neither server was called":                      {suite: noErrors, recs: []*fixtures.Recording{shop("1 list find"), bank("1 list pay")}, skipped: "probe probe", word: grade.Inconclusive},
		"one server was not called":                      {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("1 list pay")}, want: "passed, bank+shop", word: grade.Passed},
		"one server was not called, and is torn":         {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("1 list pay\n2 torn")}, want: "inconclusive, noToolErrors error, bank+shop", word: grade.Inconclusive},
		"in order":                                       {suite: before, recs: []*fixtures.Recording{shop(find), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"out of order":                                   {suite: before, recs: []*fixtures.Recording{shop("1 list find\n20000 call find"), bank(pay)}, want: "failed, selection failed, toolCalledBefore fail, bank+shop", word: grade.Failed},
		"the clock moved meanwhile":                      {suite: before, recs: []*fixtures.Recording{shop(find + "\n30 clock 20000"), bank(pay)}, want: "inconclusive, toolCalledBefore error, bank+shop", word: grade.Inconclusive, shows: "within the uncertainty of the clocks"},
		"the clock had moved before":                     {suite: before, recs: []*fixtures.Recording{shop("1 list find\n10 clock 20000\n20 call find"), bank(pay)}, want: "failed, selection failed, toolCalledBefore fail, bank+shop", word: grade.Failed},
		"the clock moved later":                          {suite: before, recs: []*fixtures.Recording{shop(find + "\n60000 clock 1\n60001 clock 20000"), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"the clock was lost":                             {suite: before, recs: []*fixtures.Recording{shop("1 list find\n2 gap\n20 call find"), bank(pay)}, want: "inconclusive, toolCalledBefore error, bank+shop", word: grade.Inconclusive},
		"no clock at all":                                {suite: before, recs: []*fixtures.Recording{timeless(shop(find)), bank(pay)}, want: "inconclusive, toolCalledBefore error, bank+shop", word: grade.Inconclusive},
		"the order does not matter to one call":          {suite: before, recs: []*fixtures.Recording{timeless(shop(find)), bank("1 list find pay\n20 call find\n30 call pay")}, want: "passed, bank+shop", word: grade.Passed},
		"the first call is of one server":                {suite: first, recs: []*fixtures.Recording{shop(find), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"the first call is of the other server":          {suite: first, recs: []*fixtures.Recording{shop("1 list find\n20000 call find"), bank(pay)}, want: "failed, selection failed, firstToolWas fail, bank+shop", word: grade.Failed},
		"which call came first is not known":             {suite: first, recs: []*fixtures.Recording{timeless(shop(find)), bank(pay)}, want: "inconclusive, firstToolWas error, bank+shop", word: grade.Inconclusive},
		"whichever came first is that tool":              {suite: first, recs: []*fixtures.Recording{timeless(shop(find)), bank("1 list find\n20 call find")}, want: "passed, bank+shop", word: grade.Passed},
		"the same call at two servers is no repeat":      {suite: repeated, recs: []*fixtures.Recording{shop(find), bank("1 list find\n20 call find")}, want: "passed, bank+shop", word: grade.Passed},
		"a repeat at one server":                         {suite: repeated, recs: []*fixtures.Recording{shop(find + "\n30 call find"), bank(pay)}, want: "passed, noRepeatedIdenticalCall fail, bank+shop", word: grade.Passed},
		"no repeat: the other server came between":       {suite: repeated, recs: []*fixtures.Recording{shop(find + "\n20000 call find"), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"the other server may have come between":         {suite: repeated, recs: []*fixtures.Recording{timeless(shop(find + "\n30 call find")), bank(pay)}, want: "passed, noRepeatedIdenticalCall error, bank+shop", word: grade.Passed},
		"expected in order, and made so":                 {suite: expect("superset"), recs: []*fixtures.Recording{shop(find), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"expected in order, and made out of it":          {suite: expect("superset"), recs: []*fixtures.Recording{shop("1 list find\n20000 call find"), bank(pay)}, want: "failed, selection failed, toolCalls:match fail, bank+shop", word: grade.Failed},
		"expected in order, and made in one not known":   {suite: expect("superset"), recs: []*fixtures.Recording{timeless(shop(find)), bank(pay)}, want: "inconclusive, toolCalls:match error, bank+shop", word: grade.Inconclusive},
		"others overlap what is expected in order":       {suite: expect("superset"), recs: []*fixtures.Recording{shop(find), bank(pay), timeless(served("r-post", "post", 0, "1 list mail\n20 call mail"))}, want: "passed, bank+post+shop", word: grade.Passed},
		"others overlap what is expected strictly":       {suite: expect("strict"), recs: []*fixtures.Recording{shop(find), bank(pay), timeless(served("r-post", "post", 0, "1 list mail\n20 call mail"))}, want: "inconclusive, toolCalls:match error, bank+post+shop", word: grade.Inconclusive},
		"expected in any order":                          {suite: expect("ignore"), recs: []*fixtures.Recording{timeless(shop(find)), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"one server describes nothing":                   {suite: check("{type: toolDescriptionsPresent}"), recs: []*fixtures.Recording{shop(find), bank("1 list pay!\n20 call pay")}, want: "failed, discovery failed, toolDescriptionsPresent fail, bank+shop", word: grade.Failed, shows: `"pay" of "bank"`},
		"one server listed nothing":                      {suite: check("{type: toolDescriptionsPresent}"), recs: []*fixtures.Recording{shop(find), bank("20 call pay")}, want: "inconclusive, toolDescriptionsPresent error, bank+shop", word: grade.Inconclusive},
		"both servers have a tool of that name":          {suite: check("{type: toolNamesUnique}"), recs: []*fixtures.Recording{shop(find), bank("1 list find\n20 call find")}, want: "passed, bank+shop", word: grade.Passed},
		"each by its own server's schema":                {suite: check("{type: argumentsMatchToolSchema}"), recs: []*fixtures.Recording{shop("1 list find=integer\n20 call find {\"q\":1}"), bank("1 list find=string\n20 call find {\"q\":\"x\"}")}, want: "passed, bank+shop", word: grade.Passed},
		"one violates its own server's schema":           {suite: check("{type: argumentsMatchToolSchema}"), recs: []*fixtures.Recording{shop("1 list find=integer\n20 call find {\"q\":1}"), bank("1 list find=string\n20 call find {\"q\":1}")}, want: "failed, call failed, argumentsMatchToolSchema fail, bank+shop", word: grade.Failed, shows: `"find" of "bank" (record r-bank:6)`},
		"a name that only the other server has":          {suite: noErrors, recs: []*fixtures.Recording{shop("1 list find\n20 call pay"), bank(pay)}, want: "passed, selection failed, bank+shop", word: grade.Passed, shows: `of "shop"`},
		"a server that the suite leaves out":             {suite: noErrors + "\nservers: [shop]", recs: []*fixtures.Recording{shop(find), bank("1 list pay\n20 fail pay")}, want: "passed, ", skipped: "server", word: grade.Passed},
		"a server that the case leaves out":              {suite: "cases: [{id: c, servers: [shop, post], match: {labels: {trial: '7'}}, assertions: [{type: noToolErrors}]}]", recs: []*fixtures.Recording{shop(find), bank("1 list pay\n20 fail pay"), served("r-post", "post", 0, "1 list mail\n20 call mail")}, want: "passed, post+shop", skipped: "server", word: grade.Passed},
		"one recording cannot be read":                   {suite: noErrors, recs: []*fixtures.Recording{shop(find)}, more: []grade.Recording{lost("sha256:1", seven)}, want: "inconclusive, noToolErrors error, shop+(lost)", skipped: "unreadable", word: grade.Inconclusive, shows: "cannot be used"},
		"one cannot be read, another failed":             {suite: noErrors, recs: []*fixtures.Recording{shop("1 list find\n20 fail find")}, more: []grade.Recording{lost("sha256:1", seven)}, want: "failed, response failed, noToolErrors fail, shop+(lost)", skipped: "unreadable", word: grade.Failed},
		"one that cannot be read is left out":            {suite: noErrors + "\nservers: [shop]", recs: []*fixtures.Recording{shop(find)}, more: []grade.Recording{lost("sha256:1", map[string]string{"trial": "7", "server": "bank"})}, want: "passed, ", skipped: "unreadable", word: grade.Inconclusive},
		"one cannot be read, nobody knows whose":         {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay)}, more: []grade.Recording{lost("sha256:1", nil)}, want: "inconclusive, noToolErrors error, bank+shop", skipped: "unreadable", word: grade.Inconclusive},
		"one cannot be read, and is of another trial":    {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay)}, more: []grade.Recording{lost("sha256:1", map[string]string{"trial": "8"})}, want: "passed, bank+shop", skipped: "unreadable", word: grade.Inconclusive},
		"one cannot be read, and has no such label":      {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay)}, more: []grade.Recording{lost("sha256:1", map[string]string{})}, want: "passed, bank+shop", skipped: "unreadable", word: grade.Inconclusive},
		"no recording can be read":                       {suite: noErrors, more: []grade.Recording{lost("sha256:1", seven), lost("sha256:2", seven)}, skipped: "unreadable unreadable", word: grade.Inconclusive},
		"one is torn":                                    {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay + "\n30 torn")}, want: "inconclusive, noToolErrors error, bank+shop", word: grade.Inconclusive},
		"one is torn where whole is required":            {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay + "\n30 torn")}, o: grade.Options{RequireWhole: true}, want: "inconclusive, noToolErrors error, shop+(lost)", skipped: "notWhole", word: grade.Inconclusive},
		"one is torn before its first message":           {suite: noErrors, recs: []*fixtures.Recording{shop(find)}, more: []grade.Recording{{ID: "r-bank", Labels: seven, Torn: true}}, want: "inconclusive, noToolErrors error, shop+(lost)", skipped: "noSession", word: grade.Inconclusive},
		"one is whole and empty":                         {suite: noErrors, recs: []*fixtures.Recording{shop(find)}, more: []grade.Recording{{ID: "r-bank", Labels: seven}}, want: "passed, ", skipped: "noSession", word: grade.Passed},
		"every call to one server was cancelled":         {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank("1 list pay\n20 ask pay")}, want: "passed, bank+shop", word: grade.Passed},
		"two trials":                                     {suite: noErrors, recs: []*fixtures.Recording{shop(find), bank(pay), labelled(served("s-shop", "shop", 0, find), "trial", "8"), labelled(served("s-bank", "bank", 0, "1 list pay\n20 fail pay"), "trial", "8")}, want: "passed, bank+shop\nfailed, response failed, noToolErrors fail, bank+shop", word: grade.Failed},
		"no label":                                       {suite: noErrors, recs: []*fixtures.Recording{labelled(shop(find), "trial", ""), labelled(bank(pay), "trial", "")}, want: "passed, \npassed, ", word: grade.Passed},
		"trials are counted within a case":               {suite: "cases: [{id: c, assertions: [{type: noToolErrors}]}, {id: d, assertions: [{type: noToolErrors}]}]", recs: []*fixtures.Recording{labelled(shop(find), "case", "c"), labelled(bank(pay), "case", "c"), labelled(served("s-shop", "shop", 0, find), "case", "d"), labelled(served("s-bank", "bank", 0, pay), "case", "d")}, want: "passed, bank+shop\npassed, bank+shop", word: grade.Passed},
		"one label of the case is enough":                {suite: "cases: [{id: c, assertions: [{type: noToolErrors}]}]", recs: []*fixtures.Recording{labelled(shop(find), "case", "c"), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"a trial of which of two cases":                  {suite: "cases: [{id: c, assertions: [{type: noToolErrors}]}, {id: d, assertions: [{type: noToolErrors}]}]", recs: []*fixtures.Recording{labelled(shop(find), "case", "c"), bank(pay), labelled(served("s-shop", "shop", 0, find), "case", "d")}, want: "inconclusive, noToolErrors error, \ninconclusive, noToolErrors error, ", skipped: "ambiguous", word: grade.Inconclusive},
		"two cases claim the trial":                      {suite: "cases: [{id: c, match: {labels: {server: a}}, assertions: [{type: noToolErrors}]}, {id: d, match: {labels: {server: b}}, assertions: [{type: noToolErrors}]}]", recs: []*fixtures.Recording{labelled(shop(find), "server", "a"), labelled(bank(pay), "server", "b")}, skipped: "ambiguous ambiguous", word: grade.Inconclusive},
		"the server's label names it":                    {suite: noErrors, recs: []*fixtures.Recording{labelled(shop(find), "server", "a"), labelled(bank("0 refused"), "server", "b")}, want: "passed, connection failed, b+a", word: grade.Inconclusive, shows: `at server "b"`},
		"the clock moved and came back":                  {suite: before, recs: []*fixtures.Recording{shop(find + "\n30 clock 20000\n31 clock 0\n40 call find"), bank(pay)}, want: "passed, bank+shop", word: grade.Passed},
		"the clock went back behind a call":              {suite: before, recs: []*fixtures.Recording{shop("1 list find mail\n15000 call mail\n15001 clock 0\n15002 call find\n15004 clock -20000"), bank(pay)}, want: "failed, selection failed, toolCalledBefore fail, bank+shop", word: grade.Failed},
		"the last of those that overlap is not known":    {suite: repeated, recs: []*fixtures.Recording{shop(find + "\n30 clock 20000\n25000 call find"), bank(pay)}, want: "passed, noRepeatedIdenticalCall error, bank+shop", word: grade.Passed},
		"the first of those that overlap is not known":   {suite: repeated, recs: []*fixtures.Recording{bank("-9999 list pay find\n-9900 call find\n20 call find\n30 clock 20000"), shop("1 list mail\n20000 call mail")}, want: "passed, noRepeatedIdenticalCall error, bank+shop", word: grade.Passed},
		"a list's record is named":                       {suite: check("{type: toolDescriptionsPresent}"), recs: []*fixtures.Recording{shop(find), bank("1 list pay!\n20 call pay")}, want: "failed, discovery failed, toolDescriptionsPresent fail, bank+shop", word: grade.Failed, shows: "actual: 2 of 2 tools (records 5 of bank, 5 of shop)"},
		"a link's records are named":                     {suite: noErrors, recs: []*fixtures.Recording{labelled(shop(find), "server", "a"), labelled(served("s-bank", "bank", 0, "0 refused"), "server", "b")}, want: "passed, connection failed, a+b", word: grade.Inconclusive, shows: "connectFailed (records 2 of b, 3 of b)"},
		"servers of one name are told by recording":      {suite: noErrors, recs: []*fixtures.Recording{shop(find), served("r-shop2", "shop", 0, "1 list find\n20 fail find")}, want: "failed, response failed, noToolErrors fail, shop+shop", word: grade.Failed, shows: "records 6 of r-shop2, 7 of r-shop2"},
		"one part, and nobody knows what is missing":     {suite: noErrors + "\nservers: [shop]", recs: []*fixtures.Recording{bank(pay), shop("1 list find\n20 fail find")}, more: []grade.Recording{lost("sha256:1", nil)}, want: "failed, response failed, noToolErrors fail, ", skipped: "server unreadable", word: grade.Failed, shows: "actual: 1 error in 1 call (records 6, 7)"},
		"an input that only the other server's tool has": {suite: check("{type: toolErrorNamesInput, role: advisory}, {type: toolNeverCalled, toolName: mail}"), recs: []*fixtures.Recording{shop("20 fail find"), bank("1 list find=string\n20 call find")}, want: "passed, response failed, toolErrorNamesInput error, bank+shop", word: grade.Passed},
		"by the command line":                            {suite: "cases: [{id: c, assertions: [{type: noToolErrors}]}]", o: grade.Options{Case: "c"}, recs: []*fixtures.Recording{shop("1 list find"), bank("1 list pay")}, want: "inconclusive, bank+shop", word: grade.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			var recs []grade.Recording
			for _, r := range c.recs {
				recs = append(recs, toGrade(t, r))
			}
			suite := mustLoad(t, c.suite)
			v, err := grade.Grade(suite, append(recs, c.more...), c.o)
			if err != nil {
				t.Fatal(err)
			}
			var got, skipped []string
			for i := range v.Cases {
				for k := range v.Cases[i].Trials {
					got = append(got, told(&v.Cases[i].Trials[k]))
				}
			}
			for _, s := range v.Skipped {
				skipped = append(skipped, s.Why)
			}
			// A server that refused never said its name.
			want := strings.NewReplacer("bank(unnamed)", "", "shop(unnamed)", "").Replace(c.want)
			if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("trials (-want +got):\n%s", diff)
			}
			if got := strings.Join(skipped, " "); got != c.skipped {
				t.Errorf("skipped %q, want %q", got, c.skipped)
			}
			if v.Word != c.word {
				t.Errorf("verdict %s %v, want %s", v.Word, v.Reasons, c.word)
			}
			var text, out bytes.Buffer
			if err := errors.Join(report.Text(&text, report.Of(v), report.Options{Verbose: true}), report.JSON(&out, report.Of(v))); err != nil {
				t.Fatal(err)
			}
			if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, c.shows) {
				t.Errorf("no %q in\n%s", c.shows, text.String())
			}
		})
	}
}

// timeless takes the time off a recording: nothing tells when its calls were made.
func timeless(r *fixtures.Recording) *fixtures.Recording {
	r.Header.Start = record.Time{}
	return r
}

// The links of a trial: passed only where all servers passed.
func TestLinksOverSeveralServers(t *testing.T) {
	const find, pay = "1 list find\n20 call find", "1 list pay\n20 call pay"
	for name, c := range map[string]struct {
		bank string
		want string // the states of the first four and response
		text string // in the evidence of the first that is not passed
	}{
		"fine":                    {pay, "passed passed notMeasured passed passed", ""},
		"no call":                 {"1 list pay", "passed passed notMeasured passed passed", ""},
		"no list":                 {"20 call pay", "passed passed notMeasured passed passed", ""},
		"no list and no call":     {"", "passed notMeasured notMeasured passed passed", `at server "bank": no list of tools on record`},
		"every call is cancelled": {"1 list pay\n20 ask pay", "passed passed notMeasured notMeasured notMeasured", ""},
		"every call fails":        {"1 list pay\n20 fail pay", "passed passed notMeasured passed failed", ""},
		"a protocol error":        {"1 list pay\n20 deny pay", "passed passed notMeasured failed notReached", ""},
		"refused":                 {"0 refused", "failed notReached notReached passed passed", "initialize was answered by an error"},
		"lost":                    {"lost", "notMeasured notMeasured notMeasured notMeasured notMeasured", "cannot be used"},
		"torn":                    {pay + "\n30 torn", "passed passed notMeasured notMeasured notMeasured", ""},
	} {
		t.Run(name, func(t *testing.T) {
			other := lost("r-bank", map[string]string{"trial": "7"})
			if c.bank != "lost" {
				other = toGrade(t, bank(c.bank))
			}
			v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{toGrade(t, shop(find)), other}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			links := v.Cases[0].Trials[0].Chain.Links
			var states []string
			text := ""
			for i := range links[:5] {
				states = append(states, string(links[i].State))
				if links[i].State != chain.Passed && text == "" {
					text = links[i].Evidence.Text
				}
			}
			if got := strings.Join(states, " "); got != c.want || !strings.Contains(text, c.text) {
				t.Errorf("links %s (%s), want %s (%s)", got, text, c.want, c.text)
			}
		})
	}
}

// A trial of one session reads the same with the label as without it, but for the label.
func TestTheLabelAloneChangesNothing(t *testing.T) {
	for _, path := range []string{"ts1-memory-stdio", "ts2-modern-stdio.2", "mcpgo-legacy-stdio"} {
		r := readFixture(t, filepath.Join(fixtures.Dir(), "recordings", path+record.Suffix))
		texts := func(labels map[string]string) string {
			r.Header.Labels = labels
			v, err := grade.Grade(grade.BuiltIn(), []grade.Recording{toGrade(t, r)}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := errors.Join(report.JSON(&out, report.Of(v)), report.Text(&out, report.Of(v), report.Options{Verbose: true})); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		if diff := cmp.Diff(texts(map[string]string{"other": "7"}), strings.Replace(texts(map[string]string{"trial": "7"}), `"trial": "7"`, `"other": "7"`, 1)); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
}

// several are the parts of three trials, of the captures and of scripts, with what
// they are read again from.
func serversOf(t testing.TB) []grade.Recording {
	var list []*fixtures.Recording
	for i, path := range []string{"ts1-memory-stdio", "mcpgo-legacy-stdio", "ts1-everything-stdio", "mcpgo-auto-legacyserver-stdio"} {
		r := readFixtureTB(t, filepath.Join(fixtures.Dir(), "recordings", path+record.Suffix))
		r.Header.Labels = map[string]string{"trial": fmt.Sprint(i / 2)}
		list = append(list, r)
	}
	list = append(list, shop("1 list find\n20 call find\n30 fail find"), bank("1 list find pay!\n20 call pay\n40 call find"), timeless(served("r-post", "post", 0, "1 list mail\n20 call mail\n25 deny mail")))
	var out []grade.Recording
	for _, r := range list {
		rec := toGrade(t, r)
		rec.Again = func() (*grade.Recording, func(), error) {
			again := toGrade(t, r)
			return &again, func() {}, nil
		}
		out = append(out, rec)
	}
	return append(out, lost("sha256:1", map[string]string{"trial": "1"}))
}

func readFixtureTB(t testing.TB, path string) *fixtures.Recording {
	return readFixture(t.(*testing.T), path)
}

func TestPartsInAnyOrder(t *testing.T) {
	suite := mustLoad(t, `defaults: {matchOptions: {toolCallOrder: superset}, assertions: [{type: noToolErrors}, {type: toolNamesUnique},
  {type: toolDescriptionsPresent}, {type: argumentsMatchToolSchema}, {type: firstToolWas, toolName: find}, {type: toolCalledBefore, toolName: find, beforeToolName: pay},
  {type: noRepeatedIdenticalCall, role: advisory}, {type: toolErrorNamesInput, role: advisory}, {type: toolLatencyUnder, ms: 1000}, {type: toolResultContains, needle: e}]}
cases: [{id: c, match: {labels: {trial: '7'}}, turns: [{prompt: x, expectedToolCalls: [{toolName: find}, {toolName: pay}]}]}]`)
	recs := serversOf(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	random := rand.New(rand.NewPCG(1, 2))
	want := ""
	for round := range 12 {
		runtime.GOMAXPROCS(1 + round%3)
		o := grade.Options{}
		if round%2 == 1 {
			o.Spool = &shelf{}
		}
		g, err := grade.NewGrader(suite, o)
		if err != nil {
			t.Fatal(err)
		}
		list := slices.Clone(recs)
		random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		var wg sync.WaitGroup
		for i := range list {
			if round >= 6 {
				list[i].Again = nil // held instead
			}
			wg.Go(func() { g.Add(&list[i]) })
		}
		wg.Wait()
		v, err := g.Verdict()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := errors.Join(report.JSON(&out, report.Of(v)), report.Text(&out, report.Of(v), report.Options{Verbose: true})); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = out.String()
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatalf("round %d:\n%s", round, diff)
		}
	}
	for _, text := range []string{`"parts": [`, `"lost": "recording sha256:1 of this trial cannot be used`, `"servers": [`, `"server": "bank"`, "server \"bank\": /somewhere/r-bank s1", `"outcome": "error"`} {
		if !strings.Contains(want, text) {
			t.Errorf("no %s in\n%s", text, want)
		}
	}
	if strings.Contains(want, "281474976") { // a handle, not a seq
		t.Error("a handle is shown")
	}
}

// What is read again may be gone or changed by then.
func TestPartsThatCannotBeReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		again func() (*grade.Recording, func(), error)
		want  string
	}{
		"gone": {func() (*grade.Recording, func(), error) {
			return nil, nil, errors.New("open /somewhere/r-bank: no such file")
		}, "open the file: no such file"},
		"another recording": {func() (*grade.Recording, func(), error) {
			r := toGrade(t, served("other", "bank", 0, "1 list pay\n20 call pay"))
			return &r, func() {}, nil
		}, "another recording is in its place: other"},
	} {
		t.Run(name, func(t *testing.T) {
			recs := []grade.Recording{toGrade(t, shop("1 list find\n20 call find")), toGrade(t, bank("1 list pay\n20 call pay"))}
			recs[1].Again = c.again
			v, err := grade.Grade(grade.BuiltIn(), recs, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := told(&v.Cases[0].Trials[0]); got != "inconclusive, noToolErrors error, shop+(lost)" {
				t.Error(got)
			}
			if len(v.Skipped) != 1 || v.Skipped[0].Detail != c.want || v.ExitCode() != 3 {
				t.Errorf("skipped %+v, exit code %d", v.Skipped, v.ExitCode())
			}
		})
	}
}

func TestAPartGivenTwiceIsRefused(t *testing.T) {
	a, b := toGrade(t, shop("1 list find\n20 call find")), toGrade(t, shop("1 list find\n20 call find"))
	b.Path = "copy"
	_, err := grade.Grade(grade.BuiltIn(), []grade.Recording{a, b}, grade.Options{})
	if err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Error(err)
	}
}

// A label that every recording of a pile has makes one trial of them all: what is
// beyond the bound is not read, and wins nothing.
func TestMorePartsThanATrialMayHave(t *testing.T) {
	var recs []grade.Recording
	open, most := 0, 0
	for i := range 70 {
		r := served(fmt.Sprintf("r%02d", i), fmt.Sprintf("s%02d", i), 0, "1 list find\n20 call find")
		rec := toGrade(t, r)
		rec.Again = func() (*grade.Recording, func(), error) {
			open++
			most = max(most, open)
			again := toGrade(t, r)
			return &again, func() { open-- }, nil
		}
		recs = append(recs, rec)
	}
	v, err := grade.Grade(grade.BuiltIn(), recs, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr := v.Cases[0].Trials[0]
	if tr.Word != grade.Inconclusive || len(tr.Parts) != 70 || tr.Calls != 64 || most != 64 || open != 0 || len(v.Skipped) != 6 || v.Skipped[0].Why != grade.WhyLimit {
		t.Errorf("%s of %d parts and %d calls; %d open at once, %d left open; %d skipped", tr.Word, len(tr.Parts), tr.Calls, most, open, len(v.Skipped))
	}
}

// Evidence can only be lost, never won, also of a part: whatever is taken out of one
// recording of a trial, no row of it and not the trial moves to passed.
func TestNothingIsWonByLosingAPart(t *testing.T) {
	if raceOn {
		t.Skip("one goroutine grades thousands of times: without the race detector")
	}
	const find, pay = "1 list find=integer\n20 call find {\"q\":1}\n", "1 list pay! find\n20 call pay\n"
	for name, pair := range map[string][2]*fixtures.Recording{
		"the other one fails":        {shop(find), bank(pay + "30 fail pay")},
		"the other one is refused":   {shop(find), bank(pay + "30 deny pay")},
		"the other one is denied":    {shop(find), bank("0 refused")},
		"the other one comes first":  {shop("1 list find\n20000 call find"), bank(pay)},
		"the clock moved before":     {bank(pay), shop("1 list find\n5 clock 20000\n20 call find")},
		"the clock moved meanwhile":  {bank(pay), shop(find + "30 clock 20000\n40 call find {\"q\":1}")},
		"another call comes between": {shop(find + "20000 call find {\"q\":1}"), bank(pay)},
		"the other one says nothing": {shop(find), bank("1 list pay!")},
		"two sessions of one server": {shop(find), served("r-shop2", "shop", 20*time.Second, "1 list find!\n20 call find {\"q\":\"x\"}")},
		"a bad list, then a call":    {served("r-shop2", "shop", 20*time.Second, find), shop("1 list find!\n20 call find")},
		"a list without a call":      {served("r-shop2", "shop", -20*time.Second, find), shop("1 list find!")},
		"a capture": {shop(find), func() *fixtures.Recording {
			r := readFixture(t, filepath.Join(fixtures.Dir(), "recordings", "mcpgo-legacy-stdio"+record.Suffix))
			r.Header.Labels = map[string]string{"trial": "7"}
			return r
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			stays := toGrade(t, pair[0])
			l := &lossy{Recording: pair[1]}
			all := append(slices.Clone(stays.Sessions), toGrade(t, pair[1]).Sessions...)
			for _, s := range all {
				for _, c := range s.Calls {
					l.calls = append(l.calls, c)
					if !slices.Contains(l.tools, c.Tool) {
						l.tools = append(l.tools, c.Tool)
					}
				}
			}
			if len(l.tools) == 0 {
				t.Fatal("no call")
			}
			suites := l.suites(t)
			graded := func(rec grade.Recording) (out []*grade.Trial) {
				for _, s := range suites {
					o := grade.Options{}
					if len(s.Cases) > 0 {
						o.Case = "c"
					}
					v, err := grade.Grade(s, []grade.Recording{stays, rec}, o)
					if err != nil {
						t.Fatal(err)
					}
					var tr *grade.Trial
					for i := range v.Cases {
						if list := v.Cases[i].Trials; len(list) > 1 {
							t.Fatal("more than one trial")
						} else if len(list) == 1 {
							tr = &list[0]
						}
					}
					out = append(out, tr)
				}
				return out
			}
			before := graded(toGrade(t, pair[1]))
			check := func(what string, rec grade.Recording) {
				for i, a := range graded(rec) {
					b := before[i]
					if a == nil || b == nil {
						continue
					}
					if a.Word == grade.Passed && b.Word != grade.Passed {
						t.Errorf("%s: suite %d: the trial passes, it was %s", what, i, b.Word)
					}
					for k := range a.Rows {
						if r := &a.Rows[k]; r.Result == predicate.Pass && k < len(b.Rows) && b.Rows[k].Name == r.Name && b.Rows[k].Result != predicate.Pass {
							t.Errorf("%s: suite %d: row %d %s passes (%s), it was %s (%s)", what, i, k, r.Name, r.Reason, b.Rows[k].Result, b.Rows[k].Reason)
						}
					}
				}
			}
			labels := pair[1].Header.Labels
			l.losses(t, func(what string, sessions []*session.Session) {
				rec := grade.Recording{ID: pair[1].Name, Labels: labels, Sessions: sessions, Torn: strings.HasPrefix(what, "torn"), Midway: strings.HasPrefix(what, "begun"), Clock: clockOf(pair[1])}
				if strings.HasPrefix(what, "without") {
					rec.Gaps = 1
				}
				check(what, rec)
			})
			check("unreadable", lost(pair[1].Name, labels))
			check("unreadable without labels", lost(pair[1].Name, nil))
		})
	}
}

// clockOf is what is left of the clock records: none, which is the worst that can be.
func clockOf(r *fixtures.Recording) session.Clock {
	return session.Clock{Start: r.Header.Start.UnixNano()}
}
