// Package desktoplog makes recordings of the MCP logs that Claude Desktop keeps
// (mcp-server-NAME.log and mcp.log; hosts.md 3.2): a rescue where no recorder
// ran. The log holds messages, not bytes, and newer versions cut them; so each
// recording says by gap records that it is partial, and nothing that is graded on
// it can rest on what is missing.
//
// It must not know sessions or conversations: a log of this host holds no text of
// one.
package desktoplog
