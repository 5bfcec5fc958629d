package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/traffic"
)

// conclude gives a run its outcome.
func conclude(ctx context.Context, device v1alpha1.Device, rows []v1alpha1.ResultRow, err error) (v1alpha1.BenchmarkPhase, string, string) {
	kept := ""
	switch len(rows) {
	case 0:
	case 1:
		kept = " (1 finished row is kept)"
	default:
		kept = fmt.Sprintf(" (%d finished rows are kept)", len(rows))
	}
	if err != nil {
		cause := context.Cause(ctx)
		switch {
		case errors.Is(cause, ErrAborted):
			return v1alpha1.PhaseAborted, v1alpha1.ReasonAborted, "the benchmark was aborted" + kept
		case errors.Is(cause, context.DeadlineExceeded):
			return v1alpha1.PhaseInvalid, v1alpha1.ReasonDeadlineExceeded, "the time for the benchmark was over: raise spec.activeDeadlineSeconds, or ask for less" + kept
		case cause != nil:
			return v1alpha1.PhaseError, v1alpha1.ReasonRunnerFailed, fmt.Sprintf("the run was stopped: %v%s", cause, kept)
		case errors.Is(err, traffic.ErrLost):
			return v1alpha1.PhaseError, v1alpha1.ReasonAgentLost, err.Error() + kept
		case errors.Is(err, traffic.ErrUnsupported):
			return v1alpha1.PhaseInvalid, v1alpha1.ReasonNotSupported, err.Error() + kept
		}
		return v1alpha1.PhaseError, v1alpha1.ReasonRunnerFailed, err.Error() + kept
	}
	measured := 0
	for _, row := range rows {
		frames := row.Frames.OrZero()
		if frames.Sent > 0 && frames.Received == 0 {
			return v1alpha1.PhaseFailed, v1alpha1.ReasonNothingForwarded, fmt.Sprintf("the device forwarded nothing: test %s, %s: %s", row.TestName(), row.SizeName(), row.Message)
		}
		// A tester that could not even offer the lowest load measured nothing.
		if row.Frames == nil || frames.Sent > 0 && (frames.LineRatePPM > 0 || row.Validity != v1alpha1.ValidityGeneratorBound) {
			measured++
		}
	}
	for _, row := range rows {
		if row.Validity == v1alpha1.ValidityInvalid && len(row.ValidityReasons) > 0 {
			return v1alpha1.PhaseInvalid, v1alpha1.ReasonNothingHappened, fmt.Sprintf("test %s, %s: %s", row.Test, row.SizeName(), row.ValidityReasons[0])
		}
	}
	if measured == 0 && len(rows) > 0 {
		return v1alpha1.PhaseInvalid, v1alpha1.ReasonGeneratorBound, "the tester was too slow to measure anything: " + rows[0].Message
	}
	if doubt := inconclusive(device, rows); doubt != "" {
		return v1alpha1.PhaseInconclusive, v1alpha1.ReasonInconclusive, allMeasured(rows) + ", and " + doubt
	}
	return v1alpha1.PhaseMeasured, v1alpha1.ReasonAllMeasured, allMeasured(rows)
}

// maxNamed is the maximum number of tests that a message names.
const maxNamed = 6

// inconclusive names the tests that have rows and no conclusive one among them, of each
// variant by itself, with the most serious reason and what to do; empty when there is none. A
// test for which there was nothing to measure is not among them.
func inconclusive(device v1alpha1.Device, rows []v1alpha1.ResultRow) string {
	var order []string
	conclusive := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		if nothingToMeasure(row) {
			continue
		}
		name := row.TestName()
		if _, known := conclusive[name]; !known {
			order = append(order, name)
		}
		conclusive[name] = conclusive[name] || result.Conclusive(device, row)
	}
	order = slices.DeleteFunc(order, func(name string) bool { return conclusive[name] })
	if len(order) == 0 {
		return ""
	}
	var worst *v1alpha1.ResultRow
	for i := range rows {
		row := &rows[i]
		if slices.Contains(order, row.TestName()) && !nothingToMeasure(row) && (worst == nil || result.Graver(row.Validity, worst.Validity)) {
			worst = row
		}
	}
	text := "test " + order[0] + " has no conclusive row"
	if n := len(order); n > 1 {
		named := order[:min(n, maxNamed)]
		text = fmt.Sprintf("tests %s have no conclusive row", strings.Join(named, ", "))
		if n > len(named) {
			text = fmt.Sprintf("tests %s and %d more have no conclusive row", strings.Join(named, ", "), n-len(named))
		}
	}
	text += fmt.Sprintf(": %s is %s", worst.Name(), worst.Validity)
	if len(worst.ValidityReasons) > 0 {
		text += ", " + worst.ValidityReasons[0]
	}
	remedy := remedies[worst.Validity]
	if worst.Validity == v1alpha1.ValidityGeneratorBound && plan.IsWorkload(worst.Method) {
		remedy = "measure when nothing else uses the machine of the hosts, or on a bed with faster processors"
	}
	if remedy != "" {
		text += "; " + remedy
	}
	return text
}

// remedies describe what to do about rows that are not conclusive. The reason of an
// Uncalibrated row describes it already.
var remedies = map[v1alpha1.Validity]string{
	v1alpha1.ValidityGeneratorBound: "measure at a load that the tester offers, or on a bed with a faster tester",
	v1alpha1.ValidityContended:      "measure again when nothing else uses the tester and the bed",
}

// nothingToMeasure reports whether no frame was sent for a row, such as when no burst fills the
// buffer of a device that forwards line rate. A throughput of 0 is a figure.
func nothingToMeasure(row *v1alpha1.ResultRow) bool {
	return row.Frames != nil && row.Frames.Sent == 0 && !method.IsThroughput(row)
}

// allMeasured returns the message of a run that got to its end. A row has no figures if
// nothing was sent for it, since no burst fills the buffer of a device that forwards line
// rate. A throughput of 0 is a figure. All repetitions of a row count as one row.
func allMeasured(rows []v1alpha1.ResultRow) string {
	count, without, repeated := 0, 0, ""
	for i := range rows {
		if rows[i].Repetition > 1 {
			repeated = fmt.Sprintf(", in %d measurements", len(rows))
			continue
		}
		if count++; nothingToMeasure(&rows[i]) {
			without++
		}
	}
	switch {
	case without > 0:
		return fmt.Sprintf("%d of %d rows were measured%s; the others say why there was nothing to measure", count-without, count, repeated)
	case count == 1:
		return "the only row was measured" + repeated
	case count == 2:
		return "both rows were measured" + repeated
	}
	return fmt.Sprintf("all %d rows were measured%s", count, repeated)
}
