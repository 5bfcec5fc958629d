package method

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/workload"
)

// mixedTest is an incast with frames to the port of the client.
func mixedTest(load v1alpha1.LoadAmount, servers ...int32) v1alpha1.Test {
	test := incastTest(servers...)
	test.Incast.Stateless = &v1alpha1.StatelessTraffic{Load: load, FrameSize: 64}
	return test
}

// Connections are open before frames are sent, in a trial that is repeated as well, and are removed after the last frame has settled.
func TestIncastNextToFrames(t *testing.T) {
	p, err := planOf(t, mixedTest("20%", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeWorkload{took: map[int]time.Duration{1: time.Millisecond, 2: time.Millisecond}, change: func(i *workload.Incast) { i.ReceivedBytes, i.ReceivedPackets = 1_000_000, 1000 }}
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(fake)(tester)
	trials.WithDrops(&fakeDrops{})(tester)
	fake.failures = 1
	out, err := Run(t.Context(), tester, p.Steps[1])
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(p, out)
	if want := []string{"connect", "ask", "connect", "ask", "disconnect"}; !slices.Equal(fake.calls, want) {
		t.Errorf("calls %q, want %q", fake.calls, want)
	}
	if name := row.Name(); name != "incast at 20% with 2 servers" {
		t.Errorf("the row is %q", name)
	}
	s := row.Incast.Stateless
	if s == nil || row.Frames != nil || row.Latency != nil || s.LoadPPM != 200_000 || s.FrameSize != 64 || s.TCPSegmentsLost != 7 || *row.Incast.DeviceDrops != 10 {
		t.Fatalf("%+v, frames %v", s, row.Frames)
	}
	if r := fake.requests[0].Stateless; r == nil || r.Bytes != 64 || r.PerSecond != 2_976_190 {
		t.Errorf("the model is asked for %+v", r)
	}
}

// The modeled port drops frames and segments, and holds frames as long as its buffer takes.
func TestIncastNextToFramesOfTheModel(t *testing.T) {
	test := mixedTest("40%", 1, 8)
	test.Incast.BlockSize, test.Incast.Iterations, test.Incast.CongestionControl = 1_000_000, 3, "reno"
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(tester.Generator.Generator.(workload.Host).Workload())(tester)
	var shares []int64
	for _, step := range p.Steps {
		out, err := Run(t.Context(), tester, step)
		if err != nil {
			t.Fatal(err)
		}
		row := rowOf(p, out)
		i, s := row.Incast, row.Incast.Stateless
		t.Logf("%s: %d bit/s goodput, %d drops, %+v, %+v", row.Name(), i.GoodputBitsPerSecond, *i.DeviceDrops, s, s.Latency)
		if s.Sent == 0 || s.Sent != s.Received+s.Lost || s.Latency == nil {
			t.Fatalf("%s: %+v", row.Name(), s)
		}
		// The model and the tester begin with a frame at slightly different times.
		if off := *i.DeviceDrops - s.Lost - s.TCPSegmentsLost; off < -2 || off > 2 {
			t.Errorf("%s: the device dropped %d packets, %d frames and %d segments are lost", row.Name(), *i.DeviceDrops, s.Lost, s.TCPSegmentsLost)
		}
		if sum := s.BitsPerSecond + s.TCPBitsPerSecond; sum > 10_000_000_000 || s.BitsPerSecond < 1_000_000_000 {
			t.Errorf("%s: a port of 10G carried %d bit/s of frames and %d of TCP", row.Name(), s.BitsPerSecond, s.TCPBitsPerSecond)
		}
		shares = append(shares, s.SharePPM)
	}
	if shares[0] == shares[1] {
		t.Errorf("shares of the port %v", shares)
	}
}

func TestIncastNextToFramesIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.IncastTest)
		want   string
	}{
		"a rate":                       {func(i *v1alpha1.IncastTest) { i.Stateless.Load = "5kpps" }, "stateless.load: Invalid value: \"5kpps\": give a percentage of line rate above 0% and up to 100%"},
		"a size below the headers":     {func(i *v1alpha1.IncastTest) { i.Stateless.FrameSize = 60 }, "stateless.frameSize: Invalid value: 60: give a size from 64 to"},
		"a client that gets no frames": {func(i *v1alpha1.IncastTest) { i.Client = "p1" }, "goes to port p1 of the client only: choose another client, or a pattern that sends to this port"},
	} {
		test := mixedTest("20%", 1)
		test.Incast.Client = "p2"
		tc.change(test.Incast)
		oneWay := false
		_, err := planOfPattern(v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &oneWay}}, test)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
