package record

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

// webTraffic is what a recorder was given of HTTP. One goroutine at a time may use
// an exchange.
type webTraffic struct {
	r       *Recorder
	mu      sync.Mutex
	bodies  map[bodyKey]*webBody
	records [2]int64 // by direction, as a gap counts them
	bytes   [2]int64
}

type webBody struct {
	data  []byte
	end   BodyEnd
	begun bool
}

func newWeb(r *Recorder) *webTraffic {
	return &webTraffic{r: r, bodies: map[bodyKey]*webBody{}}
}

func (w *webTraffic) count(from From, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[index(from)] += n
}

func (w *webTraffic) body(exchange int64, from From) *webBody {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := keyOf(exchange, from)
	if w.bodies[k] == nil {
		w.bodies[k] = &webBody{}
	}
	return w.bodies[k]
}

func (w *webTraffic) request(exchange int64, h HTTPRequest) {
	w.count(Client, 1)
	w.r.Event(Record{Kind: KindRequest, Exchange: exchange, From: Client, Request: &h})
}

func (w *webTraffic) response(exchange int64, h HTTPResponse) {
	w.count(Server, 1)
	w.r.Event(Record{Kind: KindResponse, Exchange: exchange, From: Server, Response: &h})
}

func (w *webTraffic) piece(exchange int64, from From, p []byte, end BodyEnd) {
	b := w.body(exchange, from)
	if b.end != BodyMore {
		return
	}
	w.r.Body(&Body{Exchange: exchange, From: from, Off: int64(len(b.data)), Data: p, End: end})
	b.data, b.end, b.begun = append(b.data, p...), end, true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[index(from)] += max(1, (int64(len(p))+slabSize-1)/slabSize)
	w.bytes[index(from)] += int64(len(p))
}

func (w *webTraffic) done(exchange int64) {
	w.r.Done(exchange)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, from := range directions[:2] {
		if b := w.bodies[keyOf(exchange, from)]; b != nil && b.begun && b.end == BodyMore {
			b.end = BodyCut // the recorder says so in a record of its own
			w.records[index(from)]++
		}
	}
}

// accounts holds the recording against the traffic: each byte of a body is in it as it
// was, masked, or counted in a gap; offsets jump at gaps alone; ends are right; no
// whole credential is left.
func (w *webTraffic) accounts(t *testing.T, recs []*Record, secret string) {
	t.Helper()
	type state struct {
		next  int64
		ended bool
		gaps  int
		run   []byte // the bytes since the last hole
	}
	is := map[bodyKey]*state{}
	var kept, lost [2]GapHTTP
	gaps := 0
	for _, r := range recs {
		if r.Kind == KindHeader || r.Kind == KindClosing {
			continue
		}
		if from, ok := httpFrom(r); ok && r.Kind != KindBody {
			kept[index(from)].Records++
			continue
		}
		if r.Kind == KindGap {
			gaps++
			for from, h := range r.Gap.HTTP {
				lost[index(from)].Records += h.Records
				lost[index(from)].Bytes += h.Bytes
			}
		}
		if r.Kind != KindBody {
			continue
		}
		k := keyOf(r.Exchange, r.From)
		b, st := w.bodies[k], is[k]
		if b == nil {
			t.Fatalf("seq %d is of a body that was not offered", r.Seq)
		}
		if st == nil {
			st = &state{}
			is[k] = st
		}
		if st.ended {
			t.Fatalf("seq %d follows the end of its body", r.Seq)
		}
		if r.Off != st.next {
			if st.gaps == gaps || r.Off < st.next {
				t.Fatalf("seq %d: exchange %d %s is at byte %d, %d is next, and no gap stands between", r.Seq, r.Exchange, r.From, r.Off, st.next)
			}
			st.run = nil
		}
		all := append(bytes.Clone(r.Data), r.EOL...)
		if st.next = r.Off + int64(len(all)); st.next > int64(len(b.data)) {
			t.Fatalf("seq %d: %d bytes of the body, %d were offered", r.Seq, st.next, len(b.data))
		}
		want := bytes.Clone(b.data[r.Off:st.next])
		last := int64(0)
		for _, m := range r.Masked {
			if m.Off < last || m.Len < 1 {
				t.Fatalf("seq %d: %+v behind %d", r.Seq, m, last)
			}
			last = m.Off + m.Len
			copy(want[m.Off:last], all[m.Off:last])
			if bytes.Trim(all[m.Off:last], `*0\u`) != nil && len(bytes.Trim(all[m.Off:last], `*0\u`)) > 6 {
				t.Fatalf("seq %d: %q is masked", r.Seq, all[m.Off:last])
			}
		}
		if !bytes.Equal(want, all) {
			t.Fatalf("seq %d: %q, offered was %q", r.Seq, all, want)
		}
		st.gaps, st.run = gaps, append(st.run, all...)
		if secret != "" && bytes.Contains(st.run, []byte(secret)) {
			t.Fatalf("seq %d: the credential is in exchange %d %s", r.Seq, r.Exchange, r.From)
		}
		if r.End != BodyMore {
			if st.ended = true; r.End != b.end || st.next != int64(len(b.data)) {
				t.Fatalf("seq %d: end %d at byte %d, want %d at %d", r.Seq, r.End, st.next, b.end, len(b.data))
			}
		}
		kept[index(r.From)].Records++
		kept[index(r.From)].Bytes += int64(len(all))
	}
	open := [2]int64{}
	for k, b := range w.bodies {
		_, from := k.split()
		st := is[k]
		if !b.begun {
			continue
		}
		if b.end == BodyMore {
			open[index(from)]++ // what was held back at the end has a record of its own
		}
		if st == nil {
			st = &state{}
		}
		if gaps == 0 && (st.next != int64(len(b.data)) || st.ended != (b.end != BodyMore)) {
			t.Fatalf("body %d: %d bytes of %d, ended %v, %d", k, st.next, len(b.data), st.ended, b.end)
		}
	}
	for i, from := range directions[:2] {
		if n := kept[i].Bytes + lost[i].Bytes; n != w.bytes[i] {
			t.Fatalf("%s: %d bytes are kept and %d lost, %d were offered", from, kept[i].Bytes, lost[i].Bytes, w.bytes[i])
		}
		if n := kept[i].Records + lost[i].Records - w.records[i]; n < 0 || n > open[i] {
			t.Fatalf("%s: %d records are kept and %d lost, %d were offered, %d bodies open", from, kept[i].Records, lost[i].Records, w.records[i], open[i])
		}
	}
}

const webSecret = "s3cr3t-Value/With=Chars0123"

// webPiece makes up some bytes of a body.
func webPiece(rnd *rand.Rand) []byte {
	switch rnd.IntN(11) {
	case 10:
		return []byte("{\n  \"issuer\": \"http://h\",\r\n  \"a\": [\n1]\n}\n")
	case 0:
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"é":"漢😀"}}`)
	case 1:
		return []byte("[{\"a\":\"\\ud83d\\ude00\"},2]\r\n \t\n")
	case 2:
		b := make([]byte, rnd.IntN(300))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	case 3:
		b := []byte("né 漢字 😀 ")
		return b[:rnd.IntN(len(b))]
	case 4:
		b := []byte("漢字 😀 done")
		return b[rnd.IntN(len(b)):]
	case 5:
		return []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
	case 6:
		return []byte(webSecret[:rnd.IntN(len(webSecret))])
	case 7:
		return []byte(webSecret[rnd.IntN(len(webSecret)):])
	case 8:
		return []byte("a \\" + webSecret + " b" + webSecret)
	}
	return bytes.Repeat([]byte("0123456789abcdef"), rnd.IntN(12_000))
}

// play offers exchanges, some of them from each of a few goroutines.
func (w *webTraffic) play(seed uint64, exchanges, goroutines int, pause time.Duration) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			var open []int64
			for n := g; n < exchanges || len(open) > 0; {
				switch i := 0; {
				case n < exchanges && (len(open) < 4 && rnd.IntN(2) == 0 || len(open) == 0):
					ex := int64(n) + 1
					w.request(ex, HTTPRequest{Method: "POST", Target: "/mcp", Proto: "HTTP/1.1", Host: "h", Length: -1,
						Headers: Fields{"Accept": {"a", "b"}, "X-Odd": {"\xff"}, "Authorization": {"Bearer " + webSecret}}})
					open = append(open, ex)
					n += goroutines
				default:
					i = rnd.IntN(len(open))
					ex, from := open[i], directions[rnd.IntN(2)]
					p := webPiece(rnd)
					end := BodyMore
					if rnd.IntN(6) == 0 {
						end = BodyEnd(1 + rnd.IntN(2))
						if rnd.IntN(2) == 0 {
							p = nil
						}
					}
					w.piece(ex, from, p, end)
					if rnd.IntN(5) == 0 {
						w.response(ex, HTTPResponse{Status: 100 + rnd.IntN(400), Length: -1, Headers: Fields{"Content-Type": {"text/event-stream"}}})
					}
					a, b := w.body(ex, Client), w.body(ex, Server)
					if a.end != BodyMore && b.end != BodyMore || rnd.IntN(40) == 0 {
						w.done(ex)
						open = append(open[:i], open[i+1:]...)
					}
				}
				if pause > 0 && rnd.IntN(8) == 0 {
					time.Sleep(time.Duration(rnd.Int64N(int64(pause))))
				}
			}
		})
	}
	wg.Wait()
}

// The property of bodies: what was offered can be rebuilt, for any bytes in any
// pieces of any exchanges, as lines and as chunk runs, from several goroutines,
// whether the file is open, sealed or repaired.
func TestBodiesRebuilt(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tmp := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var presses atomic.Int64
				press := []func() bool{func() bool { return false }, func() bool { return true }, func() bool { return presses.Add(1)%3 == 0 }}[seed%3]
				r, err := Begin(webConfig(filepath.Join(tmp, "live"), Config{Lossless: seed%4 == 3, press: press}))
				if err != nil {
					t.Fatal(err)
				}
				w := newWeb(r)
				w.play(seed, 20, 1+int(seed)%4, 30*time.Millisecond)
				r.Close(-time.Second)
				if n, m := len(r.q.open), len(r.q.classes); n+m+len(r.bodies.m) > 0 {
					t.Errorf("%d bodies, %d classes and %d states are left", n, m, len(r.bodies.m))
				}
				open := readWith(r.Path(), Options{Verify: true, MaxDecompressed: 64 << 20})
				if open.err != nil || open.end.State != Sealed || open.end.Damage != nil || open.end.Gaps > 0 || len(open.end.Unknown) > 0 {
					t.Fatalf("%v, %+v, %v", open.err, open.end, open.end.Damage)
				}
				keepsRules(t, open.recs)
				checkOrder(t, open.recs)
				w.accounts(t, open.recs, webSecret)
				fetches(t, open)
				resealed(t, open.files[0], tmp, open)
				repaired(t, r.Path(), tmp, open, Options{Verify: true, MaxDecompressed: 64 << 20})
			})
		})
	}
}

func webConfig(dir string, cfg Config) Config {
	argv := []string{"srv", "--token", webSecret}
	cfg.Dir, cfg.Name, cfg.Transport, cfg.Level = dir, "r"+Suffix, "http", LevelFull
	cfg.Listen, cfg.Upstream = "127.0.0.1:1", "http://127.0.0.1:2/mcp"
	cfg.Masker = mask.FromProcess(mask.Key{}, argv, nil)
	return cfg
}

// The queue is full again and again: gaps add up with what was kept, and what they
// swallow of a body is nowhere else.
func TestBodiesInGaps(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tmp := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r, err := Begin(webConfig(filepath.Join(tmp, "live"), Config{press: func() bool { return seed%2 == 1 }}))
				if err != nil {
					t.Fatal(err)
				}
				w := newWeb(r)
				stop := make(chan struct{})
				go func() {
					rnd := rand.New(rand.NewPCG(seed, 99))
					full := false
					for {
						select {
						case <-stop:
							return
						case <-time.After(time.Duration(rnd.IntN(12)) * time.Millisecond):
							full = fillQueue(r, full, !full)
						}
					}
				}()
				w.play(seed, 24, 1+int(seed)%3, 10*time.Millisecond)
				close(stop)
				synctest.Wait()
				r.Close(-time.Second)
				if n := len(r.q.open) + len(r.q.classes) + len(r.bodies.m); n > 0 {
					t.Errorf("%d states are left", n)
				}
				open := readWith(r.Path(), Options{Verify: true, MaxDecompressed: 64 << 20})
				if open.err != nil || open.end.State != Sealed || open.end.Damage != nil {
					t.Fatalf("%v, %+v, %v", open.err, open.end, open.end.Damage)
				}
				if open.end.Gaps == 0 {
					t.Error("no gap")
				}
				keepsRules(t, open.recs)
				w.accounts(t, open.recs, webSecret)
				resealed(t, open.files[0], tmp, open)
				repaired(t, r.Path(), tmp, open, Options{Verify: true, MaxDecompressed: 64 << 20})
			})
		})
	}
}

// fillQueue makes the queue full, or empty again, as far as its bound tells.
func fillQueue(r *Recorder, is, full bool) bool {
	if is == full {
		return is
	}
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	if r.q.used += queueBytes; !full {
		r.q.used -= 2 * queueBytes
	}
	return full
}

// Writes fail for a while: a second file, and the gap's figures add up.
func TestBodiesAndAFullDisk(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tmp := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				d := &disk{}
				if seed%3 == 2 {
					d.half = 5
				}
				r, err := Begin(webConfig(filepath.Join(tmp, "live"), Config{press: func() bool { return seed%2 == 1 },
					wrap: func(f *os.File) io.WriterAt { return diskFile{d, f} }}))
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(100 * time.Millisecond)
					d.set(seed%3 < 2)
					time.Sleep(300 * time.Millisecond)
					d.set(false)
				}()
				w := newWeb(r)
				w.play(seed, 60, 2, 60*time.Millisecond)
				time.Sleep(2 * time.Second)
				w.play(seed+100, 60, 1, 0) // the same numbers: their bodies have ended
				r.Close(-time.Second)
				open := readWith(r.Path(), Options{Verify: true, MaxDecompressed: 64 << 20})
				if open.err != nil || open.end.State != Sealed || open.end.Damage != nil || open.end.Gaps == 0 || open.end.Segments < 2 {
					t.Fatalf("%v, %+v, %v", open.err, open.end, open.end.Damage)
				}
				keepsRules(t, open.recs)
				w.accounts(t, open.recs, webSecret)
				repaired(t, r.Path(), tmp, open, Options{Verify: true, MaxDecompressed: 64 << 20})
			})
		})
	}
}

// A recording with HTTP that is cut at any byte gives the records before.
func TestCutHTTP(t *testing.T) {
	for _, press := range []bool{false, true} {
		tmp := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r, err := Begin(webConfig(filepath.Join(tmp, "live"), Config{press: func() bool { return press }}))
			if err != nil {
				t.Fatal(err)
			}
			w := newWeb(r)
			for ex := range int64(3) {
				w.request(ex+1, HTTPRequest{Method: "GET", Target: "/", Length: 0, End: true})
				w.response(ex+1, HTTPResponse{Status: 200, Length: -1})
				for i := range 4 {
					w.piece(ex+1, Server, []byte("data: "+randomHex(20)+"é"), BodyEnd(i/3))
				}
				w.done(ex + 1)
				time.Sleep(45 * time.Millisecond)
			}
			r.Close(-time.Second)
			whole := readWith(r.Path(), Options{Verify: true})
			if whole.err != nil || whole.end.State != Sealed {
				t.Fatalf("%v %+v", whole.err, whole.end)
			}
			data, err := os.ReadFile(r.Path())
			if err != nil {
				t.Fatal(err)
			}
			last := -1
			var decoders Decoders // of this bubble: they hold channels
			for n := range data {
				path := filepath.Join(tmp, "cut"+Suffix)
				if err := os.WriteFile(path, data[:n], 0o600); err != nil {
					t.Fatal(err)
				}
				got := readWith(path, Options{Decoders: &decoders})
				within(t, fmt.Sprintf("cut at %d", n), got, whole)
				if got.err == nil && len(got.recs) < last {
					t.Fatalf("cut at %d there are %d records, %d before", n, len(got.recs), last)
				}
				last = len(got.recs)
			}
			if last < len(whole.recs)-2 {
				t.Errorf("%d records of %d just before the end", last, len(whole.recs))
			}
		})
	}
}

// Bodies that nobody ends, exchanges that nobody finishes: what is held back is in
// the recording at the end, and the states are bounded.
func TestBodiesWithoutEnd(t *testing.T) {
	r, err := Begin(webConfig(t.TempDir(), Config{Lossless: true}))
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(r)
	const n = 200
	for ex := range int64(n) {
		w.request(ex+1, HTTPRequest{Method: "POST", Target: "/token", Length: -1, Headers: Fields{"Content-Type": {"application/x-www-form-urlencoded"}}})
		w.piece(ex+1, Client, []byte("x=1&y="+webSecret[:9]), BodyMore)
		w.piece(ex+1, Server, []byte("漢"[:2]), BodyMore)
		if ex%2 == 0 {
			w.done(ex + 1)
		}
	}
	if !r.Flush(time.Minute) {
		t.Fatal("not flushed")
	}
	r.Close(time.Minute)
	if len(r.q.open) != n || len(r.q.classes) != n/2 {
		t.Errorf("%d bodies and %d exchanges are open", len(r.q.open), len(r.q.classes))
	}
	recs, end := readAll(t, r.Path(), Options{Verify: true})
	if end.State != Sealed || end.Gaps > 0 {
		t.Errorf("%+v", end)
	}
	w.accounts(t, recs, webSecret)
}

// Somebody who never ends a body cannot make the recorder grow without bound, and
// what is forgotten stays in the recording.
func TestOpenBodiesAreBounded(t *testing.T) {
	r, err := Begin(webConfig(t.TempDir(), Config{Lossless: true, press: func() bool { return true }}))
	if err != nil {
		t.Fatal(err)
	}
	const n, most = 3000, 500
	r.q.most = most
	for ex := range int64(n) {
		r.Event(Record{Kind: KindRequest, Exchange: ex + 1, Request: &HTTPRequest{Method: "POST", Target: "/token", Length: -1}})
		r.Body(&Body{Exchange: ex + 1, From: Client, Data: []byte("漢"[:2])})
	}
	if !r.Flush(time.Minute) {
		t.Fatal("not flushed")
	}
	if len(r.q.open) != most || len(r.q.classes) != most || len(r.bodies.m) != most {
		t.Errorf("%d, %d and %d states of %d", len(r.q.open), len(r.q.classes), len(r.bodies.m), most)
	}
	r.Close(-time.Second)
	bytes := 0
	recs, end := readAll(t, r.Path(), Options{Verify: true})
	for _, rec := range recs {
		if rec.Kind == KindBody {
			bytes += len(rec.Data)
		}
	}
	if end.State != Sealed || end.Gaps > 0 || len(end.Unknown) > 0 || bytes != 2*n {
		t.Errorf("%d bytes of %d, %+v", bytes, 2*n, end)
	}
}

// While nothing can be written, exchanges come and go and must not pile up.
func TestExchangesWhileTheDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var armed atomic.Bool
		r, err := Begin(webConfig(t.TempDir(), Config{wrap: func(f *os.File) io.WriterAt {
			return hungFile{f, hang, &armed}
		}}))
		if err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		w := newWeb(r)
		w.request(1, HTTPRequest{Method: "GET", Length: 0, End: true})
		time.Sleep(time.Second)
		const n = 20_000
		for ex := int64(2); ex < n; ex++ {
			w.request(ex, HTTPRequest{Method: "POST", Target: "/token", Length: -1, Headers: Fields{"Accept": {"application/json"}}})
			w.piece(ex, Client, []byte("{}"), BodyMore)
			w.piece(ex, Client, nil, BodyLast)
			w.response(ex, HTTPResponse{Status: 200, Length: -1})
			w.piece(ex, Server, []byte("漢"[:1]), BodyMore)
			w.count(Client, 1)
			r.Event(Record{Kind: KindClose, Exchange: ex, Close: &Close{Who: ByClient, What: ResponseBody}, From: Client})
			w.done(ex)
		}
		if r.q.used > queueBytes+slabSize || len(r.q.open)+len(r.q.classes) > 0 || len(r.q.gone) > 1 {
			t.Errorf("%d bytes are queued, %d bodies and %d exchanges known, %d gone", r.q.used, len(r.q.open), len(r.q.classes), len(r.q.gone))
		}
		close(hang)
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 1 || len(r.bodies.m) > 0 {
			t.Errorf("%+v, %d states", end, len(r.bodies.m))
		}
		w.accounts(t, recs, webSecret)
	})
}

type hungFile struct {
	f     *os.File
	hang  chan struct{}
	armed *atomic.Bool
}

func (h hungFile) WriteAt(p []byte, off int64) (int, error) {
	if h.armed.Load() {
		<-h.hang
	}
	return h.f.WriteAt(p, off)
}

// A head of more than a line holds becomes a gap, as a line and in a chunk run.
func TestHeadOverTheLimit(t *testing.T) {
	for _, press := range []bool{false, true} {
		r, err := Begin(webConfig(t.TempDir(), Config{Lossless: true, press: func() bool { return press }}))
		if err != nil {
			t.Fatal(err)
		}
		w := newWeb(r)
		w.request(1, HTTPRequest{Method: "GET", Length: 0, End: true})
		w.response(1, HTTPResponse{Status: 200, Headers: Fields{"X": {strings.Repeat("x", 9<<20)}}})
		w.piece(1, Server, []byte("{}"), BodyLast)
		w.done(1)
		r.Close(-time.Second)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 1 || end.Lost != 1 {
			t.Errorf("press %v: %+v", press, end)
		}
		w.accounts(t, recs, "")
		if !r.Lossy() {
			t.Error("nothing was lost")
		}
	}
}

// --lossless: bodies, heads and ends wait for the disk, and nothing is lost.
func TestLosslessBodiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		r, err := Begin(webConfig(t.TempDir(), Config{Lossless: true, wrap: func(f *os.File) io.WriterAt { return diskFile{d, f} }}))
		if err != nil {
			t.Fatal(err)
		}
		d.set(true)
		w := newWeb(r)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ex := range int64(300) { // 30 MB, the queue holds 16
				w.request(ex+1, HTTPRequest{Method: "POST", Target: "/mcp", Length: -1})
				w.piece(ex+1, Server, bytes.Repeat([]byte("漢字 "), 14_000), BodyMore)
				w.piece(ex+1, Server, []byte("漢"[:1]), BodyMore)
				w.done(ex + 1)
			}
		}()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Error("traffic did not wait")
		default:
		}
		d.set(false)
		<-done
		r.Close(time.Minute)
		recs, end := readAll(t, r.Path(), Options{Verify: true})
		if end.State != Sealed || end.Gaps != 0 {
			t.Errorf("%+v", end)
		}
		w.accounts(t, recs, webSecret)
	})
}
