package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/grade/audit/tables"
)

// auditTables are the Parquet files of an audit. They get their names when all are
// whole: a run that fails leaves none.
type auditTables struct {
	dir   string
	w     *tables.Writer
	files []*os.File
	bufs  []*bufio.Writer
}

func newAuditTables(dir string) (*auditTables, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t := &auditTables{dir: dir}
	to := map[string]io.Writer{}
	for _, name := range tables.Names {
		f, err := os.CreateTemp(dir, "."+name+"-*.tmp") // 0600
		if err != nil {
			t.abandon()
			return nil, err
		}
		b := bufio.NewWriterSize(f, 64<<10)
		t.files, t.bufs = append(t.files, f), append(t.bufs, b)
		to[name] = b
	}
	t.w = tables.NewWriter(to)
	return t, nil
}

// add writes the rows of one recording; there may be no tables.
func (t *auditTables) add(m *audit.Measured) error {
	if t == nil {
		return nil
	}
	return t.w.Add(m)
}

// finish ends the tables and gives them their names.
func (t *auditTables) finish(r *audit.Report) error {
	if err := t.w.Close(r.Catalogs.Changes); err != nil {
		return err
	}
	for i, f := range t.files {
		if err := errors.Join(t.bufs[i].Flush(), f.Close()); err != nil {
			return err
		}
	}
	for i, f := range t.files {
		if err := os.Rename(f.Name(), filepath.Join(t.dir, tables.Names[i]+".parquet")); err != nil {
			return err
		}
	}
	t.files = nil
	return nil
}

// abandon removes what has no name yet.
func (t *auditTables) abandon() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		f.Close()
		os.Remove(f.Name())
	}
	t.files = nil
}

// said tells what was written.
func (t *auditTables) said() string {
	var parts []string
	for _, name := range tables.Names {
		parts = append(parts, fmt.Sprintf("%s.parquet %d", name, t.w.Rows[name]))
	}
	return t.dir + ": " + strings.Join(parts, ", ") + " rows"
}
