package xdp

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		file, text string
		want       uint64
	}{
		"none":              {"", "", math.MaxUint64},
		"version 2":         {"memory.max", "6442450944\n", 6 << 30},
		"version 2 without": {"memory.max", "max\n", math.MaxUint64},
		"version 1":         {"memory/memory.limit_in_bytes", "536870912\n", 512 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.file != "" {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, tc.file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := memoryLimit(dir); got != tc.want {
				t.Errorf("limit %d, want %d", got, tc.want)
			}
		})
	}
}
