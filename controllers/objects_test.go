package controllers_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
)

func labSettings() lab.Settings {
	return lab.Settings{Namespace: labNamespace, Image: "nodrop:test", DeviceImage: "nodrop-device:test", PullPolicy: corev1.PullNever}
}

func profile() *v1alpha1.TrafficProfile {
	return &v1alpha1.TrafficProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "ipv4-pairs", Namespace: team},
		Spec: v1alpha1.TrafficProfileSpec{
			FrameSizes: []int32{64, 128},
			Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
			Packet:     v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
		},
	}
}

func benchmark(name, bed string, change ...func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
	b := &v1alpha1.Benchmark{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team},
		Spec: v1alpha1.BenchmarkSpec{
			TestBedName: bed, TrafficProfileName: "ipv4-pairs",
			SettleTime:            metav1.Duration{Duration: time.Second},
			RestTime:              &metav1.Duration{Duration: time.Second},
			ActiveDeadlineSeconds: 3600,
			Tests: []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				TrialDuration:       metav1.Duration{Duration: time.Second},
				SearchTrialDuration: metav1.Duration{Duration: time.Second},
			}}},
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func withPriority(p int32) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.Priority = p }
}

func withDeadline(seconds int64) func(*v1alpha1.Benchmark) {
	return func(b *v1alpha1.Benchmark) { b.Spec.ActiveDeadlineSeconds = seconds }
}

func reference(name, key string) v1alpha1.ConfigMapKeyReference {
	return v1alpha1.ConfigMapKeyReference{Name: name, Key: key}
}

func configMap(name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: labNamespace},
		Data:       map[string]string{key: text, "frr.conf": "hostname dut"},
	}
}

// table is a model that can be read.
const table = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,50,1,2,3\n9216,50,1,2,3\n"

// modelled is a bed with the engine sim: no agents, no device to start.
func modelled(name string) *v1alpha1.TestBed {
	return &v1alpha1.TestBed{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": "modelled"}},
		Spec: v1alpha1.TestBedSpec{
			Device: v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{Model: v1alpha1.ModelSource{ConfigMapRef: reference("model", "model.csv")}}},
			Engine: v1alpha1.Engine{Kind: v1alpha1.EngineSim},
			Ports: []v1alpha1.Port{
				{Name: "p1", Speed: "1G", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"198.18.1.1"}},
				{Name: "p2", Speed: "1G", Addresses: []string{"198.18.2.2/24"}, Gateways: []string{"198.18.2.1"}},
			},
			Access: []v1alpha1.AccessGrant{{Names: []string{team}, MaxPriority: 100}},
		},
	}
}

// virtual is a bed with a router in containerlab and real interfaces.
func virtual(name string) *v1alpha1.TestBed {
	port := func(name, address, gateway string) v1alpha1.Port {
		return v1alpha1.Port{
			Name: name, Node: "node1", Speed: "1G", Addresses: []string{address}, Gateways: []string{gateway},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "nd-" + name}},
		}
	}
	return &v1alpha1.TestBed{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TestBedSpec{
			Device: v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{
				Topology: v1alpha1.TopologySource{ConfigMapRef: reference("router", "topology.clab.yaml")}, Node: "dut",
			}},
			Engine: v1alpha1.Engine{Kind: v1alpha1.EngineXDP},
			Ports: []v1alpha1.Port{
				port("p1", "198.18.1.2/24", "198.18.1.1"),
				port("p2", "198.18.2.2/24", "198.18.2.1"),
			},
			Access: []v1alpha1.AccessGrant{{Names: []string{team}, MaxPriority: 100}},
		},
	}
}
