package claudecode

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/sixlink/sixlink/record/host"
)

// A session file is read twice: once for its shape (which record is what, and
// which hang on which), which takes some 100 bytes a record, and once for its
// content, of which only the live branch is kept. So a file of 200 MB needs no
// more memory than its records' shape and what the conversation keeps.

// key is an id, hashed so that all are of one size.
type key [16]byte

func keyOf(id text) key {
	if id == "" {
		return key{}
	}
	sum := sha256.Sum256([]byte(id))
	return key(sum[:16])
}

// node is the shape of one record with a uuid, or of one without that matters.
type node struct {
	self, parent, logical key
	group                 key // assistant: the message
	call                  key // result: the first call it answers
	line                  int64
	root                  int32 // sidechain: index of the node it began with
	kind                  kind
	side                  bool
	live                  bool
}

// index is the shape of one file.
type index struct {
	nodes     []node
	byID      map[key]int32
	callGroup map[key]key // call id -> the message that holds it
	retracted map[key]bool
	// repeats are lines that hold a record once more: a compaction writes records
	// anew that it keeps. The first one counts (hosts.md 6).
	repeats map[int64]bool
	agentID text // of an agent's file
	session text
	full    bool
}

// eachLine calls f for each line of a file that is a record. With src it counts
// and notes what cannot be read; once a pass is enough.
func eachLine(f *host.File, src *host.Source, do func(n int64, l *line)) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	lines := host.NewLines(r, 0)
	if src == nil {
		src = new(host.Source)
	}
	for lines.Next() {
		switch {
		case lines.TooLong():
			src.Fail(lines.Number(), "longer than %d bytes, not read", host.DefaultMaxLine)
			continue
		case lines.Blank():
			src.Skip("blank line")
			continue
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l, readOptions); err != nil {
			if lines.Unended() {
				src.Cut = true
				src.Fail(lines.Number(), "the file ends inside this line")
			} else {
				src.Fail(lines.Number(), "no JSON object")
			}
			continue
		}
		do(lines.Number(), &l)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	src.Lines = lines.Number()
	src.Bytes, src.SHA256 = lines.Sum()
	return nil
}

// readIndex makes the shape of a file.
func readIndex(f *host.File, src *host.Source) (*index, error) {
	x := &index{byID: map[key]int32{}, callGroup: map[key]key{}, retracted: map[key]bool{}, repeats: map[int64]bool{}}
	err := eachLine(f, src, x.add)
	return x, err
}

// add takes one line.
func (x *index) add(n int64, l *line) {
	if x.session == "" {
		x.session = l.Session
	}
	for _, id := range l.Supersedes {
		x.retract(text(id))
	}
	for _, id := range l.Retracted {
		x.retract(text(id))
	}
	nd := node{self: keyOf(l.UUID), parent: keyOf(l.Parent), logical: keyOf(l.LogicalParent), line: n, side: l.Sidechain.on, root: -1}
	switch l.Type {
	case "user":
		var m message
		into(l.Message, &m)
		list, _ := blocks(m.Content)
		nd.kind = ofUser(l, list)
		for i := range list {
			if list[i].Type == "tool_result" {
				nd.call = keyOf(list[i].ToolUseID)
				break
			}
		}
	case "assistant":
		var m message
		into(l.Message, &m)
		nd.kind, nd.group = kAssistant, keyOf(m.ID)
		if m.ID == "" {
			nd.group = nd.self
		}
		list, _ := blocks(m.Content)
		for i := range list {
			if k := keyOf(list[i].ID); list[i].Type == "tool_use" && k != (key{}) && len(x.callGroup) < host.MaxItems {
				x.callGroup[k] = nd.group
			}
		}
	case "system":
		nd.kind = kSystem
	case "attachment":
		_, nd.kind = ofAttachment(l)
	default:
		return
	}
	if x.agentID == "" {
		x.agentID = l.AgentID
	}
	if nd.self != (key{}) {
		if _, again := x.byID[nd.self]; again {
			x.repeats[n] = true
			return
		}
	}
	if len(x.nodes) >= host.MaxItems {
		x.full = true
		return
	}
	if nd.self != (key{}) {
		x.byID[nd.self] = int32(len(x.nodes))
	}
	if nd.side {
		nd.root = int32(len(x.nodes))
		if p, ok := x.byID[nd.parent]; ok && x.nodes[p].side {
			nd.root = x.nodes[p].root
		}
	}
	x.nodes = append(x.nodes, nd)
}

func (x *index) retract(id text) {
	if len(x.retracted) < host.MaxItems {
		x.retracted[keyOf(id)] = true
	}
}
