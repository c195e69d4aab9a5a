package session_test

import (
	"testing"
	"unsafe"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// BenchmarkDecode decodes the records of one capture, already read and unpacked:
// bytes are those of its lines. Values over 1 KiB stay where they are, as with
// a recording on disk.
func BenchmarkDecode(b *testing.B) {
	for _, file := range []string{"ts1-everything-stdio.jsonl", "mcpgo-modern-stdio.jsonl"} {
		captured, err := fixtures.Capture(file)
		if err != nil {
			b.Fatal(err)
		}
		r := captured[0]
		n := int64(0)
		for _, rec := range r.Records {
			n += int64(len(rec.Data) + len(rec.EOL))
		}
		b.Run(r.Name, func(b *testing.B) {
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := session.Decode(&r.Header, r.Next(), r, session.Options{End: r.End}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCalls is a session of small calls: bytes allocated per call, all told.
func BenchmarkCalls(b *testing.B) {
	r := script(b, opened+tool("1")+answer("1"))
	call, reply := *r.Records[4], *r.Records[5]
	b.ReportAllocs()
	d := session.NewDecoder(&r.Header, r, session.Options{})
	for _, rec := range r.Records {
		d.Add(rec)
	}
	seq := int64(6)
	for b.Loop() {
		call.Seq, reply.Seq = seq+1, seq+2
		seq += 2
		d.Add(&call)
		d.Add(&reply)
	}
	b.ReportMetric(float64(unsafe.Sizeof(session.Call{})+unsafe.Sizeof(session.Exchange{})), "B/call+exchange")
	if res := d.Finish(record.Sealed, false); len(res.Sessions[0].Calls) == 0 {
		b.Fatal("no calls")
	}
}
