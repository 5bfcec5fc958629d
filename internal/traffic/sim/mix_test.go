package sim

import (
	"math/big"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// threeSizes is limited by frames/s at 64 and 570 bytes, and by nothing at 1518.
const threeSizes = header + `
64,25,1.000,2.000,5.000,0.100,0.900
570,80,2.000,3.000,6.000,0.200,0.800
1518,100,4.000,5.000,8.000,0.300,0.700
`

var simple = frame.Mix{{Size: 64, Weight: 7}, {Size: 570, Weight: 4}, {Size: 1518, Weight: 1}}

// mixedTrial sends a mix from p1 to p2 at a load of 10G for a time. The streams
// have the order of the mix.
func mixedTrial(t *testing.T, model string, mix frame.Mix, ppm int64, d time.Duration) traffic.Measurement {
	t.Helper()
	e, err := New(model, []Port{{"p1", tenGig}, {"p2", tenGig}})
	if err != nil {
		t.Fatal(err)
	}
	var streams []traffic.Stream
	loads := map[uint16]traffic.Load{}
	for i, c := range mix {
		streams = append(streams, traffic.Stream{ID: uint16(i), TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: c.Size})
		rate, err := traffic.RateOf(mix.Rate(tenGig, c.Weight, ppm))
		if err != nil {
			t.Fatal(err)
		}
		loads[uint16(i)] = traffic.Load{Rate: rate}
	}
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	return do(t, e, traffic.Trial{Loads: loads, Duration: d})
}

func received(m traffic.Measurement, stream uint16) traffic.RxCount {
	return m.Rx[traffic.RxKey{Stream: stream, Port: "p2"}]
}

// The parts of the capacities that the sizes use add up to 1 where frames begin to
// be lost. Of a round of 12 frames, 7 of 64 bytes take 588 bytes of the line, and
// at 25 % of it as much time as 2352; with 4 of 570 it is 2352 + 2950 + 1538 = 6840
// for 4486 bytes: 65.584795 %.
func TestCapacityForAMix(t *testing.T) {
	const minute = time.Minute
	for ppm, lost := range map[int64]bool{100_000: false, 655_847: false, 655_848: true, 1_000_000: true} {
		m := mixedTrial(t, threeSizes, simple, ppm, minute)
		var sent, got uint64
		used := new(big.Rat)
		for i, c := range simple {
			tx := m.Tx[uint16(i)]
			// In whole frames, every size is sent as often as its own weight says.
			want := new(big.Rat).Mul(simple.Rate(tenGig, c.Weight, ppm), big.NewRat(60, 1))
			if whole := new(big.Int).Quo(want.Num(), want.Denom()); tx.Sent != whole.Uint64() || tx.Intended != tx.Sent {
				t.Errorf("%d ppm, %d B: %d of %d frames, want %s", ppm, c.Size, tx.Sent, tx.Intended, whole)
			}
			sent, got = sent+tx.Sent, got+received(m, uint16(i)).Received
			capacity := frame.Rate(tenGig, c.Size, []int64{250_000, 800_000, 1_000_000}[i])
			used.Add(used, new(big.Rat).Quo(big.NewRat(int64(received(m, uint16(i)).Received), 60), capacity))
		}
		if (got < sent) != lost {
			t.Errorf("%d ppm: %d of %d frames arrived", ppm, got, sent)
		}
		if used.Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("%d ppm: more than all of the device is used: %s", ppm, used.FloatString(9))
		}
		if lost && used.Cmp(big.NewRat(999_998, 1_000_000)) < 0 {
			t.Errorf("%d ppm: frames are lost with %s of the device used", ppm, used.FloatString(9))
		}
	}
}

// Frames wait as their own size does, in proportion to how much of the device the
// mix uses.
func TestLatencyInAMix(t *testing.T) {
	m := mixedTrial(t, threeSizes, simple, 655_847, time.Second)
	for i, want := range []struct{ min, max, jitter uint64 }{{1000, 5000, 900}, {2000, 6000, 800}, {4000, 8000, 700}} {
		l := received(m, uint16(i)).Latency
		// At the capacity, less the last millionth.
		if l.MinNs != want.min || l.MaxNs < want.max-1 || l.MaxNs > want.max || l.JitterMaxNs < want.jitter-1 || l.JitterMaxNs > want.jitter {
			t.Errorf("%d B: latency %d to %d ns, jitter up to %d", simple[i].Size, l.MinNs, l.MaxNs, l.JitterMaxNs)
		}
	}
}

// A mix of one size twice is that size.
func TestAMixOfOneSizeIsThatSize(t *testing.T) {
	e, streams := pairs(t, half, 2)
	whole := trial(t, e, streams[:1], load(t, 64, 700_000, 1), time.Second)
	again := mixedTrial(t, half, frame.Mix{{Size: 64, Weight: 1}}, 700_000, time.Second)
	if a, b := received(whole, 0), received(again, 0); a.Received != b.Received || a.Latency.SumNs != b.Latency.SumNs {
		t.Errorf("%+v, alone %+v", b, a)
	}
}

// The tester's limit, the buffer and overload follow the same rule; of recovery and
// noise the largest holds.
func TestLimitsForAMix(t *testing.T) {
	model := `frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,generator_limit_percent,buffer_frames,overload_line_rate_percent,recovery_us,capacity_noise_ppm
64,50,1,2,5,60,1000,25,100,10
1518,100,1,2,5,100,200,,300,5
`
	e, err := New(model, []Port{{"p1", tenGig}, {"p2", tenGig}})
	if err != nil {
		t.Fatal(err)
	}
	streams := []traffic.Stream{{ID: 0, FrameSize: 64}, {ID: 1, FrameSize: 1518}}
	if e.run.handling.rows, err = e.model.behaviours(streams); err != nil {
		t.Fatal(err)
	}
	r := e.run.handling.blend(map[int]*big.Rat{64: big.NewRat(18, 1), 1518: big.NewRat(1, 1)})
	// 18 frames of 84 bytes on the wire are 1512, one is 1538.
	want := row{
		capacityPPM: 3050 * 1_000_000 / (1512*2 + 1538), generatorPPM: 3050 * 1_000_000 / (1512*10/6 + 1538),
		overloadPPM: 3050 * 1_000_000 / (1512*4 + 1538), buffer: 826, // 19 / (18/1000 + 1/200) = 826.08
		recovery: 300 * time.Microsecond, noisePPM: 10,
	}
	if wire := r.wire; wire.Cmp(big.NewRat(8*3050, 19)) != 0 {
		t.Errorf("%s bits on the wire", wire)
	}
	if r.wire = nil; r != want {
		t.Errorf("%+v\nwant %+v", r, want)
	}
}

func TestNearestRate(t *testing.T) {
	rate, _ := new(big.Rat).SetString("123456789012345678901234567890/1234567890123456789012345671")
	got := nearest(rate)
	share := new(big.Rat).Quo(got.FramesPerSecond(), rate)
	if off := share.Sub(share, big.NewRat(1, 1)); off.Abs(off).Cmp(big.NewRat(1, 1_000_000_000)) > 0 {
		t.Errorf("%+v is off by %s", got, off.FloatString(15))
	}
}
