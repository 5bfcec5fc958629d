package agent

import (
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// The discipline of a clock arrives as it was sent, and one that is not known stays unknown.
func TestClockTravels(t *testing.T) {
	sent := traffic.ClockDiscipline{AdjustmentPPB: -12_345, Synchronized: true, MaxError: 7}
	if got := clockFromWire(clockToWire(&sent)); got == nil || *got != sent {
		t.Errorf("%+v, sent %+v", got, sent)
	}
	if got := clockFromWire(clockToWire(nil)); got != nil {
		t.Errorf("%+v of an unknown clock", got)
	}
}
