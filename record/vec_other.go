//go:build !linux

package record

import (
	"errors"
	"os"
)

var errNoVec = errors.New("no pwritev")

func pwritev(*os.File, [][]byte, int64) (int, error) { return 0, errNoVec }
