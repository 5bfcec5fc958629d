package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// preempted is the note about a benchmark that was not measured in one go; empty about others.
func preempted(s *v1alpha1.BenchmarkStatus) string {
	if s.Preemptions == 0 {
		return ""
	}
	text := "the benchmark was preempted " + quantity(int64(s.Preemptions), "time") + ": "
	if hidden := int(s.Preemptions) - len(s.EarlierRuns); hidden > 0 {
		text += fmt.Sprintf("the last %d runs before were ", len(s.EarlierRuns))
	}
	runs := make([]string, len(s.EarlierRuns))
	for i, run := range s.EarlierRuns {
		runs[i] = fmt.Sprintf("%s from %s until %s on bed %s", quantity(int64(run.Rows), "row"),
			run.From.UTC().Format("2006-01-02 15:04:05"), run.Until.UTC().Format("2006-01-02 15:04:05 UTC"), run.TestBedName)
		if run.Discarded != "" {
			runs[i] += " (not counted: " + run.Discarded + ")"
		}
	}
	if s.LeaseTime != nil {
		runs = append(runs, fmt.Sprintf("the rest from %s on bed %s", s.LeaseTime.UTC().Format("2006-01-02 15:04:05 UTC"), s.TestBedName))
	}
	return text + strings.Join(runs, "; ")
}
