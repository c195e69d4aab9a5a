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
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sixlink/sixlink/record/mask"
)

// The traffic of FuzzRecording is a program: a byte says what to do, its highest
// two bits the direction, and for most a second byte how much of it.
const (
	opBytes   = iota // the n bytes that follow
	opMessage        // a message with a number
	opCRLF
	opFeeds  // n line feeds
	opOpen   // a text without its end
	opLong   // up to 64 KiB of one letter
	opNoise  // up to 4 KiB that do not pack
	opSecret // the credential, or n bytes of it
	opRest   // the credential from byte n on
	opPause
	opSettle // until the recorder has nothing to do
	opEvent
	opEnd   // the direction's end of file
	opPress // chunk runs from now on, or lines
	opFlush
	opLook // a reader opens the live recording
	opFull // the queue is full until the next opFull
	opDisk // writes fail after n bytes until the next opDisk
	opTold // n lines and one with the credential
	// Of HTTP; the exchange is n's lowest three bits.
	opHead     // of a request or of a response
	opBody     // a piece of what the rest of n says
	opBodyEnd  // a piece, and the end of the body
	opExchange // nothing more comes of it
	ops
)

// op spells an operation.
func op(what int, from From, n ...byte) []byte {
	return append([]byte{byte(what | index(from)<<6)}, n...)
}

// FuzzRecording records traffic and compares what the readers of its recording
// give: those that look at the live file, one that follows it, and the readers of
// the open, the sealed, the unpacked, the cut, the damaged and the repaired
// file. small gives the recording a cap that is soon reached; cut and flip are
// where the cut and a flipped bit stand.
func FuzzRecording(f *testing.F) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	noise := op(opNoise, Server, 255)
	talk := join(op(opMessage, Client, 1), op(opMessage, Server, 1), op(opOpen, Stderr, 3), op(opPause, Client, 9))
	for _, traffic := range [][]byte{
		nil,
		talk,
		join(op(opPress, Client), talk, op(opLook, Client), talk, op(opEvent, Server, 2)),
		join(op(opLook, Client), talk, op(opPress, Client), talk, op(opSettle, Client), op(opPress, Client), talk, op(opLook, Client)),
		join(op(opOpen, Server, 20), op(opPause, Client, 9), op(opOpen, Server, 5), op(opFeeds, Server, 3), op(opLong, Server, 255), op(opEnd, Server)),
		join(op(opSecret, Client, 40), op(opFeeds, Client, 1), op(opSecret, Stderr, 9), op(opPause, Client, 9), op(opRest, Stderr, 9), op(opCRLF, Stderr)),
		join(op(opPress, Client), op(opSecret, Client, 40), op(opFeeds, Client, 9), op(opSecret, Stderr, 9), op(opPause, Client, 9), op(opRest, Stderr, 9)),
		join(op(opOpen, Client, 7), op(opFull, Client), talk, op(opMessage, Client, 7), op(opFull, Client), talk),
		join(op(opPress, Client), op(opSecret, Server, 9), op(opFull, Client), talk, op(opFull, Client), op(opRest, Server, 9), talk),
		join(talk, op(opSettle, Client), op(opDisk, Client, 5), talk, op(opPause, Client, 40), op(opDisk, Client, 0), op(opPause, Client, 40), talk, op(opLook, Client)),
		join(op(opPress, Client), talk, op(opSettle, Client), op(opDisk, Client, 9), talk, op(opPause, Client, 40), op(opDisk, Client, 0), op(opPause, Client, 40), talk),
		join(op(opTold, Server, 3), op(opPress, Client), op(opPause, Client, 9), op(opTold, Client, 2), op(opTold, Stderr, 255), op(opTold, Server, 0)),
		join(op(opHead, Client, 1), op(opBody, Client, 9), op(opBody, Client, 17), op(opBodyEnd, Client, 25), op(opHead, Server, 1), op(opBody, Server, 33), op(opPause, Client, 9), op(opBody, Server, 41), op(opExchange, Client, 1), talk, op(opLook, Client)),
		join(op(opPress, Client), op(opHead, Client, 2), op(opBody, Server, 50), op(opBody, Server, 58), op(opLook, Client), op(opBodyEnd, Server, 66), op(opHead, Server, 10), op(opBody, Client, 2)),
		join(op(opHead, Client, 9), op(opBody, Server, 34), op(opBody, Server, 41), op(opFull, Client), op(opBody, Server, 49), op(opHead, Client, 3), op(opBodyEnd, Client, 11), op(opFull, Client), op(opBody, Server, 57), talk),
		join(op(opHead, Client, 9), op(opBody, Server, 33), op(opSettle, Client), op(opDisk, Client, 5), op(opBody, Server, 49), op(opBody, Server, 81), talk, op(opPause, Client, 40), op(opDisk, Client, 0), op(opPause, Client, 40), op(opBodyEnd, Server, 65), op(opExchange, Client, 1)),
		bytes.Repeat(join(noise, op(opSettle, Client), talk), 5), // to the cap
		join(op(opPress, Client), bytes.Repeat(join(noise, op(opFlush, Client), talk), 5), op(opLook, Client)),
		join(bytes.Repeat(join(op(opPress, Client), noise, op(opFlush, Client)), 3), op(opLook, Client), talk),
		join(op(opBytes, Stderr, 5), []byte("\xff\xfe\n{}"), op(opEvent, Client, 0), op(opEvent, Client, 1), op(opEvent, Client, 3), op(opPause, Client, 255), op(opEvent, Stderr, 4)),
	} {
		f.Add(traffic, bytes.Count(traffic, noise) > 2, uint16(len(traffic)*999), uint32(len(traffic)*90_000_000))
	}
	f.Fuzz(func(t *testing.T, traffic []byte, small bool, cut uint16, flip uint32) {
		if len(traffic) > 4<<10 {
			return
		}
		dir, err := os.MkdirTemp("", "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		synctest.Test(t, func(t *testing.T) { recordAndCompare(t, dir, traffic, small, cut, flip) })
	})
}

// fuzzArgv has the credential of the fuzzed traffic.
var fuzzArgv = []string{"srv", "--token", "s3cr3t-Value/With=Chars0123"}

// flaky is a disk that is full after some bytes, while it is broken.
type flaky struct {
	mu     sync.Mutex
	broken bool
	left   int
	failed bool
}

type flakyFile struct {
	d *flaky
	f *os.File
}

func (f flakyFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n := len(p)
	if f.d.broken {
		n = min(n, f.d.left)
		f.d.left -= n
	}
	n, err := f.f.WriteAt(p[:n], off)
	if err == nil && n < len(p) {
		f.d.failed, err = true, syscall.ENOSPC
	}
	return n, err
}

// seen is what a reader saw of the live recording.
type seen struct {
	sizes map[string]int64 // of the files, after it looked
	recs  []*Record
}

// offered is what the recorder was given.
type offered struct {
	bytes  [3][]byte
	events []Kind
	looks  []seen
	web    *webTraffic
}

// play has the recorder record the traffic.
func play(t *testing.T, r *Recorder, traffic []byte, pressed *atomic.Bool, d *flaky) *offered {
	got := &offered{web: newWeb(r)}
	full := false
	setFull := func(on bool) {
		if full == on {
			return
		}
		full = on
		r.q.mu.Lock()
		defer r.q.mu.Unlock()
		if r.q.used += queueBytes; !on {
			r.q.used -= 2 * queueBytes
		}
	}
	setDisk := func(broken bool, left int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.broken, d.left = broken, left
	}
	var ended [3]bool
	steps, total := 0, 0
	next := func() byte {
		if len(traffic) == 0 {
			return 0
		}
		c := traffic[0]
		traffic = traffic[1:]
		return c
	}
	for len(traffic) > 0 && steps < 200 && total < 400<<10 && len(got.looks) < 6 {
		steps++
		c := next()
		i := min(int(c>>6), 2)
		what, from := int(c&63)%ops, directions[i]
		var p []byte
		switch what {
		case opBytes:
			n := min(int(next()), len(traffic))
			p = traffic[:n:n]
			traffic = traffic[n:]
		case opMessage:
			p = message(int(next()))
		case opCRLF:
			p = []byte("{ \"a\" : \"\\\\\" } \r\n")
		case opFeeds:
			p = bytes.Repeat(newline, int(next()))
		case opOpen:
			p = []byte(strings.Repeat("{\"text\":\"é漢😀", 1+int(next())))
		case opLong:
			p = bytes.Repeat([]byte{'x'}, int(next())*257)
		case opNoise:
			n := next()
			rnd := rand.New(rand.NewPCG(uint64(steps), uint64(n)))
			p = make([]byte, int(n)*16)
			for i := range p {
				p[i] = byte(rnd.Uint32())
			}
		case opSecret:
			p = []byte(fuzzArgv[2][:min(int(next()), len(fuzzArgv[2]))])
		case opRest:
			p = []byte(fuzzArgv[2][min(int(next()), len(fuzzArgv[2])):])
		case opTold:
			p = append(bytes.Repeat([]byte("{\"log\":\"nothing here\"}\n"), int(next())), "key "+fuzzArgv[2]+"!\n"...)
		case opPause:
			// Never at the instant at which an open line is cut.
			n := time.Duration(next())
			time.Sleep(n*n*time.Millisecond | 1)
		case opSettle:
			synctest.Wait()
		case opEvent:
			code := int(next())
			e := []Record{
				{Kind: KindExit, Exit: &Exit{Code: &code}},
				{Kind: KindClose, Close: &Close{Who: ByClient, What: Stdin, Error: "broken \"pipe\" " + fuzzArgv[2]}},
				{Kind: KindStall, From: from, Stall: &Stall{Ms: 250}},
				{Kind: KindStart, Start: &Start{PID: 7}},
				{Kind: KindUndelivered, From: from, Off: int64(len(got.bytes[i])), Lost: &Undelivered{Bytes: 3, Error: "gone"}},
				{Kind: KindError, Error: &Error{What: "spawn", Error: "\xff\x00", Code: 127}},
			}[code%6]
			r.Event(e)
			got.events = append(got.events, e.Kind)
		case opHead:
			n := int64(next())
			if ex := n&7 + 1; from == Client {
				got.web.request(ex, HTTPRequest{Method: "POST", Target: []string{"/mcp", "/token?code=abcdefgh"}[n>>3&1], Length: -1, Headers: Fields{"Cookie": {"a=\xffb"}, "X-Note": {fuzzArgv[2]}}})
			} else {
				got.web.response(ex, HTTPResponse{Status: 200 + int(n), Length: -1})
			}
		case opBody, opBodyEnd:
			n := next()
			part := webParts[int(n>>3)%len(webParts)]
			end := BodyMore
			if what == opBodyEnd {
				end = BodyEnd(1 + n>>3&1)
			}
			got.web.piece(int64(n&7)+1, directions[i&1], []byte(part), end)
			total += len(part)
		case opExchange:
			got.web.done(int64(next()&7) + 1)
		case opEnd:
			r.End(from)
			ended[i] = true
		case opPress:
			pressed.Store(!pressed.Load())
		case opFlush:
			r.Flush(time.Minute)
		case opLook:
			recs, _ := readAll(t, r.Path(), Options{})
			got.looks = append(got.looks, seen{fileSizes(t, filepath.Dir(r.Path())), recs})
		case opFull:
			setFull(!full)
		case opDisk:
			n := int(next())
			setDisk(!d.broken, n*n)
		}
		if len(p) > 0 && !ended[i] {
			r.Data(from, p)
			got.bytes[i] = append(got.bytes[i], p...)
			total += len(p)
		}
	}
	setFull(false)
	setDisk(false, 0)
	return got
}

// webParts are pieces of bodies.
var webParts = []string{
	"", `{"jsonrpc":"2.0","id":1,"result":{}}`, "data: {\"x\":\"é", "漢字"[:4], "漢字"[4:], "\xff\x00\xfe", fuzzArgv[2][:11], fuzzArgv[2][11:], "\n \r\n",
	`{"access_token":"abcd`, `efgh","x":["y"]}`, "a" + fuzzArgv[2] + "\\", "grant_type=x&code=abcdefgh", strings.Repeat("x", 70_000), "😀",
}

func fileSizes(t *testing.T, dir string) map[string]int64 {
	sizes := map[string]int64{}
	for _, name := range dirNames(t, dir) {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil {
			sizes[name] = fi.Size()
		}
	}
	return sizes
}

func recordAndCompare(t *testing.T, tmp string, traffic []byte, small bool, cut uint16, flip uint32) {
	dir := filepath.Join(tmp, "live")
	var pressed atomic.Bool
	d := new(flaky)
	cfg := Config{Dir: dir, Name: "r" + Suffix, Transport: "stdio", Level: LevelFull, Command: fuzzArgv,
		Upstream: "http://127.0.0.1/mcp?token=" + fuzzArgv[2], Masker: mask.FromProcess(mask.Key{}, fuzzArgv, nil), press: pressed.Load,
		wrap: func(f *os.File) io.WriterAt { return flakyFile{d, f} }}
	if small {
		cfg.Max = MinMaxRecording // in segments of a quarter of that
	}
	r, err := Begin(cfg)
	if err != nil {
		t.Fatal(err)
	}
	follower := make(chan reading, 1)
	go func() { follower <- readWith(r.Path(), Options{Follow: true}) }()
	got := play(t, r, traffic, &pressed, d)
	r.Close(-time.Second) // not sealed
	followed := <-follower

	open := readWith(r.Path(), Options{Verify: true})
	if open.err != nil || open.end.State != Sealed || open.end.Damage != nil || open.end.Torn {
		t.Fatalf("open: %v, %+v, %v", open.err, open.end, open.end.Damage)
	}
	keepsRules(t, open.recs)
	checkOrder(t, withoutGaps(open.recs))
	accounts(t, got, open)
	got.web.accounts(t, open.recs, fuzzArgv[2])
	fetches(t, open)

	if followed.err != nil || followed.end.Damage != nil {
		t.Fatalf("following: %v, %+v, %v", followed.err, followed.end, followed.end.Damage)
	}
	seenBefore(t, "following", followed.recs, open.recs, !d.failed)
	if followed.end.State != Sealed || followed.end.Records < open.end.Records {
		t.Fatalf("following: %+v, then %+v", followed.end, open.end)
	}
	for i, s := range got.looks {
		seenBefore(t, fmt.Sprintf("look %d", i), s.recs, open.recs, !d.failed)
	}

	// Sealed, as Close does it and as plain tools then read it.
	last := open.files[len(open.files)-1]
	if len(open.files) == 1 {
		resealed(t, last, tmp, open)
	}
	repaired(t, r.Path(), tmp, open, Options{Verify: true})
	plain := filepath.Join(tmp, "plain")
	unpack(t, filepath.Join(tmp, "out"+Suffix), plain)
	again := readWith(plain, Options{Verify: true})
	if again.err != nil || again.end.State != Sealed {
		t.Fatalf("unpacked: %v, %+v", again.err, again.end)
	}
	sameRecs(t, "unpacked", believed(open.recs, true), believed(again.recs, true), false)

	// Cut off in one of its files, and then one bit is another. The cut moves from
	// the whole file to nothing.
	name := filepath.Base(open.files[int(flip)%len(open.files)])
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	n := len(data) - int(int64(len(data))*int64(cut)/65535)
	if err := os.Truncate(filepath.Join(dir, name), int64(n)); err != nil {
		t.Fatal(err)
	}
	torn := readWith(r.Path(), Options{})
	within(t, fmt.Sprintf("cut at %d", n), torn, open)
	if torn.err == nil {
		repaired(t, r.Path(), tmp, torn, Options{})
	}
	if len(open.files) == 1 && !d.failed {
		for i, s := range got.looks {
			if s.sizes[name] <= int64(n) && len(torn.recs) < len(s.recs) {
				t.Fatalf("cut at %d there are %d records, look %d saw %d in %d bytes", n, len(torn.recs), i, len(s.recs), s.sizes[name])
			}
		}
	}
	bit := int(int64(len(data)) * 8 * int64(flip) >> 32)
	data[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	within(t, fmt.Sprintf("bit %d flipped", bit), readWith(r.Path(), Options{}), open)
}

func withoutGaps(recs []*Record) []*Record {
	for _, r := range recs {
		if r.Kind == KindGap {
			return nil
		}
	}
	return recs
}

// accounts holds the recording against what was offered: each byte is in it as
// it was, masked, or in a gap; so is each event.
func accounts(t *testing.T, got *offered, is reading) {
	t.Helper()
	var off [3]int64
	events, lost := got.events, false
	for _, r := range is.recs {
		switch r.Kind {
		case KindHeader, KindClosing, KindClock, KindRequest, KindResponse, KindBody:
			if bytes.Contains(r.Line, []byte(fuzzArgv[2])) {
				t.Fatalf("seq %d has the credential", r.Seq)
			}
		case KindGap:
			lost = true
			for from, s := range r.Gap.Streams {
				i := index(from)
				if off[i] = s.Off + s.Bytes; off[i] > int64(len(got.bytes[i])) || s.Frames != countLF(got.bytes[i][s.Off:off[i]]) {
					t.Fatalf("a gap of %+v in the %d bytes of %s", s, len(got.bytes[i]), from)
				}
			}
		case KindFrame:
			i := index(r.From)
			all := append(bytes.Clone(r.Data), r.EOL...)
			off[i] += int64(len(all))
			if off[i] > int64(len(got.bytes[i])) {
				t.Fatalf("seq %d: %s has %d bytes, %d were offered", r.Seq, r.From, off[i], len(got.bytes[i]))
			}
			want := bytes.Clone(got.bytes[i][r.Off:off[i]])
			for _, m := range r.Masked {
				copy(want[m.Off:m.Off+m.Len], strings.Repeat("*", int(m.Len)))
			}
			if !bytes.Equal(want, all) {
				t.Fatalf("seq %d: %q, offered was %q", r.Seq, all, want)
			}
			if bytes.Contains(r.Line, []byte(fuzzArgv[2])) {
				t.Fatalf("seq %d has the credential", r.Seq)
			}
			if i := bytes.IndexByte(all, '\n'); i >= 0 && i != len(all)-1 {
				t.Fatalf("seq %d is two lines", r.Seq)
			}
		default:
			for len(events) > 0 && lost && events[0] != r.Kind {
				events = events[1:]
			}
			if len(events) == 0 || events[0] != r.Kind {
				t.Fatalf("a %s record, want one of %v", r.Kind, events)
			}
			events = events[1:]
		}
	}
	for i, n := range off {
		if n != int64(len(got.bytes[i])) {
			t.Fatalf("%s: %d bytes are accounted for, %d were offered", directions[i], n, len(got.bytes[i]))
		}
	}
	if len(events) > 0 && !lost {
		t.Fatalf("%v are not there", events)
	}
}

// seenBefore holds records that were seen earlier against those of the end: they
// are the first of them. Where the disk failed, a gap may stand for some that
// were seen in a file that was cut back.
func seenBefore(t *testing.T, what string, before, after []*Record, exact bool) {
	t.Helper()
	if exact {
		if len(before) > len(after) {
			t.Fatalf("%s: %d records, then %d", what, len(before), len(after))
		}
		sameRecs(t, what, after[:len(before)], before, true)
		return
	}
	contains(t, what, before, after)
}

// contains holds each record of some against the one of all with its seq, or a gap.
func contains(t *testing.T, what string, some, all []*Record) {
	t.Helper()
	for _, r := range some {
		if r.Seq == 0 || r.Line == nil {
			continue
		}
		for len(all) > 0 && all[0].Seq < r.Seq {
			all = all[1:]
		}
		if len(all) == 0 {
			t.Fatalf("%s: seq %d is at the end no more", what, r.Seq)
		}
		if a := all[0]; a.Seq == r.Seq && !bytes.Equal(a.Line, r.Line) || a.Seq != r.Seq && (a.Kind != KindGap || a.Gap.FirstSeq > r.Seq) {
			t.Fatalf("%s: %s\nat the end: %s", what, r.Line, a.Line)
		}
	}
}

// within holds what is read of a damaged recording against the whole one: the
// same records up to the damage, and from the next file on; in between one gap
// that the reader makes.
func within(t *testing.T, what string, got, whole reading) {
	t.Helper()
	if got.err != nil {
		return // not even its header
	}
	keepsRules(t, got.recs)
	known := map[int64]*Record{}
	for _, r := range whole.recs {
		known[r.Seq] = r
	}
	for _, r := range got.recs {
		if r.Seq == 0 || r.Line == nil {
			continue
		}
		if w := known[r.Seq]; w == nil || !bytes.Equal(w.Line, r.Line) || w.At != r.At || w.Off != r.Off || !bytes.Equal(w.Data, r.Data) || !bytes.Equal(w.EOL, r.EOL) {
			t.Fatalf("%s: seq %d was not recorded: %s", what, r.Seq, r.Line)
		}
	}
}

func unpack(t *testing.T, path, out string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	left := int64(64 << 20)
	l, err := newLineReader(f, 1<<20, 0, &left, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var text []byte
	for {
		it, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil || it.run != nil {
			t.Fatalf("unpacking: %v, %v", err, it.run)
		}
		text = append(append(text, it.line...), '\n')
	}
	if err := os.WriteFile(out, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
