package main

import (
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/record"
	"github.com/sixlink/sixlink/record/session"
)

// loaded is a recording with its sessions. Values stay in the file until asked
// for, so it must be closed.
type loaded struct {
	path     string
	header   *record.Header
	end      record.End
	sessions []*session.Session
	store    *record.Store
	reader   *record.Reader
	command  []string // the whole argv, start records included
	gaps     []*record.Record
	spanNs   int64
	talk     record.Conversation // that is attached
	clock    session.Clock
}

func (l *loaded) Close() {
	l.store.Close()
	l.reader.Close()
}

// maxDecompressed is a flag of every verb that reads recordings.
func maxDecompressed(fs *pflag.FlagSet, limit *int64) {
	fs.Int64Var(limit, "max-decompressed", record.DefaultMaxDecompressed, "refuse a recording that unpacks to more `BYTES`")
}

// sessionKeyFlag is a flag of the verbs that show or grade sessions.
func sessionKeyFlag(fs *pflag.FlagSet, key *string) {
	fs.StringVar(key, "session-key", "", "what makes exchanges over HTTP one session: header:`NAME`, meta:POINTER, connection or principal (default: session ids, else what is on record)")
}

// load reads a whole recording.
func load(path string, opts record.Options) (*loaded, error) { return loadByKey(path, opts, "") }

// loadByKey reads a whole recording, its sessions by a session key where that is not empty.
func loadByKey(path string, opts record.Options, key string) (*loaded, error) {
	r, err := record.Open(path, opts)
	if err != nil {
		return nil, err
	}
	return loadFrom(path, r, key, false)
}

// loadLean reads a recording without what grading does not look at.
func loadLean(path string, opts record.Options, key string) (*loaded, error) {
	r, err := record.Open(path, opts)
	if err != nil {
		return nil, err
	}
	return loadFrom(path, r, key, true)
}

// loadFrom reads the whole recording that r has been opened on; lean: without what
// grading does not look at.
func loadFrom(path string, r *record.Reader, key string, lean bool) (*loaded, error) {
	l := &loaded{path: path, header: r.Header(), reader: r, store: record.NewStore(r.Files())}
	l.command = append(l.command, r.Header().Command...)
	next := func() (*record.Record, error) {
		rec, err := r.Next()
		if err != nil {
			return nil, err
		}
		l.spanNs = max(l.spanNs, rec.At)
		switch rec.Kind {
		case record.KindGap:
			kept := *rec // it may be used again
			l.gaps = append(l.gaps, &kept)
		case record.KindConversation:
			l.talk.Add(rec)
		case record.KindStart:
			l.command = append(l.command, rec.Start.Command...)
		}
		if files := r.Files(); len(files) > 1 {
			l.store.Files(files)
		}
		return rec, nil
	}
	res, err := session.Decode(r.Header(), next, l.store, session.Options{Hold: true, Lean: lean, SessionKey: key, End: func() (record.State, bool) {
		end := r.End()
		return end.State, end.Torn
	}})
	if err != nil {
		l.Close()
		return nil, err
	}
	l.store.Keep(r)
	l.end, l.sessions, l.clock = r.End(), res.Sessions, res.Clock
	return l, nil
}
