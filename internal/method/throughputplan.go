package method

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/search"
)

// throughputSteps are the steps of a throughput test at one frame size: the
// throughput, and a partial drop rate for every further loss ratio. One search
// finds them all, in the step of the throughput.
func throughputSteps(test v1alpha1.Test, at plan.Scale) []plan.Step {
	cfg := searchConfig(*test.Throughput, at)
	goals, _ := searchGoals(*test.Throughput, cfg)
	trials, sending := estimate(test.Throughput.Search, cfg, goals)
	step := plan.Step{Search: cfg, Goals: goals, TrialDuration: cfg.TrialDuration, Trials: trials, Duration: sending}
	steps := []plan.Step{step}
	for _, goal := range goals[min(1, len(goals)):] {
		other := step
		other.Method, other.LossRatioPPM = v1alpha1.MethodPartialDropRate, goal.LossRatioPPM
		other.Goals, other.Trials, other.Duration = []search.Goal{goal}, 0, 0
		steps = append(steps, other)
	}
	return steps
}

func estimate(method v1alpha1.SearchMethod, cfg search.Config, goals []search.Goal) (trials int, sending time.Duration) {
	switch method {
	case v1alpha1.SearchMLRsearch:
		trials, sending = search.EstimateMLRsearch(goals)
	case v1alpha1.SearchInformed:
		trials, sending = search.EstimateInformed(cfg)
	default:
		trials, sending = search.Estimate(cfg)
	}
	if cfg.WarmUp > 0 {
		trials, sending = trials+1, sending+cfg.WarmUp
	}
	if cfg.TimeCap > 0 {
		sending = min(sending, cfg.TimeCap)
	}
	return trials, sending
}

// searchGoals are the goals of MLRsearch, the throughput first; nil for another
// search.
func searchGoals(t v1alpha1.ThroughputTest, cfg search.Config) ([]search.Goal, error) {
	if t.Search != v1alpha1.SearchMLRsearch {
		return nil, nil
	}
	goal := search.Throughput2544(cfg.TrialDuration)
	if o := t.MLRSearch; o != nil {
		if o.InitialTrialDuration != nil {
			goal.InitialTrialDuration = o.InitialTrialDuration.Duration
		}
		if o.DurationSum != nil {
			goal.DurationSum = o.DurationSum.Duration
		}
		if o.PrecedingTargets != nil {
			goal.PrecedingTargets = int(*o.PrecedingTargets)
		}
		if o.Expansion > 0 {
			goal.Expansion = int64(o.Expansion)
		}
		var err error
		if o.ExceedRatio != "" {
			if goal.ExceedRatioPPM, err = o.ExceedRatio.PPM(); err != nil {
				return nil, fmt.Errorf("exceedRatio: %w", err)
			}
		}
		if o.Width != nil {
			if goal.WidthPPM, err = o.Width.PPM(); err != nil {
				return nil, fmt.Errorf("width: %w", err)
			}
		}
	}
	goals := []search.Goal{goal}
	for _, text := range t.LossRatios {
		ratio, err := text.PPM()
		if err != nil {
			return nil, err
		}
		if ratio > 0 {
			goals = append(goals, goal.WithLossRatio(ratio))
		}
	}
	for _, g := range goals {
		if err := g.Validate(); err != nil {
			return nil, err
		}
	}
	return goals, nil
}

// searchConfig is the search of a throughput test at a size.
func searchConfig(t v1alpha1.ThroughputTest, at plan.Scale) search.Config {
	cfg := search.Config{
		ResolutionPPM:       at.PPM(t.Resolution),
		MinPPM:              at.PPM(t.MinLoad),
		MaxPPM:              at.PPM(t.MaxLoad),
		TrialDuration:       t.TrialDuration.Duration,
		SearchTrialDuration: min(t.SearchTrialDuration.Duration, t.TrialDuration.Duration),
	}
	if t.WarmUp != nil {
		cfg.WarmUp = t.WarmUp.Duration
	}
	if t.TimeLimit != nil {
		cfg.TimeCap = t.TimeLimit.Duration
	}
	return cfg
}

// validateThroughput reports what the schema does not say of a throughput test: how
// its goals fit together.
func validateThroughput(test v1alpha1.Test, path *field.Path) field.ErrorList {
	t := *test.Throughput
	seen := map[int64]bool{}
	for i, text := range t.LossRatios {
		ratio, err := text.PPM()
		switch {
		case err != nil:
			return field.ErrorList{field.Invalid(path.Child("lossRatios").Index(i), text, err.Error())}
		case seen[ratio]:
			return field.ErrorList{field.Duplicate(path.Child("lossRatios").Index(i), text)}
		}
		seen[ratio] = true
	}
	if _, err := searchGoals(t, searchConfig(t, plan.Scale{})); err != nil {
		return field.ErrorList{field.Invalid(path.Child("search"), t.Search, err.Error())}
	}
	return nil
}

// throughputLoads refuses bounds between which nothing can be searched at a size.
func throughputLoads(test v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
	t := test.Throughput
	lowest, highest := t.MinLoad, t.MaxLoad
	if errs := upsideDown(lowest, highest, at, path); len(errs) > 0 {
		return errs
	}
	resolution := t.Resolution
	width := at.PPM(highest) - at.PPM(lowest)
	if width == 0 || at.PPM(resolution) <= width {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("resolution"), resolution,
		fmt.Sprintf("resolution %s is wider than the %s between minLoad and maxLoad, so that nothing would be searched: lower it", at.InWords(resolution), percent(width)))}
}

// throughputTrials describes the trials for the report.
func throughputTrials(test v1alpha1.Test) string {
	t := test.Throughput
	short := "trials of " + span(t.SearchTrialDuration.Duration)
	if t.Search == v1alpha1.SearchMLRsearch || t.Search == v1alpha1.SearchInformed {
		short = "shorter trials first"
	}
	return fmt.Sprintf("%s %s, resolution %s, %s, confirmed for %s",
		searchName(t.Search), fromTo(t.MinLoad, t.MaxLoad), t.Resolution, short, span(t.TrialDuration.Duration))
}

// searchName names a search for a person.
func searchName(m v1alpha1.SearchMethod) string {
	if m == v1alpha1.SearchMLRsearch {
		return "MLRsearch (RFC 9971)"
	}
	return strings.ToLower(string(m)) + " search"
}
