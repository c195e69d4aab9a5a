package audit

import (
	"cmp"
	"slices"
	"strconv"
)

// pointed is a call that a report points at.
type pointed struct {
	Value     int64  `json:"value"`
	Recording string `json:"recording"`
	Session   string `json:"session"`
	Call      string `json:"call"`
	Seq       int64  `json:"seq"`
	Index     int    `json:"index"`
	Server    string `json:"server"`
	Tool      string `json:"tool"`
}

// top are the maxTop calls with the largest values, the largest first.
type top []pointed

func (t *top) put(c *Call, value int64) {
	if n := len(*t); n == maxTop && value < (*t)[n-1].Value {
		return
	}
	p := pointed{value, c.Recording, c.Session, c.ID, c.Seq, c.Index, c.Server, c.Tool}
	i, _ := slices.BinarySearchFunc(*t, p, comparePointed)
	if i == maxTop {
		return
	}
	if *t = slices.Insert(*t, i, p); len(*t) > maxTop {
		*t = (*t)[:maxTop]
	}
}

func comparePointed(a, b pointed) int {
	return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Recording, b.Recording), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index),
		cmp.Compare(a.Session, b.Session))
}

func codeText(code int64) string { return strconv.FormatInt(code, 10) }
