package proxytest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sixlink/sixlink/record"
)

// Memory is a tap that keeps everything in the order of its calls.
type Memory struct {
	// Log, if set, gets each line of the story as it happens.
	Log io.Writer
	// OnData, OnEvent and OnFlush, if set, are called first, without the lock.
	OnData  func(from record.From, p []byte)
	OnEvent func(r record.Record)
	OnFlush func()

	mu      sync.Mutex
	lines   []string
	bytes   map[record.From][]byte
	records []record.Record
	changed chan struct{}
}

// Data keeps p.
func (m *Memory) Data(from record.From, p []byte) {
	if m.OnData != nil {
		m.OnData(from, p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes == nil {
		m.bytes = map[record.From][]byte{}
	}
	m.bytes[from] = append(m.bytes[from], p...)
	m.say("%s data", from)
}

// End keeps the end of a direction.
func (m *Memory) End(from record.From) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say("%s end", from)
}

// Event keeps r.
func (m *Memory) Event(r record.Record) {
	if m.OnEvent != nil {
		m.OnEvent(r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, r)
	m.say("%s", Describe(r))
}

// Flush keeps that it was called.
func (m *Memory) Flush(time.Duration) bool {
	if m.OnFlush != nil {
		m.OnFlush()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say("flush")
	return true
}

// say adds a line; repeated data lines of a direction are one.
func (m *Memory) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if n := len(m.lines); n == 0 || m.lines[n-1] != line || !strings.HasSuffix(line, " data") {
		m.lines = append(m.lines, line)
		if m.Log != nil {
			io.WriteString(m.Log, line+"\n")
		}
	}
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Bytes is what was offered of one direction.
func (m *Memory) Bytes(from record.From) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]byte(nil), m.bytes[from]...)
}

// Records are the events.
func (m *Memory) Records() []record.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]record.Record(nil), m.records...)
}

// Story is what happened, a line each: "server data", "client end", and events
// as [Describe] says them.
func (m *Memory) Story() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.lines...)
}

// Wait blocks until a line of the story has the prefix, or reports false after
// [Guard].
func (m *Memory) Wait(prefix string) bool {
	return m.wait(func() bool {
		return slices.ContainsFunc(m.lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
	})
}

// WaitBytes blocks until at least n bytes of a direction were offered, or reports
// false after [Guard].
func (m *Memory) WaitBytes(from record.From, n int) bool {
	return m.wait(func() bool { return len(m.bytes[from]) >= n })
}

func (m *Memory) wait(happened func() bool) bool {
	end := time.NewTimer(Guard)
	defer end.Stop()
	for {
		m.mu.Lock()
		if happened() {
			m.mu.Unlock()
			return true
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		c := m.changed
		m.mu.Unlock()
		select {
		case <-c:
		case <-end.C:
			return false
		}
	}
}

// Describe is an event in one line without times and pids.
func Describe(r record.Record) string {
	switch {
	case r.Start != nil:
		return "start"
	case r.Close != nil && r.Close.What == record.Signal:
		to := r.Close.To
		if to == "" {
			to = "nobody"
		}
		return fmt.Sprintf("close %s signal %s to %s", r.Close.Who, r.Close.Signal, to)
	case r.Close != nil:
		s := fmt.Sprintf("close %s %s", r.Close.Who, r.Close.What)
		if r.Close.Error != "" {
			s += ": " + r.Close.Error
		}
		return s
	case r.Exit != nil:
		s := "exit " + r.Exit.Signal
		if r.Exit.Code != nil {
			s = fmt.Sprintf("exit %d", *r.Exit.Code)
		}
		if len(r.Exit.Held) > 0 {
			s += " held " + strings.Join(r.Exit.Held, " ")
		}
		return s
	case r.Error != nil:
		return fmt.Sprintf("error %s %d", r.Error.What, r.Error.Code)
	case r.Lost != nil:
		return fmt.Sprintf("undelivered %s from %d, %d bytes: %s", r.From, r.Off, r.Lost.Bytes, r.Lost.Error)
	case r.Stall != nil:
		return fmt.Sprintf("stall %s", r.From)
	}
	return string(r.Kind)
}
