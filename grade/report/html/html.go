package html

import (
	"io"
	"maps"
	"slices"

	"github.com/sixlink/sixlink/grade/report"
)

// Options are what only this format can show.
type Options struct {
	report.Options
	// MaxDetail bounds what of arguments, results and other texts of recordings is in
	// the file, in bytes; 0: DefaultMaxDetail. What is over it is shown by its size.
	MaxDetail int64
}

// DefaultMaxDetail keeps a report of 50,000 calls of 1 KiB whole and opens in about a
// second.
const DefaultMaxDetail = 64 << 20

// Format is the entry of the table of formats.
func Format() report.Format {
	return report.Format{Name: "html", Write: func(w io.Writer, v *report.Verdict, o report.Options) error {
		return Write(w, v, Options{Options: o})
	}}
}

// maxSessions bounds the sessions that one trial shows; the others are counted.
const maxSessions = 20

// Write writes the report of a verdict. Recordings are read one at a time, those that
// o.Source has.
func Write(w io.Writer, v *report.Verdict, o Options) error {
	r := newBuilder(o)
	r.paths = v.Paths
	if err := r.overview(v); err != nil {
		return err
	}
	if err := r.matrices(v); err != nil {
		return err
	}
	p := &printer{w: w}
	r.begin(p, verdictGlance(v, &r.run))
	for i, c := range v.Cases {
		n := r.run.Cases[i].First
		if err := c.Each(func(t *report.Trial) error {
			p.block('t', n, r.trial(t))
			n++
			return p.err
		}); err != nil {
			return err
		}
	}
	if o.Source != nil {
		r.recordings(p, v)
	}
	if err := r.triage(p, v); err != nil {
		return err
	}
	return r.finish(p)
}

// WriteRecording writes the same view for one recording without a suite.
func WriteRecording(w io.Writer, rec *report.Recording, o Options) error {
	r := newBuilder(o)
	r.run.Mode = "recording"
	r.paths = map[string]string{rec.Header.ID: rec.Path}
	trials := make([]report.Trial, len(rec.Sessions))
	for i, s := range rec.Sessions {
		trials[i] = trialOf(rec, s)
		r.addTrial(0, &trials[i], rec.Path)
	}
	r.place(rec.Header.ID) // also where it holds no session
	p := &printer{w: w}
	r.begin(p, recordingGlance(rec, &r.run))
	for i := range trials {
		p.block('t', i, r.trial(&trials[i]))
	}
	r.recording(p, rec.Header.ID, rec, nil)
	return r.finish(p)
}

type builder struct {
	o    Options
	run  runData
	rest restData
	// refs numbers the sessions that trials name, places the recordings.
	refs   map[sessionKey]int
	places map[string]int
	paths  map[string]string // of recordings, for people
	hosts  map[string]int
	// catalogs numbers catalogs by the hash of what is shown of them.
	catalogs map[[32]byte]int
	room     int64 // bytes of detail that may still be written
}

type sessionKey struct{ recording, session string }

func newBuilder(o Options) *builder {
	if o.MaxDetail == 0 {
		o.MaxDetail = DefaultMaxDetail
	}
	return &builder{o: o, refs: map[sessionKey]int{}, places: map[string]int{}, hosts: map[string]int{},
		catalogs: map[[32]byte]int{}, room: o.MaxDetail, run: runData{Mode: "verdict"}}
}

// place is the number of a recording.
func (r *builder) place(recording string) int {
	n, ok := r.places[recording]
	if !ok {
		n = len(r.run.Recordings)
		r.places[recording] = n
		r.run.Recordings = append(r.run.Recordings, recordingData{ID: oneLine(recording), Path: oneLine(r.paths[recording])})
	}
	return n
}

// sessionRef is the number of a session.
func (r *builder) sessionRef(recording, sess string) int {
	k := sessionKey{recording, sess}
	n, ok := r.refs[k]
	if !ok {
		n = len(r.run.Sessions)
		r.refs[k] = n
		r.run.Sessions = append(r.run.Sessions, sessionIndex{Recording: r.place(recording), ID: oneLine(sess)})
	}
	return n
}

// recordings reads each recording that trials name, once, in the order of their ids.
func (r *builder) recordings(p *printer, v *report.Verdict) {
	wanted := map[string]map[string]bool{}
	for k := range r.refs {
		if wanted[k.recording] == nil {
			wanted[k.recording] = map[string]bool{}
		}
		wanted[k.recording][k.session] = true
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		place := &r.rest.Recordings[r.places[id]]
		rec, done, err := r.o.Source.Recording(id)
		switch {
		case err != nil:
			place.Error = oneLine(err.Error())
			continue
		case rec == nil:
			continue
		}
		r.recording(p, id, rec, wanted[id])
		if done != nil {
			done()
		}
		if p.err != nil {
			return
		}
	}
}

// begin writes the page, what its lists are made of, and the script.
func (r *builder) begin(p *printer, g *glance) {
	r.rest.Recordings = make([]recordingRest, len(r.run.Recordings))
	page(p, g)
	p.named("run", &r.run)
	r.run.Trials = nil // written: the lists of a large run need not be held
	p.script()
}

// finish writes the block that comes last, and the end of the page.
func (r *builder) finish(p *printer) error {
	p.named("rest", &r.rest)
	io.WriteString(p, "</body>\n</html>\n")
	return p.err
}

func shortHash(hash string) string { return hash[:min(len(hash), 12)] }
