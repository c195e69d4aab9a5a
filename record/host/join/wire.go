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
	// hidden is the canonical form of arguments of which the recording may hide a part.
	hidden []byte
	// answer are the texts of its result in which the recording may hide something.
	answer []string
}

// maxMasked bounds the arguments with hidden parts that are compared, in bytes.
const maxMasked = 64 << 10

// argsKey is the hash of canonical arguments (hosts.md 5, tier 2).
type argsKey [sha256.Size]byte

var noArguments = hashArgs([]byte("{}"))

func newWire(i int, in *Wire) *wire {
	if r := in.light; r != nil {
		w := &wire{Wire: in, index: i, tools: r.tools, withIDs: r.withIDs}
		for _, c := range r.calls {
			own := *c
			own.w, own.of = w, nil
			w.calls = append(w.calls, &own)
		}
		return w
	}
	w := &wire{Wire: in, index: i, tools: tools{has: map[string]bool{}}}
	for _, l := range in.Session.Lists {
		for k := range l.Tools {
			w.tools.add(l.Tools[k].Name)
		}
	}
	held := 0
	for n, c := range in.Session.Calls {
		w.tools.add(c.Tool)
		wc := &wireCall{w: w, n: n, c: c}
		if !in.Start.IsZero() {
			wc.at = in.Start.Add(time.Duration(c.At))
		}
		wc.meta = metaOf(c)
		w.withIDs = w.withIDs || wc.meta.use != ""
		if in.Masked && !c.Result.IsZero() && held < maxAnswers {
			if b, err := c.Result.Bytes(); err == nil {
				wc.answer = hiddenIn(b)
				for _, s := range wc.answer {
					held += len(s)
				}
			}
		}
		w.calls = append(w.calls, wc)
	}
	return w
}

// Light reads what a join needs of a session and lets go of the rest, so that the
// recording may be closed and many be joined at once. The calls of the result are
// copies: they name records, and hold neither values nor attempts.
func Light(w Wire) Wire {
	if w.light != nil {
		return w
	}
	full := newWire(0, &w)
	s := w.Session
	light := &session.Session{ID: s.ID, Server: s.Server, Client: s.Client, FirstSeq: s.FirstSeq, LastSeq: s.LastSeq, FirstAt: s.FirstAt, LastAt: s.LastAt}
	for _, c := range full.calls {
		c.arguments()
		own := &session.Call{Seq: c.c.Seq, Index: c.c.Index, Tool: c.c.Tool, NameOK: c.c.NameOK, State: c.c.State, At: c.c.At,
			AnswerSeq: c.c.AnswerSeq, AnswerAt: c.c.AnswerAt, Late: c.c.Late, BadIsError: c.c.BadIsError, ToolUseID: c.c.ToolUseID}
		c.c = own
		light.Calls = append(light.Calls, own)
	}
	w.Session, w.light = light, full
	full.Wire = nil
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
				if c.w.Wire != nil && c.w.Masked && bytes.IndexByte(b, '*') >= 0 && len(b) <= maxMasked {
					c.hidden, _ = jsonscan.Canonical(b)
				}
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
	case c.Args.SHA256 == "" && len(c.Args.JSON) > 0:
		return hashOf(c.Args.JSON)
	}
	b, err := hex.DecodeString(c.Args.SHA256)
	if err != nil || len(b) != sha256.Size {
		return argsKey{}, false
	}
	return argsKey(b), true
}

// sameBehindMask says that the host's arguments may be those on the wire, of which
// the recording hides credentials: filler stands for as many bytes. Where the
// transcript hides them itself nothing can be said against it.
func sameBehindMask(h *host.Call, c *wireCall) bool {
	if c.hidden == nil || h.Args == nil || len(h.Args.JSON) == 0 {
		return false
	}
	if h.Args.SHA256 != "" {
		return true
	}
	mine, ok := jsonscan.Canonical(h.Args.JSON)
	if !ok || len(c.hidden) != len(mine) {
		return false
	}
	for i := range mine {
		if c.hidden[i] != mine[i] && c.hidden[i] != '*' {
			return false
		}
	}
	return true
}
