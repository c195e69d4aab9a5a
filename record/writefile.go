package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile puts a file with data at path, mode 0600, whole or not at all: what
// was there is replaced in one step, and kept when anything fails.
func WriteFile(path string, data []byte) error {
	return WriteFileFrom(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFileFrom is [WriteFile] with what write writes.
func WriteFileFrom(path string, write func(w io.Writer) error) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer root.Close()
	tmp := fmt.Sprintf(".%s.%s", name, randomHex(4))
	f, err := create(root, tmp)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		root.Remove(tmp)
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
