package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A full disk ends a run. The row that did not fit is in the result: it was measured.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,mode=700"); err != nil {
		if errors.Is(err, unix.EPERM) {
			t.Skip("mounting a small file system needs CAP_SYS_ADMIN")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	var logged []v1alpha1.ResultRow
	state := runSim(t, small(good), WithCheckpoint(dir), WithLog(func(row v1alpha1.ResultRow) {
		if logged = append(logged, row); len(logged) > 1 {
			return
		}
		filler := make([]byte, 1<<20)
		if err := os.WriteFile(filepath.Join(dir, "filler"), filler, 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("the disk is not full: %v", err)
		}
	}))
	if state.Outcome != v1alpha1.PhaseError || !strings.Contains(state.Message, "no space left on device") {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	text, err := os.ReadFile(filepath.Join(dir, checkpointName))
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := readRows(text, func([]byte) bool { return true })
	if want := len(kept) + 1; len(state.Rows) != want || len(logged) != want {
		t.Errorf("%d rows in the result and %d in the log, want %d: what was kept, and the row that did not fit", len(state.Rows), len(logged), want)
	}
}
