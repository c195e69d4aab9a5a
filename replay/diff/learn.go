package diff

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
	"github.com/sixlink/sixlink/replay/key"
)

// maxNoise bounds what is learned, in places in results (16 bytes each, and the map).
const maxNoise = 1 << 20

// Noise is what differs between recordings of one build: for each call, the places in
// its result. It never holds an outcome, a tool set or a schema, nor a place whose
// value was the same in all of those recordings. The zero value has learned nothing.
type Noise struct {
	// Full says that there was more than is kept.
	Full  bool
	calls map[key.Key]bool
	at    map[[16]byte]bool
	// Recordings counts the pairs of recordings that were learned from.
	Recordings int
}

// ErrBuilds is returned by [Noise.Learn] for recordings of servers that say that they
// are different ones: what differs between those is what is looked for.
var ErrBuilds = errors.New("the recordings to learn from are not of one build")

// Learn takes two recordings of one build. Options are those of the comparison that
// will use the noise.
func (n *Noise) Learn(a, b *Recording, opts Options) error {
	opts.Noise, opts.Latency, opts.Sent, opts.Skipped, opts.LeftOut, opts.Tainted, opts.Same = nil, 0, nil, nil, nil, nil, nil
	d, err := newDiffer(a, b, opts)
	if err != nil {
		return err
	}
	if n.calls == nil {
		n.calls, n.at = map[key.Key]bool{}, map[[16]byte]bool{}
	}
	d.learn = n
	pairs, _, _ := d.pairSessions()
	for _, p := range pairs {
		if x, y := p.a.Server, p.b.Server; x != y && x != (session.Peer{}) && y != (session.Peer{}) {
			return fmt.Errorf("%w: %s and %s", ErrBuilds, visible.String(peer(x)), visible.String(peer(y)))
		}
		d.sessions(p)
	}
	n.Recordings++
	return d.err
}

// Places counts what was learned.
func (n *Noise) Places() int {
	if n == nil {
		return 0
	}
	return len(n.at)
}

func (n *Noise) call(a *asked) { n.calls[a.key] = true }

// add takes a difference at p: of this call, and of its tool at any index. The second
// counts for calls that were never seen in those recordings.
func (n *Noise) add(a *asked, rule string, p *path) {
	if len(n.at) >= maxNoise {
		n.Full = true
		return
	}
	n.at[placeOf(string(a.key[:]), rule, p, false)] = true
	tool, method := a.what()
	n.at[placeOf(tool+"\n"+method, rule, p, true)] = true
}

func (n *Noise) has(a *asked, rule string, p *path) bool {
	if n == nil || n.at == nil {
		return false
	}
	if n.calls[a.key] {
		return n.at[placeOf(string(a.key[:]), rule, p, false)]
	}
	tool, method := a.what()
	return n.at[placeOf(tool+"\n"+method, rule, p, true)]
}

func placeOf(of, rule string, p *path, any bool) [16]byte {
	sum := sha256.Sum256([]byte(of + "\n" + rule + "\n" + p.pointer(any)))
	return [16]byte(sum[:16])
}
