package predicate

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// expr is a compiled pattern with what can be told of most texts without it: an
// unanchored search tries each place, at some 30 ns a byte.
type expr struct {
	re *regexp.Regexp
	// literal stands in every match (fold: lower-case ASCII, in any case); empty: none is known.
	literal string
	fold    bool
	// prefix: each match begins with literal; whole: it is nothing else.
	prefix, whole bool
	// first are the bytes that a match can begin with, where that is not any; sure are
	// those of which each is a match by itself.
	first, sure [256]bool
	some        bool // first is of use
}

func newExpr(re *regexp.Regexp, text string) *expr {
	e := &expr{re: re}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return e
	}
	e.literal, e.fold = literalOf(tree)
	if e.literal != "" {
		e.whole = tree.Op == syntax.OpLiteral
		e.prefix = e.whole
		if tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpLiteral {
			first, _ := literalOf(tree.Sub[0])
			e.prefix = first == e.literal
		}
	}
	if prog, err := syntax.Compile(tree.Simplify()); err == nil {
		e.some = e.begin(prog, uint32(prog.Start), map[uint32]bool{})
	}
	return e
}

// match tells whether the pattern is anywhere in a text of valid UTF-8.
func (e *expr) match(text string) bool {
	if e.literal != "" {
		at := 0
		switch {
		case !e.fold:
			at = strings.Index(text, e.literal)
		case isASCII(text):
			at = indexASCII(text, e.literal)
		case !holdsFold(text, e.literal):
			at = -1
		default:
			return e.re.MatchString(text)
		}
		switch {
		case at < 0:
			return false
		case e.whole:
			return true
		case e.prefix:
			return e.re.MatchString(text[at:]) // a literal looks at nothing that stands before it
		}
	}
	if e.some {
		i := 0
		for i < len(text) && !e.first[text[i]] {
			i++
		}
		if i == len(text) {
			return false // nor does it match the empty text
		}
		if e.sure[text[i]] {
			return true
		}
		// No match begins before i, and none looks at what stands before it.
		text = text[i:]
	}
	return e.re.MatchString(text)
}

// literalOf finds a text that stands in every match of a tree: the longest of one node.
func literalOf(t *syntax.Regexp) (text string, fold bool) {
	switch t.Op {
	case syntax.OpLiteral:
		fold = t.Flags&syntax.FoldCase != 0
		for _, r := range t.Rune {
			if fold && r >= utf8.RuneSelf || r == utf8.RuneError {
				return "", false
			}
		}
		if text = string(t.Rune); fold {
			text = strings.ToLower(text)
		}
		return text, fold
	case syntax.OpCapture, syntax.OpPlus:
		return literalOf(t.Sub[0])
	case syntax.OpConcat:
		for _, sub := range t.Sub {
			if s, f := literalOf(sub); len(s) > len(text) {
				text, fold = s, f
			}
		}
	}
	return text, fold
}

// begin fills first and sure with what the program can begin with at pc; false: it may be
// anything, nothing, or hang on what stands before.
func (e *expr) begin(prog *syntax.Prog, pc uint32, seen map[uint32]bool) bool {
	if seen[pc] {
		return true
	}
	seen[pc] = true
	switch in := &prog.Inst[pc]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return e.begin(prog, in.Out, seen) && e.begin(prog, in.Arg, seen)
	case syntax.InstCapture, syntax.InstNop:
		return e.begin(prog, in.Out, seen)
	case syntax.InstFail:
		return true
	case syntax.InstRune, syntax.InstRune1:
		sure := ends(prog, in.Out, map[uint32]bool{})
		for c := range rune(utf8.RuneSelf) {
			if in.MatchRune(c) {
				e.first[c] = true
				e.sure[c] = e.sure[c] || sure
			}
		}
		for c := utf8.RuneSelf; c < 256; c++ {
			e.first[c] = e.first[c] || beyondASCII(in)
		}
		return true
	}
	return false
}

// beyondASCII tells whether a rune instruction may match a character beyond ASCII.
func beyondASCII(in *syntax.Inst) bool {
	if len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
			if r >= utf8.RuneSelf {
				return true
			}
		}
	}
	return len(in.Rune) == 0 || in.Rune[len(in.Rune)-1] >= utf8.RuneSelf
}

// ends tells whether a match may end at pc.
func ends(prog *syntax.Prog, pc uint32, seen map[uint32]bool) bool {
	if seen[pc] {
		return false
	}
	seen[pc] = true
	switch in := &prog.Inst[pc]; in.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		return ends(prog, in.Out, seen) || ends(prog, in.Arg, seen)
	case syntax.InstCapture, syntax.InstNop:
		return ends(prog, in.Out, seen)
	}
	return false
}
