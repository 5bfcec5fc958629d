package results

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

func TestEnvironmentChanges(t *testing.T) {
	environment := func() *v1alpha1.ResultEnvironment {
		return &v1alpha1.ResultEnvironment{
			NoDropVersion: "1", Engine: v1alpha1.EngineXDP, EngineDetail: "XDP live frames", Device: "FRR 10",
			Hosts:     []v1alpha1.HostEnvironment{{Name: "lab-1", Kernel: "6.12", CPU: "Xeon", CPUs: 8, TesterCPUs: "0-1", DeviceCPUs: "2"}},
			PortCount: 1, Ports: []v1alpha1.PortEnvironment{{Name: "p1", Interface: "eth1", Driver: "veth", MAC: "02:00:00:00:00:01", Speed: "10G"}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ResultEnvironment)
		want   []string
	}{
		"nothing": {func(*v1alpha1.ResultEnvironment) {}, nil},
		"another MAC": {func(e *v1alpha1.ResultEnvironment) {
			e.Ports[0].MAC, e.Ports[0].Interface = "02:00:00:00:00:02", "net1"
		}, nil},
		"other processors":     {func(e *v1alpha1.ResultEnvironment) { e.Hosts[0].TesterCPUs, e.Hosts[0].DeviceCPUs = "4,6", "1" }, nil},
		"more processors":      {func(e *v1alpha1.ResultEnvironment) { e.Hosts[0].TesterCPUs = "0-2" }, []string{"the machines of the tester"}},
		"none for the device":  {func(e *v1alpha1.ResultEnvironment) { e.Hosts[0].DeviceCPUs = "" }, []string{"the machines of the tester"}},
		"another kernel":       {func(e *v1alpha1.ResultEnvironment) { e.Hosts[0].Kernel = "6.13" }, []string{"the machines of the tester"}},
		"another driver":       {func(e *v1alpha1.ResultEnvironment) { e.Ports[0].Driver = "ice" }, []string{"the ports of the tester"}},
		"another image":        {func(e *v1alpha1.ResultEnvironment) { e.Device = "FRR 11" }, []string{"the device"}},
		"another version":      {func(e *v1alpha1.ResultEnvironment) { e.NoDropVersion = "2" }, []string{"the version of NoDrop"}},
		"another receive path": {func(e *v1alpha1.ResultEnvironment) { e.EngineDetail += "; generic receive" }, []string{"the engine"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := environment()
			tc.change(now)
			if got := EnvironmentChanges(environment(), now); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
	if got := EnvironmentChanges(nil, environment()); got != nil {
		t.Errorf("an unknown environment: %v", got)
	}
}

// Rows of parts that do not count are measured again, into parts of their own.
func TestDiscardedParts(t *testing.T) {
	a := &api{parts: map[string]*v1alpha1.BenchmarkResult{}}
	l := a.open(t)
	l.SetEnvironment(&v1alpha1.ResultEnvironment{NoDropVersion: "1"})
	_, err := l.Add(row("throughput", 64, 1))
	must(t, err)
	must(t, l.Close())
	must(t, l.Write(a.write))

	b := owner()
	b.Status.Results = &v1alpha1.ResultSummary{Parts: 2, DiscardedParts: 2}
	if !l.Outdated(b.Status.Results) {
		t.Error("the ledger does not know of discarded parts, and believes to be up to date")
	}
	l, err = Open(b, each(a.list()))
	must(t, err)
	if l.Outdated(b.Status.Results) || len(l.Rows()) != 0 || l.Environment() != nil {
		t.Errorf("rows %v in %v", l.Rows(), l.Environment())
	}
	added, err := l.Add(row("throughput", 64, 1), row("throughput", 128, 1))
	must(t, err)
	must(t, l.Close())
	must(t, l.Write(a.write))
	l.Summarize(b.Status.Results)
	got := stored.Join(b, a.list())
	if added != 2 || len(got.Rows) != 2 || got.Digest != b.Status.Results.Digest || b.Status.Results.Rows != 2 {
		t.Errorf("%d added, %d joined, %+v", added, len(got.Rows), b.Status.Results)
	}
}
