package grade_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/grade/report"
	"github.com/sixlink/sixlink/record/session"
)

// What a server, a host or a suite sends in to hurt: each is a verdict or an error
// row in bounded time and memory (the go command's timeout is the only clock).

// whatever is a check of every kind of the wire that reads arguments or results.
const whatever = `defaults:
  assertions:
    - {type: noToolErrors}
    - {type: argumentsMatchToolSchema}
    - {type: noRepeatedIdenticalCall, role: advisory}
    - {type: toolInputMatches, toolName: t, patterns: ["x"]}
    - {type: toolResultContains, needle: "no such text"}
    - {type: toolResultMatches, patterns: ["(a+)+$"]}
    - {type: toolResultMatchesSchema, schema: {type: object, properties: {n: {type: integer, multipleOf: 3}}}}
    - {type: toolResultSizeUnder, maxBytes: 1000}
    - {type: toolErrorNamesInput, role: advisory}
    - {type: fullPageHasContinuation, role: advisory}
    - {type: toolDescriptionsPresent}
    - {type: toolInputSchemasWellFormed}
    - {type: toolCalledWith, toolName: t, args: {args: {n: 1}}, role: advisory}
`

func gradeBoth(t *testing.T, s *grade.Suite, r *fixtures.Recording, o grade.Options) (*grade.Verdict, string) {
	t.Helper()
	v, err := grade.Grade(s, []grade.Recording{decodeCase(t, r)}, o)
	if err != nil {
		t.Fatal(err)
	}
	var text, out bytes.Buffer
	if err := report.Text(&text, report.Of(v), report.Options{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&out, report.Of(v)); err != nil {
		t.Fatal(err)
	}
	if n := text.Len() + out.Len(); n > 200_000 && len(v.Cases) < 2 {
		t.Errorf("the reports have %d bytes", n)
	}
	return v, text.String()
}

func rowOfKind(t *testing.T, v *grade.Verdict, kind string) grade.Row {
	t.Helper()
	for _, r := range v.Cases[0].Trials[0].Rows {
		if r.Name == kind {
			return r
		}
	}
	t.Fatalf("no row %s", kind)
	return grade.Row{}
}

func toolWith(schema string) string {
	return listed("l", `{"name":"t","description":"x","inputSchema":`+schema+`}`)
}

// Schemas of a server that loop, explode, reach out, or are in a dialect that nobody
// knows: the call that needs one cannot be judged; or it can, in bounded work.
func TestHostileSchemas(t *testing.T) {
	doubling := func(levels int, leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range levels {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		fmt.Fprintf(&b, `"d%d":%s}}`, levels, leaf)
		return b.String()
	}
	nested := func(word string, n int) string {
		return strings.Repeat(`{"`+word+`":`, n) + "{}" + strings.Repeat("}", n)
	}
	for name, c := range map[string]struct {
		schema, args string
		want         []predicate.Result
	}{
		"refers to itself":             {`{"$ref":"#"}`, `{}`, []predicate.Result{predicate.Error}},
		"two that refer to each other": {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`, []predicate.Result{predicate.Error}},
		"allOf of itself":              {`{"allOf":[{"$ref":"#"}]}`, `{}`, []predicate.Result{predicate.Error}},
		"not itself":                   {`{"not":{"$ref":"#"}}`, `{}`, []predicate.Result{predicate.Error}},
		"doubles 30 times":             {doubling(30, `{"type":"object"}`), `{}`, []predicate.Result{predicate.Pass, predicate.Error}},
		"doubles 30 times and fails":   {doubling(30, `{"type":"string"}`), `{}`, []predicate.Result{predicate.Fail, predicate.Error}},
		"anyOf that doubles":           {strings.ReplaceAll(doubling(40, `{"type":"string"}`), "allOf", "anyOf"), `{}`, []predicate.Result{predicate.Fail, predicate.Error}},
		"a file":                       {`{"$ref":"file:///etc/hostname"}`, `{}`, []predicate.Result{predicate.Error}},
		"an address":                   {`{"$ref":"http://127.0.0.1:18999/x"}`, `{}`, []predicate.Result{predicate.Error}},
		"relative to an address":       {`{"$id":"https://example.test/a","$ref":"b.json"}`, `{}`, []predicate.Result{predicate.Error}},
		"a path":                       {`{"$ref":"../../etc/passwd"}`, `{}`, []predicate.Result{predicate.Error}},
		"an unknown dialect":           {`{"$schema":"https://example.test/dialect"}`, `{}`, []predicate.Result{predicate.Error}},
		"a dialect by a file":          {`{"$schema":"file:///etc/passwd"}`, `{}`, []predicate.Result{predicate.Error}},
		"a dialect that is a number":   {`{"$schema":1}`, `{}`, []predicate.Result{predicate.Error}},
		"look-ahead":                   {`{"properties":{"q":{"pattern":"a(?=b)"}}}`, `{"q":"ab"}`, []predicate.Result{predicate.Error}},
		"a back reference":             {`{"properties":{"q":{"pattern":"(a)\\1"}}}`, `{"q":"aa"}`, []predicate.Result{predicate.Error}},
		"a key's look-behind":          {`{"patternProperties":{"(?<=a)b":{"type":"string"}}}`, `{"ab":1}`, []predicate.Result{predicate.Error}},
		"a pattern that explodes":      {`{"properties":{"q":{"pattern":"((a{100}){100}){100}"}}}`, `{"q":"aa"}`, []predicate.Result{predicate.Error}},
		"a pattern that backtracks":    {`{"properties":{"q":{"pattern":"^(a+)+$"}}}`, `{"q":"` + strings.Repeat("a", 50_000) + `b"}`, []predicate.Result{predicate.Fail}},
		"nested 5,000 deep":            {nested("not", 5000), `{}`, []predicate.Result{predicate.Error}},
		"properties 5,000 deep":        {`{"properties":` + nested("properties", 5000) + `}`, `{}`, []predicate.Result{predicate.Error, predicate.Pass}},
		"a bound of 1e1000001":         {`{"properties":{"n":{"maximum":1e1000001}}}`, `{"n":5}`, []predicate.Result{predicate.Error, predicate.Pass}},
		"a step of 1e-1000001":         {`{"properties":{"n":{"multipleOf":1e-1000001}}}`, `{"n":5}`, []predicate.Result{predicate.Error, predicate.Pass}},
		"a length of 1e1000001":        {`{"properties":{"q":{"minLength":1e1000001}}}`, `{"q":"x"}`, []predicate.Result{predicate.Error, predicate.Fail}},
		"uniqueItems of many":          {`{"properties":{"q":{"uniqueItems":true}}}`, `{"q":[` + strings.Repeat(`[1],`, 20_000) + `2]}`, []predicate.Result{predicate.Fail, predicate.Error}},
		"an enum of many":              {`{"properties":{"q":{"items":{"enum":[` + strings.Repeat(`[1,2],`, 3000) + `0]}}}}`, `{"q":[` + strings.Repeat(`[1,3],`, 3000) + `0]}`, []predicate.Result{predicate.Fail, predicate.Error}},
		"a schema that is a list":      {`[]`, `{}`, []predicate.Result{predicate.Error}},
		"a schema that is false":       {`false`, `{}`, []predicate.Result{predicate.Fail, predicate.Error}},
		"a reference that dangles":     {`{"$ref":"#/$defs/none"}`, `{}`, []predicate.Result{predicate.Error}},
		"a pointer with a huge index":  {`{"$ref":"#/allOf/99999999999999999999","allOf":[{}]}`, `{}`, []predicate.Result{predicate.Error}},
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted("hostile", hello+toolWith(c.schema)+called("1", c.args))
			v, _ := gradeBoth(t, mustLoad(t, whatever), r, grade.Options{})
			row := rowOfKind(t, v, "argumentsMatchToolSchema")
			for _, w := range c.want {
				if row.Result == w {
					return
				}
			}
			t.Errorf("%s (%s), want one of %v", row.Result, row.Reason, c.want)
		})
	}
}

// Schemas and patterns of a suite are refused when it is read.
func TestHostileChecks(t *testing.T) {
	for name, text := range map[string]string{
		"a schema that loops":            `{type: toolResultMatchesSchema, schema: {$ref: "#"}}`,
		"a schema of a file":             `{type: toolResultMatchesSchema, schema: {$ref: "file:///etc/passwd"}}`,
		"a schema of an address":         `{type: toolResultMatchesSchema, schema: {$ref: "http://127.0.0.1:1/x"}}`,
		"a schema of an unknown dialect": `{type: toolResultMatchesSchema, schema: {$schema: "https://example.test/x"}}`,
		"a schema's look-ahead":          `{type: toolResultMatchesSchema, schema: {pattern: "a(?=b)"}}`,
		"a pattern's look-behind":        `{type: toolResultMatches, patterns: ["(?<=a)b"]}`,
		"a pattern that explodes":        `{type: toolInputMatches, toolName: t, patterns: ["((a{100}){100}){100}"]}`,
		"a count of 1e1000001":           `{type: toolCallCountUnder, count: 1e1000001}`,
		"a negative count of -1e1000001": `{type: toolCallCountUnder, count: -1e1000001}`,
		"a count of 1e-1000001":          `{type: toolCallCountUnder, count: 1e-1000001}`,
		"a share of 1e1000001":           `{type: responseCloseTo, reference: x, maxDistance: 1e1000001}`,
		"a minCount of 1e1000001":        `{type: toolCalledWith, toolName: t, args: {args: {}}, minCount: 1e1000001}`,
		"a min of 1e1000001":             `{type: toolInputMatches, toolName: t, patterns: [x], min: 1e1000001}`,
		"a count of a million digits":    `{type: toolCallCountUnder, count: 1` + strings.Repeat("0", 900_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			s, err := grade.LoadSuite("s.yaml", []byte("schemaVersion: sixlink/1\nsuite: {id: s}\ndefaults:\n  assertions:\n    - "+text+"\n"), nil)
			if err != nil {
				if !strings.Contains(err.Error(), "s.yaml:5:") || len(err.Error()) > 2000 {
					t.Errorf("%.300s", err)
				}
				return
			}
			// A schema may also turn out to be unusable when a result needs it.
			v, _ := gradeBoth(t, s, scripted("hostile", hello+good("l")+called("1", `{}`)), grade.Options{})
			if row := v.Cases[0].Trials[0].Rows[0]; row.Result != predicate.Error {
				t.Errorf("accepted, and %s (%s)", row.Result, row.Reason)
			}
		})
	}
}

// Numbers that take a gigabyte when they are written out, in arguments, results and
// expectations.
func TestHostileNumbers(t *testing.T) {
	for _, n := range []string{"1e1000001", "-1e1000001", "1e-1000001", "1e999999999999999999999", "0e1000001", "1" + strings.Repeat("0", 100_000), "0." + strings.Repeat("0", 100_000) + "1"} {
		name := n
		if len(name) > 40 {
			name = name[:40]
		}
		t.Run(name, func(t *testing.T) {
			r := scripted("hostile", hello+toolWith(`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"multipleOf":7}}}`)+
				called("1", `{"n":`+n+`}`)+
				`> {"jsonrpc":"2.0","id":"2","method":"tools/call","params":{"name":"t","arguments":{"n":`+n+`}}}`+"\n"+
				`< {"jsonrpc":"2.0","id":"2","result":{"content":[{"type":"text","text":"{\"n\":`+n+`}"}],"structuredContent":{"n":`+n+`},"isError":false}}`+"\n")
			v, _ := gradeBoth(t, mustLoad(t, whatever), r, grade.Options{})
			if row := rowOfKind(t, v, "noToolErrors"); row.Result != predicate.Pass {
				t.Errorf("noToolErrors: %s (%s)", row.Result, row.Reason)
			}
			for _, mode := range []string{"exact", "partial"} {
				s, err := grade.LoadSuite("s.json", []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},"cases":[{"id":"c","matchOptions":{"argumentMatching":"`+mode+
					`"},"turns":[{"prompt":"x","expectedToolCalls":[{"toolName":"t","arguments":{"n":`+n+`}}]}]}]}`), nil)
				if err != nil {
					if !strings.Contains(err.Error(), "s.json:1:") || len(err.Error()) > 2000 {
						t.Errorf("%.300s", err)
					}
					continue
				}
				gradeBoth(t, s, r, grade.Options{Case: "c"})
			}
		})
	}
}

// Texts of 100 MB, and 25 MB in millions of parts: every check of the wire reads
// them, and nothing of them is held or written into a report.
func TestHugeResults(t *testing.T) {
	if raceOn {
		t.Skip("one goroutine reads 100 MB: without the race detector")
	}
	if testing.Short() {
		t.Skip("-short: it makes results of 100 MB")
	}
	const size = 100 << 20
	big := strings.Repeat("aaaaaaaaaaaaaaa ", size/16)
	line := func(id, result string) string {
		return `> {"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"t","arguments":{"q":1}}}` + "\n" +
			`< {"jsonrpc":"2.0","id":"` + id + `","result":` + result + "}\n"
	}
	for name, result := range map[string]string{
		"a text":            `{"content":[{"type":"text","text":"` + big + `"}]}`,
		"an error's text":   `{"isError":true,"content":[{"type":"text","text":"` + big + `"}]}`,
		"structuredContent": `{"content":[],"structuredContent":{"rows":[` + strings.Repeat(`{"id":12345},`, size/4/13) + `0]}}`,
		"many text blocks":  `{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, size/4/27) + `{"type":"text","text":"b"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted("huge", hello+good("l")+line("1", result))
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			rec := session.Options{End: r.End, MaxLine: 256 << 20}
			res, err := session.Decode(&r.Header, r.Next(), r, rec)
			if err != nil {
				t.Fatal(err)
			}
			v, err := grade.Grade(mustLoad(t, whatever), []grade.Recording{{ID: "huge", Sessions: res.Sessions}}, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 200<<20 {
				t.Errorf("%d MiB are held after the grading", held>>20)
			}
			var out bytes.Buffer
			if err := report.JSON(&out, report.Of(v)); err != nil {
				t.Fatal(err)
			}
			if out.Len() > 100_000 {
				t.Errorf("the report has %d bytes", out.Len())
			}
			for _, kind := range []string{"toolResultSizeUnder", "toolResultContains", "toolResultMatches"} {
				if row := rowOfKind(t, v, kind); row.Result == predicate.Pass {
					t.Errorf("%s: %s (%s)", kind, row.Result, row.Reason)
				}
			}
			runtime.KeepAlive(res)
		})
	}
}

// 500 cases of 50 checks, against 1,000 calls.
func TestManyCasesOfManyChecks(t *testing.T) {
	var cases, calls strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&calls, "%s", called(fmt.Sprint(i), fmt.Sprintf(`{"q":%d}`, i)))
	}
	checks := make([]string, 50)
	for i := range checks {
		checks[i] = []string{`{"type":"noToolErrors"}`, `{"type":"argumentsMatchToolSchema"}`, `{"type":"toolInputMatches","toolName":"t","patterns":["q"]}`,
			`{"type":"toolResultContains","needle":"found"}`, `{"type":"toolCalledAtLeastOnce","toolName":"t"}`}[i%5]
	}
	for i := range 500 {
		if i > 0 {
			cases.WriteByte(',')
		}
		fmt.Fprintf(&cases, `{"id":"c%d","match":{"labels":{"case":"c%d"}},"turns":[{"prompt":"x","expectedToolCalls":[{"toolName":"t","arguments":{"q":%d}}]}]}`, i, i, i)
	}
	s, err := grade.LoadSuite("s.json", []byte(`{"schemaVersion":"sixlink/1","suite":{"id":"s"},"defaults":{"assertions":[`+strings.Join(checks, ",")+`]},"cases":[`+cases.String()+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grade.NewGrader(s, grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := scripted("many", hello+good("l")+calls.String())
	for i := range 20 {
		rec := decodeCase(t, r)
		rec.ID, rec.Labels = fmt.Sprint("r", i), map[string]string{"case": fmt.Sprint("c", i*25)}
		g.Add(&rec)
	}
	v, err := g.Verdict()
	if err != nil {
		t.Fatal(err)
	}
	trials := 0
	for _, c := range v.Cases {
		for _, tr := range c.Trials {
			trials++
			if tr.Word != grade.Passed || len(tr.Rows) != 52 {
				t.Fatalf("%s: %s, %d rows", c.ID, tr.Word, len(tr.Rows))
			}
		}
	}
	if trials != 20 || v.Word != grade.Inconclusive {
		t.Errorf("%d trials, %s", trials, v.Word)
	}
}

// Arguments of more values than are read, or nested deeper: every kind and the
// matcher say so, and none takes the memory of them all. What is within the bounds is
// compared by the matcher and by an advisory check alike.
func TestHugeArguments(t *testing.T) {
	list := func(n int) string { return `{"x":[0` + strings.Repeat(",0", n-1) + `]}` }
	deep := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for name, c := range map[string]struct {
		arguments string
		want      predicate.Result
	}{
		"many values":     {list(1_000_001), predicate.Error},
		"not too many":    {list(100_000), predicate.Fail},
		"nested deep":     {deep(1001), predicate.Error},
		"nested not deep": {deep(900), predicate.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, "cases: [{id: c, assertions: [{type: toolCalledWith, toolName: t, args: {args: {x: 1}}}, {type: toolCalledWith, toolName: t, args: {args: {x: 1}}, role: advisory}]}]")
			v, _ := gradeBoth(t, s, scripted("hostile", hello+good("l")+called("1", c.arguments)), grade.Options{Case: "c"})
			for _, kind := range []string{"toolCalls:arguments", "toolCalledWith"} {
				if row := rowOfKind(t, v, kind); row.Result != c.want {
					t.Errorf("%s: %s (%s), want %s", kind, row.Result, row.Reason, c.want)
				}
			}
		})
	}
}
