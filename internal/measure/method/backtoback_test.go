package method

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func burstTest(n int32) v1alpha1.Test {
	return v1alpha1.Test{Name: "bursts", BackToBack: &v1alpha1.BackToBackTest{Repetitions: n}}
}

// A port of 80 % of line rate with 1,000 frames of buffer takes bursts of 5,000.
const buffered = header + ",buffer_frames\n64,80,1,2,3,1000\n"

func TestBackToBackFindsTheBuffer(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.1%"}}
	row := rowsOf(t, buffered, nil, throughput, burstTest(10))[1]
	b := row.BackToBack
	if b.Repetitions != 10 || b.MinFrames < 5000 || b.MaxFrames > 5004 || b.StddevFrames != 0 || row.Frames.LineRatePPM != v1alpha1.PPM {
		t.Fatalf("%+v", b)
	}
	// 5,000 frames of 67.2 ns, of which a fifth stayed in the buffer: the buffer has
	// a little more than it holds, as throughput is found with it.
	if b.BufferNs < 336_000 || b.BufferNs > 336_300 || b.ThroughputPPM != 800_000 || *b.CorrectedBufferNs != (b.BufferNs+2)/5 {
		t.Errorf("%+v, corrected %d", b, *b.CorrectedBufferNs)
	}
	// The first search takes 26 trials, a repetition tries two ends and halves 7,500 frames.
	if row.Trials > 26+9*15 {
		t.Errorf("%d trials", row.Trials)
	}
	if row.Message != "" || row.Validity != v1alpha1.ValiditySimulated {
		t.Errorf("%s: %s", row.Validity, row.Message)
	}
}

func TestBackToBackSaysWhatItCouldNot(t *testing.T) {
	row := rowsOf(t, buffered, nil, burstTest(2))[0]
	if row.BackToBack.CorrectedBufferNs != nil || !strings.Contains(row.Message, "not corrected") {
		t.Errorf("without throughput: %+v %q", row.BackToBack, row.Message)
	}
	row = rowsOf(t, header+"\n64,100,1,2,3\n", nil, burstTest(50))[0]
	if b := row.BackToBack; b.Repetitions != 1 || b.AvgFrames != 29_761_904 || !strings.Contains(row.Message, "holds at least that") {
		t.Errorf("at line rate: %+v %q", b, row.Message)
	}
	row = rowsOf(t, header+"\n64,0,1,2,3\n", nil, burstTest(50))[0]
	if b := row.BackToBack; b.AvgFrames != 0 || !strings.Contains(row.Message, "no test frame came back") {
		t.Errorf("dead device: %+v %q", b, row.Message)
	}
	row = rowsOf(t, header+",generator_limit_percent\n64,100,1,2,3,50\n", nil, burstTest(50))[0]
	if row.Validity != v1alpha1.ValidityGeneratorBound || row.BackToBack.Repetitions != 1 {
		t.Errorf("slow tester: %s %+v", row.Validity, row.BackToBack)
	}
}

func TestSummaryOfBursts(t *testing.T) {
	s := summarize([]int64{2, 4, 4, 4, 5, 5, 7, 9}, big.NewRat(1_000_000_000, 1))
	// The squares differ from the mean 5 by 32 in all: sqrt(32/7) is 2.14.
	if s != (v1alpha1.BackToBackSummary{Repetitions: 8, AvgFrames: 5, MinFrames: 2, MaxFrames: 9, StddevFrames: 2, BufferNs: 5}) {
		t.Errorf("%+v", s)
	}
	if s := summarize([]int64{10, 13}, big.NewRat(1, 1)); s.StddevFrames != 2 || s.AvgFrames != 12 {
		t.Errorf("%+v: sqrt(4.5) is 2.12, and 11.5 rounds up", s)
	}
	for throughput, want := range map[int64]int64{0: 1000, 500_000: 500, 999_999: 0, v1alpha1.PPM: 0} {
		if got := correct(1000, throughput); got != want {
			t.Errorf("1000 ns at %d ppm: %d, want %d", throughput, got, want)
		}
	}
}

// droppingBursts is a fake generator with an ideal device. Of the frames of a stream that
// go beyond a number, all are lost: by the tester, or by the device.
type droppingBursts struct {
	traffic.Generator
	most     func() uint64
	byTester bool
}

func (d *droppingBursts) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := d.Generator.Read(ctx)
	most := d.most()
	for key, rx := range m.Rx {
		if rx.Received <= most {
			continue
		}
		if d.byTester {
			traffic.Put(&m.Dropped, key.Port, m.Dropped[key.Port]+rx.Received-most)
		}
		rx.Received = most
		m.Rx[key] = rx
	}
	return m, err
}

// A tester that drops frames itself ends the search. The row does not take that for the
// device's buffer.
func TestABurstThatTheTesterDropped(t *testing.T) {
	for name, test := range map[string]struct {
		test   v1alpha1.Test
		device bool
	}{
		"backToBack":                           {test: burstTest(2)},
		"bufferSize":                           {test: bufferTest("1%")},
		"a device that drops back to back":     {burstTest(2), true},
		"a device that drops beyond line rate": {bufferTest("1%"), true},
	} {
		p, err := planOf(t, test.test)
		if test.test.BufferSize != nil {
			p, err = planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, test.test)
		}
		if err != nil {
			t.Fatal(err)
		}
		gen := &droppingBursts{Generator: simulate(t, header+",buffer_frames\n64,100,1,2,3,1000000000\n", p), byTester: !test.device, most: func() uint64 { return 2000 }}
		row := rowOf(p, mustRun(t, open(t, gen, p, nil), p.Steps[0]))
		reasons := strings.Join(row.ValidityReasons, "; ")
		if bound := row.Validity == v1alpha1.ValidityGeneratorBound; bound == test.device {
			t.Errorf("%s: %s %q", name, row.Validity, reasons)
		}
		if !test.device && !strings.Contains(reasons, "dropped") {
			t.Errorf("%s: %q does not say who dropped the frames", name, reasons)
		}
	}
}

// The deviation over the repetitions is that of independent searches.
func TestRepeatedBurstsAreIndependent(t *testing.T) {
	const searches = 60
	run := func(gen traffic.Generator, p plan.Plan) v1alpha1.BackToBackSummary {
		t.Helper()
		return *rowOf(p, mustRun(t, open(t, gen, p, nil), p.Steps[0])).BackToBack
	}
	noise := rand.New(rand.NewPCG(1, 2))
	device := func(p plan.Plan) traffic.Generator {
		return &droppingBursts{Generator: simulate(t, header+"\n64,100,1,2,3\n", p), most: func() uint64 {
			return uint64(max(1, 5000+200*noise.NormFloat64()))
		}}
	}
	p, err := planOf(t, burstTest(searches))
	if err != nil {
		t.Fatal(err)
	}
	repeated := run(device(p), p)
	one, err := planOf(t, burstTest(1))
	if err != nil {
		t.Fatal(err)
	}
	var found []int64
	for range searches {
		found = append(found, run(device(one), one).AvgFrames)
	}
	alone := trials.Deviation(found)
	if ratio := float64(repeated.StddevFrames) / float64(alone); math.Abs(math.Log(ratio)) > math.Log(1.5) {
		t.Errorf("the deviation over the repetitions is %d frames, and %d over independent searches", repeated.StddevFrames, alone)
	}
	t.Logf("deviation %d over repetitions, %d over independent searches", repeated.StddevFrames, alone)
}

// Frames that a tester sends in a row to make up for a delay find no room in a full buffer: the device
// may hold as many more.
func TestABurstThatTheTesterHurried(t *testing.T) {
	t.Parallel()
	late := func(most uint64) *trials.Trial {
		return trials.NewTrial(plan.Plan{}, plan.Bytes(64), v1alpha1.PPM, time.Second, traffic.Measurement{Pacing: map[string]traffic.Pacing{"p1": {MaxBurst: most}, "p2": {MaxBurst: 1}}})
	}
	for name, tc := range map[string]struct {
		found []burst
		want  int64
	}{
		"in time":              {[]burst{{frames: 100, passed: late(0), failed: late(1)}}, 0},
		"late in a lost burst": {[]burst{{frames: 100, passed: late(0), failed: late(57)}, {frames: 98, failed: late(3)}}, 57},
		"late in another":      {[]burst{{frames: 100, passed: late(57), failed: late(0)}}, 0},
		"all passed":           {[]burst{{frames: 100, passed: late(0)}}, 0},
	} {
		if got := caughtUp(tc.found); got != tc.want {
			t.Errorf("%s: %d frames, want %d", name, got, tc.want)
		}
	}
}
