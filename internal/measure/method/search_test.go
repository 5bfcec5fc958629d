package method

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// searchPlan is a plan with one throughput test at several frame sizes.
func searchPlan(t *testing.T, test v1alpha1.ThroughputTest, sizes ...int32) plan.Plan {
	t.Helper()
	var b v1alpha1.Benchmark
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &test}}
	b.Spec.RestTime = &metav1.Duration{Duration: 5 * time.Second}
	var p v1alpha1.TrafficProfile
	p.Spec = v1alpha1.TrafficProfileSpec{FrameSizes: sizes, Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	var bed v1alpha1.TestBed
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	made, err := build(&b, &p, &bed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A device of 20 % of line rate at 64 bytes that is limited by frames/s, and by
// bits/s from 512 bytes on.
const limited = header + "\n64,20,1,2,3\n128,35.2380,1,2,3\n512,80,1,2,3\n1518,80,1,2,3\n"

func TestInformedLearnsFromTheFrameSizesBefore(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}, 64, 128, 512, 1518)
	tester := open(t, simulate(t, limited, p), p, nil)
	want := []int64{200_000, 352_000, 800_000, 800_000}
	starts := []string{"", "throughput 64 B", "throughput 128 B", "throughput 512 B"}
	for i, step := range p.Steps {
		out := mustRun(t, tester, step)
		if out.LoadPPM > want[i] || want[i]-out.LoadPPM > 1000 || out.Trial.Lost != 0 || out.Trial.Duration != time.Minute || out.Bracket.FailedPPM-out.LoadPPM > 1000 {
			t.Errorf("%s: found %+v", step.Name(), out)
		}
		s := out.Search
		if s.Method != v1alpha1.SearchInformed || s.UpperBoundPPM != out.Bracket.FailedPPM || s.TrialMilliseconds < 60_000 || s.TrialMilliseconds > 80_000 || s.Capped {
			t.Errorf("%s: %+v", step.Name(), s)
		}
		if (s.Start == "") != (starts[i] == "") {
			t.Errorf("%s: began at %q, want %q", step.Name(), s.Start, starts[i])
		}
		tester.Results.Found[trials.Found{Test: "throughput", Size: step.Size}] = out.LoadPPM
	}
}

// A resumed run has the same hints, and so the same trials.
func TestInformedIsTheSameWhenResumed(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}, 64, 128)
	tester := open(t, simulate(t, limited, p), p, nil)
	first := mustRun(t, tester, p.Steps[0])
	tester.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = first.LoadPPM
	whole := mustRun(t, tester, p.Steps[1])
	resumed := open(t, simulate(t, limited, p), p, nil)
	resumed.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = first.LoadPPM
	again := mustRun(t, resumed, p.Steps[1])
	if again.LoadPPM != whole.LoadPPM || again.Trials != whole.Trials || *again.Search != *whole.Search {
		t.Errorf("resumed: %+v %+v, want %+v %+v", again, again.Search, whole, whole.Search)
	}
}

func TestInformedTakesHintsFromOutside(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}, 512)
	plain := mustRun(t, open(t, simulate(t, limited, p), p, nil), p.Steps[0])
	for source, bits := range map[string]int64{"right": 8_000_000_000, "wrong": 100_000_000} {
		tester := open(t, simulate(t, limited, p), p, nil)
		tester.Results.AddHints(search.Hint{BitsPerSecond: big.NewRat(bits, 1), Source: source})
		out := mustRun(t, tester, p.Steps[0])
		if out.LoadPPM > 800_000 || out.LoadPPM < 799_000 || out.Search.Start != source {
			t.Errorf("%s: %+v %+v", source, out, out.Search)
		}
		if source == "right" && out.Trials >= plain.Trials {
			t.Errorf("%d trials with a right hint, %d without", out.Trials, plain.Trials)
		}
	}
}

func TestMLRsearchMakesRowsOfAllLossRatios(t *testing.T) {
	p := searchPlan(t, v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, LossRatios: []v1alpha1.LossRatio{"0%", "0.5%", "2%"}}, 64)
	if len(p.Steps) != 3 || p.Steps[1].Method != v1alpha1.MethodPartialDropRate || p.Steps[2].LossRatioPPM != 20_000 {
		t.Fatalf("steps %+v", p.Steps)
	}
	tester := open(t, simulate(t, limited, p), p, nil)
	// Loss of 0.5 % at 200,000 / 0.995, of 2 % at 200,000 / 0.98.
	want := []int64{200_000, 201_005, 204_081}
	for i, step := range p.Steps {
		out := mustRun(t, tester, step)
		g := out.Search.Goal
		if out.LoadPPM > want[i] || out.Bracket.FailedPPM <= want[i] || out.Bracket.FailedPPM-out.LoadPPM > 1000 || !g.Regular || g.LowerBoundMilliseconds != 60_000 {
			t.Errorf("%s: found %+v, goal %+v, want %d", step.Name(), out, g, want[i])
		}
		if (out.Trial.Lost > 0) != (i > 0) || (out.Trials > 0) != (i == 0) {
			t.Errorf("%s: %d frames lost, %d trials", step.Name(), out.Trial.Lost, out.Trials)
		}
		// What arrives is the capacity of the two ports, 20 % of line rate each.
		if capacity := int64(5_952_381); i > 0 && (g.ConditionalFramesPerSecond > capacity || g.ConditionalFramesPerSecond < capacity-1000) {
			t.Errorf("%s: conditional throughput %d frames/s, want %d", step.Name(), g.ConditionalFramesPerSecond, capacity)
		}
	}
	// A run that was resumed after the first row searches the second one alone.
	out := mustRun(t, open(t, simulate(t, limited, p), p, nil), p.Steps[1])
	if out.Trials == 0 || out.LoadPPM > want[1] || out.Bracket.FailedPPM <= want[1] || out.Search.Goal.Name != "PDR" {
		t.Errorf("resumed: %+v %+v", out, out.Search.Goal)
	}
}

func TestATimeLimitEndsTheSearch(t *testing.T) {
	limit := func(d time.Duration) *v1alpha1.ThroughputTest {
		test := v1alpha1.ThroughputTest{Search: v1alpha1.SearchInformed}
		test.TimeLimit = newDuration(d)
		return &test
	}
	for d, found := range map[time.Duration]bool{30 * time.Second: false, time.Hour: true} {
		p := searchPlan(t, *limit(d), 64)
		out := mustRun(t, open(t, simulate(t, limited, p), p, nil), p.Steps[0])
		if (out.LoadPPM > 0) != found || out.Search.Capped == found || strings.Contains(out.Message, "raise timeLimit") == found || out.Elapsed > d+10*time.Second {
			t.Errorf("%s: %+v %+v", d, out, out.Search)
		}
	}
}

// Every search distinguishes a tester that is slower than the device from the device.
func TestEverySearchTellsTesterFromDevice(t *testing.T) {
	model := header + ",generator_limit_percent\n64,70,1,2,3,30\n"
	for _, name := range []v1alpha1.SearchMethod{v1alpha1.SearchBinary, v1alpha1.SearchMLRsearch, v1alpha1.SearchInformed} {
		p := searchPlan(t, v1alpha1.ThroughputTest{Search: name}, 64)
		out := mustRun(t, open(t, simulate(t, model, p, sim.WithMuteNeighbours()), p, nil), p.Steps[0])
		if out.LoadPPM > 300_000 || out.LoadPPM < 299_000 || out.Limit == nil || !out.Limit.Unsent() {
			t.Errorf("%s: found %+v", name, out)
		}
	}
}

// The warm-up is run and not looked at.
func TestAWarmUpIsOneTrialMore(t *testing.T) {
	warm := v1alpha1.ThroughputTest{WarmUp: newDuration(3 * time.Second)}
	p, cold := searchPlan(t, warm, 64), searchPlan(t, v1alpha1.ThroughputTest{}, 64)
	var first *trials.Trial
	tester := open(t, simulate(t, limited, p), p, func(e trials.Event) {
		if first == nil {
			first = e.Finished
		}
	})
	out, err := Run(context.Background(), tester, p.Steps[0])
	if err != nil {
		t.Fatal(err)
	}
	without := mustRun(t, open(t, simulate(t, limited, cold), cold, nil), cold.Steps[0])
	if first.Duration != 3*time.Second || out.Trials != without.Trials+1 || out.LoadPPM != without.LoadPPM {
		t.Errorf("first trial of %s, %d trials found %d, without %d found %d", first.Duration, out.Trials, out.LoadPPM, without.Trials, without.LoadPPM)
	}
}

func newDuration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
