package sim

import (
	"context"
	"fmt"
	"time"
)

// Scale gives the device an access list with n entries; 0 for no list. Rejected is
// the reason why the device did not take it: then it has the list from before.
func (d Device) Scale(ctx context.Context, _ string, n int64) (rejected string, err error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	dut := &d.engine.dut
	if limit := dut.behaviour.AccessListLimit; limit != nil && n > *limit {
		return fmt.Sprintf("the list has %d entries, and the device holds %d", n, *limit), nil
	}
	dut.entries = n
	return "", nil
}

// filtered returns how many of the received frames of a stream are dropped since the access list is too long: the share of the entries
// beyond the capacity, at least one frame.
func (dev *dut) filtered(received uint64) uint64 {
	capacity := dev.behaviour.AccessListCapacity
	if capacity == nil || dev.entries <= *capacity {
		return 0
	}
	return mulDivUp(received, uint64(dev.entries-*capacity), uint64(dev.entries))
}

// searched returns the time that a frame waits for the lookup in the access list.
func (dev *dut) searched() time.Duration {
	if each := dev.behaviour.AccessListLatency; each != nil {
		return time.Duration(dev.entries) * each.Duration
	}
	return 0
}

// later returns the shape of a latency that is higher by a time.
func (s shape) later(by time.Duration) shape {
	s.min, s.avg, s.max = s.min+uint64(by), s.avg+uint64(by), s.max+uint64(by)
	return s
}
