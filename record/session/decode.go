package session

import (
	"errors"
	"io"
	"strconv"

	"github.com/sixlink/sixlink/record"
)

// Options of a decoder. The zero value is good for everything.
type Options struct {
	// MaxLine is how many bytes of one line are put together; a longer line is
	// remarked ("too-long") and is no message. 0: 64 MiB.
	MaxLine int64
	// End tells, once next has returned io.EOF, in which state the recording is
	// and whether a repair says that it was torn. Only [Decode] asks. nil: a
	// recording whose last closing record says that it is the last is sealed,
	// any other torn.
	End func() (state record.State, torn bool)
	// Hold says that the data of the records stay as they are for as long as the
	// sessions are used, so that values at the recording's beginning need not be
	// copied or fetched.
	Hold bool
	// Lean leaves out what only those want who show a session: of Requests those that
	// were answered, but for the last of each side, and the Attempts of calls.
	Lean bool
	// Settled, when it is set, is for who only wants to know which answer is whose, of
	// long recordings: a request that was answered is handed to it, with its session
	// (whose fields are not final yet), some time after its answer, and is then let go
	// of with its call; Session.SettledCalls counts those. Values are not kept: they
	// cannot be asked for. Over HTTP, and what Finish returns, the requests are in
	// Session.Requests as ever. What was captured of catalogs is then not to be trusted.
	Settled func(*Session, *Exchange)
	// SessionKey says how exchanges over HTTP are put into sessions:
	// "header:NAME", "meta:POINTER" (a JSON pointer into _meta), "connection" or
	// "principal". Empty: by Mcp-Session-Id, and where there is none by what else is
	// on record. See [CheckSessionKey]; what is wrong counts as empty.
	SessionKey string
}

const defaultMaxLine = 64 << 20

// Result is what a recording holds.
type Result struct {
	Sessions []*Session
	State    record.State
	// Torn says that the recording ends where its writer was cut off.
	Torn bool
	// Records counts the records that took a seq, Unknown those of kinds that
	// this version does not know.
	Records int64
	Unknown map[record.Kind]int
	// Stalls counts writes that were blocked by their reader, by direction.
	Stalls map[record.From]int
	// Clock is what the recording tells of the wall clock, for those who compare
	// recordings.
	Clock Clock
}

// Decoder makes sessions of records, one record after the other. Its memory
// grows with the calls, the open exchanges and the catalogs, not with the bytes.
// It is not safe for concurrent use.
type Decoder struct {
	hdr  record.Header
	src  Source
	opts Options
	res  Result

	p     *process
	web   *web
	brief *bridge      // of a recording whose exchanges are sixlink's own
	first bool         // no record that took a seq has been seen yet
	gaps  []record.Gap // before the first process

	closing *record.Closing
	msg     message    // reused
	line    line       // reused
	bare    *frameData // with Options.Settled: of all values
	held    int        // bytes of values that are held
	read    int64      // bytes of all lines: what Options.Hold keeps may lie anywhere among them
}

// NewDecoder returns a decoder for one recording. Values over 1 KiB are left in
// the recording and fetched from src; with a nil src they are all held.
func NewDecoder(hdr *record.Header, src Source, opts Options) *Decoder {
	d := &Decoder{src: src, opts: opts, first: true}
	if hdr != nil {
		d.hdr = *hdr
	}
	if d.opts.MaxLine <= 0 {
		d.opts.MaxLine = defaultMaxLine
	}
	if CheckSessionKey(opts.SessionKey) != nil {
		d.opts.SessionKey = ""
	}
	if d.hdr.Bridge {
		d.brief = newBridge(d)
	}
	d.res.Unknown = map[record.Kind]int{}
	if y := d.hdr.Start.Year(); y > 1677 && y < 2262 && !d.hdr.Start.IsZero() { // what fits
		d.res.Clock.Start = d.hdr.Start.UnixNano()
	}
	d.res.Stalls = map[record.From]int{}
	return d
}

// Decode reads all records of one recording and returns its sessions. next
// returns io.EOF at the end. On another error the sessions up to there are
// returned beside it, as those of a torn recording.
func Decode(hdr *record.Header, next func() (*record.Record, error), src Source, opts Options) (*Result, error) {
	d := NewDecoder(hdr, src, opts)
	for {
		rec, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d.Finish(record.Torn, true), err
		}
		d.Add(rec)
	}
	state, torn := record.Torn, true
	switch c := d.closing; {
	case opts.End != nil:
		state, torn = opts.End()
	case c != nil && c.Last:
		state, torn = record.Sealed, c.Torn
	}
	return d.Finish(state, torn), nil
}

// Add takes the next record. Nothing of rec.Data is kept but what is copied.
func (d *Decoder) Add(rec *record.Record) {
	if rec == nil {
		return
	}
	if rec.Seq > 0 {
		d.res.Records++
	}
	d.read += int64(max(len(rec.Line), len(rec.Data)))
	if ofHTTP(rec) {
		switch {
		case d.brief != nil:
			d.brief.add(rec)
		default:
			if d.web == nil {
				d.web = newWeb(d, rec)
				for _, g := range d.gaps {
					d.web.lastGap = &g
				}
				d.gaps = nil
			}
			d.web.add(rec)
		}
		d.first = false
		return
	}
	switch rec.Kind {
	case record.KindHeader, record.KindCheck:
		return
	case record.KindClosing:
		d.closing = rec.Closing
		return
	case record.KindConversation: // the host's side: record/host
	case record.KindClock:
		d.res.Clock.add(rec)
	case record.KindStart:
		d.start(rec)
	case record.KindFrame:
		d.process(rec).frame(rec)
	case record.KindClose:
		if rec.Close != nil {
			d.process(rec).close(rec)
		}
	case record.KindExit:
		d.process(rec).exited(rec)
	case record.KindError:
		if rec.Error != nil && rec.Error.What == record.Made {
			d.process(rec).made = true
			return
		}
		if rec.Error != nil {
			p := d.process(rec)
			p.cur.Connection.Spawn = &SpawnError{Seq: rec.Seq, Error: rec.Error.Error, Code: rec.Error.Code}
			p.cur.touch(rec.Seq, rec.At)
		}
	case record.KindUndelivered:
		d.process(rec).undelivered(rec)
	case record.KindStall:
		d.res.Stalls[rec.From]++
		if rec.Stall != nil {
			d.process(rec).cur.remark(FlagStall, rec.Seq, rec.From, "a write was blocked for "+strconv.FormatInt(rec.Stall.Ms, 10)+" ms by its reader")
		}
	case record.KindGap:
		if rec.Gap != nil {
			d.gap(rec)
		}
	default:
		d.res.Unknown[rec.Kind]++
	}
	if rec.Seq > 0 {
		d.first = false
	}
}

// process returns the process that the record belongs to.
func (d *Decoder) process(rec *record.Record) *process {
	if d.p == nil {
		d.p = newProcess(d, rec)
		for _, g := range d.gaps {
			d.p.lost(g, rec.Seq)
		}
		d.gaps = nil
	}
	return d.p
}

// start takes a start record: a new process, or more of a long argv.
func (d *Decoder) start(rec *record.Record) {
	s := rec.Start
	if s == nil {
		s = &record.Start{}
	}
	another := false
	if p := d.p; p != nil && s.PID != 0 {
		another = p.exitSeq != 0 || p.pid != 0 && p.pid != s.PID || p.pid == 0 && p.busy()
	}
	if another {
		d.p.finish(false)
		d.p = newProcess(d, rec)
		d.p.cur.remark(FlagNewProcess, rec.Seq, "", "another process was started in this recording")
	}
	p := d.process(rec)
	p.started = true
	if s.PID != 0 {
		p.pid = s.PID
		if len(s.Command) > 0 && (another || len(p.command) == 0) {
			p.command = s.Command
		}
	}
	p.cur.touch(rec.Seq, rec.At)
}

func (d *Decoder) gap(rec *record.Record) {
	g := *rec.Gap
	g.LastSeq = max(g.LastSeq, g.FirstSeq)
	if d.web != nil {
		d.web.lost(g, rec.Seq, rec.At)
	}
	if d.p == nil {
		if d.web == nil {
			d.gaps = append(d.gaps, g)
		}
		return
	}
	d.p.lost(g, rec.Seq)
	d.p.cur.touch(rec.Seq, rec.At)
}

// Finish ends the recording and returns its sessions. torn says that it ends
// where its writer was cut off, also when a repair has closed it since. The
// decoder must not be used afterwards.
func (d *Decoder) Finish(state record.State, torn bool) *Result {
	d.res.State, d.res.Torn = state, torn || state == record.Torn
	if d.p != nil {
		d.p.finish(true)
	}
	if d.web != nil {
		d.web.finish()
	}
	if d.brief != nil {
		d.brief.finish()
	}
	for i, s := range d.res.Sessions {
		s.ID = "s" + strconv.Itoa(i+1)
	}
	return &d.res
}
