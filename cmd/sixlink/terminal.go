package main

import (
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"github.com/sixlink/sixlink/record/visible"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// colours tells whether output may be coloured: on a terminal that can, unless
// the user said no (NO_COLOR, TERM=dumb).
func colours(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// escapeHidden spells what a terminal would obey or hide as JSON escapes. The
// text is JSON, so its values stay the same.
func escapeHidden(p []byte) []byte {
	ascii := true
	for _, c := range p {
		if c >= 0x7f {
			ascii = false
			break
		}
	}
	if ascii {
		return p
	}
	out := make([]byte, 0, len(p)+32)
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		switch {
		case r < 0x7f || !visible.Hidden(r):
			out = append(out, p[i:i+n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}
