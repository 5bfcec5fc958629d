package results

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
)

const (
	// maxRow bounds the bytes of one row as JSON: a series of rates, or 256 ports, and its trials.
	maxRow = 100 << 10
	// maxEnvironment bounds the bytes of the environment as JSON.
	maxEnvironment = 96 << 10
	// maxText bounds sentences that a runner writes; longer ones are cut.
	maxText = 1024
	// maxReasons is the maximum number of reasons for the validity of a row; further ones are
	// left out.
	maxReasons = 16
	// maxWord bounds all other texts in rows and environment.
	maxWord = 2048
	// maxList bounds lists in rows and environment, but for lists of latency buckets, which
	// maxBuckets bounds: pairs of numbers.
	maxList    = 1024
	maxBuckets = 4480
)

// outcomes contains the outcomes with which a runner can end, by reason.
var outcomes = map[string]v1alpha1.BenchmarkPhase{
	v1alpha1.ReasonAllMeasured:      v1alpha1.PhaseMeasured,
	v1alpha1.ReasonInconclusive:     v1alpha1.PhaseInconclusive,
	v1alpha1.ReasonNothingForwarded: v1alpha1.PhaseFailed,
	v1alpha1.ReasonNothingHappened:  v1alpha1.PhaseInvalid,
	v1alpha1.ReasonGeneratorBound:   v1alpha1.PhaseInvalid,
	v1alpha1.ReasonNotSupported:     v1alpha1.PhaseInvalid,
	v1alpha1.ReasonRunnerFailed:     v1alpha1.PhaseError,
	v1alpha1.ReasonAgentLost:        v1alpha1.PhaseError,
	v1alpha1.ReasonDeadlineExceeded: v1alpha1.PhaseError,
	v1alpha1.ReasonAborted:          v1alpha1.PhaseAborted,
}

var validities = []v1alpha1.Validity{
	v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated, v1alpha1.ValidityUncalibrated,
	v1alpha1.ValidityContended, v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityInvalid,
}

// Checker checks the answers of the runner of one benchmark, in one variant.
type Checker struct {
	// planned has the method of each row that the runner can make.
	planned map[v1alpha1.RowID]v1alpha1.Method
	total   int32
	cfg     *runner.Config
	// log is the one that is read, and seen its rows.
	log  string
	seen map[v1alpha1.RowID]bool
}

// NewChecker makes the checker of a runner with this configuration. Without a plan no
// row is accepted.
func NewChecker(cfg *runner.Config) *Checker {
	c := &Checker{planned: map[v1alpha1.RowID]v1alpha1.Method{}, cfg: cfg}
	made, err := plan.Build(&cfg.Benchmark, &cfg.Profile, &cfg.Bed)
	if err != nil {
		return c // The runner reports this, in an answer without rows.
	}
	c.total = int32(len(made.Steps))
	for i := range made.Steps {
		if s := &made.Steps[i]; s.Variant == cfg.Variant {
			c.planned[s.ID()] = s.Method
		}
	}
	return c
}

// Check checks an answer, and shortens texts that are too long. An error describes what is
// wrong; then the whole answer is invalid.
func (c *Checker) Check(a *runner.Answer) error {
	if a.Log == "" || len(a.Log) > 64 {
		return fmt.Errorf("its log has a name of %d characters, not of 1 to 64", len(a.Log))
	}
	if a.Log != c.log {
		c.log, c.seen = a.Log, map[v1alpha1.RowID]bool{}
	}
	if err := c.state(&a.State); err != nil {
		return err
	}
	for i := range a.LogRows {
		if err := c.row(&a.LogRows[i]); err != nil {
			return fmt.Errorf("row %d of its log: %w", a.After+i+1, err)
		}
	}
	return nil
}

func (c *Checker) state(s *runner.State) error {
	s.Message = human.Cut(s.Message, maxText)
	s.Progress.Summary, s.Progress.Trial = human.Cut(s.Progress.Summary, maxText/4), human.Cut(s.Progress.Trial, maxText/4)
	if err := numbers(reflect.ValueOf(s.Progress), "progress"); err != nil {
		return err
	}
	if s.Done {
		if s.Outcome == v1alpha1.PhasePassed && s.Reason == v1alpha1.ReasonAllMeasured {
			s.Outcome = v1alpha1.PhaseMeasured // A runner of an earlier version.
		}
		if outcome, known := outcomes[s.Reason]; !known || outcome != s.Outcome {
			return fmt.Errorf("it ended with outcome %q and reason %q, which do not go together", human.Cut(string(s.Outcome), 64), human.Cut(s.Reason, 64))
		}
	} else if s.Outcome != "" || s.Reason != "" {
		return fmt.Errorf("it has outcome %q and reason %q before its end", human.Cut(string(s.Outcome), 64), human.Cut(s.Reason, 64))
	}
	return c.environment(s.Environment)
}

// row checks one row: it is of the plan, of this variant, new in its log, and of a
// size that can be stored.
func (c *Checker) row(row *v1alpha1.ResultRow) error {
	id := row.RowID
	method, planned := c.planned[id]
	if !planned || method != row.Method {
		return fmt.Errorf("the plan has no row of test %q, variant %q, method %q, %d bytes, mix %q, load %q",
			human.Cut(row.Test, 64), human.Cut(string(row.Variant), 64), human.Cut(string(row.Method), 64), row.FrameSize, human.Cut(row.FrameMix, 64), human.Cut(string(row.Load), 64))
	}
	if c.seen[id] {
		return errors.New("it is in the log twice")
	}
	c.seen[id] = true
	if !slices.Contains(validities, row.Validity) {
		return fmt.Errorf("its validity is %q", human.Cut(string(row.Validity), 64))
	}
	row.Message = human.Cut(row.Message, maxText)
	row.ValidityReasons = row.ValidityReasons[:min(len(row.ValidityReasons), maxReasons)]
	for i := range row.ValidityReasons {
		row.ValidityReasons[i] = human.Cut(row.ValidityReasons[i], maxText)
	}
	if err := numbers(reflect.ValueOf(row).Elem(), "row"); err != nil {
		return err
	}
	if err := trials(row); err != nil {
		return err
	}
	n, err := size(*row)
	if err != nil {
		return err
	}
	if n > maxRow {
		return fmt.Errorf("it has %d bytes, more than %d", n, maxRow)
	}
	return nil
}

// environment checks the environment of the rows. A calibration is that which the
// runner was given, or, on a bed without a device, of this bed by this benchmark.
func (c *Checker) environment(e *v1alpha1.ResultEnvironment) error {
	if e == nil {
		return nil
	}
	e.EngineDetail, e.Device = human.Cut(e.EngineDetail, maxText), human.Cut(e.Device, maxText)
	switch e.Engine {
	case v1alpha1.EngineXDP, v1alpha1.EngineTRex, v1alpha1.EngineSim:
	default:
		return fmt.Errorf("its engine is %q", human.Cut(string(e.Engine), 64))
	}
	if got := e.Calibration; got != nil && !equality.Semantic.DeepEqual(got, c.cfg.Calibration) {
		b := &c.cfg.Benchmark
		if own := b.Namespace + "/" + b.Name; !device.Of(c.cfg.Bed.Spec.Device).Absent || got.Benchmark != own || got.TestBedName != c.cfg.Bed.Name {
			return fmt.Errorf("it has a calibration of bed %q by benchmark %q, which it cannot have made", human.Cut(got.TestBedName, 64), human.Cut(got.Benchmark, 64))
		}
	}
	for variant, got := range e.Configurations() {
		if variant != c.cfg.Variant || !equality.Semantic.DeepEqual(got, c.cfg.Configuration) {
			return fmt.Errorf("it has a configuration of the device in variant %q, which it was not given", human.Cut(string(variant), 64))
		}
	}
	if err := numbers(reflect.ValueOf(e).Elem(), "environment"); err != nil {
		return err
	}
	text, err := jsonOf(e)
	if err != nil {
		return err
	}
	if len(text) > maxEnvironment {
		return fmt.Errorf("its environment has %d bytes, more than %d", len(text), maxEnvironment)
	}
	return nil
}

// numbers reports the first negative number, too long text or too long list anywhere in v.
func numbers(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return numbers(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				if err := numbers(v.Field(i), path+"."+field.Name); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		limit := maxList
		if strings.HasSuffix(path, ".Latency.Buckets") {
			limit = maxBuckets
		}
		if v.Len() > limit {
			return fmt.Errorf("%s has %d items, more than %d", path, v.Len(), limit)
		}
		for i := range v.Len() {
			if err := numbers(v.Index(i), path); err != nil {
				return err
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.Int() < 0 && !isDifference(path) {
			return fmt.Errorf("%s is %d, and cannot be negative", path, v.Int())
		}
	case reflect.String:
		if v.Len() > maxWord {
			return fmt.Errorf("%s has %d characters, more than %d", path, v.Len(), maxWord)
		}
	}
	return nil
}

// differences are the ends of the paths of numbers that are differences of measured ones: they are below zero by chance, or as a
// device is faster with a list than without.
var differences = []string{
	"AddedLatencyNs",
	"RPCLatency.Device.Ns", "RPCLatency.Device.LowNs", "RPCLatency.Device.HighNs",
	"Power.PicojoulesPerBit", "Power.Fit.BaseMilliwatts", "Power.Fit.PicojoulesPerBit",
}

// isDifference reports whether a number is a difference of two measured ones.
func isDifference(path string) bool {
	return slices.ContainsFunc(differences, func(end string) bool { return strings.HasSuffix(path, end) })
}
