package grade

// Graded is one trial with the case that it was graded against.
type Graded struct {
	Case string // [Unassigned]: none claims it
	Trial
}

// Trials grades the sessions of one recording by themselves and keeps nothing: for
// those who sum up over many recordings and want no verdict over them. A trial over
// several recordings is not put together. It may be called from several goroutines.
func (g *Grader) Trials(r *Recording) (trials []Graded, skipped []Skipped) {
	d := graded{id: r.ID, path: r.Path, labels: r.Labels}
	d.read(r)
	w := &work{Grader: g, r: r, d: &d, cache: g.takeCache()}
	w.recording()
	g.giveCache(w.cache)
	trials = make([]Graded, len(d.trials))
	for i := range d.trials {
		b := &d.trials[i]
		trials[i] = Graded{Unassigned, *b.whole}
		if b.c != nil {
			trials[i].Case = b.c.ID
		}
	}
	return trials, d.skipped
}
