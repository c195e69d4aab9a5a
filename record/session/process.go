package session

import (
	"bytes"
	"fmt"

	"github.com/sixlink/sixlink/record"
)

// stderrTail is how many bytes of stderr a session keeps.
const stderrTail = 2 << 10

// process is a stdio recording's carrier: one server process. It holds one
// session, or several when the host shook hands more than once.
type process struct {
	channel
	pid     int
	command []string

	lines map[record.From]*partial // lines whose parts are being put together
	seen  map[record.From]bool     // directions that have had a line

	made        bool // the server's next line is sixlink's own
	tail        []byte
	exitSeq     int64
	exit        *record.Exit
	signals     []string // that were passed on to the process
	stdoutEOF   bool
	first       string // who ended it
	firstSeq    int64
	firstSignal bool // first rests on a signal that the process may survive
	firstEOF    bool // first rests on the host's end of file, and it may still read
	deaf        bool // the host does not read any more
}

func newProcess(d *Decoder, rec *record.Record) *process {
	p := &process{channel: newChannel(d), command: d.hdr.Command,
		lines: map[record.From]*partial{}, seen: map[record.From]bool{}}
	p.over, p.opening = p, true
	p.midway = d.first && (rec.Seq > 1 || d.hdr.Segment > 0 || d.hdr.FirstSeq > 1)
	p.newSession(rec.Seq, rec.At)
	return p
}

func (p *process) newSession(seq, at int64) *sess {
	s := p.channel.newSession("stdio", seq, at)
	p.d.res.Sessions = append(p.d.res.Sessions, s.Session)
	return s
}

// busy tells whether the process has had any traffic or end.
func (p *process) busy() bool { return len(p.seen) > 0 || p.exitSeq != 0 || p.firstSeq != 0 }

// frame takes a frame record: a line, or a part of one.
func (p *process) frame(rec *record.Record) {
	if rec.From == record.Stderr {
		p.stderr(rec)
		return
	}
	if l := p.join(rec); l != nil {
		if l.from == record.Server {
			l.made, p.made = p.made, false
		}
		p.line(l)
	}
}

func (p *process) stderr(rec *record.Record) {
	s := p.cur
	s.touch(rec.Seq, rec.At)
	if !rec.More {
		s.Lines[record.Stderr]++
		if len(bytes.TrimSpace(rec.Data)) == 0 && !rec.Cont {
			s.Blank[record.Stderr]++
		}
	}
	p.seen[record.Stderr] = true
	for _, b := range [][]byte{rec.Data, rec.EOL} {
		if len(b) > stderrTail {
			b = b[len(b)-stderrTail:]
		}
		p.tail = append(p.tail, b...)
	}
	if len(p.tail) > 2*stderrTail { // moved seldom, so a flood costs little
		p.tail = append(p.tail[:0], p.tail[len(p.tail)-stderrTail:]...)
	}
}

// close takes a close record: who ended what first decides what an unanswered call means.
func (p *process) close(rec *record.Record) {
	c := rec.Close
	p.cur.touch(rec.Seq, rec.At)
	if c.What == record.Signal && c.To != "" {
		p.signals = append(p.signals, c.Signal)
	}
	if c.Who == record.ByServer && c.What == record.Stdout {
		p.stdoutEOF = true
	}
	if c.Who == record.ByClient && c.What == record.Stdout {
		p.deaf = true
	}
	if p.first != "" || c.What == record.StderrPipe { // servers close their stderr and live on
		return
	}
	switch c.Who {
	case record.ByClient, record.ByProxy, record.ByServer:
		p.first, p.firstSeq, p.firstSignal = c.Who, rec.Seq, c.What == record.Signal
		p.firstEOF = c.Who == record.ByClient && c.What == record.Stdin
	}
}

// crashed tells whether the server broke off by itself although the host's end
// of file came first. A host that has said all it will say (a pipe from a file)
// still waits for answers: it has not left. A server that ends in order, that
// owes nothing, that was sent a signal, or that nobody reads any more ended
// because the host did.
func (p *process) crashed() bool {
	return p.firstEOF && !p.deaf && len(p.signals) == 0 &&
		p.exit != nil && (p.exit.Code == nil || *p.exit.Code != 0) && p.owes()
}

// owes tells whether a request of the host's is open that the server had to answer.
func (p *process) owes() bool {
	for _, o := range p.asked[record.Client].open {
		for ; o != nil; o = o.older {
			fallback := o.ex.Method == methodDiscover && o.s.legacyOK // a probe that was not understood (wire.md 1.6)
			if o.ex.CancelledSeq == 0 && o.ex.Method != methodListen && !fallback && !o.s.superseded && p.gapSeq <= o.ex.Seq {
				return true
			}
		}
	}
	return false
}

func (p *process) exited(rec *record.Record) {
	p.cur.touch(rec.Seq, rec.At)
	p.exitSeq, p.exit = rec.Seq, rec.Exit
	if p.first == "" {
		p.first, p.firstSeq = record.ByServer, rec.Seq
	}
}

// signalNumbers are those that hosts send; a shell, or a handler in node or
// Python, turns death by one into 128 + its number.
var signalNumbers = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15}

// passedOn tells whether the process died of a signal that was not its own.
func (p *process) passedOn() bool {
	if p.exit == nil {
		return false
	}
	for _, sig := range p.signals {
		if p.exit.Signal != "" && p.exit.Signal == sig {
			return true
		}
		if n := signalNumbers[sig]; n != 0 && p.exit.Code != nil && *p.exit.Code == 128+n {
			return true
		}
	}
	return false
}

// lost takes a gap.
func (p *process) lost(g record.Gap, seq int64) {
	s := p.cur
	s.Gaps = append(s.Gaps, g)
	p.made = false // the line that it was about may be lost
	for from, part := range p.lines {
		if _, hit := g.Streams[from]; part.open && (hit || len(g.Streams) == 0) {
			p.cut(part, "a gap lies inside the line")
		}
	}
	if _, only := g.Streams[record.Stderr]; only && len(g.Streams) == 1 {
		return // lost log lines touch no message
	}
	if p.firstGap == 0 {
		p.firstGap = g.FirstSeq
	}
	p.gapSeq = max(p.gapSeq, g.LastSeq, seq)
	s.wireGaps = append(s.wireGaps, g)
	s.lists.Gap()
}

// undelivered takes an undelivered record.
func (p *process) undelivered(rec *record.Record) {
	p.cur.touch(rec.Seq, rec.At)
	l := lostRange{from: rec.From, off: rec.Off}
	why := ""
	if rec.Lost != nil {
		why = rec.Lost.Error
		if rec.Lost.Bytes > 0 {
			l.end = rec.Off + rec.Lost.Bytes
		}
	}
	p.cur.remark(FlagUndelivered, rec.Seq, rec.From, fmt.Sprintf("bytes from %d on never reached the other side: %s", rec.Off, why))
	r := p.asked[rec.From]
	if r == nil || len(p.unsent) == maxUnsent {
		return
	}
	p.unsent = append(p.unsent, l)
	for _, o := range r.open {
		for ; o != nil; o = o.older {
			if l.hits(rec.From, o.off, o.end) {
				o.ex.Undelivered = true
			}
		}
	}
}
