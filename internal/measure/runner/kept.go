package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
)

// Origin identifies the inputs with which the rows in a file were measured.
type Origin struct {
	// Began is the time at which the first run began, and Resumed are those at which later
	// runs continued.
	Began   metav1.Time   `json:"began"`
	Resumed []metav1.Time `json:"resumed,omitempty"`
	// Exact is Began to the nanosecond, by which metrics know the run.
	Exact time.Time `json:"exact,omitzero"`
	// Of are digests by the name of what they are of, as a person calls it.
	Of map[string]string `json:"of"`
}

// Differs names what is not the same in another origin, in alphabetical order.
func (o Origin) Differs(other Origin) []string {
	names := maps.Clone(o.Of)
	maps.Copy(names, other.Of)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool { return o.Of[name] == other.Of[name] })
}

// Exactly returns the time at which the first run began, as exactly as it is known.
func (o Origin) Exactly() time.Time {
	if o.Exact.IsZero() {
		return o.Began.Time
	}
	return o.Exact
}

// Digest is a digest of the JSON of values.
func Digest(values ...any) (string, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("computing a digest: %w", err)
	}
	return canonical.Sum(text), nil
}

// Kept are the finished rows of a run without a cluster, in a file with the lines of a
// checkpoint, so that a later run can go on with them.
type Kept struct {
	// Path of the file.
	Path string
	// Origin of the rows.
	Origin Origin
	// Rows that are finished.
	Rows []v1alpha1.ResultRow

	// file is nil until a row was kept, and err why no more rows can be.
	file *checkpoint
	err  error
}

// ReadKept reads the rows that a run kept. It fails with fs.ErrNotExist when there are
// none. A row that a killed run did not finish writing is not among them.
func ReadKept(path string) (*Kept, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading finished rows: %w", err)
	}
	k := &Kept{Path: path}
	rows, whole := readRows(text, func(first []byte) bool { return json.Unmarshal(first, &k.Origin) == nil && k.Origin.Of != nil })
	if whole == 0 {
		return nil, fmt.Errorf("%s holds no rows of a run: %w", path, fs.ErrNotExist)
	}
	k.Rows = rows
	return k, nil
}

// Keep keeps another row: when it returns, the row is on disk. The first one replaces the
// file by one with the rows that are there. It fails once, and keeps nothing afterwards.
func (k *Kept) Keep(row v1alpha1.ResultRow) error {
	if k.err != nil {
		return nil
	}
	if k.file == nil {
		k.file, k.err = k.begin()
	}
	if k.err == nil {
		k.err = k.file.add(row)
	}
	k.Rows = append(k.Rows, row)
	return k.err
}

// begin writes the file anew, with the rows that are there.
func (k *Kept) begin() (*checkpoint, error) {
	text, err := json.Marshal(k.Origin)
	if err != nil {
		return nil, fmt.Errorf("encoding what rows are of: %w", err)
	}
	text = append(text, '\n')
	for _, row := range k.Rows {
		line, err := json.Marshal(row)
		if err != nil {
			return nil, fmt.Errorf("encoding a finished row: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.MkdirAll(filepath.Dir(k.Path), 0o700); err != nil {
		return nil, fmt.Errorf("keeping finished rows: %w", err)
	}
	if err := replaceFile(filepath.Dir(k.Path), filepath.Base(k.Path), text); err != nil {
		return nil, fmt.Errorf("keeping finished rows: %w", err)
	}
	file, err := os.OpenFile(k.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping finished rows: %w", err)
	}
	return &checkpoint{file: file}, nil
}

// OnDisk reports whether all rows are in the file.
func (k *Kept) OnDisk() bool { return k.file != nil && k.err == nil }

// Close gives the file up, and removes it when the rows are not needed any more.
func (k *Kept) Close(needed bool) error {
	if k.file != nil {
		k.file.close()
	}
	if needed {
		return nil
	}
	if err := os.Remove(k.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing finished rows: %w", err)
	}
	return nil
}
