// Package host holds what a host's own transcript tells: the common model of
// conversations (hosts.md 4), sixlink's own file format of that model
// (docs/conversation.md), and what every importer needs (files, lines with
// bounds, capped texts, the choice of an importer from a file's content).
//
// The importers are packages of their own below it, one a host family
// (claudecode, codex, messages, ...); package importers lists them. Importing is a pure
// function of the bytes: no clock, locale, home folder, network or map order,
// so that a transcript says the same on every machine.
//
// It must not know recordings: what joins a conversation with sessions reads
// both and stands beside this model. A Conversation is never changed by a join,
// since one conversation may be joined to several recordings.
package host
