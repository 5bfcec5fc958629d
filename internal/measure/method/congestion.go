package method

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// The ports of a congestion (RFC 2889 section 5.5), by their index in the bed.
const (
	firstSender = iota
	secondSender
	uncongestedPort
	congestedPort
	congestionPorts
)

// congestionFlows are the flows between them: the first sender's frames go to both
// receivers in turn, the second's to the congested one only.
var congestionFlows = [][2]int{{firstSender, uncongestedPort}, {firstSender, congestedPort}, {secondSender, congestedPort}}

var congestionTopology = &plan.Topology{Ports: congestionPorts, Flows: congestionFlows, OneSpeed: true}

// between are the streams of flows, with the profile's packet.
func between(p plan.Plan, flows [][2]int) []plan.Stream {
	perSender := map[int]int64{}
	for _, f := range flows {
		perSender[f[0]]++
	}
	streams := make([]plan.Stream, len(flows))
	for i, f := range flows {
		streams[i] = p.Between(f[0], f[1])
		streams[i].ID, streams[i].Part = uint16(i), perSender[f[0]]
	}
	return streams
}

// congest runs a trial of these streams at a load, once the device has learnt where
// senders and receivers are. The senders obey pause frames: back pressure is a result.
func congest(ctx context.Context, tester *trials.Tester, step plan.Step, streams []plan.Stream) (t *trials.Trial, rate *big.Rat, err error) {
	streams = slices.Clone(streams)
	for i := range streams {
		streams[i].ObeysPause = true
	}
	err = tester.WithStreams(ctx, step, streams, func(tester *trials.Tester) error {
		if err := tester.Learn(ctx); err != nil {
			return err
		}
		rate = tester.Plan.At(step.Size).FramesPerSecond(step.Amount)
		// The frames that the tester loses of a congested port are few among many. A single one at
		// the other port looks like head of line blocking.
		each := trials.EachLoss(func(t *trials.Trial) bool { return countPort(t, uncongestedPort).lost > 0 })
		t, err = tester.At(ctx, step, step.Amount, step.TrialDuration, search.Bracket{}, each)
		return err
	})
	return t, rate, err
}

// testersPart returns the first trial in which the tester may have lost frames or was the limit; nil
// if there is none.
func testersPart(all ...*trials.Trial) *trials.Trial {
	for _, t := range all {
		if t.TesterLimited() || t.Lost > 0 && t.Doubtful() {
			return t
		}
	}
	return nil
}

// congestionStep is the step of a congestion, whose load stands in no row's name.
func congestionStep(load v1alpha1.LoadAmount, at plan.Scale, d time.Duration, trials int) plan.Step {
	amount, _ := plan.AmountOf(v1alpha1.Load(load)) // what is no load was refused
	return plan.Step{Amount: amount, LoadPPM: at.PPM(load), TrialDuration: d, Trials: trials}.Sure(trials)
}

// congestionTrials describes the trials for the report.
func congestionTrials(load v1alpha1.LoadAmount, d time.Duration) string {
	return fmt.Sprintf("first port to third and fourth in turn, second to fourth, each at %s for %s", trials.OfLineRate(load), human.Duration(d))
}

// congests refuses loads of which one and a half congest nothing.
func congests(load v1alpha1.LoadAmount, at plan.Scale, path *field.Path) field.ErrorList {
	ppm := at.PPM(load)
	if ppm*3 > 2*v1alpha1.PPM {
		return nil
	}
	where := ""
	if load.IsRate() {
		where = " with " + at.Size().InWords()
	}
	return field.ErrorList{field.Invalid(path.Child("load"), load,
		fmt.Sprintf("the congested port is asked for one and a half times that, %s of line rate%s, which congests nothing: give more than 66.6666%%", trials.Percent(ppm*3/2), where))}
}

// portCount contains the totals of all streams to one port.
type portCount struct {
	expected, received, lost uint64
	latency                  trials.Latency
}

// countPort sums up a receiving port.
func countPort(t *trials.Trial, port int) portCount {
	var c portCount
	for _, s := range t.Counters.Streams {
		for _, rx := range s.Rx {
			if rx != port {
				continue
			}
			sent, got := t.Counters.Measurement.Tx[s.ID].Sent, t.Counters.At(s, port)
			c.expected, c.received, c.lost = c.expected+sent, c.received+got.Received, c.lost+sent-min(sent, got.Received)
			c.latency.Add(got.Latency)
		}
	}
	return c
}

// notePorts adds what the two ports received to the record of a trial.
func notePorts(t *trials.Trial, role string) {
	t.Note(func(r *v1alpha1.TrialRecord) {
		r.Role = role
		for i, name := range []string{"uncongested", "congested"} {
			c := countPort(t, []int{uncongestedPort, congestedPort}[i])
			r.Parts = append(r.Parts, v1alpha1.TrialPart{Name: name, Expected: int64(c.expected), Received: int64(c.received), Lost: int64(c.lost), Latency: c.latency.Compact()})
		}
	})
}

func (c portCount) lossPPM() int64 { return trials.SharePPM(c.lost, c.expected) }

// delay is the mean latency, in nanoseconds; nil when none was measured.
func (c portCount) delay() *int64 {
	if c.latency.Count == 0 {
		return nil
	}
	mean := c.latency.Average()
	return &mean
}

// wasCongested reports whether a port of the device was congested: it lost frames, or the
// device held the senders back.
func wasCongested(t *trials.Trial) bool {
	return t.Notes.HeldBack() || countPort(t, congestedPort).lost > 0
}

// noCongestion explains a trial in which nothing was congested.
func noCongestion(t *trials.Trial) string {
	port := t.Counters.Ports[congestedPort]
	return fmt.Sprintf("nothing was congested: %s was sent %s of its line rate, lost nothing, and no sender was held back; check that the device's port runs at %s", port.Name, trials.Percent(t.LoadPPM*3/2), port.Speed)
}
