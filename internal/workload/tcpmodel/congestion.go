package tcpmodel

import "math"

// unlimited is the slow start threshold of a connection that has seen no loss.
const unlimited = math.MaxInt32

// window is the congestion window of a connection in segments, with the state of its algorithm.
type window struct {
	algorithm   CongestionControl
	growthLimit int
	size        int
	threshold   int
	credit      int // acknowledged segments since the last growth in congestion avoidance

	// DCTCP: the estimate of the share of marked segments (RFC 8257), and the counts of the current window.
	share         float64
	acked, marked int
	shareUntil    int64

	// CUBIC (RFC 9438): the window before the last reduction, and the current epoch.
	maximum, origin, delay, friendly float64
	epoch                            int64
}

func newWindow(t TCP) window {
	w := window{algorithm: t.CongestionControl, growthLimit: t.GrowthLimit, size: t.InitialWindow, threshold: unlimited, share: 1}
	if t.SSThresholdSegments > 0 {
		w.threshold = t.SSThresholdSegments
	}
	return w
}

// reduced returns the window after a loss.
func (w *window) reduced() int {
	w.credit = 0
	if w.algorithm != Cubic {
		return max(2, w.size/2)
	}
	w.epoch = 0
	if size := float64(w.size); size < w.maximum {
		w.maximum = size * (1 + cubicBeta) / 2
	} else {
		w.maximum = size
	}
	return max(2, int(float64(w.size)*cubicBeta))
}

// reducedByMarks returns the window after marks, which DCTCP reduces by their share.
func (w *window) reducedByMarks() int {
	if w.algorithm != DCTCP {
		return w.reduced()
	}
	w.credit = 0
	return max(2, w.size-int(float64(w.size)*w.share/2))
}

// countMarks updates DCTCP's estimate once per window.
func (w *window) countMarks(acked int, marked bool, una, next int64) {
	const gain = 1.0 / 16
	w.acked += acked
	if marked {
		w.marked += acked
	}
	if una < w.shareUntil || w.acked == 0 {
		return
	}
	w.share += gain * (float64(w.marked)/float64(w.acked) - w.share)
	w.acked, w.marked, w.shareUntil = 0, 0, next
}

// grow enlarges the window by acknowledged segments.
func (w *window) grow(acked int, now, roundTrip int64) {
	if w.size < w.threshold {
		step := min(acked, w.growthLimit, w.threshold-w.size)
		w.size += step
		return
	}
	per := w.size
	if w.algorithm == Cubic {
		per = w.cubicSegments(acked, now, roundTrip)
	}
	w.credit += acked
	if w.credit >= per {
		w.size += w.credit / per
		w.credit %= per
	}
}

const (
	cubicBeta  = 0.7
	cubicScale = 0.4
)

// cubicSegments returns the number of acknowledged segments for which the window grows by one.
func (w *window) cubicSegments(acked int, now, roundTrip int64) int {
	size := float64(w.size)
	if w.epoch == 0 {
		w.epoch, w.friendly = now, size
		w.origin, w.delay = size, 0
		if size < w.maximum {
			w.origin = w.maximum
			w.delay = math.Cbrt((w.maximum - size) / cubicScale)
		}
	}
	t := float64(now-w.epoch+roundTrip)/1e9 - w.delay
	target := w.origin + cubicScale*t*t*t
	w.friendly += 3 * (1 - cubicBeta) / (1 + cubicBeta) * float64(acked) / size
	target = min(max(target, w.friendly), 1.5*size)
	if target <= size {
		return 100 * w.size
	}
	return max(1, int(size/(target-size)))
}
