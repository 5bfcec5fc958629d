package result

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// Input contains the data by which a row's validity is judged.
type Input struct {
	Bed     *v1alpha1.TestBed
	Info    traffic.Info
	Outcome trials.Outcome
	// Calibration of the bed that this one refers to; nil when there is none.
	Calibration *v1alpha1.CalibrationStatus
	// Time at which the run began.
	Time time.Time

	// sizes of the frames in bytes: those of a mix, where the row is of one.
	sizes []int32
	// conditions under which the row was measured.
	conditions []v1alpha1.CalibrationCondition
}

// policy speaks against a row for one reason; it returns no reasons when it has
// nothing to say.
type policy struct {
	validity v1alpha1.Validity
	reasons  func(Input) []string
}

// policies in order, the most serious first.
var policies = []policy{
	{v1alpha1.ValidityInvalid, nothingHappened},
	{v1alpha1.ValidityInvalid, sessionsWereDown},
	{v1alpha1.ValidityGeneratorBound, testerWasTheLimit},
	{v1alpha1.ValidityGeneratorBound, testerLostFrames},
	{v1alpha1.ValidityGeneratorBound, testerFellBehind},
	{v1alpha1.ValidityGeneratorBound, testerMayHaveReordered},
	{v1alpha1.ValidityGeneratorBound, testerIsKnownToBeTheLimit},
	{v1alpha1.ValidityContended, othersUsedTheTester},
	{v1alpha1.ValidityContended, testerWasDisturbed},
	{v1alpha1.ValidityContended, framesCameAfterTheirTrial},
	{v1alpha1.ValidityUncalibrated, bedWasNotCalibrated},
	{v1alpha1.ValiditySimulated, deviceIsModel},
	{v1alpha1.ValidityVirtual, deviceIsSoftware},
}

// Judge gives the most serious validity that a policy speaks for, with the reasons of
// all of them.
func Judge(in Input) (v1alpha1.Validity, []string) {
	validity, all := v1alpha1.ValidityValid, []string(nil)
	for _, p := range policies {
		reasons := p.reasons(in)
		if len(reasons) > 0 && len(all) == 0 {
			validity = p.validity
		}
		for _, r := range reasons {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return validity, all
}

// nothingHappened: what was to be measured did not happen in a trial, or could not
// be seen.
func nothingHappened(in Input) []string {
	if in.Outcome.Invalid == "" {
		return nil
	}
	return []string{in.Outcome.Invalid}
}

// sessionsWereDown: routes were missing at times in the trial that the figures are of, and
// in its repetition, since a session or the router of the device was down.
func sessionsWereDown(in Input) []string {
	return in.ofTrials(func(t *trials.Trial) []string {
		return append(notes(t, traffic.NoteSession), notes(t, traffic.NoteRouter)...)
	})
}

// testerWasTheLimit: a search stopped at a load that the tester could not offer,
// or a trial offered less than intended.
func testerWasTheLimit(in Input) []string {
	t := in.Outcome.Limit
	if t == nil || !t.Unsent() || t.Notes.HeldBack() {
		return nil
	}
	return []string{t.ShortSending()} // names the worst port; the engine's notes say the same of each
}

// ofTrials returns the texts that say returns for the trial whose figures a row has, and for
// the trial in which the tester was the limit: of a search, the one that ended it.
func (in Input) ofTrials(say func(*trials.Trial) []string) []string {
	var reasons []string
	if t := in.Outcome.Trial; t != nil {
		reasons = say(t)
	}
	if t := in.Outcome.Limit; t != nil && t != in.Outcome.Trial {
		where := ", where the search ended"
		if in.Outcome.Several {
			where = ""
		}
		for _, text := range say(t) {
			reasons = append(reasons, fmt.Sprintf("at %s%s, %s", v1alpha1.FormatPPM(t.LoadPPM), where, text))
		}
	}
	return reasons
}

func testerLostFrames(in Input) []string {
	return in.ofTrials(func(t *trials.Trial) []string {
		reasons := notes(t, traffic.NoteReceiver)
		if t.CardUnsent > 0 {
			reasons = append(reasons, notes(t, traffic.NoteCardUnsent)...)
		}
		dropped := t.Dropped()
		if len(dropped) > 0 {
			reasons = append(reasons, notes(t, traffic.NoteDropped)...)
		}
		for _, port := range slices.Sorted(maps.Keys(dropped)) {
			reasons = append(reasons, fmt.Sprintf("the tester's port %s dropped %s received frames, which can be among the %s lost ones",
				port, traffic.Grouped(dropped[port]), traffic.Grouped(t.Lost)))
		}
		if t.Excess > 0 {
			reasons = append(reasons, fmt.Sprintf("%s more frames were received than sent: something else sends test frames, or the tester restarted", traffic.Grouped(t.Excess)))
		}
		return reasons
	})
}

// testerFellBehind: what was lost can be due to bursts by which the tester caught up
// with its schedule. Times at which frames arrived are not due to that, but a pause can be a part of
// them.
func testerFellBehind(in Input) []string {
	if in.Outcome.Doubt != "" {
		return []string{in.Outcome.Doubt}
	}
	if in.Outcome.ByTime {
		return nil
	}
	return in.ofTrials((*trials.Trial).Stalls)
}

// testerMayHaveReordered: frames of a stream overtook each other, and the tester received
// them in several queues or on several processors.
func testerMayHaveReordered(in Input) []string {
	return in.ofTrials(func(t *trials.Trial) []string {
		if !t.MayHaveReordered() {
			return nil
		}
		return notes(t, traffic.NoteOvertaken)
	})
}

// othersUsedTheTester includes the trial that ended a search only if it failed for that
// reason: only then the outcome has it.
func othersUsedTheTester(in Input) []string {
	return in.ofTrials(func(t *trials.Trial) []string { return notes(t, traffic.NoteForeignLoad) })
}

// testerWasDisturbed: a clock was set or a machine slept while the trial ran, or a link went
// down, a counter ran backwards, others sent through a card or lost frames arrived damaged,
// also in the trial that ended a search. A device that was reset takes its links down: that
// is no disturbance.
func testerWasDisturbed(in Input) []string {
	var reasons []string
	if t := in.Outcome.Trial; t != nil {
		reasons = notes(t, traffic.NoteClock)
	}
	for _, t := range []*trials.Trial{in.Outcome.Trial, in.Outcome.Limit} {
		if t != nil && !in.Outcome.DeviceReset {
			reasons = append(reasons, notes(t, traffic.NoteCounter)...)
		}
		if t != nil {
			reasons = append(reasons, notes(t, traffic.NoteMiscount)...)
		}
		if t != nil && len(t.WireErrors()) > 0 {
			reasons = append(reasons, notes(t, traffic.NoteWire)...)
		}
	}
	return reasons
}

// framesCameAfterTheirTrial: frames that a trial counted as lost arrived during a
// later one. They were late and not lost, and took a part of the device from the
// frames of the later trial.
func framesCameAfterTheirTrial(in Input) []string {
	if in.Outcome.Stale == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s frames of earlier trials arrived during the trials of this row, and had been counted as lost: raise settleTime, which is %s",
		traffic.Grouped(in.Outcome.Stale), in.Outcome.Settle)}
}

func bedWasNotCalibrated(in Input) []string {
	if !device.Of(in.Bed.Spec.Device).Calibrated {
		return nil
	}
	doubt := calibration.Doubt(in.use())
	if doubt == "" {
		return nil
	}
	return []string{doubt}
}

// use returns the calibration of this row, and the properties by which it is checked.
func (in Input) use() calibration.Use {
	return calibration.Use{
		Bed: in.Bed, Calibration: in.Calibration, Time: in.Time, Version: version.String(),
		FrameSizes: in.sizes, Conditions: in.conditions,
	}
}

// calibrated reports whether there is a calibration of the tester without a doubt.
func (in Input) calibrated() bool {
	return in.Calibration != nil && calibration.Doubt(in.use()) == ""
}

// testerIsKnownToBeTheLimit: frames were lost at a load that the tester alone did not
// pass when it was calibrated.
func testerIsKnownToBeTheLimit(in Input) []string {
	out := in.Outcome
	if out.FramesPerSecond != nil || !in.calibrated() {
		return nil
	}
	failed := int64(0)
	switch {
	case out.Search != nil:
		failed = out.Search.UpperBoundPPM
	case out.Trial != nil && out.Trial.Lost > 0:
		failed = out.LoadPPM
	}
	if reason := calibration.Ceiling(in.Calibration, in.sizes, failed); reason != "" {
		return []string{reason}
	}
	return nil
}

// deviceIsModel: device and tester are computed. No row of them is a measurement.
func deviceIsModel(in Input) []string {
	if !device.Of(in.Bed.Spec.Device).Modelled && in.Bed.Spec.Engine.Kind != v1alpha1.EngineSim {
		return nil
	}
	return []string{"the device is a model: the figures were computed, and nothing was measured"}
}

func deviceIsSoftware(in Input) []string {
	if device.Of(in.Bed.Spec.Device).Software {
		for _, h := range in.Info.Hosts {
			switch {
			case len(h.DeviceCPUs) > 0:
				return []string{fmt.Sprintf("the device is software on processors %s of the tester's machine: the result shows that it works, not what hardware does", traffic.CPUList(h.DeviceCPUs))}
			case h.Together != "":
				return []string{fmt.Sprintf("tester and device together on processors %s, so that their limit is that of both, because %s: the result shows that it works, not what hardware does", traffic.CPUList(h.TesterCPUs), h.Together)}
			}
		}
		return []string{"the device is software on processors that it shares with the tester: the result shows that it works, not what hardware does"}
	}
	for _, p := range in.Info.Ports {
		if reason := capability.VirtualReason(p, in.passedThrough(p.Name)); reason != "" {
			return []string{reason}
		}
	}
	return nil
}

// passedThrough reports whether the lab states that the hypervisor passes the card of a
// port through.
func (in Input) passedThrough(port string) bool {
	return slices.ContainsFunc(in.Bed.Spec.Ports, func(p v1alpha1.Port) bool { return p.Name == port && p.PassedThrough })
}

func notes(t *trials.Trial, kind traffic.NoteKind) []string {
	var texts []string
	for _, n := range t.Notes {
		if n.Kind == kind && !slices.Contains(texts, n.Text) {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// Trusted reports whether a row may be judged and compared: it is a measurement
// of the device, or of a software device or a model that is known as such.
func Trusted(v v1alpha1.Validity) bool {
	return v == v1alpha1.ValidityValid || v == v1alpha1.ValidityVirtual || v == v1alpha1.ValiditySimulated
}

// Conclusive reports whether a row answers what its test asks of a device. On a bed
// without one the tester is measured: that it is the limit of a search is the answer.
func Conclusive(of v1alpha1.Device, row *v1alpha1.ResultRow) bool {
	return Trusted(row.Validity) ||
		device.Of(of).Absent && row.Validity == v1alpha1.ValidityGeneratorBound && method.IsSearched(row.Method) && row.Frames.OrZero().LineRatePPM > 0
}

// Graver reports whether a validity speaks more against a row than another one.
func Graver(a, b v1alpha1.Validity) bool {
	return slices.Index(inOrder, a) > slices.Index(inOrder, b)
}

// inOrder are all validities, the best first.
var inOrder = []v1alpha1.Validity{
	v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated, v1alpha1.ValidityUncalibrated,
	v1alpha1.ValidityContended, v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityInvalid,
}
