// Package messages reads what programs that call a model's API keep: requests,
// responses and lists of messages of Anthropic's Messages API (with hosted MCP
// calls), of OpenAI's Responses and chat completions APIs, AI-SDK ModelMessages,
// MCPJam's traces, and the runs and traces of OpenAI's Agents SDK. One normaliser
// reads them all, since they differ in words and not in what they say (hosts.md
// 3.4 to 3.6).
//
// It must not know recordings or the join.
package messages
