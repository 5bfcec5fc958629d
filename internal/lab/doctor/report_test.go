package doctor

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func TestWholeClusterIsReady(t *testing.T) {
	r := Judge(whole(), Engines, false)
	if r.State() != Ready {
		t.Errorf("state %s:\n%s", r.State(), r.Text())
	}
	for i, want := range []string{"sim: ready", "xdp: ready", "trex (software): ready", "trex (line rate): ready", "containerlab devices: ready"} {
		if got := r.Engines[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	lacking := func(f *Facts) {
		bad := wholeNode("node2")
		bad.Probe.Value.IOMMUGroups, bad.Probe.Value.VFIO = 0, false
		f.Nodes = append(f.Nodes, bad)
	}
	unseen := func(f *Facts) {
		dark := wholeNode("node2")
		dark.Probe = Seen[probe.Node]{Unknown: reason}
		f.Nodes = append(f.Nodes, dark)
	}
	for name, tc := range map[string]struct {
		change func(*Facts)
		every  bool
		want   string
		state  State
	}{
		"one node is enough":             {lacking, false, "trex (line rate): ready on node1", Ready},
		"every node is needed":           {lacking, true, "trex (line rate): 2 things missing (IOMMU on node2, VFIO on node2)", Lacking},
		"an unseen node does not matter": {unseen, false, "trex (line rate): ready on node1", Ready},
		"an unseen node matters":         {unseen, true, "trex (line rate): 4 things not known (processor features on node2, network cards on node2, IOMMU on node2, VFIO on node2)", NotKnown},
		"the node that lacks least": {func(f *Facts) {
			lacking(f)
			f.Nodes[0].Probe.Value.IOMMUGroups = 0
		}, false, "trex (line rate): 1 thing missing (IOMMU)", Lacking},
		"of the cluster and of the node": {func(f *Facts) {
			f.Operator.Value.Ready, f.Nodes[0].Probe.Value.VFIO = 0, false
		}, false, "trex (line rate): 2 things missing (operator, VFIO)", Lacking},
		"missing comes before unknown": {func(f *Facts) {
			f.Operator.Value.Ready, f.Nodes[0].Kubelet = 0, Seen[Kubelet]{Unknown: reason}
		}, false, "trex (line rate): 1 thing missing (operator), 2 things not known (CPU manager policy, topology manager)", Lacking},
		"warnings do not count": {func(f *Facts) { f.Nodes[0].Kubelet.Value.TopologyManagerPolicy = "" }, true, "trex (line rate): ready", Ready},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole()
			tc.change(&f)
			r := Judge(f, []Engine{TRex}, tc.every)
			if got := r.Engines[0].String(); got != tc.want || r.State() != tc.state {
				t.Errorf("%s, %q; want %s, %q", r.State(), got, tc.state, tc.want)
			}
		})
	}
}

func TestStateIsTheWorst(t *testing.T) {
	for want, states := range map[State][]State{
		Ready:    {Ready, Ready},
		NotKnown: {Ready, NotKnown, Ready},
		Lacking:  {NotKnown, Lacking, NotKnown},
	} {
		var r Report
		for _, s := range states {
			r.Engines = append(r.Engines, Summary{State: s})
		}
		if got := r.State(); got != want {
			t.Errorf("%v: %s, want %s", states, got, want)
		}
	}
}

func TestEnginesOfABed(t *testing.T) {
	for want, spec := range map[string]v1alpha1.TestBedSpec{
		"sim":              {Engine: v1alpha1.Engine{Kind: v1alpha1.EngineSim}},
		"xdp containerlab": {Engine: xdpEngine, Device: v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{}}},
		"trex":             {Engine: trexEngine},
		"trex-software":    {Engine: v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}},
	} {
		var got []string
		for _, e := range EnginesOf(objects.TestBed("", objects.BedSpec(spec))) {
			got = append(got, string(e))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// TestTextHasEachFindingOnce: findings that engines share are above them, and findings
// that differ are with each engine.
func TestTextHasEachFindingOnce(t *testing.T) {
	f := whole()
	f.Admission[TRex] = Known("violates PodSecurity")
	text := Judge(f, Engines, false).Text()
	for check, want := range map[string]int{"Kubernetes": 1, "Multus on nodes": 1, "TRex image": 1, "VFIO": 1, "capabilities ": 4} {
		if got := strings.Count(text, "\n  "+check); got != want {
			t.Errorf("%s is listed %d times, want %d:\n%s", check, got, want, text)
		}
	}
	if strings.Contains(text, "Engine sim") {
		t.Errorf("an engine without anything of its own has a table:\n%s", text)
	}
	if text := Judge(f, []Engine{XDP}, false).Text(); !strings.HasPrefix(text, "Engine xdp\n") || strings.Contains(text, "several") {
		t.Errorf("one engine has shared findings:\n%s", text)
	}
}

func TestTextStaysWithinItsWidth(t *testing.T) {
	f := whole()
	f.Admission[TRex] = Known(strings.Repeat("violates PodSecurity of the namespace ", 6) + strings.Repeat("x", 90))
	text := Judge(f, Engines, false).Text()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 120 || strings.TrimRight(line, " ") != line {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
	if got := strings.Count(text, "x"); got < 90 {
		t.Errorf("a long word was cut off:\n%s", text)
	}
}
