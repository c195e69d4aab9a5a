package record

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Home is where recordings go that no flag sends elsewhere: $SIXLINK_HOME, else
// $XDG_STATE_HOME/sixlink, else ~/.local/state/sixlink.
func Home() (string, error) {
	if d := os.Getenv("SIXLINK_HOME"); d != "" {
		return d, nil
	}
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "sixlink"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no folder for recordings: %w: set SIXLINK_HOME", err)
	}
	return filepath.Join(home, ".local", "state", "sixlink"), nil
}

// newName is a name that no other process takes: hosts start the same server
// several times at once.
func newName(start time.Time, pid int, random string) string {
	return fmt.Sprintf("%s-%d-%s%s", start.UTC().Format("20060102T150405.000Z"), pid, random, Suffix)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// nameTries is how many numbers are tried for the file of a segment, whose own
// may be taken by a stranger's.
const nameTries = 10

// splitName cuts the suffix that numbers go before.
func splitName(name string) (stem, suffix string) {
	if s, ok := strings.CutSuffix(name, Suffix); ok && s != "" {
		return s, Suffix
	}
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext), ext
}

// siblingName is the n-th name to try when a file is there already (n from 2).
func siblingName(name string, n int) string {
	stem, suffix := splitName(name)
	return fmt.Sprintf("%s-%d%s", stem, n, suffix)
}

// segmentName is the name of a file that continues the recording called name.
func segmentName(name string, n int) string {
	stem, suffix := splitName(name)
	return fmt.Sprintf("%s.%04d%s", stem, n, suffix)
}

var numbered = regexp.MustCompile(`^(.*)\.([0-9]{4,9})$`)

// baseName gives the name of the first file of the recording that a file of that name
// belongs to, and the number in the name; 0 where there is none.
func baseName(name string) (base string, n int) {
	stem, suffix := splitName(name)
	m := numbered.FindStringSubmatch(stem)
	if m == nil || m[1] == "" {
		return name, 0
	}
	if n, _ = strconv.Atoi(m[2]); n == 0 {
		return name, 0
	}
	return m[1] + suffix, n
}

// Numbered tells whether a file's name is one that later files of a recording have.
func Numbered(name string) bool {
	_, n := baseName(name)
	return n > 0
}

// openDir opens the folder for new files, making it (0700) when it is missing.
// open tells whether everybody may write in it.
func openDir(dir string) (root *os.Root, open bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, err
	}
	root, err = os.OpenRoot(dir)
	if err != nil {
		return nil, false, err
	}
	if fi, err := root.Stat("."); err == nil {
		open = fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0
	}
	return root, open, nil
}

// create makes a file that was not there before, 0600, following no link.
func create(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// createFree is create under the first free name of name, name-2, name-3, …
func createFree(root *os.Root, name string) (*os.File, string, error) {
	try := name
	for n := 2; ; n++ {
		f, err := create(root, try)
		if err == nil || !errors.Is(err, fs.ErrExist) || n > 9999 {
			return f, try, err
		}
		try = siblingName(name, n)
	}
}
