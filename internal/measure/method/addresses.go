package method

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// The ports of the address tests (RFC 2889 section 5.7.3), by their index in the bed.
const (
	learningPort = iota
	testPort
	monitoringPort
	addressPorts
)

// The streams of the address tests, by their ID.
const (
	// announceStream makes the address behind the test port known to the device.
	announceStream = iota
	// learningStream goes from many addresses on the learning port to the test port.
	learningStream
	// testStream goes from the test port to the addresses learnt.
	testStream
)

// announceRate is the rate of the one frame that tells where the test port is, in
// frames/s.
const announceRate = 1000

// addressTopology contains the ports and the network that the address tests need.
var addressTopology = &plan.Topology{Ports: addressPorts, OneNetwork: true}

// broadcastMAC is the address of all stations.
var broadcastMAC = traffic.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// addresses runs the iterations of a search about addresses that the device learns.
type addresses struct {
	tester *trials.Tester
	step   plan.Step
	aging  time.Duration
	// iterations that count, and how many were begun.
	iterations []v1alpha1.AddressIteration
	begun      int
	// passed is the test trial of the greatest value that passed, failed that of the
	// least that did not, and exceeded this value. Short says that it was the tester
	// that fell short there.
	passed, failed *trials.Trial
	best, exceeded int64
	// learnt is the trial in which the addresses of passed were learnt.
	learnt *trials.Trial
	// tested is the test trial of the least value that did not pass; nil if there was none.
	tested *trials.Trial
	short  bool
}

// iteration contains the parameters of one iteration.
type iteration struct {
	// count of addresses, learnt at learnRate and sent to at testRate, both in
	// frames/s.
	count, learnRate, testRate int64
	// tolerance returns by how much learning may exceed its intended duration. It is nil if
	// the search does not vary the rate: learning that takes longer is then valid.
	tolerance func(time.Duration) time.Duration
}

// try runs an iteration about a value of the search: the device forgets what it
// knows, learns, and is sent one frame for every address. It passed when every frame
// arrived on the learning port and none was flooded. When it did not, and the tester
// just fell short, the iteration is run once more as a whole, since the device has
// learnt addresses by then.
func (a *addresses) try(ctx context.Context, value int64, i iteration) (bool, error) {
	var learnt, tested *trials.Trial
	short := false
	for range 2 {
		var err error
		before := a.tester.Log.Len()
		if learnt, tested, err = a.whole(ctx, i); err != nil {
			return false, err
		}
		for _, r := range a.tester.Log.Since(before) {
			r.Repetition, r.Tried = int32(len(a.iterations)+1), value
		}
		done := v1alpha1.AddressIteration{Addresses: i.count, LearningFramesPerSecond: i.learnRate}
		if tested != nil {
			done.Sent, done.Received, done.Flooded = int64(tested.Sent), int64(tested.Received), int64(tested.Flooded)
		}
		a.iterations = append(a.iterations, done)
		if tested != nil && tested.Sent == tested.Intended && tested.Lost == 0 && tested.Flooded == 0 && !tested.TesterLost() && a.deaf(tested) == "" {
			if value > a.best {
				a.best, a.passed, a.learnt = value, tested, learnt
			}
			return true, nil
		}
		short = learnt.Unsent() || tested == nil || tested.Unsent() || tested.TesterLost() || tested.Doubtful() || learnt.Disturbed() || a.deaf(tested) != ""
		if !short || learnt.TxTime/5 > learnt.Duration/4 {
			break
		}
	}
	if a.exceeded == 0 || value < a.exceeded {
		a.exceeded, a.failed, a.tested, a.short = value, tested, tested, short
		if tested == nil || learnt.Unsent() {
			a.failed = learnt
		}
	}
	return false, nil
}

// deaf explains that the monitoring port may have missed flooded frames; empty if it has not.
func (a *addresses) deaf(tested *trials.Trial) string {
	port := a.tester.Plan.Ports[monitoringPort].Name
	m := tested.Counters.Measurement
	if n := m.Dropped[port] + m.WireErrors[port]; n > 0 {
		return fmt.Sprintf("the tester's port %s dropped %s received frames, which may have been flooded ones", port, traffic.Grouped(n))
	}
	if tested.Notes.Contended() || tested.TesterLost() || tested.Disturbed() {
		return fmt.Sprintf("the tester's port %s may have missed flooded frames", port)
	}
	return ""
}

// whole runs an iteration, and again where the generator failed in one of its trials:
// what the device has learnt by then is not known.
func (a *addresses) whole(ctx context.Context, i iteration) (learnt, tested *trials.Trial, err error) {
	for range trials.Attempts {
		// Every iteration has addresses of its own, so that none is known from before.
		first := traffic.MAC{0x02, 0x9e, byte(a.begun), 0x5a, 0xc3, 0x17}
		a.begun++
		failed := false
		err := a.tester.WithStreams(ctx, a.step, addressStreams(a.tester, first, uint32(i.count)), func(tester *trials.Tester) (err error) {
			observe := tester.Observe
			tester.Observe = func(e trials.Event) {
				failed = failed || e.Failure != nil
				observe(e)
			}
			learnt, tested, err = a.iterate(ctx, tester, i)
			return err
		})
		if err != nil || !failed {
			return learnt, tested, err
		}
	}
	return nil, nil, fmt.Errorf("the generator failed in %d iterations one after the other, and no iteration was whole", trials.Attempts)
}

// iterate is the iteration itself. There is no test trial when the learning was
// offered short: what the device does not know then is no fault of its own.
func (a *addresses) iterate(ctx context.Context, tester *trials.Tester, i iteration) (learnt, tested *trials.Trial, err error) {
	if err := tester.Generator.Clock().Sleep(ctx, a.aging); err != nil {
		return nil, nil, err
	}
	send := func(stream uint16, frames, rate int64, tolerance func(time.Duration) time.Duration) (*trials.Trial, error) {
		took := sendingFor(frames, rate)
		event := trials.Event{Step: a.step, LoadPPM: linePPM(tester.Plan.Ports[testPort], a.step.Size.Bytes, rate), Duration: took}
		load := traffic.Load{Rate: traffic.Rate{Frames: rate, PerNanos: int64(time.Second)}, Frames: uint64(frames)}
		tester.Rested = true // The trials of an iteration belong together, and addresses age.
		// There is one frame to each address, so that a single lost one matters.
		each := trials.EachLoss(func(*trials.Trial) bool { return stream == testStream })
		t, err := tester.Once(ctx, event, traffic.Trial{Loads: map[uint16]traffic.Load{stream: load}}, tolerance(took), each)
		if err == nil {
			t.Note(func(r *v1alpha1.TrialRecord) { r.Role = addressRoles[stream] })
		}
		return t, err
	}
	if _, err := send(announceStream, 1, announceRate, trials.LateTolerance); err != nil {
		return nil, nil, err
	}
	tolerance := i.tolerance
	if tolerance == nil {
		tolerance = trials.LateTolerance
	}
	learnt, err = send(learningStream, i.count, i.learnRate, tolerance)
	if err != nil || learnt.Sent < learnt.Intended || i.tolerance != nil && learnt.Unsent() {
		return learnt, nil, err
	}
	tested, err = send(testStream, i.count, i.testRate, trials.LateTolerance)
	return learnt, tested, err
}

// addressRoles are the roles of the trials of an iteration by their streams.
var addressRoles = map[uint16]string{announceStream: "announce", learningStream: "learn", testStream: "test"}

// addressStreams are the streams of an iteration.
func addressStreams(tester *trials.Tester, first traffic.MAC, count uint32) []plan.Stream {
	ethernet := linkHeaders(tester.Plan.Between(learningPort, testPort).Headers)
	ethernet.SrcMAC, ethernet.DstMAC = traffic.MAC{}, traffic.MAC{}
	ethernet.SrcMACCount, ethernet.DstMACCount = 1, 1
	announce, learn, test := ethernet, ethernet, ethernet
	learn.VLANs = tester.Plan.Ports[learningPort].VLANs
	announce.VLANs = tester.Plan.Ports[testPort].VLANs
	test.VLANs = announce.VLANs
	announce.DstMAC = broadcastMAC
	learn.SrcMAC, learn.SrcMACCount, learn.DstMAC = first, count, tester.Hops.Sources[tester.Plan.Ports[testPort].Name]
	test.DstMAC, test.DstMACCount = first, count
	return []plan.Stream{
		announceStream: {ID: announceStream, Tx: testPort, Rx: []int{learningPort, monitoringPort}, Part: 1, Headers: announce},
		learningStream: {ID: learningStream, Tx: learningPort, Rx: []int{testPort}, Part: 1, Headers: learn},
		testStream:     {ID: testStream, Tx: testPort, Rx: []int{learningPort}, Watch: []int{monitoringPort}, Part: 1, Headers: test},
	}
}

// linkHeaders returns the link-layer headers of h, with a profile's tag and labels but
// without a network layer.
func linkHeaders(h traffic.Headers) traffic.Headers {
	return traffic.Headers{
		SrcMAC: h.SrcMAC, SrcMACCount: h.SrcMACCount, DstMAC: h.DstMAC, DstMACCount: h.DstMACCount,
		VLANs: h.VLANs, Labels: h.Labels, TrafficClass: h.TrafficClass, TTL: h.TTL,
		SrcIPCount: 1, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1,
	}
}

// outcome is the trial that decided the search, with the load of its test frames.
func (a *addresses) outcome(testRate int64) trials.Outcome {
	out := trials.Outcome{
		LoadPPM: linePPM(a.tester.Plan.Ports[testPort], a.step.Size.Bytes, testRate), FramesPerSecond: big.NewRat(testRate, 1),
		Trial: a.passed,
	}
	if a.passed == nil {
		out.Trial = a.failed
	}
	if a.short {
		out.Limit = a.failed
		if t := a.failed; t != nil && t == a.tested {
			out.Doubt = a.deaf(t)
		}
	}
	return out
}

// missed describes the outcome of the test frames of the failed iteration.
func (a *addresses) missed() string {
	switch t := a.failed; {
	case a.short:
		return "the tester fell short"
	case t.Received == 0 && t.Flooded == 0:
		return fmt.Sprintf("not one of %d test frames came back on %s: check that the device bridges the first three ports", t.Sent, a.tester.Plan.Ports[learningPort].Name)
	default:
		return fmt.Sprintf("of %d test frames %d were flooded and %d lost", t.Sent, t.Flooded, t.Lost)
	}
}

// forgotten explains that the device forgets addresses before they are tested: the time to
// send count frames at the lower of the two rates, plus settle, reaches the aging time. It
// is empty if it does not.
func (a *addresses) forgotten(count, rate int64) string {
	silence := sendingFor(count, rate) + a.tester.Plan.Settle
	if silence < a.aging {
		return ""
	}
	return fmt.Sprintf("not measured: the device hears nothing from an address for %s before its test frame, and forgets it after agingTime %s: give the device and the test a longer aging time", silence, a.aging)
}

// sendingFor returns the time to send a number of frames at a rate in frames/s, rounded up.
func sendingFor(frames, rate int64) time.Duration {
	took := new(big.Int).Mul(big.NewInt(frames), big.NewInt(int64(time.Second)))
	took.Add(took, big.NewInt(rate-1))
	return time.Duration(took.Quo(took, big.NewInt(rate)).Int64())
}

// linePPM is a rate in frames/s in parts per million of a port's line rate, at least
// 1.
func linePPM(p plan.Port, size int, rate int64) int64 {
	share := big.NewRat(rate, 1)
	share.Quo(share, frame.Rate(p.BitsPerSecond, size, v1alpha1.PPM)).Mul(share, big.NewRat(v1alpha1.PPM, 1))
	return max(1, frame.Round(share))
}

// lineFrames is a port's line rate in whole frames/s.
func lineFrames(p plan.Port, size int) int64 {
	r := frame.Rate(p.BitsPerSecond, size, v1alpha1.PPM)
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

// iterations is about how many iterations a search over a range takes.
func iterations(most, resolution int64) int {
	n := 1
	for ; most > resolution; most /= 2 {
		n++
	}
	return n
}
