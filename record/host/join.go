package host

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"unicode/utf8"
)

// Joined puts one text together from pieces that a transcript holds apart, in
// bounded memory. The zero value is ready.
type Joined struct {
	head strings.Builder // at most MaxText and a little
	n    int64
	sum  hash.Hash // nil until the head is full
}

// Add appends a piece.
func (j *Joined) Add(s string) {
	j.n += int64(len(s))
	if j.sum != nil {
		_, _ = j.sum.Write([]byte(s))
		return
	}
	if j.head.Len()+len(s) <= MaxText {
		j.head.WriteString(s)
		return
	}
	j.sum = sha256.New()
	_, _ = j.sum.Write([]byte(j.head.String()))
	_, _ = j.sum.Write([]byte(s))
	j.head.WriteString(s[:MaxText-j.head.Len()])
}

// Blank says that the text has no character but white space.
func (j *Joined) Blank() bool { return j.sum == nil && blank(j.head.String()) }

// Keep gives the text, cut at MaxText or where k has no room left.
func (j *Joined) Keep(k *Keeper) Text {
	if j.sum == nil {
		return k.Text(j.head.String(), MaxText)
	}
	t := k.Text(whole(j.head.String()), MaxText)
	t.Cut, t.Bytes, t.SHA256 = true, j.n, hex.EncodeToString(j.sum.Sum(nil))
	return t
}

// whole drops a character at the end that a cut went through.
func whole(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRuneInString(c) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
