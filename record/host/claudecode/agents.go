package claudecode

import (
	"crypto/sha256"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sixlink/sixlink/record/host"
)

// startsAgent says that a tool of the host starts a subagent: Task up to 2.0,
// Agent since.
func startsAgent(name string) bool { return name == "Task" || name == "Agent" }

// agentPrompt is what a call gives its subagent to do.
func agentPrompt(input jsontext.Value) string {
	var in struct {
		Prompt long `json:"prompt"`
	}
	into(input, &in)
	return string(in.Prompt)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(sum[:])
}

// claim returns the first call that started a subagent with that prompt and was
// not claimed yet; "" when there is none.
func (b *builder) claim(prompt string) string {
	h := hashOf(prompt)
	for ids := b.tasks[h]; len(ids) > 0; {
		id := ids[0]
		ids = ids[1:]
		b.tasks[h] = ids
		if !b.claimed[id] {
			b.claimed[id] = true
			return id
		}
	}
	return ""
}

// link gives an agent its parent call, and with it its turn and depth.
func (b *builder) link(a *agent, parent string) {
	i, ok := b.calls[parent]
	if !ok || parent == "" {
		return
	}
	a.ParentCall, a.call = parent, i
	if up := b.c.Calls[i].Agent; up != nil && a.Depth == 0 {
		a.Depth = up.Depth + 1
	}
	if a.Depth == 0 {
		a.Depth = 1
	}
}

// taskIDs reads the ids of the task that a notification is about.
func taskIDs(s string) []string {
	var ids []string
	for _, tag := range []string{"task-id", "tool-use-id"} {
		if _, rest, ok := strings.Cut(s, "<"+tag+">"); ok {
			if id, _, ok := strings.Cut(rest, "</"+tag+">"); ok {
				ids = append(ids, strings.TrimSpace(id))
			}
		}
	}
	return ids
}

// hostOrder puts the calls of subagents behind the call that started them: the
// order in which the host came to them, whatever file they are in.
func hostOrder(calls []host.Call) []host.Call {
	children := map[string][]int{}
	var top []int
	ids := map[string]bool{}
	for i := range calls {
		if calls[i].HostCallID != "" {
			ids[calls[i].HostCallID] = true
		}
	}
	for i := range calls {
		if a := calls[i].Agent; a != nil && ids[a.ParentCall] {
			children[a.ParentCall] = append(children[a.ParentCall], i)
		} else {
			top = append(top, i)
		}
	}
	if len(children) == 0 {
		return calls
	}
	out := make([]host.Call, 0, len(calls))
	done := make([]bool, len(calls))
	// A stack, not recursion: depth is the file's choice.
	stack := make([]int, 0, len(top))
	push := func(list []int) {
		for i := len(list) - 1; i >= 0; i-- {
			stack = append(stack, list[i])
		}
	}
	drain := func() {
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[i] {
				continue
			}
			done[i] = true
			out = append(out, calls[i])
			push(children[calls[i].HostCallID])
		}
	}
	push(top)
	drain()
	for i := range calls { // subagents that start each other
		if !done[i] {
			push([]int{i})
			drain()
		}
	}
	return out
}
