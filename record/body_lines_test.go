package record

import (
	"testing"
	"time"
)

// A body that is JSON of several lines is kept, in a record of one line.
func TestBodyOfSeveralLines(t *testing.T) {
	r, err := Begin(Config{Dir: t.TempDir(), Name: "r", Version: "test", Transport: "http", Upstream: "http://h/", Level: LevelFull})
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{"{\n \"a\": 1\n}\n", "{\"a\":1}\n", "[1,\r\n2]"}
	for i, b := range bodies {
		r.Body(&Body{Exchange: int64(i + 1), From: Server, Data: []byte(b), End: BodyLast})
		r.Done(int64(i + 1))
	}
	r.Close(time.Minute)
	recs, end := readAll(t, r.Path(), Options{})
	var got []string
	for _, rec := range recs {
		if rec.Kind == KindBody {
			got = append(got, string(rec.Data)+string(rec.EOL))
		}
	}
	if len(got) != 3 || got[0] != bodies[0] || got[1] != bodies[1] || got[2] != bodies[2] {
		t.Errorf("%q (%+v), want %q", got, end, bodies)
	}
}
