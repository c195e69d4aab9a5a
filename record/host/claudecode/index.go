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
	cost      *host.Usage // what the host counted for the whole session; nil: not on record
	agentID   text        // of an agent's file
	session   text
	full      bool
	gaps      int // records of the live branch whose parent is not in the file
}

// eachLine calls do for each line of a file that is a record. src notes what
// cannot be read; nil: nobody asks, in a second pass. Lines that skip is true of
// are not parsed; nil: none.
func eachLine(f *host.File, src *host.Source, skip func(n int64) bool, do func(n int64, l *line)) error {
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
		if skip != nil && skip(lines.Number()) {
			continue
		}
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
	x := &index{byID: map[key]int32{}, callGroup: map[key]key{}, retracted: map[key]bool{}}
	err := eachLine(f, src, nil, func(n int64, l *line) {
		if why := x.add(n, l); why != "" {
			src.Skip(why)
		}
	})
	return x, err
}

// typeOf is what a line is counted as.
func typeOf(l *line) string {
	switch {
	case l.Type == "":
		return "(no type)"
	case l.Type == "system" && l.Subtype != "":
		return "system/" + string(l.Subtype)
	}
	return string(l.Type)
}

// add takes one line; where it makes no node it returns what to count it as.
func (x *index) add(n int64, l *line) (skipped string) {
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
	case "cost-state":
		if u := modelUsageOf(l.ModelUsage); u != nil {
			x.cost = u // cumulative: the last one counts
		}
		return typeOf(l)
	default:
		// Records of other types (progress, up to 2.1.9x) stand between others in the
		// tree; they matter as that alone.
		if l.UUID == "" || l.Parent == "" {
			return typeOf(l)
		}
	}
	if x.agentID == "" {
		x.agentID = l.AgentID
	}
	if nd.self != (key{}) {
		if _, again := x.byID[nd.self]; again {
			return "repeated record" // a compaction writes anew what it keeps; the first counts (hosts.md 6)
		}
	}
	if len(x.nodes) >= host.MaxItems {
		x.full = true
		return "record over the limit"
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
	return ""
}

func (x *index) retract(id text) {
	if len(x.retracted) < host.MaxItems {
		x.retracted[keyOf(id)] = true
	}
}
