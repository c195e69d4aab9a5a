package chatgpt

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
	"github.com/sixlink/sixlink/record/host/internal/lenient"
	"github.com/sixlink/sixlink/record/host/internal/story"
)

// Export reads conversations.json: a list of conversations, or one of them.
var Export = &host.Importer{Name: "chatgpt-export", Version: "1", Doc: "conversations of a ChatGPT data export", Detect: detect, Import: importExport}

func detect(_ string, head []byte) host.Sure {
	for _, m := range lenient.Heads(head) {
		switch {
		case lenient.Has(m, "mapping", "current_node"), lenient.Has(m, "conversation_id", "mapping"):
			return host.Certain
		case lenient.Has(m, "mapping"):
			return host.Likely
		}
	}
	return host.No
}

// importExport makes one conversation of each element. They share one bound on
// texts, since an export may hold thousands.
func importExport(files []*host.File) ([]*host.Conversation, error) {
	var out []*host.Conversation
	for _, f := range lenient.Named(files) {
		src := host.Source{Path: f.Name, Format: "chatgpt-export"}
		keep := &host.Keeper{}
		var own []*host.Conversation
		items := 0
		if err := lenient.Objects(f, &src, func(n int64, raw jsontext.Value) {
			if items > host.MaxItems {
				src.Skip("over the bound")
				return
			}
			c := read(n, raw, &src, keep)
			if c == nil {
				src.Skip("other record")
				return
			}
			if items += len(c.Messages) + len(c.Calls); items > host.MaxItems {
				src.Fail(n, "more than %d messages and calls in one file; what follows is not read", host.MaxItems)
			}
			src.Took("conversation")
			own = append(own, c)
		}); err != nil {
			return nil, err
		}
		for _, c := range own {
			// Size, hash and errors are the file's. An element that could be read is whole
			// whatever became of the file, so its caps stay.
			c.Sources[0].Whole(&src)
		}
		out = append(out, own...)
	}
	if len(out) == 0 {
		return nil, host.ErrNothing
	}
	return out, nil
}

// node is one node of the tree.
type node struct {
	Parent  lenient.Word   `json:"parent"`
	Message jsontext.Value `json:"message"`
}

// maxNodes bounds the nodes of one conversation.
const maxNodes = 200_000

func read(n int64, raw jsontext.Value, src *host.Source, keep *host.Keeper) *host.Conversation {
	var c struct {
		ID      lenient.Word   `json:"conversation_id"`
		Old     lenient.Word   `json:"id"`
		Current lenient.Word   `json:"current_node"`
		Mapping jsontext.Value `json:"mapping"`
	}
	if !lenient.Into(raw, &c) || c.Mapping.Kind() != '{' {
		return nil
	}
	nodes := map[string]*node{}
	var order []string
	if !eachMember(c.Mapping, func(id string, v jsontext.Value) {
		var x node
		if len(nodes) < maxNodes && nodes[id] == nil && lenient.Into(v, &x) {
			nodes[id] = &x
			order = append(order, id)
		}
	}) {
		return nil
	}
	r := &reader{b: story.New("chatgpt", keep), line: n}
	r.b.C.Sources = []host.Source{{Path: src.Path, Format: src.Format}}
	r.own = &r.b.C.Sources[0]
	r.b.Session(string(c.ID))
	if c.ID == "" {
		r.b.Session(string(c.Old))
	}
	live, path := branch(nodes, order, string(c.Current))
	for _, id := range path {
		r.message(id, nodes[id])
	}
	r.others(nodes, order, live)
	return r.finish()
}

// eachMember calls do for the members of an object in their order.
func eachMember(v jsontext.Value, do func(name string, v jsontext.Value)) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), lenient.Options)
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		name := lenient.Bound(tok.String())
		m, err := dec.ReadValue()
		if err != nil {
			return false
		}
		do(name, m.Clone())
	}
	return true
}

// branch is the live branch: the path from the current node up to the root
// (hosts.md 3.3), told from the root down. Without a current node it is that of
// the last node of the file.
func branch(nodes map[string]*node, order []string, current string) (live map[string]bool, path []string) {
	if nodes[current] == nil && len(order) > 0 {
		current = order[len(order)-1]
	}
	live = map[string]bool{}
	for id := current; nodes[id] != nil && !live[id]; id = string(nodes[id].Parent) {
		live[id] = true
		path = append(path, id)
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return live, path
}
