package method

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// tracking is a plan between four ports that counts 50,050 microflows of each stream.
func tracking(t *testing.T, tests ...v1alpha1.Test) plan.Plan {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = tests
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{64}, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
		Packet: v1alpha1.Packet{
			IPv4: &v1alpha1.IPPacket{HostsPerPort: 50}, TrackMicroflows: true,
			UDP: &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: 1000, Count: 1001}},
		},
	}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 4, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	made, err := build(&b, &p, &bed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Rows have what became of the microflows in the trial that decided them, with the addresses of
// the first lossy ones.
func TestMicroflowsOfRows(t *testing.T) {
	const microflows = 4 * 50_050
	p := tracking(t, v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "1%"}}, v1alpha1.Test{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{}})
	rows := rowsOn(t, p, header+"\n64,50,1,2,3\n", nil)
	lossy := 0
	for _, row := range rows {
		m := row.Microflows
		if m == nil || m.Tracked != microflows || m.Complete+m.Lossy+m.Silent != m.Tracked || m.Unsent != 0 || m.LeastReceived == 0 {
			t.Fatalf("%s: %+v", row.Name(), m)
		}
		if (row.Frames.Lost > 0) != (m.Lossy > 0) {
			t.Errorf("%s lost %d frames, and %d microflows are lossy", row.Name(), row.Frames.Lost, m.Lossy)
		}
		if m.Lossy == 0 {
			continue
		}
		lossy++
		if len(m.Bad) != v1alpha1.MaxBadMicroflows {
			t.Errorf("%s lists %d of %d lossy microflows, want %d", row.Name(), len(m.Bad), m.Lossy, v1alpha1.MaxBadMicroflows)
		}
		b := m.Bad[1]
		b.Sent, b.Received = 0, 0
		if want := (v1alpha1.BadMicroflow{Sender: "p1", Receiver: "p2", Source: "198.18.0.3:1001", Destination: "198.18.128.3:9"}); b != want {
			t.Errorf("%s lists %+v, want %+v", row.Name(), b, want)
		}
	}
	if lossy == 0 || lossy == len(rows) {
		t.Errorf("%d of %d rows have lossy microflows", lossy, len(rows))
	}
}
