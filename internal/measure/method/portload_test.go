package method

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// patterned is a plan of one load on simulated ports.
func patterned(t *testing.T, pattern v1alpha1.Pattern, load v1alpha1.Load, speeds ...v1alpha1.BitRate) plan.Plan {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{load}}}}
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}, Pattern: pattern, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine.Kind = v1alpha1.EngineSim
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	for i, speed := range speeds {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{Name: fmt.Sprintf("p%d", i+1), Speed: speed, Addresses: []string{fmt.Sprintf("198.18.0.%d/24", i+2)}})
	}
	made, err := build(&b, &p, &bed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A row has the loads of its ports where they are other ones than its own.
func TestPortLoads(t *testing.T) {
	both := true
	oneToTwo := v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2", "p3"}}}
	bothWays := v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2", "p3"}, Bidirectional: &both}}
	for name, tc := range map[string]struct {
		pattern v1alpha1.Pattern
		load    v1alpha1.Load
		speeds  []v1alpha1.BitRate
		want    *v1alpha1.PortLoad
	}{
		"pairs":                       {v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, "50%", []v1alpha1.BitRate{"10G", "10G"}, nil},
		"one way":                     {oneToTwo, "50%", []v1alpha1.BitRate{"10G", "10G", "10G"}, nil},
		"two ports back to one":       {bothWays, "50%", []v1alpha1.BitRate{"10G", "10G", "10G"}, &v1alpha1.PortLoad{LowestPPM: 250_000, HighestPPM: 500_000}},
		"every port to two others":    {v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{FirstGroup: "239.1.1.1"}}, "50%", []v1alpha1.BitRate{"10G", "10G", "10G"}, &v1alpha1.PortLoad{LowestPPM: 250_000, HighestPPM: 250_000}},
		"one rate of a speed":         {v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, "1Mpps", []v1alpha1.BitRate{"10G", "10G"}, nil},
		"one rate at ports of speeds": {v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, "1Mpps", []v1alpha1.BitRate{"10G", "25G"}, &v1alpha1.PortLoad{LowestPPM: 26_880, HighestPPM: 67_200}},
	} {
		t.Run(name, func(t *testing.T) {
			p := patterned(t, tc.pattern, tc.load, tc.speeds...)
			got := rowOf(p, mustRun(t, open(t, simulate(t, header+"\n64,100,1,2,3\n", p), p, nil), p.Steps[0])).Frames.PortLoad
			if (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// What a port did not send is no load of it, and neither is what it sent too late.
func TestPortLoadsAreOffered(t *testing.T) {
	both := true
	p := patterned(t, v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{Senders: []string{"p1"}, Receivers: []string{"p2", "p3"}, Bidirectional: &both}}, "50%", "10G", "10G", "10G")
	gen := &shaken{
		Generator: simulate(t, header+"\n64,100,1,2,3\n", p), when: func(int, uint64) bool { return true },
		change: func(m *traffic.Measurement) {
			for _, s := range p.Streams {
				if p.Ports[s.Tx].Name != "p3" {
					continue
				}
				tx := m.Tx[s.ID]
				tx.Sent /= 2
				m.Tx[s.ID] = tx
				key := traffic.RxKey{Stream: s.ID, Port: "p1"}
				rx := m.Rx[key]
				rx.Received = tx.Sent
				m.Rx[key] = rx
			}
			m.TxTime += m.TxTime / 4
		},
	}
	tester := open(t, gen, p, nil)
	trials.WithLateness(time.Minute)(tester)
	got := rowOf(p, mustRun(t, tester, p.Steps[0])).Frames.PortLoad
	if want := (v1alpha1.PortLoad{LowestPPM: 100_000, HighestPPM: 400_000}); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
