package tables_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sixlink/sixlink/grade/audit/tables"
)

var update = flag.Bool("update", false, "write the columns into docs/audit.md")

// says what is in each column, where its name does not.
var says = map[string]string{
	"sessions.recording_state": "sealed, live or torn", "sessions.start": "when the session began", "sessions.labels": "a JSON object", "sessions.basis": "what makes the records one session",
	"sessions.used": "it has a call", "sessions.calls": "calls that the filter takes", "sessions.ended_by": "client, server, proxy, or empty", "sessions.paging": "none, whole, stopped, stuck, failed, notMeasured",
	"sessions.capture_tool_calls": "complete, partial or absent, as all capture_ columns", "sessions.not_graded": "why it is no trial", "sessions.verdict": "passed, failed, inconclusive",
	"sessions.first_break": "a link", "sessions.connection": "passed, failed, notReached, notMeasured, notApplicable, as all links", "sessions.catalogs": "hashes of the whole lists that it saw",
	"calls.call": "seq, or seq.index in a batch", "calls.start": "when the request was read", "calls.state": "how it ended: result, toolError, protocolError, neverAnswered …; notMeasured: the recording cuts it",
	"calls.error_kind": "content-error or protocol-error", "calls.undecided": "the record does not tell whether it failed", "calls.latency_ns": "without waited_ns",
	"calls.waited_ns": "the server waited for the client", "calls.result_bytes": "as the model would see it", "calls.repeat": "of the call before", "calls.retry": "of one that did not succeed",
	"calls.arguments": "fits, violates, or why it was not checked", "calls.result": "the same of structuredContent", "calls.labels": "a JSON object",
	"rows.turn": "from 0; null: the whole case", "rows.result": "pass, fail or error", "rows.records": "seqs that it rests on", "rows.link": "where it is filed", "rows.role": "gating or advisory",
	"catalog_changes.first_seen": "when a host first saw the new list", "catalog_changes.rule": "docs/diff-rules.md", "catalog_changes.path": "a JSON pointer into the tool", "catalog_changes.from_catalog": "the list's hash",
	"catalog_changes.before": "JSON, cut to 300 bytes",
}

// The columns in docs/audit.md are those of the files.
func TestDocumentedColumns(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	known := 0
	for i, s := range []*parquet.Schema{parquet.SchemaOf(tables.Session{}), parquet.SchemaOf(tables.Call{}), parquet.SchemaOf(tables.Row{}), parquet.SchemaOf(tables.Change{})} {
		fmt.Fprintf(&b, "\n### %s\n\n| column | type | null | |\n|---|---|---|---|\n", tables.Names[i])
		for _, f := range s.Fields() {
			name := f.Name()
			typ, null := "list", ""
			if f.Leaf() {
				typ = strings.ToLower(f.Type().String())
			}
			if f.Optional() {
				null = "yes"
			}
			text := says[tables.Names[i]+"."+name]
			if text != "" {
				known++
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, typ, null, text)
		}
	}
	if known != len(says) {
		t.Errorf("%d columns have words, of %d", known, len(says))
	}
	const path = "../../../docs/audit.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(doc), "<!-- columns -->\n")
	i := strings.Index(rest, "\n## The catalog lock")
	if !ok1 || i < 0 {
		t.Fatal("docs/audit.md has no place for the columns")
	}
	if want := before + "<!-- columns -->\n" + b.String() + rest[i:]; want != string(doc) {
		if !*update {
			t.Fatal("docs/audit.md has other columns: go test ./grade/audit/tables -run TestDocumentedColumns -update")
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
