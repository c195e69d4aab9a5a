// Package admin is the endpoint for those who run sixlink: whether it lives,
// whether it is ready, and its figures for Prometheus.
//
// It holds the counters, the tap that feeds them on its way to the recorder, and
// the small HTTP server. It must not know JSON or tools (a tool's name is never a
// label: names come from the traffic, and nobody bounds how many there are), and
// nothing it does may hold up or end the traffic.
//
// The server answers GET at three paths and nothing else. It binds to loopback
// unless its address says otherwise, and refuses a Host that is neither an IP
// address nor a name that it was given, so that no page in a browser can read it
// through a name of its own (recorder.md 4.8).
//
//	/healthz  200 while the process lives
//	/readyz   200, or 503 and the reasons: not serving, not recording
//	/metrics  the text format 0.0.4 of Prometheus
package admin
