package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
)

// rig writes the wire side of a sample in fixtures/hosts as recordings, one a server
// process: rig SAMPLE FOLDER [CONNECTION...].
func rig() {
	recs, err := fixtures.HostWire(os.Args[1], "wire.jsonl")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	only := map[string]bool{}
	for _, id := range os.Args[3:] {
		only[id] = true
	}
	for _, r := range recs {
		if len(only) > 0 && !only[r.Header.ID] {
			continue
		}
		f, err := os.OpenFile(filepath.Join(os.Args[2], r.Header.ID+record.Suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = record.WriteSealed(f, r.Header, r.Next())
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
