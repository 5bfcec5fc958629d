//go:build linux

package apart

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Limit bounds the memory of this process. The kernel refuses more, which ends it; and if the
// container has too little for all of its processes, this one is ended first.
func Limit() error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: Memory, Max: Memory}); err != nil {
		return fmt.Errorf("limiting the memory of this process: %w", err)
	}
	// Where /proc cannot be written, the limit above has to do.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return nil
}
