package session

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// maxID is the length in bytes up to which an id is kept as it is. Of longer
// ones (hostile ones; real ids are under 100 bytes) a hash stands for the value.
const maxID = 1 << 10

// key is what two ids must have in common to be the same id (wire.md 2.2).
type key struct {
	kind  IDKind
	value string
}

func (id ID) key() key { return key{id.Kind, id.Value} }

// Pairs tells whether a reply can be paired by this id.
func (id ID) Pairs() bool { return id.Kind == IDString || id.Kind == IDNumber }

// parseID reads the id token of a message: a JSON value that was walked over already.
func parseID(token []byte) ID {
	id := ID{Kind: IDOther}
	switch token[0] {
	case 'n':
		return ID{Kind: IDNull, Raw: "null"}
	case '"':
		id.Kind = IDString
		id.Value, _ = jsonscan.String(token)
	case 't', 'f', '{', '[':
	default:
		id.Kind = IDNumber
		id.Value = jsonscan.Number(token)
	}
	if len(id.Value) > maxID {
		sum := sha256.Sum256([]byte(id.Value))
		// The first byte is in no UTF-8 text, so no id can look like this by chance.
		id.Value = "\xffsha256:" + hex.EncodeToString(sum[:])
	}
	switch {
	case len(token) > maxID:
		id.Raw = string(token[:maxID])
	case id.Kind == IDNumber && string(token) == id.Value:
		id.Raw = id.Value // one string for both
	default:
		id.Raw = string(token)
	}
	return id
}

// rewritten says how id could have become got on its way through a peer that
// mangles ids. It is a hint and never pairs anything (wire.md 2.2).
func rewritten(id, got ID) string {
	switch {
	case id.Kind == IDNumber && got.Kind == IDNumber:
		a, err1 := strconv.ParseFloat(id.Value, 64)
		b, err2 := strconv.ParseFloat(got.Value, 64)
		if err1 != nil || err2 != nil {
			return ""
		}
		if a == b {
			return "equal as float64"
		}
		if math.Abs(a) < 1<<63 && a == math.Trunc(a) && b == float64(int32(int64(a))) {
			return "equal in the low 32 bits"
		}
	case id.Kind == IDNumber && got.Kind == IDString, id.Kind == IDString && got.Kind == IDNumber:
		if id.Value == got.Value {
			return "text against number"
		}
	}
	return ""
}
