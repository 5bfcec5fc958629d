package labpage

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestLane checks which names of expected starts a lane has, and that a bed that takes no benchmark is hatched from now on.
func TestLane(t *testing.T) {
	d := drawing{from: noon, to: noon.Add(24 * time.Hour), now: noon.Add(time.Hour)}
	starts := []start{{"team/short", noon.Add(2 * time.Hour)}, {"team/next", noon.Add(2*time.Hour + 30*time.Minute)}, {"team/reserved", noon.Add(11 * time.Hour)}, {"team/wide", noon.Add(14 * time.Hour)}, {"team/late", noon.Add(23*time.Hour + 30*time.Minute)}, {"team/after", noon.Add(30 * time.Hour)}}
	v := bedView{Bed: bed("b", nil), State: stateFree, Now: d.now, Reserved: []use{{Who: party{Text: "team/night"}, From: noon.Add(10 * time.Hour), Until: noon.Add(13 * time.Hour)}}}
	l := d.lane(v, starts, nil)
	var names []string
	for _, b := range l.Bars {
		if b.Behind && b.Label != "" {
			names = append(names, b.Label)
		}
		if b.Class == "shut" {
			t.Error("a free bed is hatched")
		}
	}
	if got, want := strings.Join(names, " "), "team/next team/wide"; got != want {
		t.Errorf("names of %q, want %q", got, want)
	}
	if !strings.Contains(l.Alt, "team/late") || strings.Contains(l.Alt, "team/after") {
		t.Errorf("in words: %q", l.Alt)
	}
	for _, state := range []string{stateClosed, stateNotReady, stateQuarantined} {
		v.State = state
		if l := d.lane(v, nil, nil); l.Bars[0].Class != "shut" || l.Bars[0].X != d.at(d.now) || l.Bars[0].End() != units {
			t.Errorf("%s: the lane is not hatched from now on: %+v", state, l.Bars)
		}
	}
}

// TestAxisLabel checks that each day of the axis is named once, also where slots do not begin at midnight.
func TestAxisLabel(t *testing.T) {
	for _, s := range spans {
		slot := time.Duration(s.Hours) * time.Hour / time.Duration(s.Slots)
		from := noon.Add(-time.Hour).Truncate(slot)
		days := map[string]int{}
		for i := range s.Slots {
			day := from.Add(time.Duration(i) * slot).Format("Mon 2")
			if strings.Contains(axisLabel(from, i, slot), day) {
				days[day]++
			} else if days[day] == 0 {
				t.Errorf("%s: slot %d does not name %s", s.Title, i, day)
			}
		}
		for day, n := range days {
			if n != 1 {
				t.Errorf("%s: %s is named %d times", s.Title, day, n)
			}
		}
	}
}

// TestFailedOfTheLastDay checks which benchmarks the overview lists first, and that teams of other people are not among them.
func TestFailedOfTheLastDay(t *testing.T) {
	ended := func(namespace, name string, phase v1alpha1.BenchmarkPhase, minutes int) *v1alpha1.Benchmark {
		return benchmark(namespace, name, phase, func(b *v1alpha1.Benchmark) {
			began, end := at(minutes-10), at(minutes)
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime, b.Status.Message = "b1", &began, &end, "because of "+name
		})
	}
	p := newPage(t, fakeAccess("a"), bed("b1", nil), ended("a", "gate", v1alpha1.PhaseFailed, -600), ended("a", "pod", v1alpha1.PhaseError, -30), ended("a", "fine", v1alpha1.PhasePassed, -20),
		ended("a", "stopped", v1alpha1.PhaseAborted, -15), ended("a", "old", v1alpha1.PhaseFailed, -25*60), ended("c", "secret", v1alpha1.PhaseFailed, -5))
	_, text, _ := get(t, p, "/")
	_, text, found := strings.Cut(text, "Not passed in the last 24 hours")
	text, _, _ = strings.Cut(text, "All beds")
	if pod, gate := strings.Index(text, "because of pod"), strings.Index(text, "because of gate"); !found || pod < 0 || gate < pod {
		t.Errorf("failures are missing, or not in the order of their ends: %s", text)
	}
	for _, other := range []string{"fine", "stopped", "old", "secret"} {
		if strings.Contains(text, "because of "+other) {
			t.Errorf("the list has %s: %s", other, text)
		}
	}
}

func TestTester(t *testing.T) {
	sim := bed("b", func(b *v1alpha1.TestBed) {
		b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 256, Speed: "100G"}}}
	})
	mixed := bed("b", func(b *v1alpha1.TestBed) {
		b.Spec.Ports = []v1alpha1.Port{{Speed: "100G"}, {Speed: "25G"}, {Speed: "100G"}}
		b.Labels = map[string]string{"pool": "core", "app.kubernetes.io/managed-by": "argocd"}
	})
	for want, b := range map[string]*v1alpha1.TestBed{"sim, 256 ports of 100G": sim, "trex, 3 ports of 25G and 100G": mixed} {
		if got := (bedView{Bed: b}).Tester(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := labelsOf(mixed); len(got) != 1 || got[0] != "pool=core" {
		t.Errorf("got labels %q", got)
	}
}
