package endpoint

import "golang.org/x/sys/unix"

// Now is the clock of the port's host, that of traffic.Moments.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the clock is always there
	}
	return uint64(t.Nano())
}
