package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// BedOption is an option of TestBed: a Metadata or a BedFunc.
type BedOption interface {
	applyToBed(*v1alpha1.TestBed)
}

// BedFunc is an option that changes a test bed.
type BedFunc func(*v1alpha1.TestBed)

func (f BedFunc) applyToBed(b *v1alpha1.TestBed) { f(b) }

// TestBed builds a test bed.
func TestBed(name string, options ...BedOption) *v1alpha1.TestBed {
	b := &v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, o := range options {
		o.applyToBed(b)
	}
	return b
}

// BedSpec sets the whole spec.
func BedSpec(spec v1alpha1.TestBedSpec) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec = spec }
}

// Device sets the DUT.
func Device(d v1alpha1.Device) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec.Device = d }
}

// Physical makes the DUT a device of a vendor.
func Physical(vendor, model string) BedFunc {
	return Device(v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: vendor, Model: model}})
}

// Managed is how NoDrop configures an FRR device, whose Secret and ConfigMap have the same name.
func Managed(name, address, key string) *v1alpha1.DeviceManagement {
	return &v1alpha1.DeviceManagement{
		SSH: &v1alpha1.SSHManagement{Platform: v1alpha1.PlatformFRR, Address: address}, SecretName: name,
		Configuration: v1alpha1.DeviceConfigurationSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: name, Key: key}},
	}
}

// NodeConfiguration is how NoDrop configures the node of a topology, from a key of a ConfigMap.
func NodeConfiguration(platform v1alpha1.NodePlatform, configMap, key string) *v1alpha1.NodeConfiguration {
	c := &v1alpha1.NodeConfiguration{Platform: platform}
	c.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: configMap, Key: key}
	return c
}

// Simulated makes the DUT a table in a key of a ConfigMap.
func Simulated(configMap, key string) BedFunc {
	return Device(v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{
		Model: v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: configMap, Key: key}},
	}})
}

// Containerlab makes the DUT the node "dut" of the topology in a ConfigMap.
func Containerlab(configMap string) BedFunc {
	return Device(v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{
		Topology: v1alpha1.TopologySource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: configMap, Key: "topology.clab.yaml"}},
		Node:     "dut",
	}})
}

// BackToBack connects the ports to each other, without a DUT.
func BackToBack() BedFunc {
	return Device(v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{}})
}

// Engine sets the traffic engine, without settings of its own.
func Engine(kind v1alpha1.EngineKind) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec.Engine = v1alpha1.Engine{Kind: kind} }
}

// Sim sets the simulated engine, with this many ports of one speed.
func Sim(ports int32, speed v1alpha1.BitRate) BedFunc {
	return func(b *v1alpha1.TestBed) {
		b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: ports, Speed: speed}}}
	}
}

// TRex sets TRex as the traffic engine.
func TRex(settings *v1alpha1.TRexEngine) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: settings} }
}

// Ports sets the ports.
func Ports(ports ...v1alpha1.Port) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec.Ports = ports }
}

// Access sets who may use the bed.
func Access(grants ...v1alpha1.AccessGrant) BedFunc {
	return func(b *v1alpha1.TestBed) { b.Spec.Access = grants }
}

// Sessions sets the AS number of the DUT and its BGP sessions.
func Sessions(deviceASN int64, sessions ...v1alpha1.BGPSession) BedFunc {
	return func(b *v1alpha1.TestBed) {
		b.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: deviceASN, Sessions: sessions}}
	}
}
