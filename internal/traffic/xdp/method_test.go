package xdp

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
)

// lab makes a lab for one test with frames of 512 bytes from p1 to p2, which are
// ports of 100M in one network, and the test's first step.
func (b *bed) lab(e traffic.Generator, test v1alpha1.Test, observe func(trials.Event)) (*trials.Tester, plan.Step) {
	b.Helper()
	var benchmark v1alpha1.Benchmark
	benchmark.Spec.Tests = []v1alpha1.Test{test}
	benchmark.Spec.SettleTime.Duration = 200 * time.Millisecond
	benchmark.Spec.RestTime = &metav1.Duration{}
	oneWay := false
	var profile v1alpha1.TrafficProfile
	profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{512}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
		Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &oneWay}},
	}
	var testBed v1alpha1.TestBed
	testBed.Spec.Engine.Kind = v1alpha1.EngineXDP
	testBed.Spec.Device.BackToBack = &v1alpha1.BackToBackDevice{}
	for i, name := range []string{"p1", "p2"} {
		testBed.Spec.Ports = append(testBed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "here", Speed: "100M", Addresses: []string{[]string{"198.18.1.2/24", "198.18.1.3/24"}[i]},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: []string{"v1", "v2"}[i]}},
		})
	}
	if err := manifest.Default(&benchmark, &profile, &testBed); err != nil {
		b.Fatal(err)
	}
	p, err := plan.Build(&benchmark, &profile, &testBed)
	if err != nil {
		b.Fatal(err)
	}
	info, err := e.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	hops, err := trials.Resolve(b.Context(), e, p, info, 100*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	return trials.NewTester(e, p, hops, observe), p.Steps[0]
}

// A device that lets 0.51 % of the frames change places with the next is reported
// as such by an ordering test with real frames: 0.51 % reordered, and 1.53 % out of
// sequence in the older count. The row is the same by every transmit path.
func TestOrderingOverAReorderer(t *testing.T) {
	for _, transmit := range []Transmit{LiveFrames, AFXDP, PacketSocket} {
		t.Run(string(transmit), func(t *testing.T) {
			if transmit != LiveFrames {
				longtest.Skip(t, "LiveFrames")
			}
			orderingOverAReorderer(t, transmit)
		})
	}
}

func orderingOverAReorderer(t *testing.T, transmit Transmit) {
	bed := newBed(t)
	d := bed.device()
	d.disturb(settings{"swaps_per_10000": uint32(51)})
	d.answers()
	ports := d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})
	ports[0].Transmit = transmit
	e := bed.open(ports...)

	// 100M and 512 bytes are 23,496.2 frames/s: half of it for 1.7022 s is 20,000 frames,
	// which hold 102 changes of places.
	test := v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"50%"}, Resolution: "50%"}}
	test.Ordering.TrialDuration.Duration = 1_702_470 * time.Microsecond
	lab, step := bed.lab(e, test, nil)
	out, err := method.Run(t.Context(), lab, step)
	if err != nil {
		t.Fatal(err)
	}
	var row v1alpha1.ResultRow
	out.Fill(&row)
	trial := out.Trial
	t.Logf("sent %d, received %d, reordered %d, out of sequence %d: %+v", trial.Sent, trial.Received, trial.Reordered, trial.OutOfSequence, *row.Ordering)
	if trial.Sent < 19_990 || trial.Sent > 20_000 || trial.Received != trial.Sent || trial.Reordered != 102 || trial.OutOfSequence != 306 {
		t.Errorf("sent %d, received %d, reordered %d, out of sequence %d: want about 20000, all, 102, 306", trial.Sent, trial.Received, trial.Reordered, trial.OutOfSequence)
	}
	if r := row.Ordering.Reordering; r == nil || r.ExtentMaxFrames != 1 || r.NMax != 1 || r.FreeRunFrames != 195 || len(r.Extents) != 1 || r.Extents[0].Frames != 102 || r.NReordered[0] != (v1alpha1.NReordering{N: 1, Frames: 102, PPM: 5100}) {
		t.Errorf("%+v, want 102 frames one behind", r)
	}
	// The onset is the offered load, of which a busy machine may be short.
	if o := row.Ordering; o.ReorderedPPM != 5100 || o.OutOfSequencePPM != 15_300 || o.OnsetPPM < 450_000 || o.OnsetPPM > 500_000 {
		t.Errorf("%+v, want 0.51 %% and 1.53 %% at 50 %%", o)
	}
}
