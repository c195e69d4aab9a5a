package record

import "github.com/sixlink/sixlink/record/mask"

// MaskHTTP replaces known credentials in the records of HTTP that next hands out,
// as a recorder at level full does with traffic: for what makes recordings of
// HTTP that passed elsewhere. Pieces of bodies are changed in place.
func MaskHTTP(m *mask.Masker, next func() (*Record, error)) func() (*Record, error) {
	h := httpMasker{r: Recorder{cfg: Config{Masker: m}}, classes: map[int64]class{}, bodies: map[bodyKey]*bodyState{}}
	return func() (*Record, error) {
		rec, err := next()
		if err == nil {
			h.mask(rec)
		}
		return rec, err
	}
}

type httpMasker struct {
	r       Recorder // of which the masking alone is used
	classes map[int64]class
	bodies  map[bodyKey]*bodyState
}

func (h *httpMasker) mask(rec *Record) {
	switch {
	case rec.Request != nil:
		maskHead(h.r.cfg.Masker, rec)
		if c := classOf(rec.Request); c != 0 {
			h.classes[rec.Exchange] = c
		}
	case rec.Response != nil:
		maskHead(h.r.cfg.Masker, rec)
		if c := h.classes[rec.Exchange]; c != 0 || redirects(rec.Response) {
			h.classes[rec.Exchange] = c | answerClass(rec.Response)
		}
	case rec.Kind == KindBody:
		k := keyOf(rec.Exchange, rec.From)
		st := h.bodies[k]
		if st == nil {
			st = &bodyState{}
			h.classes[rec.Exchange].prepare(st, rec.From)
			h.bodies[k] = st
		}
		if rec.Off != st.next && st.fields != nil {
			st.fields, st.hidden = nil, true // names and values cannot be told apart any more
		}
		st.next = rec.Off + int64(len(rec.Data))
		rec.Masked = h.r.maskBody(st, rec.Data, rec.End, rec.End == BodyCut)
		if rec.End != BodyMore {
			delete(h.bodies, k)
			if rec.From == Server {
				delete(h.classes, rec.Exchange)
			}
		}
	}
}
