package controlplane

import (
	"math"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
)

// momentsOf returns when the events of a kind began, from the beginning of sending: when the first
// message left, where the clock of its port is the one that times the samples, and otherwise when the
// call that sends it began.
func momentsOf(t *trials.Trial, kind trials.EventKind) []time.Duration {
	var all []time.Duration
	for _, s := range t.Stamps {
		if s.Kind != kind {
			continue
		}
		sent := time.Duration(math.MaxInt64)
		for port, at := range s.Ports {
			if began, known := t.Counters.Measurement.Began[port]; known && at > began {
				sent = min(sent, time.Duration(at-began))
			}
		}
		if sent == math.MaxInt64 {
			sent = s.Began
		}
		all = append(all, sent)
	}
	return all
}

// momentOf returns when the n-th event of a kind began, counting from 0; 0 if it did not happen.
func momentOf(t *trials.Trial, kind trials.EventKind, n int) time.Duration {
	if all := momentsOf(t, kind); n < len(all) {
		return all[n]
	}
	return 0
}
