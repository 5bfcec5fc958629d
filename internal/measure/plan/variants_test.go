package plan

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func withVariants(names ...v1alpha1.VariantName) *objects {
	return router(func(o *objects) {
		o.bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "plain"}, {Name: "acl"}}
		o.benchmark.Spec.Variants = names
	})
}

// All tests are planned for one variant, then all for the next.
func TestBuildPlansEveryVariant(t *testing.T) {
	once, p := mustBuild(t, router(nil)), mustBuild(t, withVariants("acl", "plain"))
	if len(p.Steps) != 2*len(once.Steps) || p.Trials() != 2*once.Trials() || p.Duration() != 2*once.Duration() {
		t.Fatalf("%d steps, %d trials, %s; for one variant %d, %d, %s", len(p.Steps), p.Trials(), p.Duration(), len(once.Steps), once.Trials(), once.Duration())
	}
	for i, s := range p.Steps {
		want := once.Steps[i%len(once.Steps)]
		want.Variant = []v1alpha1.VariantName{"acl", "plain"}[i/len(once.Steps)]
		if s.Variant != want.Variant || s.Size != want.Size || s.Load != want.Load || s.Source != want.Source {
			t.Errorf("step %d is %s, want %s", i, s.Name(), want.Name())
		}
	}
	if name := p.Steps[3].Name(); name != "latency (acl) 64 B at throughput" {
		t.Errorf("name %q", name)
	}
}

// A row of one variant is not what the step of another one makes.
func TestAStepMakesTheRowOfItsVariant(t *testing.T) {
	p := mustBuild(t, withVariants("plain", "acl"))
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Variant: "acl", Method: v1alpha1.MethodThroughput, FrameSize: 64}}
	var makes []string
	for _, s := range p.Steps {
		if s.ID() == row.RowID {
			makes = append(makes, s.Name())
		}
	}
	if len(makes) != 1 || makes[0] != "throughput (acl) 64 B" {
		t.Errorf("the row is made by %q", makes)
	}
}

func TestValidateVariants(t *testing.T) {
	for name, tc := range map[string]struct {
		o    *objects
		want string
	}{
		"unknown":      {withVariants("plain", "fast"), `spec.variants[1]: Invalid value: "fast": the device of test bed bed has plain, acl: name one of the bed's`},
		"twice":        {withVariants("plain", "plain"), `spec.variants[1]: Duplicate value: "plain"`},
		"without name": {withVariants(""), `spec.variants[0]: Invalid value: "": the device of test bed bed has plain, acl`},
		"of a bed without": {router(func(o *objects) { o.benchmark.Spec.Variants = []v1alpha1.VariantName{"acl"} }),
			`spec.variants[0]: Invalid value: "acl": the device of test bed bed has no variants: name one of the bed's, or ask its owner to add it to spec.device.variants`},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.complete()
			_, err := Build(&tc.o.benchmark, &tc.o.profile, &tc.o.bed)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// withImage is a router whose bed allows some images, and a benchmark that chooses one.
func withImage(image v1alpha1.DeviceImage, change func(*objects)) *objects {
	return router(func(o *objects) {
		o.bed.Spec.Device.Containerlab.AllowedImages = []string{"registry.example/router:*", "lab/*", "old:1"}
		o.bed.Spec.Device.Variants = []v1alpha1.DeviceVariant{{Name: "plain"}, {Name: "new", Containerlab: &v1alpha1.ContainerlabVariant{Image: "router:9"}}}
		o.benchmark.Spec.DeviceImage = image
		if change != nil {
			change(o)
		}
	})
}

func TestValidateImage(t *testing.T) {
	of := func(names ...v1alpha1.VariantName) func(*objects) {
		return func(o *objects) { o.benchmark.Spec.Variants = names }
	}
	const refused = "test bed bed allows only registry.example/router:*, lab/*, old:1: give an allowed one"
	for name, tc := range map[string]struct {
		o    *objects
		want string
	}{
		"a tag":                        {withImage("registry.example/router:1.2", nil), ""},
		"a tag and a digest":           {withImage("registry.example/router:1.2@sha256:00", nil), ""},
		"a repository":                 {withImage("lab/frr:1", nil), ""},
		"the very image":               {withImage("old:1", of("plain")), ""},
		"a longer tag":                 {withImage("old:12", nil), refused},
		"a digest for tags":            {withImage("registry.example/router@sha256:00", nil), refused},
		"a repository below":           {withImage("lab/others/frr:1", nil), refused},
		"a port in place of a tag":     {withImage("registry.example/router:5000/evil", nil), refused},
		"another registry":             {withImage("evil.example/registry.example/router:1", nil), refused},
		"a variant of its own":         {withImage("old:1", of("plain", "new")), "variant new of test bed bed has the image router:9: leave deviceImage out, or the variant"},
		"of a bed that allows none":    {withImage("old:1", func(o *objects) { o.bed.Spec.Device.Containerlab.AllowedImages = nil }), "test bed bed allows no images"},
		"of a device that is modelled": {withImage("old:1", simulated(2)), "the device of test bed bed is not of containerlab, and has no image"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(&tc.o.benchmark, &tc.o.profile, &tc.o.bed)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "spec.deviceImage: Invalid value") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// TestFrameSizesOfTheBenchmark measures the sizes of the benchmark in place of those of the
// profile, and says of a wrong one where it is.
func TestFrameSizesOfTheBenchmark(t *testing.T) {
	mixed := func(sizes ...v1alpha1.FrameSize) *objects {
		return router(func(o *objects) {
			o.profile.Spec.FrameMixes = []v1alpha1.FrameMix{{Name: "imix", IMIX: v1alpha1.IMIXSimple}}
			o.benchmark.Spec.FrameSizes = sizes
		})
	}
	o := mixed(512, 9000)
	var sizes []string
	for _, s := range mustBuild(t, o).Sizes {
		sizes = append(sizes, fmt.Sprint(s.Bytes))
	}
	if got := strings.Join(sizes, ", "); got != "512, 9000" {
		t.Errorf("sizes %s", got)
	}
	if len(o.profile.Spec.FrameSizes) != 2 || len(o.profile.Spec.FrameMixes) != 1 {
		t.Error("the profile was changed")
	}
	o = mixed(512, 70)
	o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{HostsPerPort: 1}}
	if _, err := Build(&o.benchmark, &o.profile, &o.bed); err == nil || !strings.Contains(err.Error(), "spec.frameSizes[1]: Invalid value: 70: these headers need at least 86 bytes") {
		t.Error(err)
	}
	size := int32(128)
	o = router(flowing(v1alpha1.TrafficFlow{Name: "voice", FrameSize: &size}))
	o.benchmark.Spec.FrameSizes = []v1alpha1.FrameSize{64}
	if _, err := Build(&o.benchmark, &o.profile, &o.bed); err == nil || !strings.Contains(err.Error(), "spec.frameSizes: Forbidden: every flow of TrafficProfile profile has a size of its own") {
		t.Error(err)
	}
}
