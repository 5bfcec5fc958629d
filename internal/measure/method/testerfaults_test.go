package method

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic/sim"
	"nodrop.dev/nodrop/internal/traffic/sim/fault"
)

// always is a fault in every trial.
const always = 1_000_000

// rowsBy runs tests on a model with a tester that has faults. A throughput is measured by a tester
// that has none.
func rowsBy(t *testing.T, model string, faults []fault.Fault, tests ...v1alpha1.Test) []v1alpha1.ResultRow {
	t.Helper()
	p, err := planOf(t, tests...)
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, model, p, sim.WithTester(fault.Tester{Faults: faults, Seed: 1})), p, nil)
	var rows []v1alpha1.ResultRow
	for _, step := range p.Steps {
		if step.Method == v1alpha1.MethodThroughput && len(tests) > 1 {
			rows = append(rows, rowsBy(t, model, nil, tests[0])...)
			Done(tester, rows[0])
			continue
		}
		row := rowOf(p, mustRun(t, tester, step))
		Done(tester, row)
		rows = append(rows, row)
	}
	return rows
}

// A tester that drops less than a tenth of what is lost does not explain the loss. The row states
// how much of it may be the tester's.
func TestASmallPartOfTheTesterInALoss(t *testing.T) {
	soak := v1alpha1.Test{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "80%"}}
	soak.Soak.Duration.Duration = 10 * time.Second
	for name, one := range map[string]fault.Fault{
		"drops":           {Kind: fault.Drop, ChancePPM: always, Span: 10 * time.Second, SharePPM: 1000},
		"damage on wires": {Kind: fault.Wire, ChancePPM: always, Span: 10 * time.Second, SharePPM: 1000},
	} {
		row := rowsBy(t, header+"\n64,60,1,2,3\n", []fault.Fault{one}, soak)[0]
		f := row.Frames
		device := f.Sent / 4 // 20 of 80 %
		if extra := f.Lost - device; extra < 1000 || f.DoubtfulLost < extra-4 || f.DoubtfulLost > extra+extra/100 || row.Validity != v1alpha1.ValiditySimulated || !strings.Contains(row.Message, "the tester may have lost or caused up to") {
			t.Errorf("%s: %d of %d lost, of which %d are doubtful, and the device lost %d: %s %q", name, f.Lost, f.Sent, f.DoubtfulLost, device, row.Validity, row.Message)
		}
	}
}

// The maximum is over many loads. A trial at any of them can have had the tester as its limit.
func TestTheTesterLimitsOneLoadOfAForwardingRate(t *testing.T) {
	test := v1alpha1.Test{Name: "rate", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "10%"}}
	// 5 % of the frames are dropped in the tester: a seventh of the loss at line rate, and the whole
	// loss at 40 %.
	model := header + ",overload_line_rate_percent\n64,45,1,2,3,5\n"
	rows := rowsBy(t, model, []fault.Fault{{Kind: fault.Drop, ChancePPM: always, Span: time.Minute, SharePPM: 50_000}}, test)
	if row := rows[0]; row.Validity != v1alpha1.ValidityGeneratorBound {
		t.Errorf("%s: %+v", row.Validity, row.ForwardingRate)
	}
}

// A device that an overload slows down sends the frames in its buffer faster when the load has ended.
func TestADeviceThatDrainsFasterThanItForwards(t *testing.T) {
	test := v1alpha1.Test{Name: "rate", ForwardingRate: &v1alpha1.ForwardingRateTest{Step: "100%"}}
	test.ForwardingRate.TrialDuration.Duration = time.Second
	row := rowsBy(t, header+",overload_line_rate_percent,buffer_frames\n64,50,1,2,3,10,100000\n", nil, test)[0]
	s := row.ForwardingRate
	const truth = 4 * 1_488_095 // 10 % of 14,880,952 frames/s at each port
	if s.AtMaxLoad-truth < 1000 || s.AtMaxLoadBounds == nil || s.AtMaxLoadBounds.Low > truth || s.AtMaxLoadBounds.High < s.AtMaxLoad {
		t.Errorf("%d frames/s within %+v, want bounds that include %d", s.AtMaxLoad, s.AtMaxLoadBounds, truth)
	}
	// Without a buffer the rate is exact.
	if s := rowsBy(t, header+",overload_line_rate_percent\n64,50,1,2,3,10\n", nil, test)[0].ForwardingRate; s.AtMaxLoadBounds != nil || s.AtMaxLoad-truth > 4 || truth-s.AtMaxLoad > 4 {
		t.Errorf("%d frames/s within %+v, want %d", s.AtMaxLoad, s.AtMaxLoadBounds, truth)
	}
}

// One frame that the tester drops after the recovery looks like a loss of the device, however many
// frames the device lost before.
func TestADropInTheTesterIsNoSlowRecovery(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}}
	recovery := v1alpha1.Test{Name: "recovery", Recovery: &v1alpha1.RecoveryTest{Repetitions: 3}}
	model := header + ",recovery_us\n64,60,1,2,3,2500\n"
	for name, one := range map[string]fault.Fault{
		"drop":       {Kind: fault.Drop, Port: "p2", ChancePPM: always, Period: 20 * time.Second, Span: 20 * time.Microsecond, SharePPM: always},
		"wire":       {Kind: fault.Wire, Port: "p2", ChancePPM: always, Period: 20 * time.Second, Span: 20 * time.Microsecond, SharePPM: always},
		"contention": {Kind: fault.Contention, Port: "p2", ChancePPM: 500_000, Period: 20 * time.Second, Span: 20 * time.Microsecond, SharePPM: always},
	} {
		row := rowsBy(t, model, []fault.Fault{one}, throughput, recovery)[1]
		if r := row.Recovery; r.MaxNs < 3_000_000 || row.Validity == v1alpha1.ValiditySimulated {
			t.Errorf("%s: %s with %+v, want a doubtful row", name, row.Validity, r)
		}
	}
	// A tester that is a little late makes everything take longer.
	row := rowsBy(t, header+",recovery_us\n64,60,1,2,3,10000000\n", []fault.Fault{{Kind: fault.Late, ChancePPM: always, SharePPM: 800}}, throughput, recovery)[1]
	if off := row.Recovery.AvgNs - 10_000_000_000; off > 500_000 || off < -500_000 || row.Validity != v1alpha1.ValiditySimulated {
		t.Errorf("%s: %d ns, want 10 s to 0.5 ms", row.Validity, row.Recovery.AvgNs)
	}
}

// The search for the load at which reordering begins ends at a trial in which the tester may have
// reordered the frames, and later rows do not repeat its result.
func TestTheTesterReordersInTheSearchOfTheOnset(t *testing.T) {
	test := v1alpha1.Test{Name: "order", Ordering: &v1alpha1.OrderingTest{Loads: []v1alpha1.Load{"40%", "80%", "90%"}, Resolution: "0.1%"}}
	test.Ordering.TrialDuration.Duration = 10 * time.Second
	model := header + ",reordered_ppm,reorder_onset_percent\n64,100,1,2,3,1000,75\n"
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for seed := range uint64(20) {
		one := fault.Fault{Kind: fault.Reorder, ChancePPM: 200_000, Span: time.Millisecond, SharePPM: 1000}
		tester := open(t, simulate(t, model, p, sim.WithTester(fault.Tester{Faults: []fault.Fault{one}, Seed: seed})), p, nil)
		for _, step := range p.Steps {
			row := rowOf(p, mustRun(t, tester, step))
			Done(tester, row)
			s := row.Ordering
			right := s.InOrderPPM <= 750_000 && (s.OnsetPPM == 0 || s.OnsetPPM >= 750_000)
			if row.Validity == v1alpha1.ValiditySimulated && !right {
				t.Errorf("seed %d, %s: %s, reordered from %d on and in order at %d, want 75 %%", seed, row.Load, row.Validity, s.OnsetPPM, s.InOrderPPM)
			}
			if !right {
				wrong++
			}
		}
	}
	if wrong == 0 {
		t.Error("no row was wrong: the test shows nothing")
	}
	// A tester that is late sends less than the load that the search tries.
	late := []fault.Fault{{Kind: fault.Late, ChancePPM: always, SharePPM: 9000}}
	rows := rowsBy(t, model, late, test)
	if s := rows[1].Ordering; s.InOrderPPM > 750_000 || s.OnsetPPM < 750_000 || s.OnsetPPM-s.InOrderPPM > 1100 {
		t.Errorf("late: reordered from %d on and in order at %d, want bounds of 75 %%", s.OnsetPPM, s.InOrderPPM)
	}
}

// A tester that is late while a port holds frames gives it the time to send some of them.
func TestALateTesterFindsALargerBuffer(t *testing.T) {
	test := v1alpha1.Test{Name: "buffer", BufferSize: &v1alpha1.BufferSizeTest{}}
	model := header + ",buffer_frames\n64,100,1,2,3,4000\n"
	late := []fault.Fault{{Kind: fault.Late, ChancePPM: always, SharePPM: 4000}}
	row := rowsBy(t, model, late, test)[0]
	if s := row.BufferSize; s.AvgFrames < 5000 || s.AvgFrames-s.DrainedFrames > 4000 || !strings.Contains(row.Message, "the tester was late") {
		t.Errorf("%+v %q, want a bound of 4,000 frames", s, row.Message)
	}
	if s := rowsBy(t, model, nil, test)[0].BufferSize; s.DrainedFrames != 0 || s.AvgFrames < 3989 || s.AvgFrames > 4001 {
		t.Errorf("in time: %+v", s)
	}
	burst := v1alpha1.Test{Name: "burst", BackToBack: &v1alpha1.BackToBackTest{Repetitions: 2}}
	row = rowsBy(t, header+",buffer_frames\n64,90,1,2,3,4000\n", late, burst)[0]
	if row.BackToBack.AvgFrames < 41_000 || !strings.Contains(row.Message, "sent at 99.6016% of line rate") {
		t.Errorf("%+v %q", row.BackToBack, row.Message)
	}
}

// A tester that falls a few frames short, in trials whose loss a goal allows, is the limit of that
// goal.
func TestAShortTesterIsTheLimitOfAGoalWithLoss(t *testing.T) {
	test := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, Resolution: "0.1%", LossRatios: []v1alpha1.LossRatio{"0%", "5%"}}}
	rows := rowsBy(t, header+",loss_ppm,loss_onset_percent\n64,80,1,2,3,100,0\n", []fault.Fault{{Kind: fault.Short, ChancePPM: always, SharePPM: 10}}, test)
	for _, row := range rows {
		if row.Method == v1alpha1.MethodPartialDropRate && row.Validity != v1alpha1.ValidityGeneratorBound {
			t.Errorf("%s at %d ppm, want %s", row.Validity, row.Frames.LineRatePPM, v1alpha1.ValidityGeneratorBound)
		}
	}
	if len(rows) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}

// Frames that the tester drops and frames that arrive damaged explain a loss together, although
// neither of them does alone.
func TestTwoFaultsOfTheTesterExplainALoss(t *testing.T) {
	test := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}}
	row := rowsBy(t, header+"\n64,80,1,2,3\n", []fault.Fault{
		{Kind: fault.Drop, ChancePPM: always, Span: time.Minute, SharePPM: 1000},
		{Kind: fault.Wire, ChancePPM: always, Span: time.Minute, SharePPM: 1000},
	}, test)[0]
	if row.Validity != v1alpha1.ValidityGeneratorBound {
		t.Errorf("%s at %d ppm: %s", row.Validity, row.Frames.LineRatePPM, row.Message)
	}
}

// The average over the trials includes trials of a late tester, whose load is lower.
func TestALateTesterMeasuresLatencyAtALowerLoad(t *testing.T) {
	test := v1alpha1.Test{Name: "latency", RFC2544Latency: &v1alpha1.RFC2544LatencyTest{Load: "50%", Repetitions: 10}}
	row := rowsBy(t, header+"\n64,100,1,2000,3000\n", []fault.Fault{{Kind: fault.Late, ChancePPM: 500_000, SharePPM: 8000}}, test)[0]
	if s := row.RFC2544Latency; s.LowestOfferedPPM < 496_030 || s.LowestOfferedPPM > 496_032 || s.MinNs >= s.MaxNs || !strings.Contains(row.Message, "offered 49.6031% of line rate and more") {
		t.Errorf("%+v %q", s, row.Message)
	}
}

// Frames that a tester sends in a row after a pause have another latency than frames at a constant load.
func TestATesterThatPausesMeasuresNoAverageLatency(t *testing.T) {
	test := v1alpha1.Test{Name: "latency", RFC2544Latency: &v1alpha1.RFC2544LatencyTest{Load: "50%", Repetitions: 10}}
	for span, doubtful := range map[time.Duration]bool{20 * time.Millisecond: true, 10 * time.Microsecond: false} {
		row := rowsBy(t, header+"\n64,65,1,2,3\n", []fault.Fault{{Kind: fault.Stall, ChancePPM: 500_000, Span: span}}, test)[0]
		said := strings.Contains(strings.Join(row.ValidityReasons, " "), "which may change the average latency of 2µs by")
		if said != doubtful || doubtful && row.Validity != v1alpha1.ValidityGeneratorBound {
			t.Errorf("a pause of %s: %s %q", span, row.Validity, row.ValidityReasons)
		}
	}
}

// bridgedRow runs a test about a bridge with four ports and a tester that has faults, and returns
// the row.
func bridgedRow(t *testing.T, model string, b v1alpha1.SimulatedBehaviour, one fault.Fault, test v1alpha1.Test) v1alpha1.ResultRow {
	t.Helper()
	p, err := planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, test)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, model, p, sim.WithBehaviour(b), sim.WithTester(fault.Tester{Faults: []fault.Fault{one}, Seed: 3}))
	tester := open(t, e, p, nil)
	trials.WithDevice(e.Device())(tester)
	return rowOf(p, mustRun(t, tester, p.Steps[0]))
}

// What the tester loses at the uncongested port is no head of line blocking, and no loss of a bridge
// that floods.
func TestLossesOfTheTesterInTestsOfBridges(t *testing.T) {
	seconds := func(n int64) time.Duration { return time.Duration(n) * time.Second }
	model := header + "\n64,100,1,2,3\n"
	size, rate := int32(5000), int32(5000)
	congestion := v1alpha1.Test{Name: "congestion", CongestionControl: &v1alpha1.CongestionControlTest{}}
	head := v1alpha1.Test{Name: "head", HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}}
	caching := v1alpha1.Test{Name: "caching", AddressCaching: &v1alpha1.AddressCachingTest{MaxAddresses: 8192}}
	learning := v1alpha1.Test{Name: "learning", AddressLearning: &v1alpha1.AddressLearningTest{Addresses: 1000}}
	for name, tc := range map[string]struct {
		fault fault.Fault
		test  v1alpha1.Test
	}{
		"congestion control":     {fault.Fault{Kind: fault.Drop, Port: "p3", ChancePPM: always, Span: seconds(60), SharePPM: 10}, congestion},
		"head of line blocking":  {fault.Fault{Kind: fault.Wire, Port: "p3", ChancePPM: always, Span: seconds(60), SharePPM: 10}, head},
		"address caching":        {fault.Fault{Kind: fault.Wire, ChancePPM: always, Span: seconds(60), SharePPM: 50_000}, caching},
		"flooded to a deaf port": {fault.Fault{Kind: fault.Drop, Port: "p3", ChancePPM: always, Span: seconds(60), SharePPM: always}, learning},
	} {
		row := bridgedRow(t, model, v1alpha1.SimulatedBehaviour{AddressTableSize: &size, LearningRate: &rate}, tc.fault, tc.test)
		if row.Validity == v1alpha1.ValiditySimulated || row.Validity == v1alpha1.ValidityValid {
			t.Errorf("%s: %s %+v %+v %+v %+v", name, row.Validity, row.CongestionControl, row.HeadOfLineBlocking, row.AddressCaching, row.AddressLearning)
		}
	}
	// The forwarding rate at the highest load is of a trial of its own.
	broadcast := v1alpha1.Test{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{TrialDuration: *lasting(time.Second)}}
	row := bridgedRow(t, header+",overload_line_rate_percent,buffer_frames\n64,50,1,2,3,10,100000\n", v1alpha1.SimulatedBehaviour{}, fault.Fault{}, broadcast)
	if b := row.Broadcast; b.ForwardingRateBounds == nil || b.ForwardingRateBounds.Low > 3*1_488_095 || b.ForwardingRate < 3*1_488_095 {
		t.Errorf("%+v", b)
	}
}

// A pause of the tester is a part of the longest silence, and frames that it drops are a part of the
// loss of a reset.
func TestAResetWithAFaultyTester(t *testing.T) {
	for name, tc := range map[string]struct {
		method v1alpha1.ResetTimeMethod
		fault  fault.Fault
	}{
		"pause": {v1alpha1.ResetByTimestamp, fault.Fault{Kind: fault.Stall, ChancePPM: always, Span: 2 * time.Second}},
		"drops": {v1alpha1.ResetByFrameLoss, fault.Fault{Kind: fault.Drop, ChancePPM: always, Span: time.Minute, SharePPM: 1000}},
	} {
		test := resetTest(v1alpha1.ResetByDevice)
		test.Reset.Method = tc.method
		p, err := planOf(t, test)
		if err != nil {
			t.Fatal(err)
		}
		e := simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{ResetTime: lasting(time.Second)}), sim.WithTester(fault.Tester{Faults: []fault.Fault{tc.fault}, Seed: 1}))
		tester := open(t, e, p, nil)
		trials.WithDevice(e.Device())(tester)
		row := rowOf(p, mustRun(t, tester, p.Steps[0]))
		if row.Validity != v1alpha1.ValidityGeneratorBound {
			t.Errorf("%s: %s %q %+v", name, row.Validity, row.ValidityReasons, row.Reset)
		}
	}
}
