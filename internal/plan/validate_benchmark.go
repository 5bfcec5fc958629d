package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// validateTests reports what is wrong with the tests of a benchmark for
// themselves.
func validateTests(b *v1alpha1.Benchmark) field.ErrorList {
	var errs field.ErrorList
	root := field.NewPath("spec", "tests")
	if len(b.Spec.Tests) == 0 {
		return field.ErrorList{field.Required(root, "give at least one test")}
	}
	throughput := false
	names := map[string]bool{}
	for i, test := range b.Spec.Tests {
		path := root.Index(i)
		if names[test.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), test.Name))
		}
		names[test.Name] = true
		m, registered := methodOf(test)
		switch given := membersGiven(test); {
		case given != 1:
			errs = append(errs, field.Required(path, "give exactly one method: "+strings.Join(members(), ", ")))
		case registered:
			errs = append(errs, m.validate(test, throughput, path.Child(m.Member))...)
		case test.Throughput != nil:
			throughput = true
			errs = append(errs, validateThroughput(*test.Throughput, path.Child("throughput"))...)
		default:
			errs = append(errs, validateLoads(latencyLoads(*test.Latency), throughput, path.Child("latency", "loads"))...)
		}
	}
	return errs
}

func validateThroughput(t v1alpha1.ThroughputTest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	searches := []v1alpha1.SearchMethod{v1alpha1.SearchBinary, v1alpha1.SearchMLRsearch, v1alpha1.SearchInformed}
	if t.Search != "" && !slices.Contains(searches, t.Search) {
		errs = append(errs, field.NotSupported(path.Child("search"), t.Search, searches))
	}
	errs = append(errs, validateLossRatios(t, path)...)
	for name, share := range map[string]v1alpha1.Percentage{"resolution": t.Resolution, "minLoad": t.MinLoad, "maxLoad": t.MaxLoad} {
		if _, err := share.PPM(); share != "" && err != nil {
			errs = append(errs, field.Invalid(path.Child(name), share, "give a percentage of line rate above 0% and up to 100% with at most four decimals, such as 99.994%"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	cfg, err := searchConfig(t)
	if err == nil {
		_, err = searchGoals(t, cfg)
	}
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("search"), t.Search, err.Error()))
	case cfg.MinPPM > cfg.MaxPPM:
		errs = append(errs, field.Invalid(path.Child("minLoad"), v1alpha1.FormatPPM(cfg.MinPPM),
			fmt.Sprintf("minLoad is above maxLoad %s: lower minLoad or raise maxLoad", v1alpha1.FormatPPM(cfg.MaxPPM))))
	case cfg.SearchTrialDuration > cfg.TrialDuration:
		errs = append(errs, field.Invalid(path.Child("searchTrialDuration"), cfg.SearchTrialDuration.String(),
			fmt.Sprintf("the trials of the search may be shorter than the confirmation of %s, not longer: lower searchTrialDuration", cfg.TrialDuration)))
	case cfg.MaxPPM > cfg.MinPPM && cfg.ResolutionPPM > cfg.MaxPPM-cfg.MinPPM:
		errs = append(errs, field.Invalid(path.Child("resolution"), v1alpha1.FormatPPM(cfg.ResolutionPPM),
			fmt.Sprintf("resolution is wider than the %s between minLoad and maxLoad, so that nothing would be searched: lower it", v1alpha1.FormatPPM(cfg.MaxPPM-cfg.MinPPM))))
	}
	return errs
}

// validateLossRatios refuses loss ratios that the search cannot find, and those
// without the throughput.
func validateLossRatios(t v1alpha1.ThroughputTest, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.MLRSearch != nil && t.Search != v1alpha1.SearchMLRsearch {
		errs = append(errs, field.Invalid(path.Child("mlrSearch"), t.Search, "mlrSearch is for the search MLRsearch: set search to MLRsearch, or leave mlrSearch out"))
	}
	seen, more := map[int64]bool{}, false
	for i, text := range t.LossRatios {
		ratio, err := text.PPM()
		at := path.Child("lossRatios").Index(i)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, text, "give a percentage of the frames sent below 100% with at most four decimals, such as 0.5%"))
		case seen[ratio]:
			errs = append(errs, field.Duplicate(at, text))
		}
		seen[ratio], more = true, more || ratio > 0
	}
	switch {
	case len(errs) > 0 || len(t.LossRatios) == 0:
	case !seen[0]:
		errs = append(errs, field.Required(path.Child("lossRatios"), "add 0%, which is the throughput"))
	case more && t.Search != v1alpha1.SearchMLRsearch:
		errs = append(errs, field.Invalid(path.Child("lossRatios"), t.LossRatios, "loss ratios above 0% need the search MLRsearch: set search to MLRsearch, or leave lossRatios out"))
	}
	return errs
}

func validateLoads(loads []v1alpha1.Load, throughputBefore bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, load := range loads {
		if load == v1alpha1.LoadThroughput {
			if !throughputBefore {
				errs = append(errs, field.Invalid(path.Index(i), load,
					"no throughput test stands before this test, so its rate is not known: add a throughput test before it, or give a percentage"))
			}
		} else if _, err := v1alpha1.Percentage(load).PPM(); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), load,
				"give a percentage of line rate above 0% and up to 100%, such as 50%, or the word throughput"))
		}
	}
	return errs
}

// validateLatency refuses latency that the engine cannot measure: at all, or
// between ports of different nodes, whose clocks differ.
func validateLatency(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		if test.Latency == nil {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child("latency")
		if !engine.PerFrameLatency && !engine.SampledLatency {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("engine %s of test bed %s does not measure latency: choose a bed with another engine", bed.Spec.Engine.Kind, bed.Name)))
			continue
		}
		if err := validateTimed(test, profile, bed, ports, engine, path); err != nil {
			errs = append(errs, err)
		}
		if engine.CrossHostLatency {
			continue
		}
		if tx, rx, far := farFlow(flows(profile, ports), ports); far {
			errs = append(errs, field.Invalid(path, test.Name,
				fmt.Sprintf("latency from %s on node %s to %s on node %s needs a common clock, which engine %s does not have: put both ports of a pair on one node, or measure throughput only",
					tx.Name, tx.Node, rx.Name, rx.Node, bed.Spec.Engine.Kind)))
		}
	}
	return errs
}

// farFlow finds a sender and a receiver on different nodes.
func farFlow(flows []flow, ports []Port) (tx, rx Port, far bool) {
	for _, f := range flows {
		for _, i := range f.rx {
			if tx, rx := ports[f.tx], ports[i]; tx.Node != rx.Node {
				return tx, rx, true
			}
		}
	}
	return Port{}, Port{}, false
}
