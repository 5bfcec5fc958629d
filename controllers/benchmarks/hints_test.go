package benchmarks

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// Hints come from the latest benchmark that passed on the bed, and from no one
// else's namespace.
func TestHintsComeFromTheLatestRunOnTheBed(t *testing.T) {
	hour := func(n int) *metav1.Time {
		at := metav1.NewTime(time.Date(2026, 3, 4, n, 0, 0, 0, time.UTC))
		return &at
	}
	rows := map[string][]v1alpha1.ResultRow{}
	earlier := func(name string, change func(*v1alpha1.Benchmark)) v1alpha1.Benchmark {
		b := *objects.Benchmark("team", name, objects.UID(types.UID(name)))
		b.Spec.TrafficProfileName = "pairs"
		b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhaseMeasured, TestBedName: "bed", CompletionTime: hour(1)}
		rows[name] = []v1alpha1.ResultRow{
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 500_000}, Validity: v1alpha1.ValidityValid, Search: &v1alpha1.SearchSummary{UpperBoundPPM: 501_000}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput, FrameSize: 512}, Frames: &v1alpha1.FrameSection{LineRatePPM: 1_000_000}, Validity: v1alpha1.ValidityValid, Search: &v1alpha1.SearchSummary{}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput, FrameSize: 256}, Frames: &v1alpha1.FrameSection{LineRatePPM: 300_000}, Validity: v1alpha1.ValidityContended, Search: &v1alpha1.SearchSummary{UpperBoundPPM: 301_000}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput, FrameSize: 128}, Frames: &v1alpha1.FrameSection{LineRatePPM: 300_000}, Validity: v1alpha1.ValidityGeneratorBound, Search: &v1alpha1.SearchSummary{UpperBoundPPM: 301_000}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodPartialDropRate, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 600_000}, Search: &v1alpha1.SearchSummary{UpperBoundPPM: 601_000}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodLatency, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 900_000}},
			{RowID: v1alpha1.RowID{Method: v1alpha1.MethodThroughput, FrameMix: "imix"}, Frames: &v1alpha1.FrameSection{LineRatePPM: 700_000}, Search: &v1alpha1.SearchSummary{UpperBoundPPM: 701_000}},
		}
		change(&b)
		return b
	}
	now := earlier("now", func(b *v1alpha1.Benchmark) { b.Status = v1alpha1.BenchmarkStatus{} })
	bed := objects.TestBed("bed")
	bed.Spec.Engine.Sim = &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}
	others := []v1alpha1.Benchmark{
		earlier("oldest", func(b *v1alpha1.Benchmark) { rows[b.Name][0].Frames.LineRatePPM = 1 }),
		earlier("latest", func(b *v1alpha1.Benchmark) { b.Status.CompletionTime = hour(2) }),
		earlier("failed", func(b *v1alpha1.Benchmark) {
			b.Status.CompletionTime, b.Status.Phase = hour(3), v1alpha1.PhaseFailed
		}),
		earlier("of another team", func(b *v1alpha1.Benchmark) { b.Status.CompletionTime, b.Namespace = hour(3), "other" }),
		earlier("on another bed", func(b *v1alpha1.Benchmark) { b.Status.CompletionTime, b.Status.TestBedName = hour(3), "other" }),
		earlier("with other traffic", func(b *v1alpha1.Benchmark) {
			b.Status.CompletionTime, b.Spec.TrafficProfileName = hour(3), "other"
		}),
		earlier("unfinished", func(b *v1alpha1.Benchmark) { b.Status.CompletionTime = nil }),
		now,
	}
	profile := shaped("pairs", 20001, 64, 128)
	hintsOf := func(others []v1alpha1.Benchmark, profiles []v1alpha1.TrafficProfile) []runner.Hint {
		var before []earlierResult
		for _, b := range similar(&now, bed, profile, others, profiles) {
			before = append(before, earlierResult{b.Name, rows[b.Name]})
		}
		return hints(bed, now.Status.Variant, before)
	}
	got := hintsOf(others, nil)
	// Half of 10G in frames of 64 + 20 bytes.
	if len(got) != 1 || got[0].Source != "benchmark latest" || got[0].BitsPerSecond != 5_000_000_000 || got[0].FramesPerSecond != 7_440_476 {
		t.Errorf("%+v", got)
	}
	if got := hintsOf(nil, nil); got != nil {
		t.Errorf("%+v of nothing", got)
	}

	// Traffic of the same shape in other frame sizes gives hints too: where
	// the newest run has no result, an older one has.
	add := func(name, profile string, at int, size int32) {
		others = append(others, earlier(name, func(b *v1alpha1.Benchmark) {
			b.Spec.TrafficProfileName, b.Status.CompletionTime = profile, hour(at)
			rows[name] = rows[name][:1]
			rows[name][0].FrameSize, rows[name][0].Validity = size, v1alpha1.ValidityVirtual
		}))
	}
	add("of large frames", "large", 4, 1518)
	add("of one of these", "large", 1, 64)
	add("of other ports", "other-ports", 5, 256)
	profiles := []v1alpha1.TrafficProfile{*profile, *shaped("large", 20001, 1518), *shaped("other-ports", 7, 256)}
	var sources []string
	for _, h := range hintsOf(others, profiles) {
		sources = append(sources, h.Source)
	}
	if want := []string{"benchmark of large frames", "benchmark latest"}; !slices.Equal(sources, want) {
		t.Errorf("%q, want %q", sources, want)
	}
}

// shaped is a profile of frames from one UDP port on.
func shaped(name string, port int32, sizes ...int32) *v1alpha1.TrafficProfile {
	p := objects.TrafficProfile("team", name)
	p.Spec.FrameSizes = sizes
	p.Spec.Pattern.Pairs = &v1alpha1.PairsPattern{}
	p.Spec.Packet.UDP = &v1alpha1.UDPPacket{SourcePorts: &v1alpha1.PortRange{First: port, Count: 1}}
	return p
}

// Results of one variant of the device are no hints for another one.
func TestHintsAreOfTheVariantInHand(t *testing.T) {
	throughput := func(variant v1alpha1.VariantName, ppm int64) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{RowID: v1alpha1.RowID{Variant: variant, Method: v1alpha1.MethodThroughput, FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: ppm}, Validity: v1alpha1.ValidityValid, Search: &v1alpha1.SearchSummary{UpperBoundPPM: ppm + 1000}}
	}
	before := []earlierResult{{"other", []v1alpha1.ResultRow{throughput("off", 500_000), throughput("on", 250_000)}}}
	bed := objects.TestBed("bed")
	bed.Spec.Engine.Sim = &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}
	for variant, want := range map[v1alpha1.VariantName]int64{"off": 5_000_000_000, "on": 2_500_000_000, "": 0, "fast": 0} {
		var got int64
		for _, h := range hints(bed, variant, before) {
			got += h.BitsPerSecond
		}
		if got != want {
			t.Errorf("variant %q: a hint of %d bit/s, want %d", variant, got, want)
		}
	}
}
