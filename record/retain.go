package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// retainPeriod is how often a recorder looks at its folder when it begins no files
// itself: others may, and files get old.
const retainPeriod = time.Minute

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// keeper keeps the limits of the folder that a recorder writes to, on a goroutine of
// its own: nothing waits for it.
type keeper struct {
	dir     string
	limits  Prune
	every   time.Duration
	rot     *rotation
	notice  func(string)
	noticed bool
	kick    chan struct{}
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
}

func newKeeper(cfg *Config, name string, rot *rotation) *keeper {
	k := &keeper{dir: cfg.Dir, rot: rot, notice: cfg.Notice, every: retainPeriod,
		limits: Prune{MaxTotal: cfg.MaxTotal, MaxAge: cfg.MaxAge, own: name},
		kick:   make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	if cfg.MaxAge > 0 {
		k.every = min(k.every, max(cfg.MaxAge/4, time.Second))
	}
	if cfg.MaxTotal > 0 {
		// The segment that is being written grows to that, and one that is sealed is there
		// twice for a moment.
		k.limits.reserve = 2 * rot.size
	}
	go k.run()
	return k
}

// wake has the folder looked at now.
func (k *keeper) wake() {
	if k == nil {
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

func (k *keeper) end() {
	if k != nil {
		k.once.Do(func() { close(k.stop) })
		<-k.done
	}
}

func (k *keeper) run() {
	defer close(k.done)
	t := time.NewTicker(k.every)
	defer t.Stop()
	for {
		k.pass()
		select {
		case <-t.C:
		case <-k.kick:
		case <-k.stop:
			return
		}
	}
}

// pass looks at the folder once.
func (k *keeper) pass() {
	defer func() {
		if p := recover(); p != nil {
			k.say(fmt.Sprintf("the limits of folder %s are not kept: internal error: %v", k.dir, p))
		}
	}()
	root, err := os.OpenRoot(k.dir)
	if err != nil {
		return // a folder that is gone has nothing too much
	}
	defer root.Close()
	p := k.limits
	p.Now = time.Now()
	done, err := p.prune(root, k.dir)
	if err != nil {
		k.say(fmt.Sprintf("the limits of folder %s are not kept: %v", k.dir, err))
		return
	}
	gone := map[string]*Removed{}
	for _, f := range done.Files {
		r := gone[f.Why]
		if r == nil {
			r = &Removed{}
			gone[f.Why] = r
		}
		if base, n := baseName(f.Name); base == p.own {
			k.rot.shelf.drop(f.Name)
			r.segment(n, f.Bytes)
		} else {
			r.other(f.Name, f.Bytes)
		}
	}
	for _, why := range []string{LimitAge, LimitTotal} {
		if r := gone[why]; r != nil {
			k.rot.tell(r, why)
		}
	}
	for _, f := range done.Kept {
		if !f.Live {
			k.say(fmt.Sprintf("the limits of folder %s are not kept: %s %s", k.dir, f.Name, f.Why))
			return
		}
	}
}

// say tells the user once.
func (k *keeper) say(s string) {
	if !k.noticed {
		k.noticed = true
		k.notice(s)
	}
}
