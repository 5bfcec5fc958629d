package runner

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestACalibrationCoversItsTraffic calibrates with one kind of traffic and measures with
// another: every row says what differs.
func TestACalibrationCoversItsTraffic(t *testing.T) {
	model := header + "\n64,100,1,2,3,0,0\n128,100,1,2,3,0,0\n"
	short := func() Config {
		cfg := small(model)
		cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
		cfg.Profile.Spec.FrameSizes = []int32{128}
		return cfg
	}
	cfg, gen := withoutDevice(t, short(), v1alpha1.JoinedByCables)
	c := Run(t.Context(), complete(cfg), gen).Environment.Calibration
	if c == nil {
		t.Fatal("not calibrated")
	}
	packet := func(change func(*v1alpha1.Packet)) func(*Config) {
		return func(cfg *Config) { change(&cfg.Profile.Spec.Packet) }
	}
	for name, tc := range map[string]struct {
		change func(*Config)
		want   []string
	}{
		"the same traffic": {change: func(*Config) {}},
		"direction": {func(cfg *Config) { cfg.Profile.Spec.Pattern.Pairs.Bidirectional = new(false) },
			[]string{"streams received of p1: 1 unicast, and this run has none", "make as many streams on each port"}},
		"pattern": {func(cfg *Config) { cfg.Profile.Spec.Pattern = v1alpha1.Pattern{FullMesh: &v1alpha1.FullMeshPattern{}} },
			[]string{"streams sent of p1: 1 unicast, and this run has 3 unicast"}},
		"streams": {func(cfg *Config) {
			pairs := func(name string) v1alpha1.TrafficFlow {
				return v1alpha1.TrafficFlow{Name: name, Share: "50%", Pattern: cfg.Profile.Spec.Pattern, Packet: cfg.Profile.Spec.Packet}
			}
			cfg.Profile.Spec.Flows = []v1alpha1.TrafficFlow{pairs("one"), pairs("two")}
			cfg.Profile.Spec.Pattern, cfg.Profile.Spec.Packet = v1alpha1.Pattern{}, v1alpha1.Packet{}
		}, []string{"streams sent of p1: 1 unicast, and this run has 2 unicast"}},
		"address family": {packet(func(p *v1alpha1.Packet) { p.IPv4, p.IPv6 = nil, &v1alpha1.IPPacket{} }), []string{"network layer: IPv4, and this run has IPv6", "sends the same packets"}},
		"ranges":         {packet(func(p *v1alpha1.Packet) { p.IPv4.HostsPerPort = 100 }), []string{"packet.ipv4.hostsPerPort: 1, and this run has 100"}},
		"tunnel":         {packet(func(p *v1alpha1.Packet) { p.Tunnel = &v1alpha1.Tunnel{VXLAN: &v1alpha1.VirtualNetwork{VNI: 7}} }), []string{"packet.tunnel.vxlan.vni: none, and this run has 7"}},
		"tag":            {packet(func(p *v1alpha1.Packet) { p.VLAN = &v1alpha1.VLANTag{ID: 100} }), []string{"packet.vlan"}},
	} {
		t.Run(name, func(t *testing.T) {
			device := short()
			gen := engine(t, device)
			device.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
			device.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
			device.Calibration = c
			tc.change(&device)
			state := Run(t.Context(), complete(device), gen)
			if len(state.Rows) == 0 {
				t.Fatalf("%s: %s", state.Outcome, state.Message)
			}
			row := state.Rows[0]
			want := v1alpha1.ValiditySimulated
			if tc.want != nil {
				want = v1alpha1.ValidityUncalibrated
			}
			reasons := strings.Join(row.ValidityReasons, "; ")
			if row.Validity != want {
				t.Errorf("the row is %s: %s", row.Validity, reasons)
			}
			for _, text := range tc.want {
				if !strings.Contains(reasons, text) {
					t.Errorf("%s\nwant in it: %s", reasons, text)
				}
			}
		})
	}
}
