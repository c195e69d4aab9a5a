package proxy

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/sixlink/sixlink/record"
)

// A relay is the state of one Run. Everything but the pumps happens in the
// goroutine of Run.
type relay struct {
	waits                 Waits
	tap                   *guard
	stdin, stdout, stderr *os.File
	child                 *child
	signals               signalPolicy

	client, server, errors pump
	// A channel here is nil once its ending was received.
	clientDone, serverDone, stderrDone chan ending

	// broke tells that nobody reads our stdout any more: from the pump that
	// wrote, or from watchOut. hungUp tells that nobody writes to our stdin any
	// more, although bytes may still lie there: from watchIn.
	broke, hungUp     chan struct{}
	watchOut, watchIn *watcher

	clientEnded    bool // nothing more comes from the host
	stdoutBroken   bool // the host does not read
	stdoutReleased bool // we closed stdout because the server did

	// exitedAt, goneAt and termAt are zero until it happened.
	exitedAt time.Time // the child ended
	goneAt   time.Time // the host was found gone, or ctx ended
	termAt   time.Time // we sent TERM for that
	why      string    // sixlink's reason for its own signals
	stopping bool      // ctx ended: no wait before TERM
	killed   bool      // we sent KILL
	// ending is the last signal that was meant to end the server; 0: none.
	ending    syscall.Signal
	groupTold bool // the group got that signal, too

	// What was seen at the last tick after the child's end.
	quietSince time.Time
	seen       int64
	atExit     [2]int64 // bytes read of stdout and stderr when the child ended
	taken      int64    // bytes that the server had taken at the last tick
	idle       int      // ticks in a row that found nothing of the server under way
	left       bool     // we leave although streams are open
}

// tick is how often the state is looked at while something is awaited that has
// a limit. Nothing ticks while host and server live.
const tick = 20 * time.Millisecond

func (r *relay) start(s *Stdio) error {
	shared := isTerminal(r.stdin)
	r.signals = signalPolicy{shared: shared, repeat: r.waits.Repeat}
	c, err := startChild(s, !shared)
	if err != nil {
		return err
	}
	r.child = c
	r.tap.Event(record.Record{Kind: record.KindStart, Start: &record.Start{PID: c.proc.Pid}})
	return nil
}

func (r *relay) startPumps() {
	c := r.child
	r.client = pump{from: record.Client, src: r.stdin, dst: c.stdin, who: record.ByServer, what: record.Stdin}
	r.server = pump{from: record.Server, src: c.stdout, dst: r.stdout, who: record.ByClient, what: record.Stdout}
	r.errors = pump{from: record.Stderr, src: c.stderr, dst: r.stderr, who: record.ByClient, what: record.StderrPipe}
	r.clientDone, r.serverDone, r.stderrDone = make(chan ending, 1), make(chan ending, 1), make(chan ending, 1)
	for _, p := range []*pump{&r.client, &r.server, &r.errors} {
		p.tap, p.stall = r.tap, r.waits.Stall
	}
	go func(done chan<- ending) {
		e := r.client.run(func() int64 { return pipeUnread(c.stdin) }, nil)
		if !e.left && !r.client.broken.Load() {
			r.tap.closed(record.ByClient, record.Stdin, e.err)
			c.stdin.Close() // only now: all bytes are written, the host's end was read
		}
		done <- e
	}(r.clientDone)
	go func(done chan<- ending) {
		e := r.server.run(nil, func() { tell(r.broke) })
		if !e.left {
			r.tap.closed(record.ByServer, record.Stdout, e.err)
		}
		done <- e
	}(r.serverDone)
	go func(done chan<- ending) {
		e := r.errors.run(nil, nil)
		if !e.left {
			r.tap.closed(record.ByServer, record.StderrPipe, e.err)
		}
		done <- e
	}(r.stderrDone)
	r.watchOut = watchPeer(r.stdout, 0, func() { tell(r.broke) })
}

// tell sends to a channel of one place: told twice is told once.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// loop runs until the child has ended and its streams are at their end, or
// until a limit says to leave.
func (r *relay) loop(ctx context.Context, signals <-chan os.Signal) {
	exited, stop := r.child.exited, ctx.Done()
	var ticker *time.Ticker
	var ticks <-chan time.Time
	for !r.left && (r.exitedAt.IsZero() || r.serverDone != nil || r.stderrDone != nil) {
		if ticker == nil && (!r.exitedAt.IsZero() || !r.goneAt.IsZero()) {
			ticker = time.NewTicker(tick)
			defer ticker.Stop()
			ticks = ticker.C
		}
		select {
		case <-exited:
			exited = nil
			r.childEnded(time.Now())
		case <-r.clientDone:
			r.clientDone = nil
			r.clientEnded = true
			if r.client.broken.Load() {
				// The child no longer reads: the host must see that.
				r.watchIn.stop()
				release(r.stdin)
			}
			r.watchHost()
		case <-r.serverDone:
			r.serverDone = nil
			r.releaseStdout()
		case <-r.stderrDone:
			r.stderrDone = nil
		case <-r.broke:
			r.stdoutBroken = true
			r.watchHost()
		case <-r.hungUp:
			r.hostGone()
		case sig, ok := <-signals:
			if !ok {
				signals = nil
			} else if s, ok := sig.(syscall.Signal); ok {
				r.signal(s, time.Now())
			}
		case <-stop:
			stop = nil
			r.stopping = true
			r.goneAt, r.why = time.Now(), "sixlink is ending"
		case now := <-ticks:
			r.tick(now)
		}
	}
	// A key press reaches all at once, and the child may be the quicker one.
	for {
		select {
		case sig := <-signals:
			if s, ok := sig.(syscall.Signal); ok {
				r.signal(s, time.Now())
				continue
			}
		default:
		}
		return
	}
}

// watchHost looks whether the host is gone, and waits for it where it cannot
// be known yet. Only an end on both sides says so: a host that closed our stdin
// may wait for answers for as long as it likes.
func (r *relay) watchHost() {
	switch {
	case r.stdoutReleased || !r.stdoutBroken:
	case r.clientEnded:
		r.hostGone()
	case r.watchIn == nil:
		// The end of our stdin may stand behind bytes that the server does not
		// take.
		r.watchIn = watchPeer(r.stdin, peerClosed, func() { tell(r.hungUp) })
	}
}

func (r *relay) hostGone() {
	if r.goneAt.IsZero() {
		r.goneAt, r.why = time.Now(), "the host is gone"
	}
}

// releaseStdout lets the host see the end of the server's stdout. The watcher
// must be gone first: a poll would keep the pipe open.
func (r *relay) releaseStdout() {
	r.watchOut.stop()
	r.stdoutReleased = true
	release(r.stdout)
}

func (r *relay) childEnded(now time.Time) {
	r.exitedAt, r.quietSince = now, now
	r.atExit = [2]int64{r.server.total.Load(), r.errors.total.Load()}
	r.seen = r.atExit[0] + r.atExit[1]
}

// tick applies the limits. It runs only after the child's end, or after the
// host's.
func (r *relay) tick(now time.Time) {
	if !r.goneAt.IsZero() {
		r.endForHost(now)
	}
	if r.exitedAt.IsZero() {
		return
	}
	ended := r.ending != 0
	if ended && !r.groupTold && r.signals.ownGroup() && now.Sub(r.exitedAt) > r.waits.Group {
		// The child died of its signal, and a grandchild holds its streams: a
		// launcher that did not pass the signal on.
		r.groupTold = true
		r.quietSince = now
		r.ours(r.ending, toGroup, "the server's group holds its streams after its end")
	}
	busy, foreign := r.streams()
	if total := r.server.total.Load() + r.errors.total.Load(); total != r.seen || (busy && !ended) {
		r.seen, r.quietSince = total, now
	}
	if r.idle++; busy {
		r.idle = 0
	}
	limit := r.waits.Silence
	if ended {
		limit = r.waits.Signalled
	}
	switch {
	case !r.goneAt.IsZero() && !r.killed && r.signals.ownGroup():
		// KILL for the group comes at a known time: wait for it.
	case ended && !r.groupTold && r.signals.ownGroup():
		// The group gets its signal first.
	case now.Sub(r.quietSince) > limit:
		r.left = true
	case now.Sub(r.exitedAt) > r.waits.Held && (r.idle > 1 || foreign):
		r.left = true
	}
}

// streams looks at the open streams of an ended child. busy: bytes of one of them
// are under way, in its pipe or held up by the host or the recorder. foreign: more
// came than could be under way at the child's end (its pipe, and a chunk that was
// not counted yet), so a grandchild writes.
func (r *relay) streams() (busy, foreign bool) {
	for i, p := range []*pump{&r.server, &r.errors} {
		if (i == 0 && r.serverDone == nil) || (i == 1 && r.stderrDone == nil) {
			continue
		}
		if p.state.Load() != reading || pipeUnread(p.src) > 0 {
			busy = true
		}
		if p.total.Load()-r.atExit[i] > pipeSize(p.src)+chunk {
			foreign = true
		}
	}
	return busy, foreign
}

// endForHost ends a server whose host is gone: TERM, then KILL.
func (r *relay) endForHost(now time.Time) {
	if passed := r.client.passed.Load(); passed != r.taken && !r.stopping {
		// The server still takes what the host left behind.
		r.taken, r.goneAt = passed, now
	}
	switch {
	case r.termAt.IsZero() && (r.stopping || now.Sub(r.goneAt) > r.waits.Gone):
		r.termAt, r.ending = now, syscall.SIGTERM
		to := toChild
		if !r.exitedAt.IsZero() {
			to, r.groupTold = toGroup, true
		}
		r.ours(syscall.SIGTERM, to, r.why)
	case !r.termAt.IsZero() && !r.killed && now.Sub(r.termAt) > r.waits.Kill:
		r.killed, r.quietSince = true, now
		r.ours(syscall.SIGKILL, toGroup, r.why)
	}
}

// signal handles one signal that we got.
func (r *relay) signal(sig syscall.Signal, now time.Time) {
	if sig == syscall.SIGWINCH && r.signals.shared {
		return // the terminal told the child, too
	}
	to := r.signals.decide(sig, now, r.signals.shared && foreground(r.stdin), !r.exitedAt.IsZero())
	if endsServer(sig) {
		r.ending = sig
		if to == toGroup {
			r.groupTold = true
		}
		if !r.exitedAt.IsZero() {
			r.quietSince = now
		}
	}
	r.tap.Event(record.Record{Kind: record.KindClose, Close: &record.Close{
		Who: record.ByClient, What: record.Signal, Signal: signalName(sig), To: to}})
	r.tap.Flush(r.waits.Flush)
	if endsServer(sig) {
		r.tap.GiveUp()
	}
	r.child.signal(sig, to)
}

// ours sends a signal of our own making.
func (r *relay) ours(sig syscall.Signal, to, why string) {
	if to == toGroup && !r.signals.ownGroup() {
		to = toChild
	}
	r.tap.Event(record.Record{Kind: record.KindClose, Close: &record.Close{
		Who: record.ByProxy, What: record.Signal, Signal: signalName(sig), To: to, Why: why}})
	r.tap.Flush(r.waits.Flush)
	r.tap.GiveUp()
	r.child.signal(sig, to)
}

// finish stops what still runs, reaps the child and says how it ended.
func (r *relay) finish() (Status, error) {
	r.watchOut.stop()
	r.watchIn.stop()
	end := time.Now().Add(r.waits.Signalled)
	var held []string
	if r.serverDone != nil {
		if _, stood := r.server.leave(r.serverDone, end); stood == reading {
			held = append(held, record.Stdout)
		}
	}
	if r.stderrDone != nil {
		if _, stood := r.errors.leave(r.stderrDone, end); stood == reading {
			held = append(held, record.StderrPipe)
		}
	}
	if r.clientDone != nil {
		if e, _ := r.client.leave(r.clientDone, end); e.left && !r.client.broken.Load() {
			if n := pipeUnread(r.child.stdin); n > 0 {
				r.tap.undelivered(record.Client, r.client.passed.Load()-n, n, "the server ended before it read them")
			}
		}
	}
	r.child.close()
	status, err := r.child.wait()
	status.Held, status.Asked = held, r.ending
	exit := &record.Exit{Held: held}
	if status.Signal != 0 {
		exit.Signal = signalName(status.Signal)
	} else {
		exit.Code = &status.Code
	}
	r.tap.Event(record.Record{Kind: record.KindExit, Exit: exit})
	return status, err
}
