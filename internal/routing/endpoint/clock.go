package endpoint

import "golang.org/x/sys/unix"

// Now returns the time of the clock of the port's host, which traffic.Moments uses.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the clock is always there
	}
	return uint64(t.Nano())
}
