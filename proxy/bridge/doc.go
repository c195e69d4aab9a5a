// Package bridge lets a host that speaks stdio use a server that speaks HTTP.
//
// It is a client of its own and no transparent proxy, and the recording says so
// (bridge: true): the frames in it are the host's, the HTTP exchanges are
// sixlink's. It knows as much of MCP as a transport has to: which messages are
// requests, the ids, the version and names that headers repeat. It must not know
// tools, flags or files, and never answers in the server's place, but for the
// marked errors below.
//
// # What goes where
//
// A line of the host is the body of one POST, byte for byte without its line end.
// A JSON answer is one line; where it has line breaks they are left out, which
// are white space there. A message event of an event stream is one line. What is
// no JSON-RPC message is not written to the host; the recording has it.
//
// The handshake is awaited: nothing is sent before the answer to initialize is
// there. A notification, and an answer of the host, is awaited until the server
// has taken it. Requests otherwise run side by side; the next line is sent when
// the request before it is written (recorder.md 3.10).
//
// Up to 2025-11-25 the Mcp-Session-Id of the answer to initialize and the
// negotiated version (from 2025-06-18 on) go with all that follows, a GET stream
// is held where the server has one, streams that break off are resumed with
// Last-Event-ID, and the session is ended with DELETE. If initialize gets a 4xx,
// the HTTP+SSE transport of 2024-11-05 is tried (wire.md 1.6). A 2026-07-28
// message brings its version along; Mcp-Method and Mcp-Name repeat it (wire.md
// 1.4), there is no session, and the host's notifications/cancelled closes the
// answer as well, since that is what cancels there.
//
// # Errors that sixlink makes
//
// A request that gets no answer of its own gets a JSON-RPC error whose data has
// "madeBy": "sixlink". An answer that names the request's id is always passed on
// as it is, whatever the status. The codes:
//
//	-32090  unreachable   the request could not be sent, or no head came
//	-32091  unauthorized  401 or 403
//	-32092  notFound      404: no such place, or the session is over
//	-32093  serverError   5xx
//	-32094  status        another status, a redirect elsewhere among them
//	-32095  unreadable    a body that is no JSON-RPC message (a text, a page)
//	-32096  noAnswer      an answer that ended, or broke off, without one
//	-32097  tooLong       a line, or an answer, beyond 64 MiB
//
// If the server's JSON-RPC error names no id, as 400s do, the made error has its
// code and message, and all of it in data.error.
package bridge
