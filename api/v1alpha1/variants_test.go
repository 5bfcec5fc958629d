package v1alpha1_test

import (
	"reflect"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func topology(name string) v1alpha1.TopologySource {
	return v1alpha1.TopologySource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: name, Key: "topology.clab.yaml"}}
}

func model(name string) v1alpha1.ModelSource {
	return v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: name, Key: "model.csv"}}
}

// A variant overrides what it gives, and nothing else.
func TestDeviceAsAVariant(t *testing.T) {
	slow, fast := model("slow"), model("fast")
	yes := true
	simulated := v1alpha1.Device{
		Simulated: &v1alpha1.SimulatedDevice{Model: slow, Behaviour: &v1alpha1.SimulatedBehaviour{BackPressure: &yes}},
		Variants: []v1alpha1.DeviceVariant{
			{Name: "as-it-is"},
			{Name: "fast", Simulated: &v1alpha1.SimulatedVariant{Model: &fast}},
			{Name: "blocking", Simulated: &v1alpha1.SimulatedVariant{Behaviour: &v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes}}},
		},
	}
	acl := topology("acl")
	virtual := v1alpha1.Device{
		Containerlab: &v1alpha1.ContainerlabDevice{Topology: topology("plain"), Node: "dut"},
		Variants: []v1alpha1.DeviceVariant{
			{Name: "acl", Containerlab: &v1alpha1.ContainerlabVariant{Topology: &acl}},
			{Name: "new", Containerlab: &v1alpha1.ContainerlabVariant{Image: "router:2"}},
		},
	}
	list := v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "lists", Key: "201"}}
	filter := v1alpha1.Device{
		Containerlab: &v1alpha1.ContainerlabDevice{Topology: topology("plain"), Node: "dut", Configuration: &v1alpha1.NodeConfiguration{
			Platform: "nftables", DeviceConfigurationSource: v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "lists", Key: "none"}},
		}},
		Variants: []v1alpha1.DeviceVariant{
			{Name: "acl", Containerlab: &v1alpha1.ContainerlabVariant{Topology: &acl}},
			{Name: "list", Containerlab: &v1alpha1.ContainerlabVariant{Configuration: &list}},
			{Name: "both", Containerlab: &v1alpha1.ContainerlabVariant{Topology: &acl, Configuration: &list}},
		},
	}
	for name, tc := range map[string]struct {
		device  v1alpha1.Device
		variant v1alpha1.VariantName
		want    func(*v1alpha1.Device)
	}{
		"without a name": {simulated, "", func(*v1alpha1.Device) {}},
		"as it is":       {simulated, "as-it-is", func(*v1alpha1.Device) {}},
		"another model":  {simulated, "fast", func(d *v1alpha1.Device) { d.Simulated.Model = fast }},
		"another behaviour": {simulated, "blocking", func(d *v1alpha1.Device) {
			d.Simulated.Behaviour = &v1alpha1.SimulatedBehaviour{HeadOfLineBlocking: &yes}
		}},
		"another topology":               {virtual, "acl", func(d *v1alpha1.Device) { d.Containerlab.Topology = topology("acl") }},
		"another image":                  {virtual, "new", func(d *v1alpha1.Device) { d.Containerlab.Image = "router:2" }},
		"another topology with the base": {filter, "acl", func(d *v1alpha1.Device) { d.Containerlab.Topology = acl }},
		"another configuration":          {filter, "list", func(d *v1alpha1.Device) { d.Containerlab.Configuration.DeviceConfigurationSource = list }},
		"another topology and configuration": {filter, "both", func(d *v1alpha1.Device) {
			d.Containerlab.Topology, d.Containerlab.Configuration.DeviceConfigurationSource = acl, list
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before, want := tc.device.DeepCopy(), tc.device.DeepCopy()
			tc.want(want)
			got, found := tc.device.As(tc.variant)
			if !found || !reflect.DeepEqual(got, *want) {
				t.Errorf("%+v, found %v, want %+v", got, found, want)
			}
			if !reflect.DeepEqual(tc.device, *before) {
				t.Error("the device itself was changed")
			}
		})
	}
	if _, found := virtual.As("fast"); found {
		t.Error("a variant that the device does not have was found")
	}
}

func TestVariantAfter(t *testing.T) {
	spec := v1alpha1.BenchmarkSpec{Variants: []v1alpha1.VariantName{"off", "on"}}
	if next, found := spec.VariantAfter("off"); !found || next != "on" {
		t.Errorf("after off comes %q, %v", next, found)
	}
	for _, name := range []v1alpha1.VariantName{"on", "other", ""} {
		if next, found := spec.VariantAfter(name); found {
			t.Errorf("after %q comes %q", name, next)
		}
	}
	if _, found := (&v1alpha1.BenchmarkSpec{}).VariantAfter(""); found {
		t.Error("a device as it is has a next variant")
	}
}
