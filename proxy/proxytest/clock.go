package proxytest

import (
	"sync/atomic"
	"time"
)

// A Clock is a wall clock that a test moves while the monotonic one runs on: that is
// what a machine that slept, or whose time was set, looks like from within a process
// (recorder.md 2.11). Nobody can move the two apart from outside without moving the
// machine's, so what reads the wall clock takes Now as a function.
type Clock struct{ ahead atomic.Int64 }

// Now is the wall clock's time. It has no monotonic reading: two of them differ by
// what the wall clock shows.
func (c *Clock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

// Jump moves the clock by d: an hour of sleep, or back.
func (c *Clock) Jump(d time.Duration) { c.ahead.Add(int64(d)) }
