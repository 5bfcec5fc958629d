package gate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Validate reports gates that no row can answer: of tests, metrics, sizes, loads or variants
// that the benchmark does not have, or with bounds that are no figures.
func Validate(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile) field.ErrorList {
	var errs field.ErrorList
	root := field.NewPath("spec", "gates")
	seen := map[string]bool{}
	for i := range b.Spec.Gates {
		g, path := &b.Spec.Gates[i], root.Index(i)
		if seen[g.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), g.Name))
		}
		seen[g.Name] = true
		test := b.Spec.Test(g.Test)
		if test == nil {
			var tests []string
			for _, t := range b.Spec.Tests {
				tests = append(tests, t.Name)
			}
			errs = append(errs, field.Invalid(path.Child("test"), g.Test, fmt.Sprintf("the benchmark has no test of this name: give one of %s", strings.Join(tests, ", "))))
			continue
		}
		errs = append(errs, validateRows(b, g, test, profile, path)...)
		errs = append(errs, validateMetric(g, test, path)...)
	}
	return errs
}

// validateMetric checks the metric, and the bounds in its unit.
func validateMetric(g *v1alpha1.Gate, test *v1alpha1.Test, path *field.Path) field.ErrorList {
	d, _ := method.DescribeTest(*test)
	all := Metrics(d)
	metric, ok := metricOf(test, g.Metric)
	if !ok {
		return field.ErrorList{field.Invalid(path.Child("metric"), g.Metric, fmt.Sprintf("test %s has no such figure: give one of %s", test.Name, names(all)))}
	}
	var errs field.ErrorList
	bound := func(name string, text v1alpha1.GateBound) *int64 {
		if text == "" {
			return nil
		}
		n, err := metric.Unit.Parse(text)
		if err != nil {
			detail := fmt.Sprintf("is no figure of %s: %v", metric.Name, err)
			if metric.Unit == FramesPerSecond && strings.HasSuffix(string(text), "%") {
				detail += ", or the metric LineRate, which is a percentage"
			}
			errs = append(errs, field.Invalid(path.Child(name), string(text), detail))
			return nil
		}
		return &n
	}
	lowest, highest := bound("min", g.Min), bound("max", g.Max)
	if lowest != nil && highest != nil && *lowest > *highest {
		errs = append(errs, field.Invalid(path.Child("min"), string(g.Min), fmt.Sprintf("is above max, which is %s, so that no figure passes: swap them, or leave one out", g.Max)))
	}
	return append(errs, validateRelative(g.Relative, metric, path)...)
}

func validateRelative(r *v1alpha1.RelativeBound, metric Metric, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	path = path.Child("relative")
	if metric.Unit == YesNo {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("%s is yes or no, which has no share: give min or max", metric.Name)))
	}
	for _, t := range []struct {
		name  string
		share *v1alpha1.Tolerance
	}{{"maxDecrease", r.MaxDecrease}, {"maxIncrease", r.MaxIncrease}} {
		if t.share == nil {
			continue
		}
		if _, err := t.share.PPM(); err != nil {
			errs = append(errs, field.Invalid(path.Child(t.name), string(*t.share), err.Error()))
		}
	}
	if s := r.Baseline.BenchmarkSelector; s != nil {
		at := path.Child("baseline", "benchmarkSelector")
		problems := selection.Problems(at, s)
		errs = append(errs, problems...)
		if len(problems) == 0 && selection.Compile(s).Empty() {
			errs = append(errs, field.Required(at, "give at least one label: without any, every benchmark of the namespace is meant"))
		}
	}
	return errs
}

// validateRows checks that the gate chooses rows that the test can have.
func validateRows(b *v1alpha1.Benchmark, g *v1alpha1.Gate, test *v1alpha1.Test, profile *v1alpha1.TrafficProfile, path *field.Path) field.ErrorList {
	d, ok := method.DescribeTest(*test)
	if !ok {
		return nil // which is refused for itself
	}
	var errs field.ErrorList
	one := func(path *field.Path, value any, there bool, what string, all []string) {
		if there {
			return
		}
		allowed := "leave it out"
		if len(all) > 0 {
			allowed = "give one of " + strings.Join(all, ", ")
		}
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("%s: %s", what, allowed)))
	}
	for i, v := range g.Variants {
		var all []string
		for _, known := range b.Spec.Variants {
			all = append(all, string(known))
		}
		one(path.Child("variants").Index(i), v, slices.Contains(b.Spec.Variants, v), "the benchmark measures no such variant", all)
	}
	var sizes, mixes []string
	if !d.Frameless && profile != nil && !profile.Spec.OwnSizes() {
		for _, size := range profile.Spec.Sizes() {
			sizes = append(sizes, fmt.Sprint(size))
		}
		for _, m := range profile.Spec.FrameMixes {
			mixes = append(mixes, m.Name)
		}
	} else if !d.Frameless && profile != nil {
		mixes = []string{v1alpha1.FlowsSize}
	}
	for i, size := range g.FrameSizes {
		one(path.Child("frameSizes").Index(i), size, slices.Contains(sizes, fmt.Sprint(size)), "the test has no rows of this size", sizes)
	}
	for i, m := range g.FrameMixes {
		one(path.Child("frameMixes").Index(i), m, slices.Contains(mixes, m), "the test has no rows of this mix", mixes)
	}
	loads, ratios := choices(d.Steps(*test, plan.Scale{}))
	for i, load := range g.Loads {
		one(path.Child("loads").Index(i), load, slices.Contains(loads, load), "the test has no rows at this load", loads)
	}
	if g.LossRatio != "" {
		ppm, err := g.LossRatio.PPM()
		if err != nil {
			return append(errs, field.Invalid(path.Child("lossRatio"), string(g.LossRatio), err.Error()))
		}
		one(path.Child("lossRatio"), string(g.LossRatio), slices.Contains(ratios, string(v1alpha1.FormatPPM(ppm))), "the test has no rows of this loss ratio", ratios)
	}
	return errs
}

// choices are the loads and the loss ratios of the rows of a test at one frame size.
func choices(steps []plan.Step) (loads, ratios []string) {
	add := func(all *[]string, text string) {
		if text != "" && !slices.Contains(*all, text) {
			*all = append(*all, text)
		}
	}
	for _, s := range steps {
		add(&loads, string(s.Load))
		add(&ratios, string(v1alpha1.FormatPPM(s.LossRatioPPM)))
	}
	return loads, ratios
}
