package match

// pairing is a maximum matching of the expectations of one tool with the calls of
// that tool, where one expectation may take several calls (its minCount).
//
// Copies of an expectation are never built. Searches walk the expectations, not the
// calls: a step from x to y means "x could take a call that y has", and how many such
// calls there are is counted as calls change hands. So a search costs the square of
// the number of expectations over 64, whatever the number of calls, and memory is one
// bit for each expectation and call, twice.
type pairing struct {
	n, m   int
	rows   []set   // per expectation the calls that it accepts
	need   []int   // per expectation how many calls it wants, at most m
	have   []int   // and has
	owner  []int32 // per call who has it, or free, or gone
	owned  []set   // the same by expectation
	free   set     // calls that nobody has
	open   []int   // per expectation how many free calls it accepts
	shared []int32 // n*x+y: how many calls of y x accepts
	steps  []set   // y is in steps[x] where that is above 0
	back   []set   // x is in back[y] then

	// for searches
	parent []int
	seen   set
	queue  []int
}

const (
	nobody int32 = -1 // the call is free
	gone   int32 = -2 // settled, and out of the matching
)

func newPairing(rows []set, need []int, calls int) *pairing {
	n := len(rows)
	p := &pairing{
		n: n, m: calls, rows: rows, need: need,
		have: make([]int, n), owner: make([]int32, calls), owned: newSets(n, calls), free: newSet(calls),
		open: make([]int, n), shared: make([]int32, n*n), steps: newSets(n, n), back: newSets(n, n),
		parent: make([]int, n), seen: newSet(n),
	}
	p.free.fill(calls)
	for c := range p.owner {
		p.owner[c] = nobody
	}
	for i := range rows {
		for c := rows[i].from(0); c >= 0; c = rows[i].from(c + 1) {
			p.open[i]++
		}
	}
	return p
}

// give hands call c to expectation i, whoever had it.
func (p *pairing) give(c, i int) {
	p.release(c)
	p.free.remove(c)
	p.owner[c] = int32(i)
	p.owned[i].add(c)
	p.have[i]++
	for x := range p.rows {
		if p.rows[x].has(c) {
			p.open[x]--
			p.share(x, i, 1)
		}
	}
}

// release makes call c free.
func (p *pairing) release(c int) {
	i := p.owner[c]
	if i < 0 {
		return
	}
	p.owner[c] = nobody
	p.owned[i].remove(c)
	p.have[i]--
	p.free.add(c)
	for x := range p.rows {
		if p.rows[x].has(c) {
			p.share(x, int(i), -1)
			p.open[x]++
		}
	}
}

// retire takes call c out of the matching for good, together with one copy of the
// expectation that has it.
func (p *pairing) retire(c int) {
	i := int(p.owner[c])
	p.owner[c] = gone
	p.owned[i].remove(c)
	p.have[i]--
	p.need[i]--
	for x := range p.rows {
		if p.rows[x].has(c) {
			p.share(x, i, -1)
		}
	}
}

func (p *pairing) share(x, y int, by int32) {
	at := x*p.n + y
	p.shared[at] += by
	switch {
	case p.shared[at] == 0:
		p.steps[x].remove(y)
		p.back[y].remove(x)
	case by > 0 && p.shared[at] == by:
		p.steps[x].add(y)
		p.back[y].add(x)
	}
}

// maximum extends what is paired to a maximum matching. What is paired stays so,
// though perhaps with another call. Where not all can be, the earlier expectation is.
func (p *pairing) maximum() {
	for i := range p.need {
		for p.have[i] < p.need[i] && p.grow(i) {
		}
	}
}

// grow gets expectation i one more call: a free one, or one of another expectation
// that can get another in its place.
func (p *pairing) grow(i int) bool {
	p.start()
	p.root(i)
	end := p.search(func(x int) bool { return p.open[x] > 0 })
	if end < 0 {
		return false
	}
	p.shift(end, firstCommon(p.rows[end], p.free))
	return true
}

func (p *pairing) start() {
	p.seen.clear()
	p.queue = p.queue[:0]
}

func (p *pairing) root(i int) {
	if !p.seen.has(i) {
		p.seen.add(i)
		p.parent[i] = -1
		p.queue = append(p.queue, i)
	}
}

// search walks breadth first from the roots to the first expectation that fits.
func (p *pairing) search(fits func(int) bool) int {
	for k := 0; k < len(p.queue); k++ {
		x := p.queue[k]
		if fits(x) {
			return x
		}
		for w, word := range p.steps[x] {
			for word &^= p.seen[w]; word != 0; word &= word - 1 {
				y := w<<6 + first(word)
				p.seen.add(y)
				p.parent[y] = x
				p.queue = append(p.queue, y)
			}
		}
	}
	return -1
}

// shift gives call c to the end of the path that search found, and so on back to its
// root: each takes a call of the one behind it.
func (p *pairing) shift(end, c int) {
	for x := end; ; {
		before := p.parent[x]
		next := -1
		if before >= 0 {
			next = firstCommon(p.rows[before], p.owned[x])
		}
		p.give(c, x)
		if before < 0 {
			return
		}
		x, c = before, next
	}
}

// settle turns a maximum matching into the one that grading.md 0.2.2 asks for: each
// expectation in authored order takes the earliest call that still allows a maximum
// matching. It returns the calls of each expectation, ascending.
//
// A call that is of no use to one copy is of none to the next: with it, what is
// settled since would have been a maximum matching too. So each expectation looks at
// each call at most once.
func (p *pairing) settle() [][]int {
	taken := make([][]int, p.n)
	allowed := newSet(p.n)
	for i := range p.need {
		known := false // allowed is up to date
		for c := p.rows[i].from(0); c >= 0 && p.need[i] > 0; c = p.rows[i].from(c + 1) {
			j := int(p.owner[c])
			switch {
			case p.owner[c] == gone:
				continue
			case j == i:
			case p.have[i] < p.need[i]:
				// One copy goes without in this matching; the one that loses c may as well.
				p.give(c, i)
			case p.owner[c] == nobody:
				p.release(p.owned[i].from(0))
				p.give(c, i)
			default:
				if !known {
					p.spare(i, allowed)
					known = true
				}
				if !allowed.has(j) {
					continue
				}
				p.give(c, i)
				p.retire(c) // first: it is not to be given up again
				p.replace(i, j)
			}
			if p.owner[c] != gone {
				p.retire(c)
			}
			taken[i] = append(taken[i], c)
			known = false
		}
		p.need[i] = 0
	}
	return taken
}

// spare finds the expectations from which i may take a call instead of one of its own
// without making the matching smaller: those that reach a free call or one that i then
// gives up, and all of them where one that goes without reaches i.
func (p *pairing) spare(i int, into set) {
	into.clear()
	p.queue = p.queue[:0]
	reach := func(x int) {
		if !into.has(x) {
			into.add(x)
			p.queue = append(p.queue, x)
		}
	}
	reach(i)
	for x := range p.need {
		if p.open[x] > 0 {
			reach(x)
		}
	}
	for k := 0; k < len(p.queue); k++ {
		for w, word := range p.back[p.queue[k]] {
			for word &^= into[w]; word != 0; word &= word - 1 {
				reach(w<<6 + first(word))
			}
		}
	}
	for x := range p.need {
		if into.has(x) && p.have[x] < p.need[x] {
			into.fill(p.n)
			return
		}
	}
}

// replace makes the matching a maximum again after i took a call of j: one of the
// calls that i had for that copy goes to j, or to another that goes without, perhaps
// by way of others, or it becomes free while j finds another.
func (p *pairing) replace(i, j int) {
	p.start()
	p.root(j)
	for x := range p.need {
		if p.have[x] < p.need[x] {
			p.root(x)
		}
	}
	end := p.search(func(x int) bool { return x == i || p.open[x] > 0 })
	if end == i {
		end = p.parent[i]
		p.shift(end, firstCommon(p.rows[end], p.owned[i]))
		return
	}
	p.shift(end, firstCommon(p.rows[end], p.free))
	p.release(p.owned[i].from(0))
}
