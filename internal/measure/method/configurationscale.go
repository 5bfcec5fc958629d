package method

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeConfigurationScale() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodConfigurationScale, Member: "configurationScale",
			WholeDevice:  "changes the configuration of the device",
			Given:        func(t v1alpha1.Test) bool { return t.ConfigurationScale != nil },
			Load:         func(t v1alpha1.Test) v1alpha1.Load { return t.ConfigurationScale.Load },
			TestsLatency: func(t v1alpha1.Test) bool { return t.ConfigurationScale.MaxAddedLatency != nil },
			Fits:         fitsConfigurationScale,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				t := test.ConfigurationScale
				step := plan.AtLoad(t.Load, t.TrialDuration.Duration)
				// The range of the bed is not known here.
				step.Trials = 1 + min(int(t.MaxTrials), search.EstimateCount(countsOf(t, allEntries, int(t.MaxTrials))))
				step.Duration = time.Duration(step.Trials) * (step.TrialDuration + scaleWait(t))
				return []plan.Step{step}
			},
		},
		Run:     configurationScale,
		Purpose: "largest number of entries of a list on the device without an effect on frames",
		Headline: scaled.Headline(func(s *v1alpha1.ConfigurationScaleSummary) trials.Figure {
			return trials.CountFigure(s.Entries, "entries", s.FailedEntries == 0 || s.Capped)
		}),
		Columns: []trials.Column{
			{Heading: "entries", Name: "without effect", Value: scaled.Number(func(s *v1alpha1.ConfigurationScaleSummary) int64 { return s.Entries })},
			{Heading: "entries", Name: "with effect", Value: scaled.Optional(func(s *v1alpha1.ConfigurationScaleSummary) *int64 { return known(s.FailedEntries) })},
			{Heading: "effect", Name: "lost frames", Value: scaled.Optional(func(s *v1alpha1.ConfigurationScaleSummary) *int64 { return known(s.FailedLost) })},
			{Heading: "latency, us", Name: "without list", Unit: trials.Nanoseconds, Value: scaled.Optional(func(s *v1alpha1.ConfigurationScaleSummary) *int64 { return s.LatencyWithoutNs })},
			{Heading: "added latency, us", Name: "without effect", Unit: trials.Nanoseconds, Value: scaled.Optional(func(s *v1alpha1.ConfigurationScaleSummary) *int64 { return s.AddedLatencyNs })},
			{Heading: "added latency, us", Name: "with effect", Unit: trials.Nanoseconds, Value: scaled.Optional(func(s *v1alpha1.ConfigurationScaleSummary) *int64 { return s.FailedAddedLatencyNs })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.ConfigurationScale
			text := fmt.Sprintf("one without the list, then doubled and halved numbers of entries to %s, both ends repeated; trials of %s",
				traffic.Grouped(t.Resolution), human.Duration(t.TrialDuration.Duration))
			if wait := scaleWait(t); wait > 0 {
				text += fmt.Sprintf(", %s after the device reports the list", human.Duration(wait))
			}
			if t.ThroughputShare != "" {
				text += fmt.Sprintf("; at %s of the throughput without the list", t.ThroughputShare)
			}
			if t.MaxAddedLatency != nil {
				text += fmt.Sprintf("; up to %s of added mean latency are no effect", human.Duration(t.MaxAddedLatency.Duration))
			}
			return text
		},
	}
}

var scaled = trials.Summary[v1alpha1.ConfigurationScaleSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ConfigurationScaleSummary {
	return row.ConfigurationScale
})

// known returns a number that is absent if it is 0.
func known(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func scaleWait(t *v1alpha1.ConfigurationScaleTest) time.Duration {
	if t.WaitTime == nil {
		return 0
	}
	return t.WaitTime.Duration
}

// countsOf returns the bounds of the search of a test within the range of a list.
func countsOf(t *v1alpha1.ConfigurationScaleTest, within v1alpha1.ScaleRange, most int) search.CountConfig {
	c := search.CountConfig{Min: within.Minimum, Max: within.Maximum, Resolution: int64(t.Resolution), MaxTries: most}
	if t.Minimum > 0 {
		c.Min = int64(t.Minimum)
	}
	if t.Maximum > 0 {
		c.Max = int64(t.Maximum)
	}
	return c
}

// shareOfLoad returns the load of the trials: a share of the throughput where the test asks for one.
func shareOfLoad(t *v1alpha1.ConfigurationScaleTest, load plan.Amount) (plan.Amount, error) {
	if t.ThroughputShare == "" {
		return load, nil
	}
	share, err := v1alpha1.Percentage(t.ThroughputShare).PPM()
	if err != nil {
		return load, err
	}
	return plan.Share(max(1, load.PPM*share/v1alpha1.PPM)), nil
}
