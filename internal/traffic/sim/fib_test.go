package sim

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// What ports received of each network adds up to their counters, once all routes are
// programmed, and each frame arrives at the port that the faults of its network say.
func TestMicroflowsOfAFaultyFIB(t *testing.T) {
	t.Parallel()
	const routes, rounds = 20_000, 4
	b := v1alpha1.SimulatedBehaviour{
		FIBCapacity: new(int64(15_000)), FIBDroppedPPM: new(int64(3000)), FIBMisroutedPPM: new(int64(2000)), FIBSeed: new(int64(5)),
		FIBDelay: &metav1.Duration{Duration: 300 * time.Millisecond},
	}
	e, speaker := routers(t, b)
	set := routing.Routes{First: netip.MustParsePrefix("20.0.0.0/24"), Count: routes}
	s := traffic.Stream{
		TxPort: "p1", RxPorts: []string{"p1", "p2", "p3"}, FrameSize: 64, Track: traffic.TrackTimes,
		Headers: traffic.Headers{SrcIP: netip.MustParseAddr("198.18.1.1"), DstIP: netip.MustParseAddr("20.0.0.1"), DstIPCount: routes, DstIPBits: 24},
	}
	if _, err := speaker.Announce(t.Context(), "p2", []routing.Routes{set}); err != nil {
		t.Fatal(err)
	}
	if err := e.Clock().Sleep(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if err := e.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Fatal(err)
	}
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{0: {Rate: traffic.Rate{Frames: 100_000, PerNanos: int64(time.Second)}, Frames: rounds * routes}}}
	if err := e.Start(t.Context(), trial); err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := e.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range s.RxPorts {
		key, total := traffic.RxKey{Port: port}, uint64(0)
		err := e.Microflows(t.Context(), key, func(part traffic.MicroflowPart) error {
			for i, r := range part.Records {
				dropped, misrouted := FIBFault(b, set.Prefix(uint32(i)))
				want := uint32(0)
				if !dropped && i < 15_000 && (misrouted && port == "p3" || !misrouted && port == "p2") {
					want = rounds
				}
				if r.Received != want || (part.FirstNs[i] > 0) != (want > 0) || want > 0 && r.Last != uint32((rounds-1)*routes+i+1) {
					t.Errorf("network %d at %s: %+v, first at %d, want %d frames", i, port, r, part.FirstNs[i], want)
				}
				total += uint64(r.Received)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Rx[key].Received; got != total {
			t.Errorf("%s: %d frames were received, and %d of all networks", port, got, total)
		}
	}
}
