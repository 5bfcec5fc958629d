package method

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A load in frames/s or bit/s is sent to the frame, from every port.
func TestLoadsInFramesAndBitsPerSecond(t *testing.T) {
	loads := []v1alpha1.Load{"1Mpps", "1.000448Gbps", "333.333kpps"}
	latency := v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{Loads: loads}}
	latency.Latency.TrialDuration.Duration = 3 * time.Second
	p, err := planOf(t, latency)
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, header+"\n64,100,1,2,3\n", p), p, nil)
	want := []struct {
		framesPerSecond int64
		ppm             int64
	}{{4_000_000, 67_200}, {4 * 1_954_000, 131_309}, {4 * 333_333, 22_400}}
	for i, step := range p.Steps {
		out := mustRun(t, tester, step)
		if out.FramesPerSecond != nil {
			t.Errorf("%s: %v frames/s as of streams that are not the plan's", step.Name(), out.FramesPerSecond)
		}
		if out.Trial.Sent != uint64(3*want[i].framesPerSecond) || out.Trial.Lost > 0 || out.LoadPPM != want[i].ppm || step.ID().Load != loads[i] {
			t.Errorf("%s: sent %d, lost %d, at %d ppm", step.Name(), out.Trial.Sent, out.Trial.Lost, out.LoadPPM)
		}
	}
}

// The loads of an ordering test rise, in whatever unit they are given.
func TestOrderingSortsRates(t *testing.T) {
	p, err := planOf(t, v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"50%", "5Mpps", "1Gbps"}}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Steps {
		names = append(names, string(s.Load))
	}
	// Of 14.88 million frames/s of 10G: 13 %, 33 % and 50 %.
	if got := strings.Join(names, " "); got != "1Gbps 5Mpps 50%" {
		t.Errorf("loads %s", got)
	}
}

func TestRatesBeyondLineRateAreRefused(t *testing.T) {
	for name, test := range map[string]v1alpha1.Test{
		"soak":  {Name: "a", Soak: &v1alpha1.SoakTest{Load: "15Mpps"}},
		"reset": {Name: "a", Reset: &v1alpha1.ResetTest{Load: "8Gbps"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), "of the line rate of port") {
				t.Errorf("error %v", err)
			}
		})
	}
}
