package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

// Whether bytes were stored as lines, as chunk runs, or now so and now so, the
// recording holds the same lines: live, unsealed, sealed and repaired.
func TestChunkRunsAreTheSameLines(t *testing.T) {
	argv := []string{"srv", "--token", "s3cr3t-Value/With=Chars0123"}
	masker := mask.FromProcess(mask.RandomKey(), argv, nil)
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			var pieces []piece
			for range 5 + rnd.IntN(60) {
				p := piece{from: directions[rnd.IntN(3)], data: randomBytes(rnd)}
				if rnd.IntN(5) == 0 {
					p.data = "key " + argv[2] + " and " + argv[2][:rnd.IntN(20)]
				}
				if rnd.IntN(3) == 0 {
					// Never at the instant at which an open line is cut.
					p.pause = time.Duration(rnd.IntN(200_000_000)) | 1
				}
				pieces = append(pieces, p)
			}
			var want []*Record
			coin := rand.New(rand.NewPCG(seed, 8)) // of the recorder's goroutine
			for name, press := range map[string]func() bool{
				"lines": func() bool { return false },
				"runs":  func() bool { return true },
				"mixed": func() bool { return coin.IntN(2) == 0 },
			} {
				dir := t.TempDir()
				r, err := Begin(Config{Dir: dir, Transport: "stdio", Level: LevelFull, Command: argv, Masker: masker, press: press})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range pieces {
					time.Sleep(p.pause)
					r.Data(p.from, []byte(p.data))
					if rnd.IntN(4) == 0 {
						// Does not change the order; only when it is written.
						r.Flush(time.Minute)
					}
				}
				r.Event(Record{Kind: KindExit, Exit: &Exit{Signal: "KILL"}})
				synctest.Wait()
				time.Sleep(time.Second)
				live, _ := readAll(t, r.Path(), Options{})
				r.Close(-time.Second)
				open, end := readAll(t, r.Path(), Options{Verify: true})
				if end.State != Sealed || end.Damage != nil {
					t.Fatalf("seed %d, %s: %+v", seed, name, end)
				}
				sealed := filepath.Join(dir, "sealed")
				f, _ := os.Open(r.Path())
				out, _ := os.Create(sealed)
				if _, err := repack(f, out, time.Time{}, ""); err != nil {
					t.Fatalf("seed %d, %s: seal: %v", seed, name, err)
				}
				f.Close()
				out.Close()
				whole, end := readAll(t, sealed, Options{Verify: true})
				if end.State != Sealed || end.Damage != nil || recordOf(whole, KindClosing).Closing.SHA256 == "" {
					t.Fatalf("seed %d, %s: sealed: %+v", seed, name, end)
				}
				if _, err := Repair(r.Path(), filepath.Join(dir, "repaired"), "test", Options{Verify: true}); err != nil {
					t.Fatal(err)
				}
				repaired, _ := readAll(t, filepath.Join(dir, "repaired"), Options{Verify: true})
				sameRecords(t, open[:len(live)], live)
				sameRecords(t, open, whole)
				sameRecords(t, open, repaired)
				checkOrder(t, open)
				if want == nil {
					want = open
				}
				// Everything but how many reads a line came in, which flushing changes not either.
				sameRecords(t, want, open)
				for _, from := range directions {
					plain := sum(pieces, from)
					if got := reconstruct(open, from); len(got) != len(plain) {
						t.Errorf("seed %d, %s: %s has %d bytes, want %d", seed, name, from, len(got), len(plain))
					}
				}
				for _, rec := range open {
					if i := bytes.Index(rec.Data, []byte(argv[2])); i >= 0 {
						t.Errorf("seed %d, %s: a credential is in seq %d", seed, name, rec.Seq)
					}
				}
				s := NewStore([]string{r.Path()})
				for _, i := range rnd.Perm(len(open)) {
					if rec := open[i]; rec.Kind == KindFrame {
						got, err := s.Fetch([]Ref{rec.Ref})
						if err != nil || !bytes.Equal(got, rec.Data) {
							t.Fatalf("seed %d, %s: seq %d: %v", seed, name, rec.Seq, err)
						}
					}
				}
				s.Close()
			}
		})
	}
}

func recordOf(recs []*Record, k Kind) *Record {
	for _, r := range recs {
		if r.Kind == k {
			return r
		}
	}
	return nil
}

// 20 MB of line feeds are 20 million records: recording them takes neither the
// memory nor the time of that (recorder.md 1.5), and reading them no more than
// a line at a time.
func TestLineFeedsOnly(t *testing.T) {
	dir := t.TempDir()
	r, err := Begin(Config{Dir: dir, Transport: "stdio", Level: LevelFull, Lossless: true})
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte("\n"), 64<<10)
	const n = 20 << 20
	for range n / len(chunk) {
		r.Data(Server, chunk)
	}
	r.Close(-time.Second)
	rd, err := Open(r.Path(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	frames := 0
	for frames < 1_000_000 {
		rec, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == KindFrame {
			frames++
		}
	}
	fi, err := os.Stat(r.Path())
	if err != nil || fi.Size() > n+n/4 {
		t.Errorf("%d bytes, %v", fi.Size(), err)
	}
}

// A run that is cut or flipped anywhere gives nothing that was not seen.
func TestDamagedChunkRun(t *testing.T) {
	var data []byte
	var pieces []piece
	for i := range 6 {
		pieces = append(pieces, piece{Server, fmt.Sprintf(`{"i":%d}`+"\n", i), 30 * time.Millisecond}, piece{Client, "ab", 0})
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := Begin(Config{Dir: t.TempDir(), Transport: "stdio", Level: LevelFull, press: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			time.Sleep(p.pause)
			r.Data(p.from, []byte(p.data))
		}
		r.Close(-time.Second)
		data, _ = os.ReadFile(r.Path())
	})
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	rnd := rand.New(rand.NewPCG(3, 4))
	var decoders Decoders
	most := 0
	for i := range 2 * len(data) {
		bad := bytes.Clone(data[:min(i, len(data))])
		if i >= len(data) {
			bit := rnd.IntN(8 * len(data))
			bad[bit/8] ^= 1 << (bit % 8)
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		recs, _ := drainWith(path, &decoders)
		for _, from := range directions {
			if got := reconstruct(recs, from); !strings.HasPrefix(sum(pieces, from), got) {
				t.Fatalf("%d: %s: %q was not seen", i, from, got)
			}
		}
		if i < len(data) {
			if len(recs) < most {
				t.Fatalf("cut at %d: %d records, before there were %d", i, len(recs), most)
			}
			most = len(recs)
		}
	}
	if most < 6 {
		t.Errorf("%d records in the longest cut", most)
	}
}

// FuzzRun gives any bytes to the run's reader, in both versions.
func FuzzRun(f *testing.F) {
	run := beginRun(nil)
	for _, b := range []*block{
		{from: Client, seq: 1, at: 2, data: []byte("a\nb\n"), masked: []Mask{{0, 1, "0123456789ab"}}},
		{from: Server, seq: 3, at: 2, data: []byte("part"), last: true, more: true, since: &Since{1, 1}},
	} {
		run = append(appendBlock(run, b), b.data...)
	}
	run = appendRunLine(run, []byte(`{"kind":"exit","seq":4,"at":5,"code":0}`+"\n"))
	f.Add(run[runHead:])
	body := &entry{from: Server, exchange: 2, after: 4, at: 9, end: BodyCut}
	run = append(appendPiece(run, body, 7, 4, []Mask{{1, 2, ""}}), "abcd"...)
	f.Add(run[runHead:])
	f.Fuzz(func(t *testing.T, entries []byte) {
		for _, version := range []byte{runVersion, runBodies} {
			fuzzedRun(t, entries, version)
		}
	})
}

func fuzzedRun(t *testing.T, entries []byte, version byte) {
	run := append(beginRun(nil), entries...)
	run[4] = version
	run = bytes.Join(sealRun(nil, run, nil, len(run)), nil)
	r, got, err := openRun(run)
	if err != nil || got != le.Uint32(run[len(run)-4:]) {
		t.Fatal(err)
	}
	n, total := 0, 0
	for {
		line, err := r.next()
		if err != nil || line == nil {
			break
		}
		if n++; total+len(line) > 64<<20 {
			break
		}
		total += len(line)
		if strings.Contains(string(line), "\n") {
			t.Fatalf("a line feed in %q", line)
		}
		if kind, _ := kindOf(line); kind == KindBody && version == runVersion && !r.verbatim {
			t.Fatalf("a piece of a body in a run of version 1: %s", line)
		}
	}
	if n > len(entries)+1 {
		t.Fatalf("%d lines of %d bytes", n, len(entries))
	}
}
