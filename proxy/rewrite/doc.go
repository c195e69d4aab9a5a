// Package rewrite changes the three places in which a server tells its client
// its own address, so that a client that reached it through sixlink goes on
// through sixlink:
//
//   - resource_metadata of WWW-Authenticate (wire.md 1.8),
//   - resource of an OAuth protected-resource document, recognised by what is in
//     it, since servers put it at any path (wire.md 1.8),
//   - the absolute URL of the legacy transport's endpoint event (wire.md 1.5).
//
// In each only the origin (scheme://authority) is replaced, and only where it is
// the upstream's. Everything else keeps its bytes: the URLs of authorization
// servers above all, or a client's issuer check would fail on half of a rewrite.
//
// It must not know connections, recordings' files or flags: package proxy asks it
// about each response, and records the patches.
//
// # Compressed answers
//
// A document that is compressed with gzip and lies where protected-resource
// documents are announced (at a well-known path, or at the path of a
// resource_metadata that was rewritten) goes to the client decoded: its
// Content-Encoding is left out, and one patch stands for the whole body. Without
// that a client that accepts gzip could not sign in; a patch has to be text, so it
// cannot be compressed again. Nothing else is ever decoded. What is compressed
// otherwise, and a compressed event stream, is left as it is, and Note says so.
package rewrite
