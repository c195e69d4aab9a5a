package grade_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/sixlink/sixlink/grade"
)

var update = flag.Bool("update", false, "write the generated files anew")

// The pages that are made from the kinds' docs are those that the code makes now.
func TestGeneratedFilesAreFresh(t *testing.T) {
	for name, made := range map[string][]byte{"checks.md": grade.ChecksPage(), "suite.schema.json": grade.SuiteSchemaDoc()} {
		path := filepath.Join("..", "docs", name)
		if *update {
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(have, made) {
			t.Errorf("docs/%s is stale: go test ./grade -run TestGenerated -update", name)
		}
	}
}
