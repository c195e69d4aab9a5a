package catalog

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// Builder makes lists of requests and answers, in the order of the recording.
type Builder struct {
	lists []*List
	chain []*chain // beside lists
	// changes and gaps count what was seen so far; a chain compares them with
	// what they were when it began, so that either costs nothing per chain.
	changes, gaps int
	changedSeq    int64
	bytes         map[[32]byte][]byte // tool arrays that are kept, by hash: hosts list again and again
}

// chain is what is known about a list that is being made.
type chain struct {
	list          *List
	changes, gaps int               // the builder's when the chain began
	asked         map[string]bool   // cursors that were asked for and answered
	pages         map[[32]byte]bool // hashes of the pages' tools
	open          int               // pages that wait for their answer
}

// Request is a page that was asked for.
type Request struct {
	chain *chain
	page  int
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{bytes: map[[32]byte][]byte{}} }

// maxChains is how many of the latest chains a cursor is looked for in.
const maxChains = 16

// Request takes a tools/list. Without a cursor it begins a chain; with one it
// belongs to the latest chain whose last page named that cursor.
func (b *Builder) Request(seq int64, cursor string, has bool) *Request {
	var c *chain
	if has {
		for i := len(b.chain) - 1; i >= 0 && len(b.chain)-i <= maxChains; i-- {
			if b.chain[i].names(cursor) {
				c = b.chain[i]
				break
			}
		}
	}
	if c == nil {
		c = &chain{list: &List{}, changes: b.changes, gaps: b.gaps, asked: map[string]bool{}, pages: map[[32]byte]bool{}}
		if has {
			c.list.Why = "it begins with a cursor that no page on record named"
			c.list.headless = true
		}
		b.lists = append(b.lists, c.list)
		b.chain = append(b.chain, c)
	}
	c.list.Pages = append(c.list.Pages, Page{RequestSeq: seq, Cursor: cursor, HasCursor: has})
	c.list.State = Open
	c.open++
	return &Request{chain: c, page: len(c.list.Pages) - 1}
}

// names tells whether the chain goes on at cursor: its last answered page named
// it, or it was asked for already (a client that tries again).
func (c *chain) names(cursor string) bool {
	if c.asked[cursor] {
		return true
	}
	for i := len(c.list.Pages) - 1; i >= 0; i-- {
		p := c.list.Pages[i]
		if p.AnswerSeq != 0 && !p.Failed { // a page that failed may be tried again
			return p.HasNext && p.Next == cursor
		}
		if p.HasCursor && p.Cursor == cursor {
			return true
		}
	}
	return false
}

// Answer takes a page's result. tools is the raw text of its tools member, nil
// when there is none; it is copied.
func (b *Builder) Answer(r *Request, seq int64, tools []byte, next string, hasNext bool) {
	if len(tools) == 0 || tools[0] != '[' {
		b.Fail(r, seq, 0, "the result has no list of tools")
		return
	}
	c := r.chain
	l, p := c.list, &c.list.Pages[r.page]
	p.AnswerSeq, p.Next, p.HasNext = seq, next, hasNext
	l.ErrorCode, l.ErrorMessage = 0, "" // of an attempt before, if there was one
	c.open--

	hash := sha256.Sum256(tools)
	// A cursor that is answered by itself, or by one that was used before, does
	// not move: the client would go round for ever.
	still := hasNext && (p.HasCursor && next == p.Cursor || c.asked[next])
	again := p.HasCursor && c.asked[p.Cursor]
	if still {
		l.Stuck = true
	}
	if !again && (!still || !c.pages[hash]) {
		p.Tools = l.add(b.keep(hash, tools), seq)
	}
	c.pages[hash] = true
	if p.HasCursor {
		c.asked[p.Cursor] = true
	}
	b.settle(c)
}

// Fail takes a page that was answered by an error, or by no list.
func (b *Builder) Fail(r *Request, seq, code int64, message string) {
	c := r.chain
	p := &c.list.Pages[r.page]
	p.AnswerSeq, p.Failed = seq, true
	c.open--
	c.list.ErrorCode, c.list.ErrorMessage = code, message
	b.settle(c)
}

// Unanswered takes a page that got no answer. failed says that the server is
// the one that did not give it; else the list stays open.
func (b *Builder) Unanswered(r *Request, failed bool, why string) {
	c := r.chain
	c.open--
	p := &c.list.Pages[r.page]
	p.Failed = failed
	p.unanswered, p.why = true, why
	b.settle(c)
}

// Changed takes a notification that the list has changed.
func (b *Builder) Changed(seq int64) {
	b.changes++
	b.changedSeq = seq
	if n := len(b.lists); n > 0 {
		if l := b.lists[n-1]; l.ChangedSeq == 0 && b.chain[n-1].open == 0 {
			l.ChangedSeq = seq
		}
	}
}

// Gap takes a loss of records.
func (b *Builder) Gap() { b.gaps++ }

// Lists returns the lists in the order in which they were begun.
func (b *Builder) Lists() []*List { return b.lists }

// Held returns the list that held at seq: the latest one that had a page by
// then, else the latest that was begun; nil when there is none. stale says that
// it had been announced as changed and was not fetched again.
func (b *Builder) Held(seq int64) (l *List, stale bool) {
	n := len(b.lists)
	if n == 0 {
		return nil, false
	}
	l = b.lists[n-1]
	for i := n - 1; i >= 0 && n-i <= maxChains; i-- {
		if b.lists[i].answered(seq) {
			l = b.lists[i]
			break
		}
	}
	return l, l.ChangedSeq != 0 && l.ChangedSeq < seq
}

// answered tells whether a page with tools had come by seq.
func (l *List) answered(seq int64) bool {
	for _, p := range l.Pages {
		if p.AnswerSeq != 0 && p.AnswerSeq < seq {
			return !p.Failed
		}
	}
	return false
}

// settle decides the list's state after a page.
func (b *Builder) settle(c *chain) {
	l := c.list
	if c.open > 0 {
		l.State = Open
		return
	}
	last := l.Pages[len(l.Pages)-1]
	n := len(l.Pages)
	changed, gap := c.changes != b.changes, c.gaps != b.gaps
	why := l.Why
	if !l.headless {
		why = ""
	}
	switch {
	case last.Failed && n == 1:
		l.State = Failed
		why = failure(l, last)
	case last.Failed:
		l.State = Partial
		why = fmt.Sprintf("page %d: %s", n, failure(l, last))
	case last.unanswered:
		l.State = Open
		if n > 1 {
			why = fmt.Sprintf("page %d: %s", n, last.why)
		} else {
			why = last.why
		}
	case gap:
		l.State, why = Open, "a gap lies inside"
	case l.Stuck:
		l.State, why = Partial, fmt.Sprintf("the cursor %q did not move on", last.Next)
	case last.HasNext:
		l.State, why = Partial, fmt.Sprintf("page %d names another one that was not fetched", n)
	case l.headless:
		l.State = Partial
	case changed:
		l.State, why = Racy, fmt.Sprintf("announced as changed (%d) while it was fetched", b.changedSeq)
	default:
		l.State = Complete
	}
	l.Why = why
}

func failure(l *List, p Page) string {
	switch {
	case p.unanswered:
		return p.why
	case l.ErrorCode != 0:
		return fmt.Sprintf("error %d: %s", l.ErrorCode, l.ErrorMessage)
	}
	return l.ErrorMessage
}

// keep copies the tools of a page, once for equal pages.
func (b *Builder) keep(hash [32]byte, tools []byte) []byte {
	if kept, ok := b.bytes[hash]; ok {
		return kept
	}
	kept := bytes.Clone(tools)
	b.bytes[hash] = kept
	return kept
}

// maxDuplicates is how many tool names that stand twice a list names.
const maxDuplicates = 16

// add appends the tools of a page and returns how many they are.
func (l *List) add(tools []byte, seq int64) int {
	before := len(l.Tools)
	_, _ = jsonscan.Elements(tools, 0, func(_, at int) (jsonscan.Span, error) {
		at = jsonscan.Space(tools, at)
		t := Tool{Seq: seq}
		var s jsonscan.Span
		var err error
		if tools[at] == '{' {
			s, err = t.read(tools, at)
		} else {
			s, err = jsonscan.Skip(tools, at)
		}
		if err != nil {
			return s, err
		}
		t.Raw = tools[at:s.End:s.End]
		if t.Name != "" {
			if l.names == nil {
				l.names = map[string]bool{}
			}
			if l.names[t.Name] && len(l.Duplicates) < maxDuplicates {
				l.Duplicates = append(l.Duplicates, t.Name)
			}
			l.names[t.Name] = true
		}
		l.Tools = append(l.Tools, t)
		return s, nil
	})
	return len(l.Tools) - before
}

// read reads a tool's members: of duplicates the last holds.
func (t *Tool) read(b []byte, at int) (jsonscan.Span, error) {
	return jsonscan.Members(b, at, func(name []byte, at int) (jsonscan.Span, error) {
		s, err := jsonscan.Skip(b, at)
		if err != nil {
			return s, err
		}
		v := b[s.Start:s.End:s.End]
		switch string(name) {
		case "name":
			t.Name, t.HasName = jsonscan.String(v)
		case "description":
			t.Description, t.HasDesc = jsonscan.String(v)
		case "inputSchema":
			t.InputSchema = v
		case "outputSchema":
			t.OutputSchema = v
		case "annotations":
			t.Annotations = v
		}
		return s, nil
	})
}
