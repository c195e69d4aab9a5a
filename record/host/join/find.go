package join

import "slices"

// maxFound bounds the ids that a search is made for.
const maxFound = 10_000

// IDs are what the wire says of the hosts' own records: ids of conversations
// (CLAUDE_CODE_SESSION_ID, Codex's threads) and of calls, each sorted. A transcript
// that has none of them is another session's.
func IDs(ws []Wire) (conversations, calls []string) {
	add := func(to *[]string, id string) {
		if id != "" && len(*to) < maxFound {
			*to = append(*to, id)
		}
	}
	for i := range ws {
		add(&conversations, ws[i].HostSession)
		for _, c := range newWire(i, &ws[i]).calls {
			add(&calls, c.meta.use)
			for _, id := range c.meta.threads {
				add(&conversations, id)
			}
		}
	}
	for _, list := range []*[]string{&conversations, &calls} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return conversations, calls
}
