package runner

import (
	"context"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A router with room for a million multicast routes forwards 62,500 groups with 16 senders
// each, and not one group more.
func TestMillionMulticastRoutes(t *testing.T) {
	cfg := reference(t, "../../../config/samples/multicast-routing/benchmark.yaml")
	cfg.Bed.Spec.Engine.Sim.Ports.Count = 3
	cfg.Bed.Spec.Device.Simulated.Behaviour.MulticastRouteCapacity = new(int32(1_000_000))
	cfg.Profile.Spec.FrameSizes = []int32{64}
	cfg.Profile.Spec.Packet.IPv4.HostsPerPort = 16
	cfg.Profile.Spec.Pattern.FanOut.Groups = 62_501
	tests := cfg.Benchmark.Spec.Tests
	cfg.Benchmark.Spec.Tests = tests[len(tests)-1:]
	capacity := cfg.Benchmark.Spec.Tests[0].GroupCapacity
	capacity.InitialGroups, capacity.GroupIncrement = 62_499, 2
	engine, err := NewSim(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	state := Run(context.Background(), cfg, engine)
	if len(state.Rows) != 1 {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	want := v1alpha1.GroupCapacitySummary{Groups: 62_500, FailedGroups: 62_501, MulticastRoutes: 1_000_000, SilentGroups: 1, Protocol: "IGMPv3", Receivers: 2}
	row := state.Rows[0]
	if row.GroupCapacity == nil || *row.GroupCapacity != want {
		t.Errorf("%+v %q, want %+v", row.GroupCapacity, row.Message, want)
	}
	if row.Frames.Lost != 0 || row.Frames.Received != 2*row.Frames.Sent {
		t.Errorf("%+v", row.Frames)
	}
}
