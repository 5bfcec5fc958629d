package result

import (
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/calibration"
	"nodrop.dev/nodrop/internal/method"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/version"
)

// Input is what a row's validity is judged by.
type Input struct {
	Bed     *v1alpha1.TestBed
	Info    traffic.Info
	Outcome method.Outcome
	// Calibration of the bed that this one refers to; nil when there is none.
	Calibration *v1alpha1.CalibrationStatus
	// Time at which the run began.
	Time time.Time

	// sizes of the frames in bytes: those of a mix, where the row is of one.
	sizes []int32
}

// policy speaks against a row for one reason; it returns no reasons when it has
// nothing to say.
type policy struct {
	validity v1alpha1.Validity
	reasons  func(Input) []string
}

// policies in order, the gravest first.
var policies = []policy{
	{v1alpha1.ValidityInvalid, nothingHappened},
	{v1alpha1.ValidityGeneratorBound, testerWasTheLimit},
	{v1alpha1.ValidityGeneratorBound, testerLostFrames},
	{v1alpha1.ValidityContended, othersUsedTheTester},
	{v1alpha1.ValidityContended, testerWasDisturbed},
	{v1alpha1.ValidityContended, framesCameAfterTheirTrial},
	{v1alpha1.ValidityUncalibrated, bedWasNotCalibrated},
	{v1alpha1.ValiditySimulated, deviceIsModel},
	{v1alpha1.ValidityVirtual, deviceIsSoftware},
}

// Judge gives the gravest validity that a policy speaks for, with the reasons of
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

// testerWasTheLimit: a search stopped at a load that the tester could not offer,
// or a trial offered less than intended.
func testerWasTheLimit(in Input) []string {
	t := in.Outcome.Limit
	if t == nil || !t.Unsent() {
		return nil
	}
	return []string{t.ShortSending()} // names the worst port; the engine's notes say the same of each
}

func testerLostFrames(in Input) []string {
	var reasons []string
	for _, t := range []*method.Trial{in.Outcome.Trial, in.Outcome.Limit} {
		if t == nil || !t.TesterLost() {
			continue
		}
		where := ""
		if t != in.Outcome.Trial {
			// The figures of the row are those of another trial.
			where = fmt.Sprintf("at %s, where the search ended, ", v1alpha1.FormatPPM(t.LoadPPM))
		}
		for _, note := range notes(t, traffic.NoteReceiver) {
			reasons = append(reasons, where+note)
		}
		if t.Excess > 0 {
			reasons = append(reasons, fmt.Sprintf("%s%d more frames were received than sent: something else sends test frames, or the tester restarted", where, t.Excess))
		}
	}
	return reasons
}

func othersUsedTheTester(in Input) []string {
	if in.Outcome.Trial == nil {
		return nil
	}
	return notes(in.Outcome.Trial, traffic.NoteForeignLoad)
}

// testerWasDisturbed: a clock was set or a machine slept while the trial ran, or a
// link went down or a counter backwards, also in the trial that ended a search. A
// device that was reset takes its links down: that is no disturbance.
func testerWasDisturbed(in Input) []string {
	var reasons []string
	if t := in.Outcome.Trial; t != nil {
		reasons = notes(t, traffic.NoteClock)
	}
	for _, t := range []*method.Trial{in.Outcome.Trial, in.Outcome.Limit} {
		if t != nil && !in.Outcome.DeviceReset {
			reasons = append(reasons, notes(t, traffic.NoteCounter)...)
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
	if in.Bed.Spec.Device.Physical == nil {
		return nil
	}
	doubt := calibration.Doubt(calibration.Use{
		Bed: in.Bed, Calibration: in.Calibration, Time: in.Time, Version: version.String(),
		FrameSizes: in.sizes,
	})
	if doubt == "" {
		return nil
	}
	return []string{doubt}
}

// deviceIsModel: device and tester are computed. No row of them is a measurement.
func deviceIsModel(in Input) []string {
	if in.Bed.Spec.Device.Simulated == nil && in.Bed.Spec.Engine.Kind != v1alpha1.EngineSim {
		return nil
	}
	return []string{"the device is a model: the figures were computed, and nothing was measured"}
}

func deviceIsSoftware(in Input) []string {
	if in.Bed.Spec.Device.Containerlab != nil {
		return []string{"the device is software on processors that it shares with the tester: the result shows that it works, not what hardware does"}
	}
	for _, p := range in.Info.Ports {
		switch p.Driver {
		case "veth":
			return []string{fmt.Sprintf("port %s is a virtual interface of this machine: the result shows the machine, not a cable", p.Name)}
		case "net_af_packet":
			return []string{fmt.Sprintf("TRex sends on port %s through a packet socket, in its software mode: the result shows that everything works, not what hardware does", p.Name)}
		}
	}
	return nil
}

func notes(t *method.Trial, kind traffic.NoteKind) []string {
	var texts []string
	for _, n := range t.Notes {
		if n.Kind == kind && !slices.Contains(texts, n.Text) {
			texts = append(texts, n.Text)
		}
	}
	return texts
}
