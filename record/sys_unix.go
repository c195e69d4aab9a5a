//go:build unix

package record

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes the writer's lock on f. It fails when somebody holds it; a reader
// that asks whether somebody does (see locked) holds it for an instant.
func lock(f *os.File) (err error) {
	for range 50 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("lock %s: %w", f.Name(), err)
}

// locked tells whether a writer holds its lock on f.
func locked(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	unix.Flock(int(f.Fd()), unix.LOCK_UN)
	return false
}

// unlock lets go of the writer's lock on f.
func unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// removed tells whether f has no name any more.
func removed(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// space returns the free bytes for us and the size of f's file system.
func space(f *os.File) (free, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, 0, err
	}
	size := int64(st.Bsize)
	return int64(st.Bavail) * size, int64(st.Blocks) * size, nil
}
