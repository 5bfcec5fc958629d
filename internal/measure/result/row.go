package result

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Row makes the result row of an outcome.
func Row(p plan.Plan, in Input) v1alpha1.ResultRow {
	out := in.Outcome
	late := endedLate(out)
	if late != "" {
		out.LoadPPM = out.Trial.OfferedPPM()
	}
	frames := &v1alpha1.FrameSection{LineRatePPM: out.LoadPPM}
	row := v1alpha1.ResultRow{
		RowID: out.Step.ID(), Frames: frames, Search: out.Search,
		Trials: int32(out.Trials), ElapsedMilliseconds: out.Elapsed.Milliseconds(),
	}
	rate, bits := rates(p, out)
	frames.FramesPerSecond, frames.BitsPerSecond = frame.Round(rate), frame.Round(bits)
	messages := []string{out.Message, out.Coarse, late}
	if t := out.Trial; t != nil {
		offered := t.Offered(rate)
		switch {
		case out.LoadPPM == 0: // No load passed: that of the trial at the lowest one.
			offered = t.OfferedRate()
		case late != "": // The rate of the row is less than the trial asked for.
			offered = t.Offered(p.At(out.Step.Size).FramesPerSecond(plan.Share(t.LoadPPM)))
		}
		frames.OfferedFramesPerSecond = frame.Round(offered)
		setTrial(&row, in)
		setPortLoads(&row, p, out)
		messages = append(messages, engineNotes(t)...)
		if !t.TesterLimited() { // the reasons of the validity say so
			messages = append(messages, t.DoubtfulText())
		}
	}
	if out.Search != nil && out.LoadPPM == 0 {
		leaveOutLatency(&row)
	}
	messages = append(messages, deviceDropped(out)...)
	if out.Fill != nil {
		out.Fill(&row)
	}
	for _, size := range out.Step.Size.All() {
		in.sizes = append(in.sizes, int32(size))
	}
	if in.Calibration != nil {
		in.conditions = calibration.Conditions(p, in.Bed, in.Info)
	}
	row.TrialRecords = out.Log
	messages = append(messages, nearTheFloor(in, row.Latency), nearTheOrderFloor(in, frames))
	row.Message = human.Join("; ", messages...)
	row.Validity, row.ValidityReasons = Judge(in)
	return row
}

// endedLate explains that the engine was so late in the trial of a search that the row has
// the offered load; empty if it was not.
func endedLate(out trials.Outcome) string {
	t := out.Trial
	if out.Search == nil || out.LoadPPM <= 0 || t == nil || !t.EndedLate() {
		return ""
	}
	return fmt.Sprintf("the engine took %s for a trial of %s at %s: the row has the load that it offered", t.TxTime.Round(time.Millisecond), t.Duration, v1alpha1.FormatPPM(out.LoadPPM))
}

// rates are the intended load of an outcome in frames/s, and in bit/s at layer 2.
func rates(p plan.Plan, out trials.Outcome) (frames, bits *big.Rat) {
	if out.FramesPerSecond != nil {
		return out.FramesPerSecond, out.Step.Size.BitRate(out.FramesPerSecond)
	}
	load := plan.Share(out.LoadPPM)
	if out.Step.Load.IsRate() && out.LoadPPM > 0 {
		load = out.Step.Amount // exact; the share is rounded
	}
	at := p.At(out.Step.Size)
	return at.FramesPerSecond(load), at.BitsPerSecond(load)
}

// setTrial sets what the trial of an outcome counted, as far as the engine does.
func setTrial(row *v1alpha1.ResultRow, in Input) {
	t, frames := in.Outcome.Trial, row.Frames
	frames.Sent, frames.Received, frames.Lost = int64(t.Sent), int64(t.Received), int64(t.Lost)
	if t.ByEvent {
		frames.LostByEvent = new(int64(min(t.Explained, t.Lost)))
	}
	frames.DoubtfulLost = int64(t.DoubtfulLost())
	if in.Info.Capabilities.Ordering {
		frames.Duplicate, frames.Reordered, frames.OutOfSequence = new(int64(t.Duplicate)), new(int64(t.Reordered)), new(int64(t.OutOfSequence))
		frames.Late = new(int64(t.Late))
	}
	if t.Markable {
		frames.Congested, frames.CongestedPPM = new(int64(t.Congested)), new(trials.SharePPM(t.Congested, t.Received))
	}
	if t.Answered {
		frames.CNP = &v1alpha1.CNPSummary{Sent: int64(t.Notified), Received: int64(t.Notifications)}
	}
	frames.FlowControl = flowControl(t, in.Info.Capabilities)
	if in.Info.Capabilities.FrameChecks {
		d := t.Damaged
		frames.Truncated, frames.Corrupted, frames.Fragmented = new(int64(d.Truncated)), new(int64(d.Corrupted)), new(int64(d.Fragmented))
		frames.Stale = new(int64(in.Outcome.Stale))
	}
	frames.TrialMilliseconds = t.Duration.Milliseconds()
	row.Latency = t.Counters.Latency().Summary(t.Received)
	row.Multicast, row.Classes, row.MulticastLatency = t.Counters.Multicast(), t.Counters.Classes(), t.Counters.MulticastLatency()
	row.Flows, row.Microflows = t.Counters.Flows(), t.Counters.Microflows()
}

// flowControl returns the frames of flow control that the ports received; nil if there were none,
// except with frames of RoCEv2, and if the engine does not count them.
func flowControl(t *trials.Trial, engine traffic.Capabilities) *v1alpha1.FlowControlSummary {
	if !engine.Pauses || !t.RoCE && t.Pauses == (traffic.PauseCount{}) {
		return nil
	}
	s := &v1alpha1.FlowControlSummary{PauseFrames: int64(t.Pauses.Frames)}
	for priority, n := range t.Pauses.ByPriority {
		if n > 0 {
			s.PFCFrames += int64(n)
			s.PFCPriorities = append(s.PFCPriorities, v1alpha1.PriorityFrames{Priority: int32(priority), Frames: int64(n)})
		}
	}
	return s
}

// engineNotes are the notes of a trial that a row repeats.
func engineNotes(t *trials.Trial) (texts []string) {
	for _, n := range t.Notes {
		switch n.Kind {
		case traffic.NoteModel, traffic.NoteMisdelivered, traffic.NoteDamaged, traffic.NoteLate, traffic.NoteFallback, traffic.NotePauses:
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// leaveOutLatency removes the latency of a trial from a row whose load did not pass: it is
// that of another load, at which frames were lost.
func leaveOutLatency(row *v1alpha1.ResultRow) {
	row.Latency, row.MulticastLatency = nil, nil
	for i := range row.Flows {
		row.Flows[i].Latency = nil
	}
}

// nearTheFloor explains that most of a latency is the tester's own; empty if it is not, or
// if that is not known.
func nearTheFloor(in Input, l *v1alpha1.LatencySummary) string {
	if l == nil || !in.calibrated() {
		return ""
	}
	return calibration.Floor(in.Calibration, in.sizes, l.AvgNs)
}

// nearTheOrderFloor explains that most of the reordering is the tester's own; empty when it
// is not, or when that is not known.
func nearTheOrderFloor(in Input, frames *v1alpha1.FrameSection) string {
	if frames.Reordered == nil || !in.calibrated() {
		return ""
	}
	return calibration.OrderFloor(in.Calibration, in.sizes, *frames.Reordered, frames.Received)
}

// deviceDropped returns what the device's own counters show of the frames that were lost in
// the trial of a row, and in the trial that ended its search.
func deviceDropped(out trials.Outcome) []string {
	var texts []string
	if t := out.Trial; t != nil && t.Lost > 0 {
		texts = notes(t, traffic.NoteDeviceDropped)
	}
	if t := out.Failed; t != nil && t != out.Trial && t.Lost > 0 {
		if counted := notes(t, traffic.NoteDeviceDropped); len(counted) > 0 {
			texts = append(texts, fmt.Sprintf("at %s, where the search ended and %s frames were lost, %s", v1alpha1.FormatPPM(t.LoadPPM), traffic.Grouped(t.Lost), strings.Join(counted, ", ")))
		}
	}
	return texts
}

// setPortLoads notes what the ports offered of their line rates: of every flow and class,
// and in all where the profile lets a port send less than line rate.
func setPortLoads(row *v1alpha1.ResultRow, p plan.Plan, out trials.Outcome) {
	t := out.Trial
	if out.FramesPerSecond != nil || out.LoadPPM == 0 {
		return // The test has streams of its own, or no load passed.
	}
	load := plan.Share(t.LoadPPM)
	if out.Step.Load.IsRate() {
		load = out.Step.Amount
	}
	if !everyPortAt(p.At(out.Step.Size).PortLoads(load), t.LoadPPM) {
		all := t.PortLoads(p, load, func(plan.Stream) string { return "" })[""]
		row.Frames.PortLoad = &all
	}
	if len(row.Flows) > 0 {
		loads := t.PortLoads(p, load, func(s plan.Stream) string { return s.Flow })
		for i := range row.Flows {
			row.Flows[i].PortLoad = new(loads[row.Flows[i].Name])
		}
	}
	if c := row.Classes; c != nil {
		loads := t.PortLoads(p, load, plan.Stream.Class)
		c.Multicast.PortLoad, c.Unicast.PortLoad = new(loads[plan.ClassMulticast]), new(loads[plan.ClassUnicast])
	}
}

// everyPortAt reports whether all ports that send have the same load in parts per million of
// their line rate.
func everyPortAt(loads []*big.Rat, ppm int64) bool {
	return !slices.ContainsFunc(loads, func(l *big.Rat) bool {
		return l != nil && max(1, frame.Round(new(big.Rat).Mul(l, big.NewRat(v1alpha1.PPM, 1)))) != ppm
	})
}
