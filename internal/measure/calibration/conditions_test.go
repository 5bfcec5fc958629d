package calibration

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A range of ports is compared by the number of its values, and not by their beginning.
func TestConditionsOfRanges(t *testing.T) {
	of := func(first, count int32) v1alpha1.CalibrationCondition {
		t.Helper()
		var c conditions
		c.fields("packet", v1alpha1.Packet{UDP: &v1alpha1.UDPPacket{DestinationPorts: &v1alpha1.PortRange{First: first, Count: count}}})
		if len(c) != 1 {
			t.Fatalf("conditions %+v, want one", c)
		}
		return c[0]
	}
	if a, b := of(9, 5), of(10, 5); a != b || a.Name != "packet.udp.destinationPorts.count" || a.Value != "5" {
		t.Errorf("%+v and %+v, want the same number of ports", a, b)
	}
	if a, b := of(9, 5), of(9, 6); a == b {
		t.Errorf("%+v of ranges of 5 and 6 ports", a)
	}
}
