package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeReset() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodReset, Member: "reset", Gaps: true,
			WholeDevice: "resets the device",
			Given:       func(t v1alpha1.Test) bool { return t.Reset != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.Reset.Load },
			Validate:    validateReset,
			Fits:        fitsReset,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				_, d := resetTimes(test.Reset)
				step := plan.AtLoad(test.Reset.Load, d)
				return []plan.Step{step.Repeated(int(test.Reset.Repetitions))}
			},
		},
		Run:      reset,
		Purpose:  "time in which a device that is reset does not forward, by lost frames or by time stamps (RFC 6201)",
		Headline: wasReset.Headline(func(s *v1alpha1.ResetSummary) trials.Figure { return trials.TimeFigure(s.AvgNs) }),
		Columns: []trials.Column{
			{Heading: "reset time, ms", Name: "min", Unit: trials.LongNanoseconds, Value: wasReset.Number(func(s *v1alpha1.ResetSummary) int64 { return s.MinNs })},
			{Heading: "reset time, ms", Name: "avg", Unit: trials.LongNanoseconds, Value: wasReset.Number(func(s *v1alpha1.ResetSummary) int64 { return s.AvgNs })},
			{Heading: "reset time, ms", Name: "max", Unit: trials.LongNanoseconds, Value: wasReset.Number(func(s *v1alpha1.ResetSummary) int64 { return s.MaxNs })},
			{Heading: "by frame loss, ms", Name: "avg", Unit: trials.LongNanoseconds, Value: wasReset.Optional(func(s *v1alpha1.ResetSummary) *int64 { return s.FrameLossAvgNs })},
			{Heading: "by time stamps, ms", Name: "avg", Unit: trials.LongNanoseconds, Value: wasReset.Optional(func(s *v1alpha1.ResetSummary) *int64 { return s.TimestampAvgNs })},
			{Heading: "lost", Name: "avg frames", Value: wasReset.Number(func(s *v1alpha1.ResetSummary) int64 { return s.AvgLost })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Reset
			lead, d := resetTimes(t)
			who := "from outside"
			if t.Trigger == v1alpha1.ResetByDevice {
				who = "by the lab"
			}
			if t.Name != "" {
				who += " (" + t.Name + ")"
			}
			kinds := map[v1alpha1.ResetKind]string{v1alpha1.ResetHardware: "hardware reset", v1alpha1.ResetPower: "power interruption"}
			text := fmt.Sprintf("%s %s %s after the beginning, trials of %s, %s",
				kinds[t.Kind], who, human.Duration(lead), human.Duration(d), trials.HowOften(t.Repetitions))
			if t.Method == v1alpha1.ResetByTimestamp {
				text += "; reset time by time stamps"
			}
			if off := powerOff(t); off > 0 {
				text += fmt.Sprintf("; %s in which the power was off are taken from the times", human.Duration(off))
			}
			return text
		},
	}
}

var wasReset = trials.Summary[v1alpha1.ResetSummary](func(row *v1alpha1.ResultRow) *v1alpha1.ResetSummary { return row.Reset })

func resetTimes(t *v1alpha1.ResetTest) (lead, all time.Duration) {
	return t.LeadTime.Duration, t.TrialDuration.Duration
}

// powerOff returns the time that is subtracted from a reset time.
func powerOff(t *v1alpha1.ResetTest) time.Duration {
	switch {
	case t.Kind != v1alpha1.ResetPower:
		return 0
	case t.PowerOffTime == nil:
		return 15 * time.Second
	}
	return t.PowerOffTime.Duration
}

func validateReset(test v1alpha1.Test, path *field.Path) field.ErrorList {
	t := test.Reset
	lead, all := resetTimes(t)
	switch {
	case t.PowerOffTime != nil && t.Kind != v1alpha1.ResetPower:
		return field.ErrorList{field.Invalid(path.Child("powerOffTime"), t.PowerOffTime.Duration.String(), "powerOffTime is for the kind Power: set kind to Power, or leave powerOffTime out")}
	case lead+powerOff(t) >= all:
		return field.ErrorList{field.Invalid(path.Child("trialDuration"), all.String(), fmt.Sprintf(
			"the reset begins %s after the beginning, so that the device could not forward again within the trial: raise trialDuration, or lower leadTime", lead+powerOff(t)))}
	}
	return nil
}

func fitsReset(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if test.Reset.Trigger == v1alpha1.ResetByDevice {
		if err := resetOffered(test.Reset, in.Bed, path); err != nil {
			errs = append(errs, err)
		}
	}
	if test.Reset.Method == v1alpha1.ResetByTimestamp && !in.Engine.ArrivalTimes {
		errs = append(errs, field.Invalid(path.Child("method"), test.Reset.Method, fmt.Sprintf(
			"engine %s of test bed %s does not tell when frames arrive: set method to FrameLoss, or choose a bed with another engine", in.Bed.Spec.Engine.Kind, in.Bed.Name)))
	}
	return errs
}

// reset measures the reset time (RFC 6201 section 1.3), of the stream for which it is
// longest. The trial with the longest one makes the row.
func reset(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	ppm, loads, message, err := tester.Loads(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	test := step.Test.Reset
	trigger, kind, off := test.Trigger, test.Kind, powerOff(test)
	if trigger == v1alpha1.ResetByDevice && !tester.Device.CanReset() {
		return trials.Outcome{}, errors.New("the lab has no device that it can reset: set trigger to External")
	}
	name := ""
	if trigger == v1alpha1.ResetByDevice && kind != v1alpha1.ResetPower && tester.Device.Resets != nil {
		if name, message = nameOfReset(test, tester.Device.Described); name == "" {
			return trials.Outcome{}, errors.New(message)
		}
	}
	byTime := test.Method == v1alpha1.ResetByTimestamp
	out := trials.Outcome{LoadPPM: ppm, DeviceReset: true, ByTime: byTime}
	var times, byLoss, byStamps, lost trials.Spread
	stamped, restored := false, false
	for range step.Trials {
		// Never twice: what is short in a trial with a reset is what is measured.
		event := trials.Event{Step: step, LoadPPM: ppm, Duration: step.TrialDuration}
		t, err := tester.Once(ctx, event, traffic.Trial{Loads: loads, Duration: step.TrialDuration}, trials.LateTolerance(step.TrialDuration), resetting(tester, event, name))
		if err != nil {
			return trials.Outcome{}, err
		}
		again, err := restoreAfterReset(ctx, tester, trigger)
		if err != nil {
			return trials.Outcome{}, err
		}
		restored = restored || again
		o := trials.OutageOf(t, loads)
		stamped = stamped || o.Stamped
		t.Figure("frameLossNs", int64(o.ByLoss))
		t.Figure("timestampNs", int64(o.ByStamps))
		took := o.ByLoss
		if byTime {
			took = o.ByStamps
		}
		if out.Trial == nil || int64(took) > times.Max {
			out.Trial = t
		}
		limited := t.TesterLimited()
		if byTime && o.Unsent {
			limited = t.TesterLost()
		}
		if limited {
			out.Limit = t
		}
		switch doubtful := t.DoubtfulLost(); {
		case byTime:
			out.Doubt = cmp.Or(out.Doubt, t.Paused(took, 0))
		case doubtful > t.Lost/100:
			out.Doubt = cmp.Or(out.Doubt, t.DoubtfulText())
		}
		switch {
		case t.Received == 0:
			out.Message = tester.Silence(t)
		case !o.Happened(byTime) && trigger == v1alpha1.ResetExternal:
			out.Invalid = fmt.Sprintf("no frame was lost in %s: the device was not reset, or it forwards during a reset of this kind", human.Duration(step.TrialDuration))
		case !o.Happened(byTime) && t.Stamps[0].Ended > t.TxTime: // An outage that no frame could show.
			out.Invalid = fmt.Sprintf("the reset ended %s after the beginning of a trial of %s that lost no frame, too late to be measured: raise trialDuration",
				human.Duration(t.Stamps[0].Ended.Round(time.Millisecond)), human.Duration(step.TrialDuration))
		case o.Happened(byTime) && took < off:
			out.Invalid = fmt.Sprintf("the device did not forward for %s, which is less than the powerOffTime %s: keep the power off for that long, or set powerOffTime", took.Round(time.Millisecond), human.Duration(off))
		case o.ToTheEnd:
			out.Invalid = fmt.Sprintf("frames were lost to the end of the trial of %s: the device did not forward again in time: raise trialDuration", human.Duration(step.TrialDuration))
		}
		times.Add(int64(max(took-off, 0)))
		byLoss.Add(int64(max(o.ByLoss-off, 0)))
		byStamps.Add(int64(max(o.ByStamps-off, 0)))
		lost.Add(int64(t.Lost))
	}
	measured := out.Invalid == "" && out.Message == ""
	if measured && times.Max == 0 && lost.Max == 0 {
		out.Message = "no loss: the device forwarded every frame while it was reset"
	}
	if restored {
		out.Message = human.Join("; ", out.Message, "after the reset the device did not have the configuration of the run, and got it again when the trial was over")
	}
	if !measured {
		return out, nil
	}
	sum := v1alpha1.ResetSummary{
		Kind: kind, Trigger: trigger, Name: name, Method: test.Method, Repetitions: int32(step.Trials), PowerOffNs: int64(off),
		AvgNs: times.Average(), MinNs: times.Min, MaxNs: times.Max, AvgLost: lost.Average(), FrameLossAvgNs: new(byLoss.Average()),
	}
	if stamped {
		sum.TimestampAvgNs = new(byStamps.Average())
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.Reset = &sum }
	return out, nil
}

// restoreAfterReset gives a device that the lab has reset its configuration again, and reports whether it had another one.
func restoreAfterReset(ctx context.Context, tester *trials.Tester, trigger v1alpha1.ResetTrigger) (restored bool, err error) {
	if trigger != v1alpha1.ResetByDevice || tester.Device.Restore == nil {
		return false, nil
	}
	if restored, err = tester.Device.Restore(ctx); err != nil {
		return false, fmt.Errorf("reading the configuration of the device after its reset: %w", err)
	}
	return restored, nil
}

// resetting resets the device while frames are sent, or asks for it. Name is the name of the reset in the bed.
func resetting(tester *trials.Tester, event trials.Event, name string) trials.Action {
	test := event.Step.Test.Reset
	lead, _ := resetTimes(test)
	return trials.Timed(trials.EventReset, lead, func(ctx context.Context) (traffic.Moments, error) {
		if test.Trigger == v1alpha1.ResetExternal {
			event.Ask = "reset the device now"
			tester.Observe(event)
			return nil, nil
		}
		return nil, tester.Device.Reset(ctx, test.Kind, name, powerOff(test))
	})
}
