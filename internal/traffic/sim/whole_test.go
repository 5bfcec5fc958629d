package sim

import (
	"fmt"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// meshed runs one trial of a full mesh of n ports of 10G and returns what all
// sent and received together, and the latency of one stream.
func meshed(t *testing.T, n int, size int, ppm int64, model string, opts ...Option) (sent, received uint64, one traffic.Latency) {
	t.Helper()
	ports := make([]Port, n)
	for i := range ports {
		ports[i] = Port{Name: fmt.Sprintf("p%d", i+1), BitsPerSecond: tenGig}
	}
	var streams []traffic.Stream
	for i := range n {
		for k := 1; k < n; k++ {
			streams = append(streams, traffic.Stream{ID: uint16(len(streams)), TxPort: ports[i].Name, RxPorts: []string{ports[(i+k)%n].Name}, FrameSize: size})
		}
	}
	e, err := New(model, ports, opts...)
	if err != nil {
		t.Fatal(err)
	}
	m := trial(t, e, streams, load(t, size, ppm, int64(n-1)), 10*time.Second)
	for _, tx := range m.Tx {
		sent += tx.Sent
	}
	for _, rx := range m.Rx {
		received += rx.Received
	}
	if len(m.Notes) > 0 && sent == received {
		t.Errorf("at %d ppm: %v", ppm, m.Notes)
	}
	return sent, received, m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}].Latency
}

// Many streams to a port send whole frames each, which is less than the port's load. The load
// counts: just above the capacity frames are lost, and at the capacity and at a column of the
// jitter the figures equal the table.
func TestWholeFramesOfManyStreams(t *testing.T) {
	const n, size, capacity = 64, 9216, 731_234
	model := header + fmt.Sprintf("\n%d,73.1234,1,22.276,96.150,0.499,46.320\n", size)
	jitter := jitterTable(t, fmt.Sprintf("frame_size_bytes,load_10_percent_us,throughput_rate_us\n%d,0.076,0.499\n", size))
	options := WithJitter(jitter, jitter)
	sent, received, at := meshed(t, n, size, capacity, model, options)
	if sent != received || at.SumNs != 22_276*at.Count || at.MaxNs != 96_150 || at.JitterSumNs != 499*at.JitterCount {
		t.Errorf("at the capacity: received %d of %d, %d ns in all of %d frames", received, sent, at.SumNs, at.Count)
	}
	if sent, received, _ = meshed(t, n, size, capacity+1, model, options); sent == received {
		t.Error("one part in a million above the capacity nothing is lost")
	}
	if sent, received, at = meshed(t, n, size, 100_000, model, options); sent != received || at.JitterSumNs != 76*at.JitterCount {
		t.Errorf("at 10 %%: received %d of %d, jitter %d of %d", received, sent, at.JitterSumNs, at.JitterCount)
	}
}

// The parts of frames that streams of equal rate do not send add up to what their
// port does not send, exactly.
func TestPartsOfFramesAddUp(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 7, 255, 4095} {
		for ppm := int64(1); ppm < whole; ppm = ppm*3 + 1 {
			r, err := traffic.RateOf(frame.Rate(tenGig, 1518, ppm))
			if err != nil {
				t.Fatal(err)
			}
			each := r
			each.PerNanos *= n
			flows := make([]flow, n)
			for i := range flows {
				flows[i] = flow{sent: max(1, frames(each, time.Second)), lasts: time.Second}
				flows[i].steadily(traffic.Load{Rate: each}, time.Second)
			}
			sent, short := arrivals(flows, func(flow) uint64 { return 0 })
			if flows[0].steady && sent+short != frames(r, time.Second) {
				t.Errorf("%d streams at %d ppm: %d frames and %d missing, want %d", n, ppm, sent, short, frames(r, time.Second))
			}
		}
	}
}
