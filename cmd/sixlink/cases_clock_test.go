package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Case 54, clock-back: the clock goes back an hour between two recordings, and a
// third begins at the very instant of the second, in the same process. Nobody may
// set a test machine's clock, so this is the recorder in the program's place, by
// the fake clock of synctest, which begins at the same time in every bubble.
func TestCaseClockGoesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	var starts []time.Time
	for _, ahead := range []time.Duration{time.Hour, 0, 0} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(ahead)
			r, err := record.Begin(record.Config{Dir: dir, Version: "test", Transport: "stdio", Level: record.LevelFull, Command: []string{"server"}, PID: os.Getpid()})
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, time.Now())
			r.Event(record.Record{Kind: record.KindStart, Start: &record.Start{PID: 1}})
			r.Data(record.Client, []byte("one\n"))
			time.Sleep(50 * time.Millisecond) // the case's pause, on the fake clock
			r.Data(record.Client, []byte("two\n"))
			r.End(record.Client)
			r.Close(record.SealLimit)
		})
	}
	if !starts[1].Before(starts[0]) || !starts[1].Equal(starts[2]) {
		t.Fatalf("the clock did not go back: %v", starts)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 3 {
		t.Fatalf("%q, %v", names, err)
	}
	var begun []time.Time
	for _, name := range names {
		r := readRecording(t, name)
		r.whole(t)
		begun = append(begun, r.header.Start.Time)
		var at, first, last int64
		for _, rec := range r.records {
			if rec.Seq > 0 && rec.At < at {
				t.Errorf("%s: record %d is at %d ns, the one before at %d", name, rec.Seq, rec.At, at)
			}
			if rec.Seq > 0 {
				at = rec.At
			}
			if rec.Kind == record.KindFrame && string(rec.Data) == "one" {
				first = rec.At
			} else if rec.Kind == record.KindFrame {
				last = rec.At
			}
		}
		if last-first != int64(50*time.Millisecond) {
			t.Errorf("%s: the pause is %v", name, time.Duration(last-first))
		}
	}
	slices.SortFunc(begun, time.Time.Compare)
	if begun[2].Sub(begun[0]) != time.Hour || !begun[0].Equal(begun[1]) {
		t.Errorf("recorded starts %v", begun)
	}
}
