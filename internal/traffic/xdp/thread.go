package xdp

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// niceness of the threads that send and that read counters.
const niceness = -15

// preferThread has the calling thread run before other processes, where that is allowed
// (CAP_SYS_NICE).
func preferThread() error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("raising the priority of a thread: %w", err)
	}
	return nil
}

// threadTime returns the processor time that the calling thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
