package controllers_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func labSettings() labobjects.Settings {
	return labobjects.Settings{Namespace: labNamespace, Image: "nodrop:test", DeviceImage: "nodrop-device:test", PullPolicy: corev1.PullNever}
}

func profile() *v1alpha1.TrafficProfile {
	return objects.TrafficProfile(team, "ipv4-pairs", objects.IPv4Pairs(64, 128))
}

func benchmark(name, bed string, change ...func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
	b := objects.Benchmark(team, name,
		objects.BedName(bed), objects.ProfileName("ipv4-pairs"), objects.Pauses(time.Second, time.Second), objects.Deadline(3600),
		objects.Tests(objects.QuickThroughput(time.Second)),
	)
	for _, c := range change {
		c(b)
	}
	return b
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
	return objects.TestBed(name,
		objects.Labels(map[string]string{"kind": "modelled"}), objects.Simulated("model", "model.csv"),
		objects.Engine(v1alpha1.EngineSim),
		objects.Ports(objects.Port("p1", "198.18.1.2/24", "198.18.1.1"), objects.Port("p2", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(v1alpha1.AccessGrant{Names: []string{team}, MaxPriority: 100}),
	)
}

// virtual is a bed with a router in containerlab and real interfaces.
func virtual(name string) *v1alpha1.TestBed {
	return objects.TestBed(name,
		objects.Containerlab("router"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(objects.HostPort("p1", "node1", "198.18.1.2/24", "198.18.1.1"), objects.HostPort("p2", "node1", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(v1alpha1.AccessGrant{Names: []string{team}, MaxPriority: 100}),
	)
}
