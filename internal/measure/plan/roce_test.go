package plan

import (
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// The header of RoCEv2 and the codepoint come from the profile, with the values of the schema
// where it gives none.
func TestRoCEOfAProfile(t *testing.T) {
	for name, test := range map[string]struct {
		packet   v1alpha1.Packet
		want     frame.RoCE
		class    uint8
		from     uint16
		fromMany uint32
	}{
		"defaults": {v1alpha1.Packet{RoCEv2: &v1alpha1.RoCEv2Packet{}}, frame.RoCE{Opcode: 0x04, PartitionKey: 0xffff, DestinationQP: 2}, 0, 49152, 1},
		"all fields": {v1alpha1.Packet{DSCP: ptr[int32](26), ECN: v1alpha1.ECT0, RoCEv2: &v1alpha1.RoCEv2Packet{
			Opcode: v1alpha1.UCSendOnly, PartitionKey: ptr[int32](0), DestinationQP: ptr[int32](1 << 23), SourcePorts: &v1alpha1.PortRange{First: 50000, Count: 100},
		}}, frame.RoCE{Opcode: 0x24, DestinationQP: 1 << 23}, 26<<2 | 2, 50000, 100},
		"answers": {v1alpha1.Packet{ECN: v1alpha1.ECT0, RoCEv2: &v1alpha1.RoCEv2Packet{CNP: &v1alpha1.RoCEv2CNP{}}},
			frame.RoCE{Opcode: 0x04, PartitionKey: 0xffff, DestinationQP: 2, CNP: frame.CNP{Answers: true, Interval: 50 * time.Microsecond, TrafficClass: 0xc2, QueuePair: 2}}, 2, 49152, 1},
		"answers of a kind": {v1alpha1.Packet{ECN: v1alpha1.ECT0, RoCEv2: &v1alpha1.RoCEv2Packet{CNP: &v1alpha1.RoCEv2CNP{IntervalMicroseconds: ptr[int32](0), DSCP: ptr[int32](0), QueuePair: ptr[int32](9)}}},
			frame.RoCE{Opcode: 0x04, PartitionKey: 0xffff, DestinationQP: 2, CNP: frame.CNP{Answers: true, TrafficClass: 2, QueuePair: 9}}, 2, 49152, 1},
		"a part of a write": {v1alpha1.Packet{IPPrecedence: ptr[int32](5), ECN: v1alpha1.ECT1, RoCEv2: &v1alpha1.RoCEv2Packet{Opcode: v1alpha1.RCWriteMiddle}},
			frame.RoCE{Opcode: 0x07, PartitionKey: 0xffff, DestinationQP: 2}, 5<<5 | 1, 49152, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustBuild(t, router(func(o *objects) {
				o.profile.Spec.FrameSizes, o.profile.Spec.Packet = []int32{130}, test.packet
				o.profile.Spec.Packet.IPv4 = &v1alpha1.IPPacket{}
			}))
			for _, s := range p.Streams {
				h := s.Headers
				if h.RoCE != test.want || h.TrafficClass != test.class || h.SrcPort != test.from || h.SrcPortCount != test.fromMany || h.DstPort != 4791 || h.DstPortCount != 1 {
					t.Errorf("headers %+v, want %+v, traffic class %#x, from port %d of %d", h, test.want, test.class, test.from, test.fromMany)
				}
				if h.ECNCapable() != (test.packet.ECN != "") {
					t.Errorf("frames may be marked: %v", h.ECNCapable())
				}
			}
		})
	}
}
