package admission_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// realBed is a bed with interfaces of a node, which measures in real time.
func realBed(namespace string) *v1alpha1.TestBed {
	port := func(name, address, gateway string) v1alpha1.Port {
		return v1alpha1.Port{Name: name, Node: "node1", Speed: "10G", Addresses: []string{address}, Gateways: []string{gateway},
			Attachment: objects.HostDevice(name)}
	}
	return objects.TestBed("real",
		objects.Physical("acme", "X1"), objects.Engine(v1alpha1.EngineXDP),
		objects.Ports(port("p1", "198.18.1.2/24", "198.18.1.1"), port("p2", "198.18.2.2/24", "198.18.2.1")),
		objects.Access(v1alpha1.AccessGrant{Names: []string{namespace}, MaxDuration: metav1.Duration{Duration: 720 * time.Hour}}),
	)
}

// TestRefusesWhatCannotBeMeasured creates benchmarks that no run can finish: of a frame
// size that the model lacks, and of trials that take longer than the benchmark may have
// its bed.
func TestRefusesWhatCannotBeMeasured(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	modelled := bedFor("team")
	modelled.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "jumbo", Simulated: &v1alpha1.SimulatedVariant{
		Model: &v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "m", Key: "jumbo"}},
	}}}
	const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n"
	stored := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "lab"}, Data: map[string]string{
			"k": header + "64,50,1,2,3\n512,100,1,2,3\n", "jumbo": header + "64,50,1,2,3\n9000,100,1,2,3\n",
		}},
		objects.TrafficProfile("team", "pairs", objects.IPv4Pairs(64, 1518), objects.HostsPerPort(1)),
		modelled, realBed("team"),
	}
	soak := func(load v1alpha1.Load, d time.Duration) v1alpha1.Test {
		return v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: load, Duration: metav1.Duration{Duration: d}}}
	}
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.BenchmarkSpec)
		refused string
	}{
		"a size that the model lacks": {
			change: func(s *v1alpha1.BenchmarkSpec) { s.TestBedName = "bed" },
			refused: "TrafficProfile/pairs.spec.frameSizes[1]: Invalid value: 1518: the device model of test bed bed (ConfigMap m, key k) has frame sizes of 64 to 512 bytes, not 1518: " +
				"change the frame size, or add a row to the model",
		},
		"a size of the benchmark that the model lacks": {
			change: func(s *v1alpha1.BenchmarkSpec) {
				s.TestBedName, s.FrameSizes = "bed", []v1alpha1.FrameSize{64, 128, 1024}
			},
			refused: "spec.frameSizes[2]: Invalid value: 1024: the device model of test bed bed",
		},
		"sizes between two rows":                   {change: func(s *v1alpha1.BenchmarkSpec) { s.TestBedName, s.FrameSizes = "bed", []v1alpha1.FrameSize{128} }},
		"a size that only the variant's model has": {change: func(s *v1alpha1.BenchmarkSpec) { s.TestBedName, s.Variants = "bed", []v1alpha1.VariantName{"jumbo"} }},
		"a soak beyond the deadline": {
			change: func(s *v1alpha1.BenchmarkSpec) { s.ActiveDeadlineSeconds = 60 },
			refused: "spec.activeDeadlineSeconds: Invalid value: 60: the tests send frames for at least 16h (soak 16h), and the benchmark would end before: " +
				"give more than 57600, up to 2592000, or ask for fewer or shorter trials",
		},
		"a soak within the deadline": {change: func(s *v1alpha1.BenchmarkSpec) { s.ActiveDeadlineSeconds = 57600 }},
		// A device without throughput ends the soak at once.
		"a soak at a load that is not known": {change: func(s *v1alpha1.BenchmarkSpec) {
			s.ActiveDeadlineSeconds = 600
			s.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{
				Search: v1alpha1.SearchBinary, Resolution: "1%", MinLoad: "1%", MaxLoad: "100%",
				TrialDuration: metav1.Duration{Duration: time.Minute}, SearchTrialDuration: metav1.Duration{Duration: time.Second},
			}}, soak(v1alpha1.LoadThroughput, 8*time.Hour)}
		}},
		"a soak in simulated time": {change: func(s *v1alpha1.BenchmarkSpec) {
			s.TestBedName, s.FrameSizes, s.ActiveDeadlineSeconds = "bed", []v1alpha1.FrameSize{64}, 60
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored...).Build()
			webhook := admission.Benchmarks{Cache: c, Live: c, LabNamespace: "lab"}
			b := objects.Benchmark("team", "b", objects.BedName("real"), objects.ProfileName("pairs"), objects.Deadline(3600), objects.Tests(soak("50%", 8*time.Hour)))
			if strings.Contains(name, "size") {
				b.Spec.Tests = []v1alpha1.Test{soak("50%", time.Minute)}
			}
			tc.change(&b.Spec)
			_, err := webhook.ValidateCreate(t.Context(), b)
			switch {
			case tc.refused == "" && err != nil:
				t.Error(err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("%v\nwant it refused with\n%s", err, tc.refused)
			}
		})
	}
}
