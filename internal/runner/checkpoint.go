package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const checkpointName = "checkpoint.json"

// checkpoint is the file of finished rows.
type checkpoint struct {
	// Key tells configurations apart, so that rows of another one are not taken.
	Key string `json:"key"`
	// Rows that are finished.
	Rows []v1alpha1.ResultRow `json:"rows"`

	dir string
}

// key is the same for the same benchmark object, profile and bed.
func key(cfg Config) (string, error) {
	data, err := json.Marshal([]any{
		cfg.Benchmark.Namespace, cfg.Benchmark.Name, cfg.Benchmark.UID, cfg.Benchmark.Spec.Tests,
		cfg.Benchmark.Spec.SettleTime, cfg.Benchmark.Spec.Rest(),
		cfg.Benchmark.Spec.Variants, cfg.Variant, cfg.Profile.Spec, cfg.Bed.Spec, cfg.Model, cfg.JitterAverageByLoad, cfg.JitterMaximumByLoad,
	})
	if err != nil {
		return "", fmt.Errorf("encoding the configuration: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// openCheckpoint reads what an earlier run of the same configuration left. A
// file of another configuration, or one that cannot be read as a checkpoint, is
// replaced by the first row.
func openCheckpoint(dir string, cfg Config) (*checkpoint, error) {
	k, err := key(cfg)
	if err != nil {
		return nil, err
	}
	fresh := &checkpoint{Key: k, dir: dir}
	if dir == "" {
		return fresh, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	var found checkpoint
	if json.Unmarshal(data, &found) != nil || found.Key != k {
		return fresh, nil
	}
	found.dir = dir
	return &found, nil
}

// write replaces the file at once: a reader, and a runner that is killed, finds
// the old or the new one, never a part.
func (c *checkpoint) write(rows []v1alpha1.ResultRow) error {
	c.Rows = rows
	if c.dir == "" {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the checkpoint: %w", err)
	}
	if err := replaceFile(c.dir, checkpointName, data); err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	return nil
}

func replaceFile(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	// The rename is on disk only when its directory is.
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
