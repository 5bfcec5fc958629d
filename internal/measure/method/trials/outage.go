package trials

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
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

// Silence explains a trial from which no frame came back.
func (s Setup) Silence(t *Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no test frame came back on %s in %s", list(t.Silent), max(t.Duration, LearnTime))
	unresolved := s.Hops.Unresolved
	for i, u := range unresolved {
		if i == 2 {
			fmt.Fprintf(&b, "; %d more neighbors did not answer", len(unresolved)-i)
			break
		}
		b.WriteString("; " + u.Unanswered())
	}
	if len(unresolved) == 0 {
		fmt.Fprintf(&b, "; every neighbor answered: check the device's routes and filters%s, and that its MTU takes the frame", carries(s.Plan.Ports, t.Silent))
	}
	return b.String()
}

// carries advises that the device has the VLAN of a silent port on that port.
func carries(ports []plan.Port, silent []string) string {
	for _, p := range ports {
		if len(p.VLANs) > 0 && slices.Contains(silent, p.Name) {
			return fmt.Sprintf(", that its port at %s is in %s", p.Name, p.VLANs)
		}
	}
	return ""
}

// list names at most three of many.
func list(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more ports", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
