package sim

import (
	"net/netip"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// send runs one trial of one direction of a pair with these loads, the streams
// counting from 0, and returns what each stream got through.
func send(t *testing.T, model string, d time.Duration, loads ...traffic.Load) []traffic.RxCount {
	t.Helper()
	return sendAs(t, model, d, func(*traffic.Stream) {}, loads...)
}

// sendAs is send of changed streams.
func sendAs(t *testing.T, model string, d time.Duration, change func(*traffic.Stream), loads ...traffic.Load) []traffic.RxCount {
	t.Helper()
	e, streams := pairs(t, model, 2)
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}, Duration: d}
	used := make([]traffic.Stream, len(loads))
	for i, l := range loads {
		used[i] = streams[0]
		used[i].ID = uint16(i)
		change(&used[i])
		trial.Loads[uint16(i)] = l
	}
	if err := e.Configure(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	m := do(t, e, trial)
	counts := make([]traffic.RxCount, len(loads))
	for i := range loads {
		counts[i] = m.Rx[traffic.RxKey{Stream: uint16(i), Port: "p2"}]
	}
	return counts
}

// A burst at line rate into a port of three quarters of it fills the buffer with
// a quarter of its frames.
func TestABufferTakesABurst(t *testing.T) {
	model := header + ",buffer_frames\n64,75,1,2,3,0,0,1000\n"
	burst := load(t, 64, whole, 1)
	for frames, received := range map[uint64]uint64{1: 1, 3000: 3000, 4000: 4000, 4100: 4075, 40_000: 31_000} {
		burst.Frames = frames
		if got := send(t, model, 0, burst)[0]; got.Received != received {
			t.Errorf("of %d frames %d came through, want %d", frames, got.Received, received)
		}
	}
}

// Overload costs capacity: at line rate the port sends 40 % instead of 80 %, in
// between in proportion.
func TestOverloadCostsCapacity(t *testing.T) {
	model := header + ",overload_line_rate_percent\n64,80,1,2,3,0,0,40\n"
	for ppm, want := range map[int64]int64{700_000: 700_000, 800_000: 800_000, 900_000: 600_000, whole: 400_000} {
		got := send(t, model, time.Second, load(t, 64, ppm, 1))[0].Received
		exact := uint64(tenGig / (84 * 8) * want / whole)
		if got+2 < exact || got > exact+2 {
			t.Errorf("at %d ppm %d frames came through, want %d", ppm, got, exact)
		}
	}
}

// After an overload the port goes on dropping the same share for a while, and the stream that
// goes on shows how long.
func TestRecoveryTakesTime(t *testing.T) {
	const second = time.Second
	half := load(t, 64, whole/2, 1)
	first := half
	first.Frames = frames(first.Rate, second) // two halves for a second, then one
	for micros, want := range map[string]time.Duration{"0": 0, "250000": 250 * time.Millisecond, "1000000": second} {
		got := send(t, header+",recovery_us\n64,75,1,2,3,0,0,"+micros+"\n", 2*second, first, half)
		sent := frames(half.Rate, 2*second)
		end := time.Duration(mulDiv(got[1].GapEnd, uint64(half.Rate.PerNanos), uint64(half.Rate.Frames)))
		if d := end - second - want; d > 2*time.Microsecond || d < -2*time.Microsecond {
			t.Errorf("recovery %s us: the last loss was %s after the reduction", micros, end-second)
		}
		lost := sent - got[1].Received
		quarter := uint64(second+want) * (sent / 8) / uint64(second)
		if lost > quarter+2 || lost+2 < quarter {
			t.Errorf("recovery %s us: lost %d of %d, want %d", micros, lost, sent, quarter)
		}
	}
}

// A reordered frame changes places with the next, which makes three frames out of
// sequence in the older count; a gap makes one.
func TestBothCountsOfOrder(t *testing.T) {
	got := send(t, header+",reordered_ppm\n64,100,1,2,3,0,0,5100\n", time.Second, traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 10_000}})[0]
	if got.Received != 100_000 || got.Reordered != 510 || got.OutOfSequence != 1530 || got.GapEnd != 0 || got.Next != 100_000 {
		t.Errorf("%+v", got)
	}
	got = send(t, header+",loss_ppm\n64,100,1,2,3,0,0,1000\n", time.Second, traffic.Load{Rate: traffic.Rate{Frames: 1, PerNanos: 10_000}})[0]
	if got.Received != 99_900 || got.Reordered != 0 || got.OutOfSequence != 100 || got.GapEnd == 0 {
		t.Errorf("%+v", got)
	}
}

// From its ECN threshold on the device marks a share of the frames that may be marked, and no
// others.
func TestMarksAboveTheThreshold(t *testing.T) {
	const model = header + ",ecn_marked_ppm,ecn_onset_percent\n64,100,1,2,3,0,0,250000,50\n"
	for name, test := range map[string]struct {
		ppm   int64
		class uint8
		want  uint64
	}{
		"below the threshold": {499_999, traffic.ECT0, 0},
		"at the threshold":    {500_000, traffic.ECT1, 1_860_119},
		"frames without ECT":  {900_000, 46 << 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := sendAs(t, model, time.Second, func(s *traffic.Stream) {
				s.Headers.TrafficClass, s.Headers.SrcIP, s.Headers.DstIP = test.class, netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2")
			}, load(t, 64, test.ppm, 1))[0]
			if got.Congested != test.want || got.Received == 0 {
				t.Errorf("%d of %d frames marked, want %d", got.Congested, got.Received, test.want)
			}
		})
	}
}
