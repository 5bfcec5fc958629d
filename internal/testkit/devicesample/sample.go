package devicesample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Sample contains the objects of a sample with a managed device.
type Sample struct {
	Bed            v1alpha1.TestBed
	Profile        v1alpha1.TrafficProfile
	Benchmark      v1alpha1.Benchmark
	Configurations corev1.ConfigMap
}

// Read reads a sample of config/samples.
func Read(t testing.TB, name string) *Sample {
	t.Helper()
	s := &Sample{}
	kinds := map[string]any{"TestBed": &s.Bed, "TrafficProfile": &s.Profile, "Benchmark": &s.Benchmark, "ConfigMap": &s.Configurations}
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "config", "samples", name, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if into := kinds[kind.Kind]; into != nil {
				if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
		}
	}
	if len(s.Bed.Spec.Ports) == 0 || len(s.Configurations.Data) == 0 {
		t.Fatalf("sample %s has no bed with ports, or no configurations", name)
	}
	return s
}

// Connect cables the ports of the sample to a device: port i, an interface of this network namespace whose name begins with a
// prefix, to interface e<i>, which has its gateways. The ports have 100 Mbit/s.
func (s *Sample) Connect(l *sshrouter.Linux, prefix string) {
	for i := range s.Bed.Spec.Ports {
		p, there := &s.Bed.Spec.Ports[i], fmt.Sprintf("e%d", i+1)
		p.Speed, p.Attachment.HostDevice.Interface = "100M", fmt.Sprintf("%s%d", prefix, i+1)
		l.Cable(p.Attachment.HostDevice.Interface, there)
		for _, gateway := range p.Gateways {
			l.Run("ip", "address", "replace", gateway+"/24", "dev", there)
		}
	}
	physical := s.Bed.Spec.Device.Physical
	physical.Management.SSH.Address = l.Address
	if physical.Telemetry != nil {
		physical.Telemetry.Linux.Address = l.Address
	}
}

// Ask sets the tests of the benchmark, given as YAML, and the only frame size, and shortens the pauses.
func (s *Sample) Ask(t testing.TB, tests string, frameSize int32) {
	t.Helper()
	s.Profile.Spec.FrameSizes = []int32{frameSize}
	spec := &s.Benchmark.Spec
	spec.Tests = nil
	for text, into := range map[string]any{tests: &spec.Tests, "{settleTime: 300ms, restTime: 0s}": spec} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// addVariant adds a variant with a configuration.
func (s *Sample) addVariant(name v1alpha1.VariantName, configuration string) {
	s.Configurations.Data[string(name)] = configuration
	s.Benchmark.Spec.Variants = append(s.Benchmark.Spec.Variants, name)
	ref := v1alpha1.ConfigMapKeyReference{Name: s.Configurations.Name, Key: string(name)}
	s.Bed.Spec.Device.Variants = append(s.Bed.Spec.Device.Variants, v1alpha1.DeviceVariant{
		Name: name, Physical: &v1alpha1.PhysicalVariant{Configuration: v1alpha1.DeviceConfigurationSource{ConfigMapRef: ref}},
	})
}
