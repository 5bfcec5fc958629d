package main

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
	"nodrop.dev/nodrop/internal/capture"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/method"
)

// captures are the files with frames that were captured, in a directory beside the output
// file.
type captures struct {
	dir string
	// names that were given in this run.
	names map[string]bool
}

// newCaptures is nil when the benchmark captures nothing.
func newCaptures(outputFile string, b *v1alpha1.Benchmark) (*captures, error) {
	if b.Spec.Capture == nil {
		return nil, nil
	}
	if outputFile == "" {
		return nil, hint.With(errors.New("spec.capture: captured frames are written to files next to the result, and the result has none"), "name an --output-file")
	}
	return &captures{dir: outputFile + ".captures", names: map[string]bool{}}, nil
}

// Keep writes the frames of the trials that a row rests on. It returns nil when there are
// none.
func (c *captures) Keep(row v1alpha1.ResultRow, out method.Outcome) (*v1alpha1.CaptureFile, error) {
	var trials []capture.Trial
	if t := out.Trial; t != nil {
		trials = append(trials, capture.Trial{Name: "trial at " + string(v1alpha1.FormatPPM(t.LoadPPM)), Frames: t.Captured()})
	}
	if t := out.Failed; t != nil && t != out.Trial {
		trials = append(trials, capture.Trial{Name: "trial at " + string(v1alpha1.FormatPPM(t.LoadPPM)) + " that did not pass", Frames: t.Captured()})
	}
	var file bytes.Buffer
	frames, err := capture.Write(&file, trials...)
	if err != nil || frames == 0 {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	name := c.name(row)
	if err := os.WriteFile(filepath.Join(c.dir, name), file.Bytes(), 0o644); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(file.Bytes())
	return &v1alpha1.CaptureFile{File: filepath.Join(filepath.Base(c.dir), name), SHA256: hex.EncodeToString(sum[:]), Frames: frames}, nil
}

// name is the name of a file for a row: throughput-64-b.pcapng.
func (c *captures) name(row v1alpha1.ResultRow) string {
	words := strings.FieldsFunc(strings.ToLower(row.Name()), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.'
	})
	stem := strings.Join(words, "-")
	name := stem
	for n := 2; c.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", stem, n)
	}
	c.names[name] = true
	return name + ".pcapng"
}
