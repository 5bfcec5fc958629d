package sim

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// What a device drops of a stream is spread over its microflows, and their records add up to what
// the port received.
func TestMicroflowsAddUpToTheStream(t *testing.T) {
	for name, test := range map[string]struct {
		ppm    int64
		losing bool
	}{"below the capacity": {250_000, false}, "above it": {800_000, true}} {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, half, 2)
			for i := range streams {
				h := &streams[i].Headers
				streams[i].Track = traffic.TrackTimes
				h.SrcIP, h.DstIP = netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
				h.SrcIPCount, h.SrcPortCount, h.DstPortCount = 250, 401, 1
			}
			m := trial(t, e, streams, load(t, 64, test.ppm, 1), 3*time.Second)
			sums := must[[]traffic.MicroflowSum](t)(e.SumMicroflows(t.Context(), m.Tx, 7))
			if len(sums) != 2 {
				t.Fatalf("%d sums, want 2", len(sums))
			}
			for _, s := range sums {
				tx, rx := m.Tx[s.Stream], m.Rx[s.RxKey]
				if s.Tracked != 100_250 || s.Lost != tx.Sent-rx.Received || s.Silent != 0 || (s.Lossy > 0) != test.losing || s.Complete+s.Lossy != s.Tracked {
					t.Errorf("%+v, of %d frames sent and %d received", s, tx.Sent, rx.Received)
				}
				if s.Most-s.Least > 2 {
					t.Errorf("received %d to %d frames of a microflow: the losses are not even", s.Least, s.Most)
				}
			}
			var received, at uint64
			err := e.Microflows(t.Context(), sums[0].RxKey, func(p traffic.MicroflowPart) error {
				for i, r := range p.Records {
					received += uint64(r.Received)
					if p.First != at || p.FirstNs[i] == 0 || i > 0 && p.FirstNs[i] < p.FirstNs[i-1] {
						t.Fatalf("microflow %d: the first frame at %d", p.First+uint64(i), p.FirstNs[i])
					}
				}
				at += uint64(len(p.Records))
				return nil
			})
			if want := m.Rx[sums[0].RxKey].Received; err != nil || received != want || at != 100_250 {
				t.Errorf("the records have %d frames of %d microflows, want %d; %v", received, at, want, err)
			}
		})
	}
}

// The microflows to networks are received where and when the device has learned their networks.
func TestMicroflowsFollowTheTable(t *testing.T) {
	t.Parallel()
	e, s := routers(t, v1alpha1.SimulatedBehaviour{RouteInstallRate: new(int64(1000)), RouteDelay: &metav1.Duration{Duration: 100 * time.Millisecond}}, WithForwardingCapacity(900))
	stream := toThousand()
	stream.Track = traffic.TrackTimes
	if err := e.Configure(t.Context(), []traffic.Stream{stream}); err != nil {
		t.Fatal(err)
	}
	// Each network has a frame in a millisecond.
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{0: {Rate: traffic.Rate{Frames: 1, PerNanos: 1000}}}, Duration: 2 * time.Second}
	if err := e.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	began := uint64(e.dut.now())
	must[routing.Sent](t)(s.Announce(t.Context(), "p2", []routing.Routes{thousand()}))
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := must[traffic.Measurement](t)(e.Read(t.Context()))
	err := e.Microflows(t.Context(), traffic.RxKey{Port: "p2"}, func(p traffic.MicroflowPart) error {
		for i, r := range p.Records {
			installed := began + uint64(101+i)*1e6
			switch first := p.FirstNs[i]; {
			case (i < 900) != (r.Received > 0):
				t.Errorf("network %d: %+v, and the device forwards to 900", i, r)
			case i < 900 && (first < installed || first > installed+1_100_000):
				t.Errorf("network %d was installed at %d, and its first frame came at %d", i, installed, first)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sums := must[[]traffic.MicroflowSum](t)(e.SumMicroflows(t.Context(), m.Tx, 2))
	if sums[0].Silent != 100 || sums[0].Lossy != 900 || sums[0].Bad[0].Number != 0 {
		t.Errorf("at p2 %+v", sums[0])
	}
	if sums[1].Port != "p3" || sums[1].Silent != 1000 {
		t.Errorf("at p3 %+v", sums[1])
	}
}

func TestTooManyMicroflows(t *testing.T) {
	e, streams := pairs(t, half, 2)
	h := &streams[0].Headers
	streams[0].Track = traffic.TrackCounts
	h.SrcIP, h.DstIP, h.SrcIPCount, h.SrcPortCount = netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2"), 4097, 4097*2+1
	if err := e.Configure(t.Context(), streams); err == nil || !strings.Contains(err.Error(), "33,574,915 microflows, with which port p2 would count more than 16,777,216") {
		t.Error(err)
	}
}
