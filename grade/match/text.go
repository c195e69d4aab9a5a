package match

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record/visible"
)

// maxName bounds a tool's or key's name in a text, in characters (grading.md 1.1).
const maxName = 200

// quoted shows a name from a recording or a suite on one line.
func quoted(name string) string {
	// A character has four bytes at most: what is cut here is cut below anyway, and a
	// hostile name of megabytes is not worked on.
	name = name[:min(len(name), 4*maxName+4)]
	shown := visible.String(name)
	if s := runes(shown); s != shown {
		return `"` + s + `…"`
	}
	return `"` + shown + `"`
}

// runes returns the first maxName characters.
func runes(s string) string {
	n := 0
	for i := range s {
		if n == maxName {
			return s[:i]
		}
		n++
	}
	return s
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// where is the beginning of a text about one of several turns; people count from 1.
func where(turn int, several bool) string {
	if !several || turn < 0 {
		return ""
	}
	return fmt.Sprintf("turn %d: ", turn+1)
}

// describe says a finding in one line.
func (f *Finding) describe(negative, fatal, anyByName bool) string {
	switch f.Category {
	case Missing:
		name := quoted(f.Expected.Tool)
		switch {
		case f.Undecided:
			return name + " was expected and is not on record, but not all calls are"
		case f.Expected.MinCount < 0:
			return name + " has a minCount below 1, which nothing can meet"
		case anyByName:
			return name + " was expected " + times(f.Count) + " more than it was called"
		case f.Count > 1:
			return name + " was expected " + times(f.Count) + " and not called"
		}
		return name + " was expected and not called"
	case Extra:
		s := quoted(f.Call.Tool) + " was called and not expected"
		if f.Call.HostOnly {
			s += " (it never reached the wire)"
		}
		if !fatal && !negative {
			s += " (reported, not fatal)"
		}
		return s
	case OutOfOrder:
		if f.Undecided {
			return quoted(f.Expected.Tool) + " may have been called out of order"
		}
		return quoted(f.Expected.Tool) + " was called out of order"
	}
	name := quoted(f.Call.Tool)
	if f.Undecided && f.Differing == 0 {
		return name + " was called with arguments that cannot be read"
	}
	return name + " was called " + differing(f.Keys, f.Differing)
}

// differing says at which keys, never with what.
func differing(keys []Difference, total int) string {
	if total == 0 {
		return "with other arguments than expected"
	}
	parts := make([]string, len(keys))
	for i := range keys {
		k := quoted(keys[i].Key)
		switch keys[i].Kind {
		case Absent:
			parts[i] = "without " + k
		case OtherType:
			parts[i] = "with " + k + " of another type"
		case Surplus:
			parts[i] = "with " + k + ", which is not expected"
		case NoObject:
			parts[i] = "with arguments that are no object"
		default:
			parts[i] = "with another " + k
		}
	}
	s := strings.Join(parts, "; ")
	if more := total - len(keys); more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	return s
}

// sentence says in words what an error is for want of.
func (w Why) sentence() string {
	switch w {
	case PartialCalls:
		return "not all calls are on record, and the outcome rests on those that are not"
	case NoConversation:
		return "which call belongs to which turn is not known without a conversation"
	case NoFinishedPrompt:
		return "that no call was made proves nothing without a prompt on record and a finished turn"
	case Unreadable:
		return "the arguments of a call cannot be read"
	case OrderNotKnown:
		return "the order of the calls is not known: they overlap within the uncertainty of the clocks"
	case TooLarge:
		return fmt.Sprintf("too much to compare: more than %d expectations, or %d times expectations and calls", maxExpectations, maxCells)
	}
	return ""
}
