package requirements

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func TestLacks(t *testing.T) {
	bed := objects.TestBed("",
		objects.Device(v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{}}), objects.Engine(v1alpha1.EngineTRex),
		objects.Ports(
			v1alpha1.Port{Name: "p1", Speed: "10G"},
			v1alpha1.Port{Name: "p2", Speed: "10G"},
			v1alpha1.Port{Name: "p3", Speed: "100G"},
			v1alpha1.Port{Name: "p4", Speed: "100G"},
		),
	)
	many := objects.TestBed("", objects.Device(v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}}), objects.Sim(64, "25G"))
	for name, tc := range map[string]struct {
		bed  *v1alpha1.TestBed
		r    v1alpha1.TestBedRequirements
		want []string
	}{
		"four ports":                  {bed, v1alpha1.TestBedRequirements{Ports: 4}, nil},
		"five ports":                  {bed, v1alpha1.TestBedRequirements{Ports: 5}, []string{"it has 4 ports"}},
		"two fast ports":              {bed, v1alpha1.TestBedRequirements{Ports: 2, PortSpeed: "100G"}, nil},
		"three fast ports":            {bed, v1alpha1.TestBedRequirements{Ports: 3, PortSpeed: "40G"}, []string{"2 of its 4 ports have 40G or more"}},
		"all ports fast":              {bed, v1alpha1.TestBedRequirements{PortSpeed: "25G"}, []string{"2 of its 4 ports have 25G or more"}},
		"ports by their number":       {many, v1alpha1.TestBedRequirements{Ports: 64, PortSpeed: "25G"}, nil},
		"an engine":                   {bed, v1alpha1.TestBedRequirements{Engines: []v1alpha1.EngineKind{"xdp", "trex"}}, nil},
		"another engine":              {bed, v1alpha1.TestBedRequirements{Engines: []v1alpha1.EngineKind{"xdp"}}, []string{"its engine is trex"}},
		"another device":              {bed, v1alpha1.TestBedRequirements{Devices: []v1alpha1.DeviceKind{"simulated", "containerlab"}}, []string{"its device is physical"}},
		"a device that can be reset":  {many, v1alpha1.TestBedRequirements{Features: []v1alpha1.DeviceFeature{"Reset", "BGPRestart"}}, nil},
		"one that cannot":             {bed, v1alpha1.TestBedRequirements{Features: []v1alpha1.DeviceFeature{"Reset"}}, []string{"its device has no Reset"}},
		"everything at once is there": {many, v1alpha1.TestBedRequirements{Ports: 2, Engines: []v1alpha1.EngineKind{"sim"}, Devices: []v1alpha1.DeviceKind{"simulated"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lacks(tc.bed, &tc.r); !slices.Equal(got, tc.want) {
				t.Errorf("it lacks %q, want %q", got, tc.want)
			}
		})
	}
}
