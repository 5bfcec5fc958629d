package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const checkpointName = "checkpoint.jsonl"

// checkpoint is a file of finished rows: a line that says of which configuration
// they are, then a line for every row. A line that is not whole is one that a
// killed runner did not finish.
type checkpoint struct {
	rows []v1alpha1.ResultRow
	// file to append to; nil without a directory.
	file *os.File
}

// checkpointKey is the first line of the file. It tells configurations apart, so
// that rows of another one are not taken.
type checkpointKey struct {
	Key string `json:"key"`
}

// key is the same for the same benchmark object, profile and bed.
func key(cfg Config) (string, error) {
	return Digest(
		cfg.Benchmark.Namespace, cfg.Benchmark.Name, cfg.Benchmark.UID, cfg.Benchmark.Spec.Tests,
		cfg.Benchmark.Spec.SettleTime, cfg.Benchmark.Spec.Rest(),
		cfg.Benchmark.Spec.Variants, cfg.Benchmark.Spec.DeviceParameters, cfg.Variant, cfg.Profile.Spec, cfg.Bed.Spec, cfg.Model, cfg.JitterAverageByLoad, cfg.JitterMaximumByLoad,
	)
}

// openCheckpoint reads what an earlier run of the same configuration left in a
// directory. A file of another configuration, or one that cannot be read as a
// checkpoint, is replaced.
func openCheckpoint(dir string, cfg Config) (*checkpoint, error) {
	if dir == "" {
		return &checkpoint{}, nil
	}
	k, err := key(cfg)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, checkpointName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	rows, whole := readRows(text, func(first []byte) bool {
		var of checkpointKey
		return json.Unmarshal(first, &of) == nil && of.Key == k
	})
	if whole == 0 {
		first, err := json.Marshal(checkpointKey{k})
		if err != nil {
			return nil, fmt.Errorf("encoding the checkpoint: %w", err)
		}
		if err := replaceFile(dir, checkpointName, append(first, '\n')); err != nil {
			return nil, fmt.Errorf("writing the checkpoint: %w", err)
		}
		whole = int64(len(first) + 1)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the checkpoint: %w", err)
	}
	c := &checkpoint{rows: rows, file: file}
	if err := errors.Join(file.Truncate(whole), seek(file, whole)); err != nil {
		c.close()
		return nil, fmt.Errorf("opening the checkpoint: %w", err)
	}
	return c, nil
}

func seek(file *os.File, offset int64) error {
	_, err := file.Seek(offset, io.SeekStart)
	return err
}

// readRows returns the rows of a file whose first line is the right one, and how many
// bytes of it are whole lines; 0 when it is not.
func readRows(text []byte, right func(first []byte) bool) (rows []v1alpha1.ResultRow, whole int64) {
	reader := bufio.NewReader(bytes.NewReader(text))
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return rows, whole
		}
		if whole == 0 {
			if !right(line) {
				return nil, 0
			}
		} else {
			var row v1alpha1.ResultRow
			if json.Unmarshal(line, &row) != nil {
				return rows, whole
			}
			rows = append(rows, row)
		}
		whole += int64(len(line))
	}
}

// add keeps a row: when it returns, the row is on disk.
func (c *checkpoint) add(row v1alpha1.ResultRow) error {
	if c.file == nil {
		return nil
	}
	line, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("encoding a row for the checkpoint: %w", err)
	}
	if _, err := c.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	if err := c.file.Sync(); err != nil {
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	return nil
}

// close gives the file up; every row in it is on disk.
func (c *checkpoint) close() {
	if c.file != nil {
		_ = c.file.Close()
	}
}

// replaceFile replaces a file at once: a reader finds the old or the new one, never
// a part.
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
