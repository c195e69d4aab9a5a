package run

import "github.com/sixlink/sixlink/record"

// Masks says which of the client's messages hold credentials that the recording
// replaced: such a message is never sent (recorder.md 5.5). It is fed with the records
// of a recording in order.
type Masks struct {
	lines     map[int64]int // spans by the seq of a line's first record
	exchanges map[int64]int // spans by HTTP exchange: of its request's body
	begin     int64         // of the client's line at hand
}

// Add takes the next record.
func (m *Masks) Add(rec *record.Record) {
	if rec.From != record.Client {
		return
	}
	switch rec.Kind {
	case record.KindFrame:
		if !rec.Cont {
			m.begin = rec.Seq
		}
		if n := len(rec.Masked); n > 0 {
			if m.lines == nil {
				m.lines = map[int64]int{}
			}
			m.lines[m.begin] += n
		}
	case record.KindBody:
		if n := len(rec.Masked); n > 0 {
			if m.exchanges == nil {
				m.exchanges = map[int64]int{}
			}
			m.exchanges[rec.Exchange] += n
		}
	}
}

// in counts the credentials in the message that came at seq, or in that HTTP exchange.
func (m *Masks) in(seq, exchange int64) int {
	if m == nil {
		return 0
	}
	n := m.lines[seq] // a bridge's messages are lines and bodies of exchanges, both
	if exchange != 0 {
		n += m.exchanges[exchange]
	}
	return n
}
