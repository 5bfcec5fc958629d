package sim

import "time"

// answersTo returns how many congestion notification packets a receiver sends for frames with the
// mark CE that arrive evenly over a time, at least an interval apart.
func answersTo(marked uint64, interval, lasts time.Duration) uint64 {
	if lasts <= 0 || interval <= 0 {
		return marked
	}
	// Marks arrive every lasts/marked. After an answer, the marks within the interval have none.
	spacing := max(1, mulDivUp(uint64(interval), marked, uint64(lasts)))
	return mulDivUp(marked, 1, spacing)
}
