package join

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// wire is one session at work.
type wire struct {
	*Wire
	index, rank int
	tools       tools
	calls       []*wireCall
	withIDs     bool // some call carries a tool-use id
}

// wireCall is one call on the wire at work.
type wireCall struct {
	w     *wire
	n     int // its place among the session's calls
	c     *session.Call
	at    time.Time // zero: unknown
	meta  meta
	read  bool // args was made
	args  argsKey
	known bool
	of    *hostCall // the call that it is
}

// argsKey is the hash of canonical arguments (hosts.md 5, tier 2).
type argsKey [sha256.Size]byte

var noArguments = hashArgs([]byte("{}"))

func newWire(i int, in *Wire) *wire {
	w := &wire{Wire: in, index: i, tools: tools{has: map[string]bool{}}}
	for _, l := range in.Session.Lists {
		for k := range l.Tools {
			w.tools.add(l.Tools[k].Name)
		}
	}
	for n, c := range in.Session.Calls {
		w.tools.add(c.Tool)
		wc := &wireCall{w: w, n: n, c: c}
		if !in.Start.IsZero() {
			wc.at = in.Start.Add(time.Duration(c.At))
		}
		wc.meta = metaOf(c)
		w.withIDs = w.withIDs || wc.meta.use != ""
		w.calls = append(w.calls, wc)
	}
	return w
}

// ref names the call to the caller.
func (c *wireCall) ref() Ref { return Ref{Wire: c.w.index, Call: c.c} }

// arguments reads the hash of the call's arguments, once. Absent is {} (hosts.md 5).
func (c *wireCall) arguments() (argsKey, bool) {
	if !c.read {
		c.read = true
		switch {
		case c.c.Arguments.IsZero():
			c.args, c.known = noArguments, true
		default:
			if b, err := c.c.Arguments.Bytes(); err == nil {
				c.args, c.known = hashOf(b)
			}
		}
	}
	return c.args, c.known
}

func hashOf(b []byte) (argsKey, bool) {
	form, ok := jsonscan.Canonical(b)
	if !ok {
		return argsKey{}, false
	}
	return sha256.Sum256(form), true
}

func hashArgs(b []byte) argsKey {
	k, _ := hashOf(b)
	return k
}

// hostArgs is the hash of a host call's arguments. A host that keeps none where
// there are none looks like {}; arguments that cannot be read are unknown.
func hostArgs(c *host.Call) (argsKey, bool) {
	switch {
	case c.ArgsError != "":
		return argsKey{}, false
	case c.Args == nil:
		return noArguments, true
	case len(c.Args.JSON) > 0:
		return hashOf(c.Args.JSON)
	}
	b, err := hex.DecodeString(c.Args.SHA256)
	if err != nil || len(b) != sha256.Size {
		return argsKey{}, false
	}
	return argsKey(b), true
}

// sameBehindMask says that the host's arguments may be those on the wire, of which
// the recording hides credentials: filler ("*", "0") stands for as many bytes.
func sameBehindMask(h *host.Call, c *wireCall) bool {
	if !c.w.Masked || h.Args == nil || len(h.Args.JSON) == 0 {
		return false
	}
	b, err := c.c.Arguments.Bytes()
	if err != nil {
		return false
	}
	wire, ok1 := jsonscan.Canonical(b)
	mine, ok2 := jsonscan.Canonical(h.Args.JSON)
	if !ok1 || !ok2 || len(wire) != len(mine) || !bytes.ContainsRune(wire, '*') {
		return false
	}
	for i := range wire {
		if wire[i] != mine[i] && wire[i] != '*' {
			return false
		}
	}
	return true
}
