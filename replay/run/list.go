package run

import (
	"context"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// maxRelist is how often a server may change its tools while they are listed again for
// one call: who goes on has no catalog that could permit anything.
const maxRelist = 3

// held is the new server's catalog as of now. old: it has announced a change since, or
// while it listed them, so that the list may be from before that.
func (d *driver) held() (l *catalog.List, old bool) {
	l, old = d.lists.Held(d.clock + 1) // Held is about what came before
	return l, old || l != nil && l.State == catalog.Racy
}

// relist lists the new server's tools again where they have changed and the recorded
// host did not ask: permission depends on what the server says now (recorder.md 5.1).
func (d *driver) relist(ctx context.Context) {
	for range maxRelist {
		d.hear()
		l, old := d.held()
		if l == nil || !old || d.first == nil && d.session.Era == session.EraStateless || d.over.Rule != "" || ctx.Err() != nil {
			return
		}
		if !d.told {
			d.told = true
			d.note("%s: the new server announced a change of its tools; they were listed again", d.session.ID)
		}
		st := &step{session: d.session, ex: &session.Exchange{Method: methodTools, AnswerSeq: 1}, sent: "named", made: true}
		d.send(st, d.first)
		d.settle(ctx, func(f *flight) bool { return f.ex.Method == methodTools })
	}
	d.hear()
}

// hear takes what has come already.
func (d *driver) hear() {
	for d.over.Rule == "" {
		select {
		case m, ok := <-d.lines.in:
			if !ok {
				d.gone()
				return
			}
			d.take(m)
		default:
			return
		}
	}
}
