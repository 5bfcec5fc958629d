package method

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// outage is the time during which the device did not forward in a trial.
type outage struct {
	// byLoss is the number of lost frames divided by the rate, for the stream that lost
	// most. byStamps is the longest time between two frames of a stream; 0 if all frames
	// were sent and none was lost.
	byLoss, byStamps time.Duration
	// stamped reports whether it is known when frames arrived.
	stamped bool
	// unsent reports whether the tester could not send for a while, since a link of it was
	// down: its frames are not lost.
	unsent bool
	// toTheEnd reports whether a stream was not forwarded when the trial ended.
	toTheEnd bool
}

// happened reports whether the device was seen not to forward.
func (o outage) happened(byTime bool) bool { return o.byLoss > 0 || byTime && o.byStamps > 0 }

func outageOf(t *Trial, loads map[uint16]traffic.Load) outage {
	o := outage{unsent: t.Disturbed()}
	interrupted := t.Lost > 0 || o.unsent
	for _, s := range t.streams {
		sent, rate := t.measurement.Tx[s.ID].Sent, loads[s.ID].Rate
		for _, port := range s.Rx {
			rx := t.at(s, port)
			lost := new(big.Rat).SetFrac(new(big.Int).SetUint64(sent-min(sent, rx.Received)), big.NewInt(rate.Frames))
			o.byLoss = max(o.byLoss, time.Duration(frame.Round(lost.Mul(lost, big.NewRat(rate.PerNanos, 1)))))
			o.toTheEnd = o.toTheEnd || rx.Next < sent
			silent := time.Duration(rx.SilentToNs - rx.SilentFromNs)
			o.stamped = o.stamped || silent > 0
			if interrupted && silent > 0 {
				o.byStamps = max(o.byStamps, silent)
				// Frames that were not sent to the end are missing in no sequence.
				end := rx.FirstNs + uint64(t.TxTime)
				o.toTheEnd = o.toTheEnd || o.unsent && end > rx.LastNs+uint64(silent)
			}
		}
	}
	return o
}
