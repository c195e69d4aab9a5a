// Package chatgpt reads the conversations of a ChatGPT data export
// (conversations.json; hosts.md 3.3). Profiles, addresses with tokens and other
// metadata of the export are not taken over.
//
// It must not know recordings or the join.
package chatgpt
