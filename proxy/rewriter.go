package proxy

import (
	"net/http"

	"github.com/sixlink/sixlink/record"
)

// Rewriter may change few responses on their way to the client (wire.md 1.5,
// 1.8). It is handed in: whatever must understand a body is no part of this
// package.
type Rewriter interface {
	// Response looks at a response's head. own is what the client used as
	// scheme://authority to reach us, upstream the upstream's. Headers are fields
	// with new values (an empty list leaves one out; nil: none are changed). A nil
	// BodyRewriter leaves the body alone.
	Response(own, upstream string, req *http.Request, resp *http.Response) (headers http.Header, body BodyRewriter)
}

// BodyRewriter takes the pieces of the upstream's body in order and gives what
// the client gets instead, at once or later. last says that p is the last piece
// (it may be empty), also of a body that is broken off there. patches are the changes that are complete now, their offsets
// in the upstream's body. p is the caller's: what is kept of it must be copied.
type BodyRewriter interface {
	Next(p []byte, last bool) (out []byte, patches []record.Patch)
}
