package plan

import (
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
