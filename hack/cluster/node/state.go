package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stateDir is the folder of what belongs to the running cluster, and the record next to it.
type stateDir string

// file is a path below the state folder.
func (s stateDir) file(parts ...string) string {
	return filepath.Join(append([]string{string(s)}, parts...)...)
}

// dirs are the folders of the state that must exist before anything starts.
func (s stateDir) dirs() []string {
	names := []string{"pki", "log", "etcd", "kubelet", "pods", "containerd", "docker", "apiserver", "cni/net.d", "cni/state", "cni/results", "sysctl", "bin", "config"}
	for i, name := range names {
		names[i] = s.file(name)
	}
	return names
}

// recordFile returns the path of the record that "up" makes before it changes the machine. It
// is outside the state folder, which "down" deletes, so that check-clean can read it.
func (s stateDir) recordFile() string { return string(s) + ".record" }

// readRecord returns nil where no cluster was ever started.
func (s stateDir) readRecord() (*record, error) {
	content, err := os.ReadFile(s.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.recordFile(), err)
	}
	return r, nil
}

// writeRecord writes the record for "down" and check-clean.
func (s stateDir) writeRecord(r *record) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.recordFile(), append(content, '\n'), 0o644)
}
