package grade

import (
	"encoding/binary"

	"github.com/sixlink/sixlink/grade/predicate"
)

// putFacts puts the facts of a trial, [shelf.readFacts] reads them.
func (s *shelf) putFacts(b []byte, f *Facts) []byte {
	b = binary.AppendVarint(binary.AppendVarint(b, f.StartedAt), f.DurationNs)
	b = s.putWord(s.putWord(s.putWord(b, f.Host), f.HostVersion), f.Model)
	b = binary.AppendVarint(b, int64(len(f.Servers)))
	for i := range f.Servers {
		v := &f.Servers[i]
		b = s.putWord(s.putWord(s.putWord(s.putWord(b, v.Key), v.Name), v.Version), v.Catalog)
		b = binary.AppendVarint(b, int64(v.Tools))
	}
	b = binary.AppendVarint(binary.AppendVarint(b, int64(f.Calls)), f.ResultBytes)
	b = putNums(binary.AppendVarint(b, int64(f.Latency.Count)), f.Latency.Ns)
	if b = putFlag(b, f.Tokens != nil); f.Tokens != nil {
		b = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, f.Tokens.Input), f.Tokens.Output), f.Tokens.Total)
	}
	return b
}

func (s *shelf) readFacts(r *reader) Facts {
	f := Facts{StartedAt: r.num(), DurationNs: r.num(), Host: s.word(r), HostVersion: s.word(r), Model: s.word(r)}
	for range r.count() {
		f.Servers = append(f.Servers, ServerFacts{Key: s.word(r), Name: s.word(r), Version: s.word(r), Catalog: s.word(r), Tools: int(r.num())})
	}
	f.Calls, f.ResultBytes = int(r.num()), r.num()
	f.Latency = Latency{Count: int(r.num()), Ns: r.nums()}
	if r.flag() {
		f.Tokens = &predicate.Usage{Input: r.num(), Output: r.num(), Total: r.num()}
	}
	return f
}
