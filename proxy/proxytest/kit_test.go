//go:build unix

package proxytest_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	proxytest.Main(nil)
	goleak.VerifyTestMain(m)
}

type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestSlice(t *testing.T) {
	for _, c := range []struct {
		text string
		cuts []int
		want writes
	}{
		{"abcdef", nil, writes{"abcdef"}},
		{"abcdef", []int{4, 1}, writes{"a", "bcd", "ef"}},
		{"abc", []int{0, 1, 1, 3, 9}, writes{"a", "bc"}},
		{"", []int{1}, nil},
	} {
		var got writes
		if err := proxytest.Slice(&got, []byte(c.text), c.cuts...); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q at %v: %q", c.text, c.cuts, got)
		}
	}
	var got writes
	if err := proxytest.OneByOne(&got, []byte("ab")); err != nil || !reflect.DeepEqual(got, writes{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSlowReader(t *testing.T) {
	n := 0
	r := proxytest.SlowReader{R: strings.NewReader("abcde"), Size: 2, Between: func() { n++ }}
	if b, err := io.ReadAll(r); string(b) != "abcde" || err != nil || n != 4 {
		t.Errorf("%q, %v, %d reads", b, err, n)
	}
}

// A program's JSON form is that of the cases.
func TestProgramJSON(t *testing.T) {
	const script = `[{"stderr":{"repeat":"e","count":3,"then":"\n","times":2}},{"stderr":"x"},{"read_line":1},{"write":"w"},{"wait_eof":true},{"exit":0}]`
	var p proxytest.Program
	if err := json.Unmarshal([]byte(script), &p); err != nil {
		t.Fatal(err)
	}
	if got := string(p[0].Stderr.Bytes()); got != "eee\neee\n" {
		t.Errorf("%q", got)
	}
	b, err := json.Marshal(p)
	if err != nil || string(b) != script {
		t.Errorf("%s, %v", b, err)
	}
}

func TestProgramAndLifeline(t *testing.T) {
	life := proxytest.NewLifeline(t)
	argv := proxytest.Program{
		{Start: proxytest.Program{{ReadLine: 1}, {Write: "grandchild\n"}}},
		{Await: true}, {Stderr: &proxytest.Text{Plain: "e"}}, {Exit: proxytest.Code(3)},
	}.Argv()
	c := exec.Command(argv[0], argv[1:]...)
	c.ExtraFiles = []*os.File{life.Held}
	c.Stdin = strings.NewReader("go\n")
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	c.Run()
	if c.ProcessState.ExitCode() != 3 || out.String() != "grandchild\n" || errs.String() != "e" {
		t.Errorf("%v, %q, %q", c.ProcessState, out.String(), errs.String())
	}
	if !life.Gone() {
		t.Error("somebody is left")
	}
}

func TestMemory(t *testing.T) {
	m := &proxytest.Memory{}
	p := []byte("ab")
	m.Data(record.Client, p)
	p[0] = 'x' // the tap has its own copy
	m.Data(record.Client, []byte("c"))
	m.End(record.Client)
	m.Event(record.Record{Kind: record.KindUndelivered, From: record.Client, Off: 1, Lost: &record.Undelivered{Bytes: 2, Error: "broken pipe"}})
	if got := string(m.Bytes(record.Client)); got != "abc" {
		t.Errorf("%q", got)
	}
	want := []string{"client data", "client end", "undelivered client from 1, 2 bytes: broken pipe"}
	if got := m.Story(); !reflect.DeepEqual(got, want) || !m.Wait("client end") {
		t.Errorf("%q", got)
	}
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c proxytest.Clock
		wall, mono := c.Now(), time.Now()
		time.Sleep(time.Minute)
		c.Jump(-time.Hour)
		if d := c.Now().Sub(wall); d != time.Minute-time.Hour {
			t.Errorf("the wall clock went %v", d)
		}
		c.Jump(time.Hour)
		if d := c.Now().Sub(wall); d != time.Minute || time.Since(mono) != time.Minute {
			t.Errorf("back again: the wall clock went %v, the monotonic one %v", d, time.Since(mono))
		}
	})
}
