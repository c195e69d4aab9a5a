package predicate

// Part is one session of a trial over several (grading.md 0.1 "Several servers").
//
// Recordings count their records each from 1, so the evidence of such a trial gives
// each record a number of its own, its handle: the seq and the Base of its recording.
// Seq and Record of calls, errors, results and timings, and the records of an
// outcome, are handles there. The nil Part is that of a trial of one session, where
// the handle is the seq.
type Part struct {
	Recording, Session string
	// Server is the key by which suites know its server: the recording's label server,
	// else the server's own name.
	Server string
	// Base is that of its recording. The handles of two recordings never meet.
	Base int64
	// Lost says why nothing of it could be read; empty: it could.
	Lost string
}

// Handle is the handle of a record of the part; 0 stays 0, which is none.
func (p *Part) Handle(seq int64) int64 {
	if p == nil || seq == 0 {
		return seq
	}
	return p.Base + seq
}

func (p *Part) seq(handle int64) int64 {
	if p == nil || handle == 0 {
		return handle
	}
	return handle - p.Base
}

// callID names a call; see [CallEvidence.ID].
func (p *Part) callID(handle int64, index int) string {
	if p == nil {
		return callID(handle, index)
	}
	return cut(p.Recording, maxName) + ":" + callID(p.seq(handle), index)
}

// CallName is [Part.callID] for the packages that show calls.
func (p *Part) CallName(handle int64, index int) string { return p.callID(handle, index) }

// maxName bounds the names of recordings and servers in a reason, in characters.
const maxName = 60

// server says whose a tool is, where there is more than one.
func (p *Part) server() string {
	if p == nil {
		return ""
	}
	return " of " + Quoted(cut(p.Server, maxName))
}

// at is what follows a tool's name: whose it is, and the call's record.
func (p *Part) at(handle int64, index int) string {
	return p.server() + " (record " + p.callID(handle, index) + ")"
}
