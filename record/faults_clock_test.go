package record_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
	"github.com/sixlink/sixlink/record"
)

// A machine that slept, or whose clock was set: the wall clock has jumped against the
// monotonic one (recorder.md 2.11). A clock record says by how much, once, and the
// records' own times go on as if nothing had happened.
func TestFaultSuspend(t *testing.T) {
	t.Attr("fault", "suspend: the wall clock jumps")
	for _, jump := range []time.Duration{time.Hour, -time.Hour, 60 * time.Millisecond, -40 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var clock proxytest.Clock
			start := clock.Now()
			r, err := record.Begin(record.WithWall(record.Config{Dir: t.TempDir(), Transport: "stdio", Level: record.LevelFull}, clock.Now))
			if err != nil {
				t.Fatal(err)
			}
			r.Data(record.Client, []byte("before\n"))
			time.Sleep(10 * time.Second)
			synctest.Wait() // the recorder sleeps, and looks at nothing
			clock.Jump(jump)
			r.Data(record.Server, []byte("after\n"))
			time.Sleep(10 * time.Second)
			r.Data(record.Client, []byte("later\n"))
			r.Close(time.Minute)

			rd, err := record.Open(r.Path(), record.Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer rd.Close()
			at, last := map[string]time.Duration{}, int64(0)
			var clocks []*record.Record
			for {
				rec, err := rd.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec.Seq > 0 && rec.At < last {
					t.Errorf("%v: seq %d is at %d ns, the one before at %d", jump, rec.Seq, rec.At, last)
				}
				if rec.Seq > 0 {
					last = rec.At
				}
				switch rec.Kind {
				case record.KindFrame:
					at[string(rec.Data)] = time.Duration(rec.At)
				case record.KindClock:
					clocks = append(clocks, rec)
				}
			}
			if end := rd.End(); end.State != record.Sealed || end.Gaps != 0 {
				t.Errorf("%v: %+v", jump, end)
			}
			if at["after"]-at["before"] != 10*time.Second || at["later"]-at["after"] != 10*time.Second {
				t.Errorf("%v: the times are %v", jump, at)
			}
			told := "no clock record"
			if jump.Abs() > 50*time.Millisecond {
				if len(clocks) != 1 {
					t.Fatalf("%v: %d clock records", jump, len(clocks))
				}
				c := clocks[0]
				if time.Duration(c.Clock.Offset) != jump || !c.Clock.Wall.Equal(start.Add(time.Duration(c.At)+jump)) {
					t.Errorf("a jump of %v is told as %v, at %v", jump, time.Duration(c.Clock.Offset), c.Clock.Wall)
				}
				told = fmt.Sprintf("a clock record says %v", time.Duration(c.Clock.Offset))
			} else if len(clocks) != 0 {
				t.Errorf("%v: %d clock records", jump, len(clocks))
			}
			t.Attr("observed", fmt.Sprintf("%v: %s", jump, told))
		})
	}
}
