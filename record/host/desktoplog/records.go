package desktoplog

import (
	"io"
	"time"

	"github.com/sixlink/sixlink/record"
)

// maker makes the records of one session.
type maker struct {
	s   *Sessions
	ses *Session
	seq int64
	at  int64
	off map[record.From]int64
	// queue has records that are made and not handed out: parts of a long line.
	queue  []*record.Record
	opened bool // the log tells the process's start
	asked  bool // the client's initialize was seen
	begun  bool
	ended  bool
}

// maxPart bounds a part of a line, in bytes (record/FORMAT.md 5).
const maxPart = 4 << 20

// Why a recording of a log is partial.
const (
	whyStart = "imported from Claude Desktop's log, which tells messages as the host read them and may leave some out"
	whyEnd   = "the log tells nothing after this"
)

func (m *maker) next() (*record.Record, error) {
	for len(m.queue) == 0 {
		if m.ended {
			return nil, io.EOF
		}
		m.fill()
	}
	rec := m.queue[0]
	m.queue = m.queue[1:]
	return rec, nil
}

// add queues a record with the next seq. Times never go back, whatever the log says.
func (m *maker) add(rec *record.Record, at time.Time) {
	if d := at.Sub(m.ses.Start); d > 0 && int64(d) > m.at {
		m.at = int64(d)
	}
	m.seq++
	rec.Seq, rec.At = m.seq, m.at
	m.queue = append(m.queue, rec)
}

func (m *maker) gap(why string, streams map[record.From]record.GapStream, at time.Time) {
	rec := &record.Record{Kind: record.KindGap}
	m.add(rec, at)
	rec.Gap = &record.Gap{FirstSeq: rec.Seq, LastSeq: rec.Seq, Streams: streams, Why: why}
}

// fill queues what comes next.
func (m *maker) fill() {
	if !m.begun {
		m.begun = true
		if m.opened {
			m.add(&record.Record{Kind: record.KindStart, Start: &record.Start{}}, m.ses.Start)
		}
		m.gap(whyStart, nil, m.ses.Start)
		return
	}
	st := m.s.peek()
	switch {
	case st == nil, st.begins, st.from == record.Client && st.data != nil && asked(st.data) && m.asked:
		// The log ends, or another process begins. What was pending may have been
		// answered: nothing is said of it.
		m.gap(whyEnd, nil, time.Time{})
		m.ended = true
		return
	}
	m.s.take()
	switch {
	case st.ends:
		m.add(&record.Record{Kind: record.KindClose, Close: &record.Close{Who: record.ByServer, What: record.Stdout}}, st.at)
	case st.data == nil:
		var streams map[record.From]record.GapStream
		if st.from != "" {
			streams = map[record.From]record.GapStream{st.from: {Off: m.off[st.from], Bytes: st.lost, Frames: 1}}
			m.off[st.from] += st.lost
		}
		m.ses.Lost++
		m.gap(st.why, streams, st.at)
	default:
		m.asked = m.asked || st.from == record.Client && asked(st.data)
		if st.from == record.Stderr {
			m.ses.Stderr++
		} else {
			m.ses.Messages++
		}
		m.frame(st)
	}
}

// frame queues a line, in parts where it is long.
func (m *maker) frame(st *step) {
	data := st.data
	for cont := false; ; cont = true {
		part := data[:min(len(data), maxPart)]
		data = data[len(part):]
		rec := &record.Record{Kind: record.KindFrame, From: st.from, Off: m.off[st.from], Data: part, Cont: cont, More: len(data) > 0}
		m.off[st.from] += int64(len(part))
		if !rec.More {
			rec.EOL, rec.Len = []byte("\n"), int64(len(st.data))
			m.off[st.from]++
		}
		m.add(rec, st.at)
		if !rec.More {
			return
		}
	}
}
