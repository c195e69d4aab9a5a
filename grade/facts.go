package grade

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/sixlink/sixlink/grade/internal/value"
	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// Facts are what a trial was made with and what it took: no check, and no part of its
// verdict. They are what runs are compared by (grading.md 7.1).
type Facts struct {
	// StartedAt is when the trial began by the wall clock of its recording, nanoseconds
	// since 1970; 0: not known. DurationNs is from its first record to its last.
	StartedAt, DurationNs int64
	// Host and HostVersion are the host as its transcript names it, else as it named
	// itself on the wire; Model is from the transcript alone. Empty: not known.
	Host, HostVersion, Model string
	// Servers are those of the trial, in the order of its parts.
	Servers []ServerFacts
	Calls   int
	// ResultBytes are those of the results on the wire.
	ResultBytes int64
	Latency     Latency
	// Tokens are nil when no transcript tells them.
	Tokens *predicate.Usage
}

// ServerFacts say which server, and which tools it listed.
type ServerFacts struct {
	// Key is the name by which suites know it; Name and Version are its own.
	Key, Name, Version string
	// Catalog is the hash of the tools that it listed, whatever their order and
	// spelling; empty when the list is not whole. Tools is how many there are.
	Catalog string
	Tools   int
}

// Latency holds how long calls took (see [session.Call.DurationNs]): Count of them,
// and of up to [maxLatencies] all, ascending; of more, so many that are spread evenly
// over them, the shortest and the longest among them.
type Latency struct {
	Count int
	Ns    []int64
}

// maxLatencies bounds what a verdict keeps of a trial's latencies: with 256 of them a
// percentile is off by less than half a percent of the calls.
const maxLatencies = 256

// latencyOf keeps what is to be kept of ns, which it sorts.
func latencyOf(ns []int64) Latency {
	l := Latency{Count: len(ns), Ns: ns}
	slices.Sort(ns)
	if len(ns) > maxLatencies {
		l.Ns = make([]int64, maxLatencies)
		for i := range l.Ns {
			l.Ns[i] = ns[i*(len(ns)-1)/(maxLatencies-1)]
		}
	}
	return l
}

// factsOf gathers the facts of a session as a part of a trial. key is its server's.
func (w *work) factsOf(s *session.Session, key string, ev *predicate.Evidence, joined *Talk) Facts {
	f := Facts{Host: s.Client.Name, HostVersion: s.Client.Version, Calls: len(s.Calls), DurationNs: max(0, s.LastAt-s.FirstAt)}
	if at, _, ok := w.r.Clock.Between(s.FirstAt); ok {
		f.StartedAt = at
	}
	server := ServerFacts{Key: key, Name: s.Server.Name, Version: s.Server.Version}
	if l := s.DeclaredCatalog(); l != nil {
		server.Tools = len(l.Tools)
		if l.State == catalog.Complete {
			server.Catalog = w.catalogs.hash(l)
		}
	}
	f.Servers = []ServerFacts{server}
	for _, c := range s.Calls {
		f.ResultBytes += c.Result.Len()
	}
	ns := make([]int64, len(ev.Timings))
	for i := range ev.Timings {
		ns[i] = ev.Timings[i].Ns
	}
	f.Latency = latencyOf(ns)
	f.talk(ev.Conversation, joined)
	return f
}

// talk takes what a host's transcript tells; joined is nil where none is.
func (f *Facts) talk(c *predicate.Conversation, joined *Talk) {
	if joined != nil {
		if h := joined.Join.Talk.Host; h.Name != "" {
			f.Host, f.HostVersion = h.Name, h.Version
		}
	}
	if c == nil {
		return
	}
	f.Model = strings.Join(c.Models[:min(len(c.Models), maxModels)], " + ")
	if c.UsageState == session.Complete && c.Usage != nil {
		u := *c.Usage
		f.Tokens = &u
	}
}

// maxModels bounds the models that a trial is said to be of.
const maxModels = 8

// add takes the facts of another part of the trial; what belongs to the transcript is
// the trial's as a whole, and not added up.
func (f *Facts) add(o *Facts) {
	end := max(f.StartedAt+f.DurationNs, o.StartedAt+o.DurationNs)
	switch {
	case f.StartedAt == 0 || o.StartedAt == 0:
		f.StartedAt, f.DurationNs = max(f.StartedAt, o.StartedAt), max(f.DurationNs, o.DurationNs)
	default:
		f.StartedAt = min(f.StartedAt, o.StartedAt)
		f.DurationNs = end - f.StartedAt
	}
	if f.Host == "" {
		f.Host, f.HostVersion = o.Host, o.HostVersion
	}
	f.Servers = append(f.Servers, o.Servers...)
	f.Calls += o.Calls
	f.ResultBytes += o.ResultBytes
}

// catalogHashes remembers the hash of catalogs by their raw text: most sessions of a
// pile have seen the same few, and comparing is many times faster than hashing.
type catalogHashes struct {
	mu    sync.Mutex
	seed  maphash.Seed
	seen  map[uint64]*catalogSeen
	bytes int
}

type catalogSeen struct {
	tools []string // raw
	sum   string
}

// maxCatalogBytes bounds the text that is remembered; a longer catalog is hashed anew
// each time.
const maxCatalogBytes = 4 << 20

func (h *catalogHashes) hash(l *catalog.List) string {
	h.mu.Lock()
	if h.seen == nil {
		h.seed, h.seen = maphash.MakeSeed(), map[uint64]*catalogSeen{}
	}
	seed := h.seed
	h.mu.Unlock()
	var m maphash.Hash
	m.SetSeed(seed)
	size := 0
	for i := range l.Tools {
		m.Write(l.Tools[i].Raw)
		m.WriteByte('\n')
		size += len(l.Tools[i].Raw) + 64
	}
	key := m.Sum64()
	h.mu.Lock()
	is := h.seen[key]
	h.mu.Unlock()
	if is != nil && is.of(l) {
		return is.sum
	}
	now := &catalogSeen{sum: catalogHash(l)}
	if size > maxCatalogBytes {
		return now.sum
	}
	for i := range l.Tools {
		now.tools = append(now.tools, string(l.Tools[i].Raw))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes += size; h.bytes > maxCatalogBytes {
		clear(h.seen)
		h.bytes = size
	}
	h.seen[key] = now
	return now.sum
}

// of says that it is the same text: what it was found by is no proof.
func (s *catalogSeen) of(l *catalog.List) bool {
	if len(s.tools) != len(l.Tools) {
		return false
	}
	for i := range s.tools {
		if s.tools[i] != string(l.Tools[i].Raw) {
			return false
		}
	}
	return true
}

// catalogHash is the lower-case hex SHA-256 of the tools' canonical JSON (grading.md
// 5.4, numbers exact), sorted, a line each; a tool that cannot be read stands for its
// own bytes.
func catalogHash(l *catalog.List) string {
	tools := make([]string, len(l.Tools))
	for i := range l.Tools {
		tools[i] = string(l.Tools[i].Raw)
		if v, err := value.Parse(l.Tools[i].Raw, value.Options{MaxDepth: catalogDepth}); err == nil {
			if text, err := value.Canonical(nil, &v, value.Exact); err == nil {
				tools[i] = string(text)
			}
		}
	}
	slices.Sort(tools)
	h := sha256.New()
	for _, t := range tools {
		h.Write([]byte(t))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// catalogDepth is how deep a tool's JSON is read for its hash.
const catalogDepth = 200

// maxMerged bounds the values that [Latencies] holds.
const maxMerged = 1 << 15

// Latencies gathers the latencies of many trials in bounded memory: up to maxMerged
// values exactly, beyond that as so many that are spread evenly over them.
type Latencies struct {
	list   []Latency
	values int
}

// Add takes those of one trial.
func (l *Latencies) Add(of Latency) {
	if of.Count == 0 {
		return
	}
	l.list = append(l.list, of)
	if l.values += len(of.Ns); l.values > maxMerged {
		s := sortLatencies(l.list)
		merged := Latency{Count: s.n, Ns: make([]int64, maxMerged/2)}
		for i := range merged.Ns {
			merged.Ns[i] = s.at(i * (s.n - 1) / (len(merged.Ns) - 1))
		}
		l.list, l.values = []Latency{merged}, len(merged.Ns)
	}
}

// Count is how many calls were timed.
func (l *Latencies) Count() int {
	n := 0
	for i := range l.list {
		n += l.list[i].Count
	}
	return n
}

// Percentile in nanoseconds: linear interpolation at (n-1)·share of the sorted values
// (grading.md 7.2). ok is false without any.
func (l *Latencies) Percentile(share float64) (ns float64, ok bool) {
	s := sortLatencies(l.list)
	if s.n == 0 {
		return 0, false
	}
	where := float64(float64(s.n-1) * share)
	low := int(math.Floor(where))
	a, b := float64(s.at(low)), float64(s.at(min(low+1, s.n-1)))
	return a + float64(float64(b-a)*float64(where-float64(low))), true
}

// sorted are values with how many calls are at or below each.
type sorted struct {
	ns   []int64
	upTo []float64
	n    int
}

func sortLatencies(list []Latency) sorted {
	type weighed struct {
		ns     int64
		weight float64 // how many calls it stands for
	}
	var all []weighed
	var s sorted
	for i := range list {
		l := &list[i]
		for _, ns := range l.Ns {
			all = append(all, weighed{ns, float64(l.Count) / float64(len(l.Ns))})
		}
		s.n += l.Count
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.ns, b.ns) })
	s.ns, s.upTo = make([]int64, len(all)), make([]float64, len(all))
	sum := 0.0
	for i, w := range all {
		sum += w.weight
		s.ns[i], s.upTo[i] = w.ns, sum
	}
	return s
}

// at is the value of a rank, from 0. The small term takes what rounding of weights may
// have lost.
func (s *sorted) at(rank int) int64 {
	i, _ := slices.BinarySearch(s.upTo, float64(rank)+1e-3)
	return s.ns[min(i, len(s.ns)-1)]
}

// Merge takes all that o has.
func (l *Latencies) Merge(o *Latencies) {
	for _, of := range o.list {
		l.Add(of)
	}
}
