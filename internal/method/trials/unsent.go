package trials

import "maps"

// takeBackUnsent removes frames that the tester's cards did not send from those that count
// as sent. A card does not report the streams of these frames, so lost frames of the
// port's streams are taken, in the order of the streams. The sums of the trial are exact.
func (t *Trial) takeBackUnsent() {
	if len(t.Measurement.Unsent) == 0 {
		return
	}
	left := maps.Clone(t.Measurement.Unsent)
	t.Measurement.Tx = maps.Clone(t.Measurement.Tx)
	for _, s := range t.Streams {
		port := t.Ports[s.Tx].Name
		tx := t.Measurement.Tx[s.ID]
		lost := tx.Sent
		for _, rx := range s.Rx { // a frame that was not sent is missing at each receiver
			lost = min(lost, tx.Sent-min(tx.Sent, t.Arrived(s, rx)))
		}
		if unsent := min(lost, left[port]); unsent > 0 {
			tx.Sent -= unsent
			left[port] -= unsent
			t.CardUnsent += unsent
			t.Measurement.Tx[s.ID] = tx
		}
	}
}

// WireErrors returns the frames that arrived damaged at the tester's cards, by port, where
// they can be the lost ones and matter.
func (t *Trial) WireErrors() map[string]uint64 { return t.explaining(t.Measurement.WireErrors) }

// Dropped returns the frames that the tester's own ports dropped, by port, where they can
// be the lost ones and matter: without them a search finds another verdict, or the loss is
// another figure. Frames that a port drops although no frame is lost there do not count,
// such as a frame of LLDP.
func (t *Trial) Dropped() map[string]uint64 { return t.explaining(t.Measurement.Dropped) }

// explaining returns the counts of ports that can contain lost frames and matter.
func (t *Trial) explaining(counts map[string]uint64) map[string]uint64 {
	matter := map[string]uint64{}
	var explained uint64
	for port, n := range counts {
		if lost := t.lostAt[port]; n > 0 && lost > 0 {
			matter[port] = n
			explained += min(n, lost)
		}
	}
	if t.Allowed != nil && !t.decides(explained) || t.Allowed == nil && explained < t.Lost/droppedShare {
		return nil
	}
	return matter
}
