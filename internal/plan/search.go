package plan

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/search"
)

// searchSteps are the steps of a throughput test at one frame size: the
// throughput, and a partial drop rate for every further loss ratio. One search
// finds them all, in the step of the throughput.
func (p Plan) searchSteps(test v1alpha1.Test, size Size) []Step {
	cfg, _ := searchConfig(*test.Throughput)
	cfg.Overhead = p.Settle + p.Rest
	goals, _ := searchGoals(*test.Throughput, cfg)
	trials, sending := estimate(test.Throughput.Search, cfg, goals)
	step := Step{
		Test: test, Method: v1alpha1.MethodThroughput, Size: size,
		Search: cfg, Goals: goals, TrialDuration: cfg.TrialDuration,
		Trials: trials, Duration: sending + time.Duration(trials)*cfg.Overhead,
	}
	steps := []Step{step}
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

// searchConfig is the search of a throughput test, with the API's defaults.
func searchConfig(t v1alpha1.ThroughputTest) (search.Config, error) {
	cfg := search.Config{
		TrialDuration:       orDefault(t.TrialDuration.Duration, defaultTrial),
		SearchTrialDuration: t.SearchTrialDuration.Duration,
	}
	if cfg.SearchTrialDuration == 0 {
		cfg.SearchTrialDuration = min(defaultSearchTrial, cfg.TrialDuration)
	}
	if t.WarmUp != nil {
		cfg.WarmUp = t.WarmUp.Duration
	}
	if t.TimeLimit != nil {
		cfg.TimeCap = t.TimeLimit.Duration
	}
	var err error
	for _, share := range []struct {
		text, other v1alpha1.Percentage
		into        *int64
	}{
		{t.Resolution, defaultResolution, &cfg.ResolutionPPM},
		{t.MinLoad, defaultMinLoad, &cfg.MinPPM},
		{t.MaxLoad, defaultMaxLoad, &cfg.MaxPPM},
	} {
		if share.text == "" {
			share.text = share.other
		}
		if *share.into, err = share.text.PPM(); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}
