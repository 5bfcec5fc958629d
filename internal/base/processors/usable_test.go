package processors_test

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/processors"
)

// A sender may have run on the first thread of the process, which outlives it and stays on the
// sender's processor.
func TestUsableWhereTheFirstThreadIsPinned(t *testing.T) {
	before, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 2 {
		t.Skip("skipped: needs two processors")
	}
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &all); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(os.Getpid(), &all); err != nil {
			t.Error(err)
		}
	})
	one.Set(before[1])
	if err := unix.SchedSetaffinity(os.Getpid(), &one); err != nil {
		t.Fatal(err)
	}
	if after, err := processors.Usable(); err != nil || !slices.Equal(after, before) {
		t.Errorf("usable are %v, %v, want %v", after, err, before)
	}
}
