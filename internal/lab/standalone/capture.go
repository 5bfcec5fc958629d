package standalone

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic/capture"
)

// Captures are the files with frames that were captured, in a directory next to the output
// file.
type Captures struct {
	dir string
	// Names that were given in this run.
	Names map[string]bool
}

// NewCaptures is nil when the benchmark captures nothing.
func NewCaptures(outputFile string, b *v1alpha1.Benchmark) (*Captures, error) {
	if b.Spec.Capture == nil {
		return nil, nil
	}
	if outputFile == "" {
		return nil, hint.With(errors.New("spec.capture: captured frames are written to files next to the result, and the result has none"), "name an --output-file")
	}
	return &Captures{dir: outputFile + ".captures", Names: map[string]bool{}}, nil
}

// Keep writes the frames of the trials that a row rests on. It returns nil when there are
// none.
func (c *Captures) Keep(row v1alpha1.ResultRow, out trials.Outcome) (*v1alpha1.CaptureFile, error) {
	var trials []capture.Trial
	if t := out.Trial; t != nil {
		trials = append(trials, capture.Trial{Name: "trial at " + string(v1alpha1.FormatPPM(t.LoadPPM)), Frames: t.Counters.Measurement.Captured})
	}
	if t := out.Failed; t != nil && t != out.Trial {
		trials = append(trials, capture.Trial{Name: "trial at " + string(v1alpha1.FormatPPM(t.LoadPPM)) + " that did not pass", Frames: t.Counters.Measurement.Captured})
	}
	var file bytes.Buffer
	frames, err := capture.Write(&file, trials...)
	if err != nil || frames == 0 {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	name := c.Name(row)
	if err := os.WriteFile(filepath.Join(c.dir, name), file.Bytes(), 0o644); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file.Bytes())
	return &v1alpha1.CaptureFile{File: filepath.Join(filepath.Base(c.dir), name), SHA256: hex.EncodeToString(sum[:]), Frames: frames}, nil
}

// Name is the name of a file for a row: throughput-64-b.pcapng.
func (c *Captures) Name(row v1alpha1.ResultRow) string {
	words := strings.FieldsFunc(strings.ToLower(row.Name()), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	})
	stem := strings.Join(words, "-")
	name := stem
	for n := 2; c.Names[name]; n++ {
		name = fmt.Sprintf("%s-%d", stem, n)
	}
	c.Names[name] = true
	return name + ".pcapng"
}
