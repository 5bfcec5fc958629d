package archive

import (
	"fmt"
	"os"
	"path/filepath"

	"nodrop.dev/nodrop/internal/archive/document"
)

// flush makes a document in a directory survive a loss of power. In a bucket the
// server has done so before it answered.
func (s *Store) flush(key string) error {
	if s.location.scheme != schemeFile {
		return nil
	}
	name := filepath.Join(s.location.path, filepath.FromSlash(key))
	names := []string{name, name + document.DigestSuffix}
	// The directories of name and namespace may be new.
	for dir := filepath.Dir(name); len(dir) >= len(s.location.path); dir = filepath.Dir(dir) {
		names = append(names, dir)
	}
	for _, name := range names {
		if err := syncFile(name); err != nil {
			return fmt.Errorf("storing %s: %w", key, err)
		}
	}
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
