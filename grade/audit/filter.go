package audit

import (
	"slices"

	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/visible"
)

// Filter says which sessions and calls count. The zero value takes all.
type Filter struct {
	// Since and Until bound when a session began: not before the one, before the
	// other; 0: any time. A session without a time on record is then left out, and
	// counted.
	Since, Until Time
	// Labels must all be there.
	Labels map[string]string
	// Servers, Hosts and Tools are names, compared exactly; empty: any. A server's is
	// the label server, else its own. With tools, a session counts when it has a call of
	// one of them, and those calls alone do.
	Servers, Hosts, Tools []string
}

// Header tells whether a session of a recording with these labels can count.
func (f *Filter) Header(labels map[string]string) bool {
	for k, v := range f.Labels {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// session tells whether a session counts; noTime: it cannot be told.
func (f *Filter) session(row *Session, s *session.Session) (takes, noTime bool) {
	switch {
	case len(f.Servers) > 0 && !slices.Contains(f.Servers, row.Server),
		len(f.Hosts) > 0 && !slices.Contains(f.Hosts, row.Host):
		return false, false
	case len(f.Tools) > 0 && !slices.ContainsFunc(s.Calls, func(c *session.Call) bool { return f.tool(visible.UTF8(c.Tool)) }):
		return false, false
	case (f.Since != 0 || f.Until != 0) && row.Start == 0:
		return false, true
	case f.Since != 0 && row.Start < f.Since, f.Until != 0 && row.Start >= f.Until:
		return false, false
	}
	return true, false
}

func (f *Filter) tool(name string) bool {
	return len(f.Tools) == 0 || slices.Contains(f.Tools, name)
}

func utf8(s string) string { return visible.UTF8(s) }
