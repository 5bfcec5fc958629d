package method

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// throughputSteps are the steps of a throughput test at one frame size: the
// throughput, and a partial drop rate for every further loss ratio. One search
// finds them all, in the step of the throughput.
func throughputSteps(test v1alpha1.Test, at plan.Scale) []plan.Step {
	cfg := searchConfig(*test.Throughput, at)
	goals, _ := searchGoals(*test.Throughput)
	trials, sending := estimate(test.Throughput.Search, cfg, goals)
	step := plan.Step{Search: cfg, Goals: goals, TrialDuration: cfg.TrialDuration, Trials: trials, Duration: sending}
	step.Certain = shortest(test.Throughput.Search, cfg)
	steps := []plan.Step{step}
	for _, goal := range goals[min(1, len(goals)):] {
		other := step
		other.Method, other.LossRatioPPM = v1alpha1.MethodPartialDropRate, goal.LossRatioPPM
		other.Goals, other.Trials, other.Duration, other.Certain = []search.Goal{goal}, 0, 0, 0
		steps = append(steps, other)
	}
	return steps
}

// shortest returns the minimum sending time of a search. A binary search without a time
// limit tries the highest load once; the other searches choose the times of their trials.
func shortest(method v1alpha1.SearchMethod, cfg search.Config) time.Duration {
	if method == v1alpha1.SearchMLRsearch || method == v1alpha1.SearchInformed || cfg.TimeCap > 0 {
		return 0
	}
	return min(cfg.SearchTrialDuration, cfg.TrialDuration)
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

// searchGoals are the goals of MLRsearch, the throughput first; none for another
// search.
func searchGoals(t v1alpha1.ThroughputTest) (goals []search.Goal, err error) {
	if t.Search != v1alpha1.SearchMLRsearch {
		return nil, nil
	}
	ratios := []v1alpha1.LossRatio{zeroLoss}
	for _, ratio := range t.LossRatios {
		if ratio != zeroLoss {
			ratios = append(ratios, ratio)
		}
	}
	for _, ratio := range ratios {
		goal, err := searchGoal(t, ratio)
		if err != nil {
			return nil, err
		}
		goals = append(goals, goal)
	}
	return goals, nil
}

// zeroLoss is the loss ratio of the throughput.
const zeroLoss v1alpha1.LossRatio = "0%"

// searchGoal is the goal for one loss ratio.
func searchGoal(t v1alpha1.ThroughputTest, ratio v1alpha1.LossRatio) (search.Goal, error) {
	g, full := t.Goal(ratio), t.TrialDuration.Duration
	goal := search.Goal{
		Name: "NDR", InitialTrialDuration: g.InitialTrialDuration.Duration, FinalTrialDuration: full, DurationSum: g.DurationSum.Duration,
		PrecedingTargets: int(*g.PrecedingTargets), Expansion: int64(g.Expansion),
	}
	var err error
	if goal.LossRatioPPM, err = ratio.PPM(); err != nil {
		return goal, err
	}
	if goal.LossRatioPPM > 0 {
		goal.Name = "PDR"
	}
	if goal.ExceedRatioPPM, err = g.ExceedRatio.PPM(); err != nil {
		return goal, fmt.Errorf("exceedRatio: %w", err)
	}
	if g.Width != nil {
		if goal.WidthPPM, err = g.Width.PPM(); err != nil {
			return goal, fmt.Errorf("width: %w", err)
		}
	}
	if forgives := goal.Forgives(); goal.ExceedRatioPPM > 0 && forgives < full {
		return goal, fmt.Errorf("the goal of loss ratio %s: the exceedRatio %s of a durationSum of %v is %v, which no trial of %v fits into, so that none may have more loss: raise durationSum to %v, or leave exceedRatio out",
			ratio, g.ExceedRatio, goal.DurationSum, forgives, full, time.Duration((int64(full)*1_000_000+goal.ExceedRatioPPM-1)/goal.ExceedRatioPPM))
	}
	return goal, goal.Validate()
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
	if t.MLRSearch != nil {
		for i, g := range t.MLRSearch.Goals {
			if ratio, err := g.LossRatio.PPM(); err != nil || ratio > 0 && !slices.Contains(t.LossRatios, g.LossRatio) {
				return field.ErrorList{field.Invalid(path.Child("mlrSearch", "goals").Index(i).Child("lossRatio"), g.LossRatio,
					"lossRatios does not have it, so that nothing would be searched: add it there as it is written here, or remove the goal")}
			}
		}
	}
	if _, err := searchGoals(t); err != nil {
		return field.ErrorList{field.Invalid(path.Child("search"), t.Search, err.Error())}
	}
	return nil
}

// throughputLoads refuses bounds between which nothing can be searched at a size.
func throughputLoads(test v1alpha1.Test, at plan.Scale, path *field.Path) field.ErrorList {
	t := test.Throughput
	lowest, highest := t.MinLoad, t.MaxLoad
	if errs := trials.UpsideDown(lowest, highest, at, path); len(errs) > 0 {
		return errs
	}
	resolution := t.Resolution
	width := at.PPM(highest) - at.PPM(lowest)
	if width == 0 || at.PPM(resolution) <= width {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("resolution"), resolution,
		fmt.Sprintf("resolution %s is wider than the %s between minLoad and maxLoad, so that nothing would be searched: lower it", at.InWords(resolution), trials.Percent(width)))}
}

// throughputTrials describes the trials for the report.
func throughputTrials(test v1alpha1.Test) string {
	t := test.Throughput
	short := "trials of " + human.Duration(t.SearchTrialDuration.Duration)
	if t.Search == v1alpha1.SearchMLRsearch || t.Search == v1alpha1.SearchInformed {
		short = "shorter trials first"
	}
	return fmt.Sprintf("%s %s, resolution %s, %s, confirmed for %s",
		searchName(t.Search), trials.FromTo(t.MinLoad, t.MaxLoad), t.Resolution, short, human.Duration(t.TrialDuration.Duration))
}

// searchName names a search for a person.
func searchName(m v1alpha1.SearchMethod) string {
	if m == v1alpha1.SearchMLRsearch {
		return "MLRsearch (RFC 9971)"
	}
	return strings.ToLower(string(m)) + " search"
}

// exceedRatioCaveat describes that some trials without a limit of loss do not fail a load; empty
// if none may have loss, as RFC 2544 asks for.
func exceedRatioCaveat(test v1alpha1.Test) string {
	share := test.Throughput.Goal(zeroLoss).ExceedRatio
	if ppm, err := share.PPM(); err != nil || ppm == 0 {
		return ""
	}
	return fmt.Sprintf("Trials with more loss may take %s of the duration sum of a load (exceedRatio of MLRsearch): RFC 2544 allows none", share)
}
