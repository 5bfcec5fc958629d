package groundtruth

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// queueOf returns what tc has counted at the queue of a port of the device.
func (b *hostsBed) queueOf(port string) (packets, drops int64) {
	b.Helper()
	var queues []struct {
		Kind           string
		Packets, Drops int64
	}
	err := netif.In(b.device.Namespace(), func() error {
		out, err := exec.CommandContext(b.Context(), "tc", "-s", "-j", "qdisc", "show", "dev", port).Output()
		if err == nil {
			err = json.Unmarshal(out, &queues)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range queues {
		if q.Kind == "tbf" {
			return q.Packets, q.Drops
		}
	}
	b.Fatalf("port %s of the device has the queues %+v", port, queues)
	return 0, 0
}

// TestDropsNextToAnIncast sends frames next to the connections of an incast, through a router that sends 50 Mbit/s to the client from a
// queue of 32 kB. Each packet that tc has counted as dropped is a lost frame or a lost segment of the rows, and each of these was
// dropped there.
func TestDropsNextToAnIncast(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	if _, err := exec.LookPath("tc"); err != nil {
		t.Skip(err)
	}
	test := v1alpha1.Test{Name: "incast", Incast: &v1alpha1.IncastTest{
		Servers: []int32{1, 8}, TotalSize: 400_000, Iterations: 2, MTU: 1500, CongestionControl: "reno",
		Client: "p2", Stateless: &v1alpha1.StatelessTraffic{Load: "30%", FrameSize: 512},
	}}
	b := newHostsBed(t, test, 512, func(i int, port *v1alpha1.Port) {
		if routed(i, port); port.Name == "p2" {
			port.DeviceQueue = &v1alpha1.DeviceQueue{Rate: "50M", BufferBytes: 32_000}
		}
	})
	const attempts = 3
	for range attempts {
		packets, drops := b.queueOf("p2")
		state := runner.Run(t.Context(), b.config, b.engine, runner.WithDevice(b.device), runner.WithWorkload(b.hosts))
		if len(state.Rows) != 2 || state.Rows[0].Incast == nil || state.Rows[1].Incast == nil {
			t.Fatalf("%d rows: %s", len(state.Rows), state.Message)
		}
		afterPackets, afterDrops := b.queueOf("p2")
		if slices.ContainsFunc(state.Rows, testerLost) {
			continue
		}
		lost, received := int64(0), int64(0)
		for i := range state.Rows {
			row := &state.Rows[i]
			in, s := row.Incast, row.Incast.Stateless
			if s == nil || in.DeviceDrops == nil || s.Latency == nil {
				t.Fatalf("%s: %+v", row.Name(), in)
			}
			t.Logf("%s: goodput %d bit/s, %d dropped, %d segments lost, frames %+v, latency %+v, %s %q", row.Name(), in.GoodputBitsPerSecond, *in.DeviceDrops, s.TCPSegmentsLost, *s, *s.Latency, row.Validity, row.ValidityReasons)
			if s.Lost+s.TCPSegmentsLost != *in.DeviceDrops {
				t.Errorf("%s: %d frames and %d segments are lost, and the device dropped %d packets", row.Name(), s.Lost, s.TCPSegmentsLost, *in.DeviceDrops)
			}
			lost, received = lost+s.Lost+s.TCPSegmentsLost, received+s.Received+in.ReceivedPackets
		}
		if lost != afterDrops-drops || state.Rows[1].Incast.Stateless.Lost == 0 || state.Rows[1].Incast.Stateless.TCPSegmentsLost == 0 {
			t.Errorf("tc counted %d dropped packets, and the rows have %d", afterDrops-drops, lost)
		}
		if sent := afterPackets - packets; received > sent {
			t.Errorf("tc counted %d sent packets, and the rows have %d", sent, received)
		}
		return
	}
	t.Skipf("the tester lost frames itself in %d attempts: measure with other programs stopped", attempts)
}

// testerLost reports whether the tester dropped frames that the device had forwarded.
func testerLost(row v1alpha1.ResultRow) bool {
	return slices.ContainsFunc(row.TrialRecords.Trials, func(r v1alpha1.TrialRecord) bool { return slices.Contains(r.Reasons, v1alpha1.TrialTesterLost) })
}
