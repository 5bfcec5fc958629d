package device

import (
	"reflect"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Every member of the API's union is one kind, which is named as the member is.
func TestEveryKindOfTheAPIIsKnown(t *testing.T) {
	union := reflect.TypeFor[v1alpha1.Device]()
	for i := range union.NumField() {
		f := union.Field(i)
		if f.Type.Kind() != reflect.Pointer {
			continue // variants
		}
		var d v1alpha1.Device
		reflect.ValueOf(&d).Elem().Field(i).Set(reflect.New(f.Type.Elem()))
		if got, want := Of(d).Kind+",omitempty", f.Tag.Get("json"); got != want {
			t.Errorf("%s is of the kind %q", f.Name, Of(d).Kind)
		}
		if Describe(d) == "" && d.Physical == nil {
			t.Errorf("%s has no description", f.Name)
		}
	}
	if got := Of(v1alpha1.Device{}); got != (Capabilities{}) || Describe(v1alpha1.Device{}) != "" || Files(v1alpha1.Device{}) != nil {
		t.Errorf("no device has %+v", got)
	}
}

func TestDescribe(t *testing.T) {
	size := int32(8192)
	lab := &v1alpha1.ContainerlabDevice{Node: "dut"}
	lab.Topology.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "frr", Key: "topology.clab.yaml"}
	model := &v1alpha1.SimulatedDevice{Behaviour: &v1alpha1.SimulatedBehaviour{AddressTableSize: &size}}
	model.Model.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "switch", Key: "model.csv"}
	emulated := &v1alpha1.MachineDevice{Kernel: "debian13"}
	emulated.Configuration.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "lsr", Key: "swap"}
	filter := lab.DeepCopy()
	filter.Configuration = &v1alpha1.NodeConfiguration{Platform: "nftables"}
	filter.Configuration.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "lists", Key: "201"}
	image := filter.DeepCopy()
	image.Image = "router:2"
	for want, d := range map[string]v1alpha1.Device{
		"containerlab node dut of topology frr/topology.clab.yaml with configuration lists/201":                    {Containerlab: filter},
		"containerlab node dut of topology frr/topology.clab.yaml with image router:2 and configuration lists/201": {Containerlab: image},
		"containerlab node dut of topology frr/topology.clab.yaml":                                                 {Containerlab: lab},
		"modelled by switch/model.csv with addressTableSize 8192":                                                  {Simulated: model},
		"emulated machine with the kernel debian13, configured by lsr/swap":                                        {Machine: emulated},
		"cisco N9K-C9508":                          {Physical: &v1alpha1.PhysicalDevice{Vendor: "cisco", Model: "N9K-C9508"}},
		"none: the bed's cables join the ports":    {BackToBack: &v1alpha1.BackToBackDevice{JoinedBy: v1alpha1.JoinedByCables}},
		"none: the ports are joined at the tester": {BackToBack: &v1alpha1.BackToBackDevice{}},
	} {
		if got := Describe(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Each kind has a title of its own in drawings, and none stands without one.
func TestDrawn(t *testing.T) {
	for want, d := range map[string]v1alpha1.Device{
		"Virtual device: dut":                {Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}},
		"Device under test: cisco N9K-C9508": {Physical: &v1alpha1.PhysicalDevice{Vendor: "cisco", Model: "N9K-C9508"}},
		"Device under test: N9K-C9508":       {Physical: &v1alpha1.PhysicalDevice{Model: "N9K-C9508"}},
		"Model of a device: ":                {Simulated: &v1alpha1.SimulatedDevice{}},
		"No device: ports joined directly":   {BackToBack: &v1alpha1.BackToBackDevice{}},
		"Emulated machine: kernel debian13":  {Machine: &v1alpha1.MachineDevice{Kernel: "debian13"}},
		"Device under test: ":                {},
	} {
		if title, name := Drawn(d); title+": "+name != want {
			t.Errorf("got %s: %s, want %s", title, name, want)
		}
	}
	for _, k := range kinds {
		if k.title == "" {
			t.Errorf("%s has no title", k.Kind)
		}
	}
}

// The configurations of a node are not among its files, which teams read.
func TestConfigurationsOfNodes(t *testing.T) {
	source := func(key string) v1alpha1.DeviceConfigurationSource {
		return v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "lists", Key: key}}
	}
	d := v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{Node: "dut"}}
	if Configured(d) || Configurations(d) != nil {
		t.Errorf("%v", Configurations(d))
	}
	list := source("list")
	d.Containerlab.Configuration = &v1alpha1.NodeConfiguration{Platform: "nftables", DeviceConfigurationSource: source("base")}
	d.Variants = []v1alpha1.DeviceVariant{
		{Name: "plain"}, {Name: "new", Containerlab: &v1alpha1.ContainerlabVariant{Image: "router:2"}},
		{Name: "list", Containerlab: &v1alpha1.ContainerlabVariant{Configuration: &list}},
	}
	if got, want := Configurations(d), []Configuration{{"", source("base")}, {"list", list}}; !Configured(d) || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Files(d); len(got) != 1 {
		t.Errorf("files %v", got)
	}
}

func TestFilesOfAllVariants(t *testing.T) {
	ref := func(name string) v1alpha1.TopologySource {
		return v1alpha1.TopologySource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: name, Key: "topology"}}
	}
	fec := ref("fec")
	d := v1alpha1.Device{
		Containerlab: &v1alpha1.ContainerlabDevice{Topology: ref("own"), Node: "dut"},
		Variants:     []v1alpha1.DeviceVariant{{Name: "same"}, {Name: "fec", Containerlab: &v1alpha1.ContainerlabVariant{Topology: &fec}}},
	}
	var names []string
	for _, r := range Files(d) {
		names = append(names, r.Name)
	}
	if want := []string{"own", "fec"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
