package sim

import "nodrop.dev/nodrop/internal/traffic"

// order returns how far behind the reordered frames arrive in a stream that sends at a rate.
// Swapped frames change places with the frames after them, and delayed ones are spread evenly
// over the received frames. Every frame counts as one in the middle of the trial.
func (r row) order(received, swapped, delayed uint64, rate traffic.Rate) traffic.Order {
	var order traffic.Order
	in := func(frames uint64) uint64 {
		return mulDiv(frames, uint64(rate.PerNanos), uint64(max(rate.Frames, 1)))
	}
	if swapped > 0 {
		extent := max(r.reorderExtent, 1)
		order.Add(behind(swapped, extent, extent, in(extent)))
	}
	if delayed > 0 {
		period := received / delayed
		overtaking := max(1, mulDiv(r.odd.delay, uint64(rate.Frames), uint64(max(rate.PerNanos, 1))))
		extent := overtaking
		if overtaking%period == 0 {
			// The last of those that could overtake it is delayed too.
			extent = max(1, extent-1)
		}
		// The delayed frame before it has a smaller number.
		degree := min(overtaking, max(1, period-1))
		order.Add(behind(delayed, extent, degree, r.odd.delay-min(r.odd.delay, in(1))))
	}
	return order
}

// behind is the order of frames that all come equally far behind.
func behind(frames, extent, degree, lateNs uint64) traffic.Order {
	return traffic.Order{
		ExtentMax: extent, DegreeMax: degree, LateMaxNs: lateNs,
		Extents: map[uint32]uint64{traffic.OrderBucket(extent): frames},
		Degrees: map[uint32]uint64{traffic.OrderBucket(degree): frames},
	}
}
