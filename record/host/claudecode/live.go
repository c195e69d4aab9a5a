package claudecode

import "github.com/sixlink/sixlink/record/host"

// The live branch (hosts.md 4, rule 5): the records that lead from the newest
// prompt or answer back to the beginning, and what hangs on them. Parents alone
// do not say it: results of parallel calls are siblings of which the next answer
// names only one, an answer is several records, and records are missing from
// files that were pruned.

// mark marks the main agent's live records and returns what is left beside them.
func (x *index) mark() []host.Branch {
	leaf := int32(-1)
	for i := range x.nodes {
		if nd := &x.nodes[i]; !nd.side && (nd.kind == kAssistant || nd.kind == kPrompt) && !x.retracted[nd.self] {
			leaf = int32(i)
		}
	}
	groups := map[key]bool{}
	free := newFree(x.nodes)
	for i := leaf; i >= 0; i = x.before(i, free) {
		nd := &x.nodes[i]
		nd.live = true
		free.take(i)
		if nd.kind == kAssistant && !x.retracted[nd.self] {
			groups[nd.group] = true
		}
	}
	for i := range x.nodes {
		nd := &x.nodes[i]
		switch {
		case nd.side:
			nd.live = true // agents are told apart by their root
		case x.retracted[nd.self] && nd.self != (key{}):
			nd.live = false
		case nd.live:
		case nd.kind == kAssistant:
			nd.live = groups[nd.group]
		case nd.kind == kPrompt:
		case nd.kind == kResult:
			g, known := x.callGroup[nd.call]
			nd.live = known && groups[g] || !known && x.hangsOnLive(nd)
		default:
			nd.live = x.hangsOnLive(nd)
		}
	}
	return x.branches()
}

// before is the node that leads to i; -1 at the beginning. It never returns a
// node that is live already, so that a walk ends.
func (x *index) before(i int32, free free) int32 {
	nd := &x.nodes[i]
	parent := nd.parent
	if parent == (key{}) {
		parent = nd.logical // a compaction begins a new tree
	}
	if parent == (key{}) && nd.kind != kSummary {
		return -1
	}
	if p, ok := x.byID[parent]; ok && !x.nodes[p].live && !x.nodes[p].side {
		return p
	}
	// The parent is not in the file, or we came from it: the record before.
	x.gaps++
	return free.below(i)
}

// free finds the nodes of the main agent that are not live yet. Files are
// strangers': without it a walk could be made to look at all nodes at every step.
type free []int32 // of each place, one more than a place at or below it

func newFree(nodes []node) free {
	f := make(free, len(nodes)+1)
	for i := range nodes {
		f[i+1] = int32(i + 1)
		if nodes[i].side {
			f[i+1] = int32(i)
		}
	}
	return f
}

func (f free) take(i int32) { f[i+1] = i }

// below is the last free node before i, -1 when there is none.
func (f free) below(i int32) int32 {
	root := i
	for f[root] != root {
		root = f[root]
	}
	for f[i] != root { // so that the next one is found at once
		f[i], i = root, f[i]
	}
	return root - 1
}

// hangsOnLive says that a record that is neither prompt nor answer belongs to
// the live branch. One whose parent is not in the file does.
func (x *index) hangsOnLive(nd *node) bool {
	p, ok := x.byID[nd.parent]
	return !ok || x.nodes[p].live
}

// maxBranches bounds the branches that are listed.
const maxBranches = 100

// branches lists what is not live, by the record where it parts from the live
// branch. The root of a node that is not live is then its branch, and their
// calls are counted in the second pass.
func (x *index) branches() []host.Branch {
	var out []host.Branch
	at := map[int32]int{} // root -> place in out
	root := make([]int32, len(x.nodes))
	seen := map[key]bool{} // messages that are counted
	for i := range x.nodes {
		nd := &x.nodes[i]
		root[i] = int32(i)
		if nd.live {
			continue
		}
		if p, ok := x.byID[nd.parent]; ok && p < int32(i) && !x.nodes[p].live {
			root[i] = root[p]
		}
		if nd.kind != kAssistant && nd.kind != kPrompt {
			continue
		}
		b, ok := at[root[i]]
		nd.root = -1
		if !ok {
			if len(out) == maxBranches {
				continue
			}
			b = len(out)
			at[root[i]] = b
			out = append(out, host.Branch{Why: x.why(&x.nodes[root[i]]), Src: host.Src{Line: x.nodes[root[i]].line}})
		}
		nd.root = int32(b)
		if nd.kind == kPrompt || !seen[nd.group] {
			out[b].Messages++
			seen[nd.group] = nd.kind == kAssistant
		}
	}
	return out
}

func (x *index) why(nd *node) string {
	switch {
	case x.retracted[nd.self]:
		return "retracted"
	case nd.kind == kPrompt:
		return "another prompt was sent in its place"
	}
	return "the conversation went on from an earlier record"
}
