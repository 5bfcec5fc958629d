package histories

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

func settings() labobjects.Settings {
	return labobjects.Settings{Namespace: labNamespace, Image: "nodrop:test", DeviceImage: "nodrop-device:test", PullPolicy: corev1.PullNever}
}

func profile() *v1alpha1.TrafficProfile { return profileOf(team) }

func profileOf(namespace string) *v1alpha1.TrafficProfile {
	return objects.TrafficProfile(namespace, "ipv4-pairs", objects.IPv4Pairs(sizes...))
}

// benchmark takes about as long by its plan as the runners of a history take.
func benchmark(name, bed string, priority int32) *v1alpha1.Benchmark {
	trial := metav1.Duration{Duration: 200 * time.Millisecond}
	return objects.Benchmark(namespaceOf(name), name,
		objects.BedName(bed), objects.ProfileName("ipv4-pairs"), objects.Priority(priority), objects.Deadline(36000),
		objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{
			Resolution: "1%", MaxLoad: "100%", TrialDuration: trial, SearchTrialDuration: trial,
		})),
	)
}

func configMap(name, key, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: labNamespace},
		Data:       map[string]string{key: text, "frr.conf": "hostname dut"},
	}
}

// table is a model that can be read.
const table = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,50,1,2,3\n9216,50,1,2,3\n"

func access() []v1alpha1.AccessGrant {
	return []v1alpha1.AccessGrant{{Names: teams, MaxPriority: 100, MaxDuration: metav1.Duration{Duration: 24 * time.Hour}}}
}

// anyBed are labels of every bed.
var anyBed = map[string]string{"lab": "histories"}

// modelled is a bed with the engine sim: no agents, no device to start.
func modelled(name string) *v1alpha1.TestBed {
	return objects.TestBed(name,
		objects.Labels(anyBed), objects.Simulated("model", "model.csv"), objects.Engine(v1alpha1.EngineSim),
		objects.Ports(
			objects.Port("p1", "198.18.1.2/24", "198.18.1.1"),
			objects.Port("p2", "198.18.2.2/24", "198.18.2.1"),
		),
		objects.Access(access()...),
	)
}

// virtual is a bed with a router in containerlab; all of them have the same ports.
func virtual(name string) *v1alpha1.TestBed {
	return objects.TestBed(name,
		objects.Labels(anyBed), objects.Containerlab("router"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(objects.HostPort("p1", "node1", "198.18.1.2/24", "198.18.1.1"), objects.HostPort("p2", "node1", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(access()...),
	)
}

// cordon closes a bed for new benchmarks, or opens it.
func cordon(bed *v1alpha1.TestBed, closed bool) { bed.Spec.Unschedulable = closed }
