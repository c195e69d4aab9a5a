// Package har makes recordings of browser captures (HAR 1.2, as browsers and
// debugging proxies write them): evidence where no recorder ran.
//
// A capture lists requests and responses as the browser understood them. Bodies are
// decoded, heads are lists of names and values, and some bodies are missing. So a
// recording made of one says where it comes from; a body that is not in the capture
// has no end on record, and nothing that is graded can rest on what is missing.
//
// It knows HAR, and MCP's method names as far as it takes to find its traffic
// among everything else that a browser loads. It must not know sessions or
// verdicts.
package har
