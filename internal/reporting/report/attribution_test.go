package report

import (
	"reflect"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// What people say of a device, of themselves and of the benchmark is in every report;
// what serves machines is not.
func TestAttributionIsReported(t *testing.T) {
	b := objects.Benchmark("team", "b",
		objects.Labels(map[string]string{"ticket": "LAB-7", "nodrop.dev/lab": "shared"}),
		objects.Annotations(map[string]string{"example.com/rack": "12", "kubectl.kubernetes.io/last-applied-configuration": "{}"}),
	)
	b.Spec.Attribution = &v1alpha1.Attribution{Operator: "Ada <ada@example.com>", Customer: "Example Networks"}
	bed := objects.TestBed("")
	bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "S-48", SerialNumber: "FOC1234X0AB", ConfigurationDigest: "sha256:0a1b"}
	d := New(Content{Benchmark: b, Bed: bed})
	if want := map[string]string{"ticket": "LAB-7"}; !reflect.DeepEqual(d.Benchmark.Labels, want) {
		t.Errorf("labels %v, want %v", d.Benchmark.Labels, want)
	}
	if want := map[string]string{"example.com/rack": "12"}; !reflect.DeepEqual(d.Benchmark.Annotations, want) {
		t.Errorf("annotations %v, want %v", d.Benchmark.Annotations, want)
	}
	for _, format := range []Format{FormatTable, FormatHTML, FormatMarkdown, FormatJSON, FormatYAML} {
		var text strings.Builder
		if err := d.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"FOC1234X0AB", "sha256:0a1b", "ada@example.com", "Example Networks", "LAB-7", "example.com/rack"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
		if strings.Contains(text.String(), "last-applied") || strings.Contains(text.String(), "nodrop.dev/lab") {
			t.Errorf("%s has what serves machines", format)
		}
	}
	// No field of the attribution is set.
	text := New(Content{Benchmark: objects.Benchmark("", "")}).Text()
	for _, name := range []string{"Operator", "Customer", "Serial", "Labels", "Annotations"} {
		if strings.Contains(text, name) {
			t.Errorf("the table has %s", name)
		}
	}
}
