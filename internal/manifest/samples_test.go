package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const samples = "../../config/samples"

// The samples that the API server refuses because of their own schema say in
// comments what it answers; the answer without a cluster must say the same.
func TestSameMessagesAsTheServer(t *testing.T) {
	for _, name := range []string{
		"load-above-line-rate", "frame-too-small-for-ipv4", "frame-too-small-for-ipv6", "two-methods-in-one-test", "engine-cannot-model", "variants-of-a-physical-device",
	} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(samples, "broken", "*-"+name+".yaml"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, %v", files, err)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			_, err = Load(files, nil)
			if err == nil {
				t.Fatal("accepted")
			}
			expected := 0
			for line := range strings.Lines(string(text)) {
				want, isExpectation := strings.CutPrefix(strings.TrimSpace(line), "# expect: ")
				if !isExpectation {
					continue
				}
				expected++
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message:\n%s\nwant in it:\n%s", err, want)
				}
			}
			if expected == 0 {
				t.Error("the sample says nothing of what is expected")
			}
		})
	}
}

// Every benchmark among the good samples finds what it refers to beside it.
func TestSamplesResolve(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*", "*benchmark.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("samples %v, %v", files, err)
	}
	for _, file := range files {
		set, err := Load([]string{file}, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		bundle, err := set.Resolve("")
		if err != nil {
			t.Error(err)
			continue
		}
		if bundle.Bed.Spec.Device.Simulated != nil && bundle.Model == "" {
			t.Errorf("%s: no model", file)
		}
	}
}
