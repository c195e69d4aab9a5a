package mask

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Key makes hashes of credentials that can be compared but not guessed without
// it. It never shows itself, whatever it is printed with.
type Key struct{ b [sha256.Size]byte }

// KeyFile is the key's name in $SIXLINK_HOME: 64 hex digits and a line feed.
const KeyFile = "redact.key"

// macLen is the number of hex digits of a hash: 48 bits tell the few
// credentials of a recording apart, and are short enough to be read.
const macLen = 12

// RandomKey makes a key that nobody else has: hashes made with it can only be
// compared inside of one recording. It is for when no key can be kept.
func RandomKey() Key {
	var k Key
	rand.Read(k.b[:]) // never fails since Go 1.24
	return k
}

// ID names the key without telling anything about it.
func (k Key) ID() string { return k.mac("sixlink mask key id") }

// MAC is the hash that stands for value: the first 12 hex digits of its
// HMAC-SHA-256. The prefix keeps it apart from [Key.ID].
func (k Key) MAC(value string) string { return k.mac(value) }

// Placeholder is what stands for value in texts that people read: marked, with
// its length in bytes and its hash.
func (k Key) Placeholder(value string) string { return placeholder(len(value), k.MAC(value)) }

func (k Key) mac(s string) string {
	h := hmac.New(sha256.New, k.b[:])
	io.WriteString(h, s)
	return hex.EncodeToString(h.Sum(nil))[:macLen]
}

// Format prints the key's id for every verb.
func (k Key) Format(s fmt.State, _ rune) { io.WriteString(s, "key "+k.ID()) }

// LoadKey reads the key in home, and makes it (and home) first when there is
// none. Processes that do so at the same time end with the same key. A key that
// others can read, or that is no plain file, is refused: its hashes could be
// reversed by guessing.
func LoadKey(home string) (Key, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	// os.Root, so that no link leads out of home (recorder.md 4.6).
	root, err := os.OpenRoot(home)
	if err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	defer root.Close()
	k, err := readKey(root, home)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := makeKey(root); err != nil {
		return Key{}, fmt.Errorf("mask key: cannot make %s: %w", filepath.Join(home, KeyFile), err)
	}
	// Whoever came first made it: what counts is what is there now.
	return readKey(root, home)
}

func readKey(root *os.Root, home string) (Key, error) {
	name := filepath.Join(home, KeyFile)
	before, err := root.Lstat(KeyFile)
	if err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	if !before.Mode().IsRegular() {
		return Key{}, fmt.Errorf("mask key: %s is no plain file: remove it", name)
	}
	f, err := root.Open(KeyFile)
	if err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	if !os.SameFile(before, now) {
		return Key{}, fmt.Errorf("mask key: %s was replaced while it was opened: try again", name)
	}
	if perm := now.Mode().Perm(); perm&0o077 != 0 {
		return Key{}, fmt.Errorf("mask key: %s has mode %04o, others may know it: remove it, or chmod 600 it if you trust them", name, perm)
	}
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return Key{}, fmt.Errorf("mask key: %w", err)
	}
	var k Key
	b, err := hex.DecodeString(strings.TrimRight(string(text), "\r\n"))
	if err != nil || len(b) != len(k.b) {
		return Key{}, fmt.Errorf("mask key: %s does not hold %d hex digits: remove it", name, 2*len(k.b))
	}
	copy(k.b[:], b)
	return k, nil
}

// makeKey writes a new key under a name of its own and links it to its place:
// the key is there whole or not at all, and only the first link succeeds.
func makeKey(root *os.Root) error {
	k := RandomKey()
	text := hex.EncodeToString(k.b[:]) + "\n"
	temp := KeyFile + "." + rand.Text()
	if err := writeKey(root, temp, text); err != nil {
		return err
	}
	defer root.Remove(temp)
	err := root.Link(temp, KeyFile)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		// A file system without hard links. O_EXCL still lets one win; another
		// process may meet the file half-written, and says so.
		err = writeKey(root, KeyFile, text)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func writeKey(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err == nil {
		err = f.Sync() // or a crash leaves an empty key that stops every later start
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		root.Remove(name)
	}
	return err
}
