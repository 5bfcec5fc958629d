package method

import (
	"math/big"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
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
	// The first search takes 26 trials, a repetition 2.
	if row.Trials > 26+9*3 {
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
