package xdp

import (
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// pausesBetween returns the frames of flow control that the port's card counted between two
// readings. A MAC that takes such frames shows none to the receive program.
func (k *cardCounters) pausesBetween(before, now counterValues, was, is pauses) traffic.PauseCount {
	table, _ := cardcount.TableOf(k.driver)
	return traffic.PauseCount{Frames: is.frames, ByPriority: byPriority(table, now)}.
		Since(traffic.PauseCount{Frames: was.frames, ByPriority: byPriority(table, before)})
}

// byPriority returns the frames of PFC in a reading of a card's counters.
func byPriority(t cardcount.CounterTable, values counterValues) (frames [traffic.Priorities]uint64) {
	for priority := range frames {
		for _, name := range t.PFCOf(priority) {
			frames[priority] += values[name]
		}
	}
	return frames
}

// addPauses adds frames of flow control that a port received to a measurement, as the receive
// program and the card counted them: one of both sees a frame, or both do.
func addPauses(m *traffic.Measurement, port string, program, card traffic.PauseCount) {
	c := program.AtLeast(card)
	if c == (traffic.PauseCount{}) {
		return
	}
	traffic.Put(&m.Pauses, port, c)
	m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NotePauses, Text: fmt.Sprintf("%s received %v from the device", port, c)})
}
