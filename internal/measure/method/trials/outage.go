package trials

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Outage is the time during which the device did not forward in a trial.
type Outage struct {
	// ByLoss is the number of lost frames divided by the rate, for the stream that lost
	// most. ByStamps is the longest time between two frames of a stream; 0 if all frames
	// were sent and none was lost.
	ByLoss, ByStamps time.Duration
	// Stamped reports whether it is known when frames arrived.
	Stamped bool
	// Unsent reports whether the tester could not send for a while, since a link of it was
	// down: its frames are not lost.
	Unsent bool
	// ToTheEnd reports whether a stream was not forwarded when the trial ended.
	ToTheEnd bool
}

// Happened reports whether the device was seen not to forward.
func (o Outage) Happened(byTime bool) bool { return o.ByLoss > 0 || byTime && o.ByStamps > 0 }

// OutageOf returns the outage of a trial, whose streams had these loads.
func OutageOf(t *Trial, loads map[uint16]traffic.Load) Outage {
	o := Outage{Unsent: t.Disturbed()}
	interrupted := t.Lost > 0 || o.Unsent
	for _, s := range t.Counters.Streams {
		sent, rate := t.Counters.Measurement.Tx[s.ID].Sent, loads[s.ID].Rate
		for _, port := range s.Rx {
			rx := t.Counters.At(s, port)
			lost := new(big.Rat).SetFrac(new(big.Int).SetUint64(sent-min(sent, rx.Received)), big.NewInt(rate.Frames))
			o.ByLoss = max(o.ByLoss, time.Duration(frame.Round(lost.Mul(lost, big.NewRat(rate.PerNanos, 1)))))
			o.ToTheEnd = o.ToTheEnd || rx.Next < sent
			silent := time.Duration(rx.SilentToNs - rx.SilentFromNs)
			o.Stamped = o.Stamped || silent > 0
			if interrupted && silent > 0 {
				o.ByStamps = max(o.ByStamps, silent)
				// Frames that were not sent to the end are missing in no sequence.
				end := rx.FirstNs + uint64(t.TxTime)
				o.ToTheEnd = o.ToTheEnd || o.Unsent && end > rx.LastNs+uint64(silent)
			}
		}
	}
	return o
}
