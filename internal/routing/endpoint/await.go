package endpoint

import (
	"context"

	"golang.org/x/sys/unix"
)

// Opening is a session that is being opened.
type Opening interface {
	// Opened reports whether the session is established, and counts its flaps from now.
	Opened() bool
	// AwaitUp waits until it is established. It fails if that is refused for good, or ctx ends.
	AwaitUp(ctx context.Context) error
}

// AwaitAll waits until all sessions are established at one time: one may go down again
// while another comes up, as a router that begins BFD anew once BGP is up makes it. What
// happened until then are no flaps.
func AwaitAll[S Opening](ctx context.Context, all []S) error {
	for up := 0; up < len(all); {
		up = 0
		for _, one := range all {
			if one.Opened() {
				up++
			} else if err := one.AwaitUp(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Now is the clock of the port's host, that of traffic.Moments.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the clock is always there
	}
	return uint64(t.Nano())
}
