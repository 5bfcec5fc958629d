package sim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

const header = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us,jitter_avg_us,jitter_max_us"

// half forwards half of line rate at 64 bytes.
const half = header + "\n64,50,1.000,2.000,5.000,0.100,0.900\n"

const tenGig = 10_000_000_000

// pairs makes an engine with n ports of 10G, and streams from every port to its
// neighbor and back.
func pairs(t *testing.T, model string, n int, opts ...Option) (*Engine, []traffic.Stream) {
	t.Helper()
	ports := make([]Port, n)
	var streams []traffic.Stream
	for i := range ports {
		ports[i] = Port{Name: fmt.Sprintf("p%d", i+1), BitsPerSecond: tenGig}
		streams = append(streams, traffic.Stream{
			ID: uint16(i), TxPort: ports[i].Name, RxPorts: []string{fmt.Sprintf("p%d", i^1+1)}, FrameSize: 64,
		})
	}
	e, err := New(model, ports, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return e, streams
}

func load(t *testing.T, size int, ppm int64, part int64) traffic.Load {
	t.Helper()
	r, err := traffic.RateOf(frame.Rate(tenGig, size, ppm))
	if err != nil {
		t.Fatal(err)
	}
	r.PerNanos *= part
	return traffic.Load{Rate: r}
}

// trial runs one trial with the same load for all streams.
func trial(t *testing.T, e *Engine, streams []traffic.Stream, l traffic.Load, d time.Duration) traffic.Measurement {
	t.Helper()
	loads := map[uint16]traffic.Load{}
	for _, s := range streams {
		loads[s.ID] = l
	}
	if err := e.Configure(t.Context(), streams); err != nil {
		t.Fatal(err)
	}
	return do(t, e, traffic.Trial{Loads: loads, Duration: d})
}

func TestLossBeyondTheCapacityIsExact(t *testing.T) {
	// 10G and 64 B are 14,880,952.38 frames/s.
	const minute = 60 * time.Second
	tests := map[string]struct {
		ppm            int64
		sent, received uint64
	}{
		"half the capacity":    {250_000, 223_214_285, 223_214_285},
		"the capacity":         {500_000, 446_428_571, 446_428_571},
		"one ppm above":        {500_001, 446_429_464, 446_428_571},
		"line rate":            {1_000_000, 892_857_142, 446_428_571},
		"one frame per minute": {1, 892, 892},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, half, 2)
			m := trial(t, e, streams, load(t, 64, tc.ppm, 1), minute)
			for _, s := range streams {
				tx, rx := m.Tx[s.ID], m.Rx[traffic.RxKey{Stream: s.ID, Port: s.RxPorts[0]}]
				if tx.Sent != tc.sent || tx.Intended != tc.sent || rx.Received != tc.received {
					t.Errorf("stream %d: sent %d of %d, received %d; want %d and %d", s.ID, tx.Sent, tx.Intended, rx.Received, tc.sent, tc.received)
				}
			}
			if m.TxTime != minute {
				t.Errorf("sent for %s", m.TxTime)
			}
		})
	}
}

func TestLatencyFollowsTheLoad(t *testing.T) {
	tests := map[string]struct {
		ppm                               int64
		lowest, mean, highest, jmean, jhi uint64
	}{
		"at the capacity":   {500_000, 1000, 2000, 5000, 100, 900},
		"at half of it":     {250_000, 1000, 1500, 3000, 50, 450},
		"at a tenth":        {50_000, 1000, 1100, 1400, 10, 90},
		"beyond: the queue": {600_000, 1000, 5000, 5000, 100, 900},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, half, 2)
			m := trial(t, e, streams, load(t, 64, tc.ppm, 1), 10*time.Second)
			l := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}].Latency
			// Beyond the capacity one frame still has the lowest latency.
			if off := tc.mean*l.Count - l.SumNs; l.MinNs != tc.lowest || off > tc.highest || l.MaxNs != tc.highest {
				t.Errorf("latency %d/%d/%d, want %d/%d/%d", l.MinNs, l.SumNs/l.Count, l.MaxNs, tc.lowest, tc.mean, tc.highest)
			}
			if l.JitterSumNs != tc.jmean*l.JitterCount || l.JitterMaxNs != tc.jhi || l.JitterCount != l.Count-1 {
				t.Errorf("jitter %d of %d at most %d, want %d at most %d", l.JitterSumNs, l.JitterCount, l.JitterMaxNs, tc.jmean, tc.jhi)
			}
			checkBuckets(t, l)
		})
	}
}

// checkBuckets holds the buckets against count, bounds and mean.
func checkBuckets(t *testing.T, l traffic.Latency) {
	t.Helper()
	var count, low, high uint64
	for i, n := range l.Buckets {
		from, to := traffic.BucketBounds(i)
		if to < l.MinNs || from > l.MaxNs {
			t.Errorf("bucket %d to %d ns is outside of %d to %d", from, to, l.MinNs, l.MaxNs)
		}
		count += n
		low += n * max(from, l.MinNs)
		high += n * min(to, l.MaxNs)
	}
	if count != l.Count {
		t.Errorf("buckets hold %d frames of %d", count, l.Count)
	}
	if mean := l.SumNs; mean < low-low/50 || mean > high+high/50 {
		t.Errorf("the mean %d is not within the buckets' %d to %d", mean/count, low/count, high/count)
	}
	if l.Buckets[traffic.BucketIndex(l.MinNs)] == 0 || l.Buckets[traffic.BucketIndex(l.MaxNs)] == 0 {
		t.Error("the lowest or the highest latency is in no bucket")
	}
}

func TestFewFramesKeepTheirSums(t *testing.T) {
	s := shape{min: 10, avg: 12, max: 100, jitterAvg: 3, jitterMax: 50}
	for count := uint64(1); count < 50; count++ {
		s.count = count
		l := s.latency()
		var total uint64
		for _, n := range l.Buckets {
			total += n
		}
		if total != count || l.SumNs < count*l.MinNs || l.SumNs > count*l.MaxNs || l.MinNs > l.MaxNs {
			t.Fatalf("%d frames: %+v", count, l)
		}
		if count > 1 && l.SumNs < (count-1)*l.MinNs+l.MaxNs {
			t.Fatalf("%d frames: the sum %d has no room for the highest", count, l.SumNs)
		}
	}
}

func TestReorderedDuplicateAndLost(t *testing.T) {
	model := header + ",reordered_ppm,reorder_onset_percent,duplicate_ppm,loss_ppm,loss_onset_percent\n" +
		"64,100,1,2,3,0.1,0.2,1000,20,500,100,40\n"
	tests := map[string]struct {
		ppm                        int64
		reordered, duplicate, lost uint64
	}{
		// In one second at 10 %, 20 % and 40 %: 1,488,095, 2,976,190 and 5,952,380 frames.
		"below both onsets":      {100_000, 0, 744, 0},
		"reordering begins":      {200_000, 2976, 1488, 0},
		"loss begins":            {400_000, 5951, 2975, 595},
		"just before reordering": {199_999, 0, 1488, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, model, 2)
			m := trial(t, e, streams, load(t, 64, tc.ppm, 1), time.Second)
			rx := m.Rx[traffic.RxKey{Stream: 1, Port: "p1"}]
			if lost := m.Tx[1].Sent - rx.Received; rx.Reordered != tc.reordered || rx.Duplicate != tc.duplicate || lost != tc.lost {
				t.Errorf("reordered %d, duplicate %d, lost %d; want %d, %d, %d", rx.Reordered, rx.Duplicate, lost, tc.reordered, tc.duplicate, tc.lost)
			}
		})
	}
}

func TestTheTesterHasALimit(t *testing.T) {
	e, streams := pairs(t, header+",generator_limit_percent\n64,100,1,2,3,0,0,30\n", 2)
	m := trial(t, e, streams, load(t, 64, 600_000, 1), 10*time.Second)
	if tx := m.Tx[0]; tx.Intended != 89_285_714 || tx.Sent != 44_642_857 {
		t.Errorf("sent %d of %d, want 44642857 of 89285714", tx.Sent, tx.Intended)
	}
	if rx := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}]; rx.Received != 44_642_857 {
		t.Errorf("received %d, want everything that was sent", rx.Received)
	}
	m = trial(t, e, streams, traffic.Load{Max: true}, 10*time.Second)
	if tx := m.Tx[0]; tx.Intended != tx.Sent || tx.Sent != 44_642_857 {
		t.Errorf("at the maximum: sent %d of %d, want 44642857 of as many", tx.Sent, tx.Intended)
	}
}

func TestExactNumbersOfFrames(t *testing.T) {
	e, streams := pairs(t, half, 2)
	l := load(t, 64, 100_000, 1)
	l.Frames = 1_000_003
	m := trial(t, e, streams, l, 0)
	for _, s := range streams {
		if tx := m.Tx[s.ID]; tx.Sent != 1_000_003 || tx.Intended != 1_000_003 {
			t.Errorf("stream %d sent %d of %d, want 1000003", s.ID, tx.Sent, tx.Intended)
		}
	}
	// 1,000,003 frames at 1,488,095.24 frames/s.
	if m.TxTime != 672_002_016 {
		t.Errorf("sending took %d ns, want 672002016", m.TxTime)
	}
	m = trial(t, e, streams, l, time.Second/2)
	if tx := m.Tx[0]; tx.Sent != 744_047 {
		t.Errorf("half a second sent %d, want 744047: whichever ends first", tx.Sent)
	}
	m = trial(t, e, streams, traffic.Load{Max: true, Frames: 1000}, 0)
	if tx := m.Tx[0]; tx.Sent != 1000 {
		t.Errorf("at the maximum: sent %d, want 1000", tx.Sent)
	}
}

// 256 ports that all send to all others: 65,280 streams, shared capacity.
func TestFullMeshIsFastAndExact(t *testing.T) {
	const n = 256
	ports := make([]Port, n)
	for i := range ports {
		ports[i] = Port{Name: fmt.Sprintf("p%d", i+1), BitsPerSecond: tenGig}
	}
	var streams []traffic.Stream
	for i := range n {
		for j := range n {
			if i != j {
				streams = append(streams, traffic.Stream{ID: uint16(len(streams)), TxPort: ports[i].Name, RxPorts: []string{ports[j].Name}, FrameSize: 64})
			}
		}
	}
	e, err := New(half, ports)
	if err != nil {
		t.Fatal(err)
	}
	m := trial(t, e, streams, load(t, 64, 600_000, n-1), 10*time.Second)
	perPort := map[string]uint64{}
	for key, rx := range m.Rx {
		perPort[key.Port] += rx.Received
		if rx.Received > m.Tx[key.Stream].Sent {
			t.Fatalf("stream %d received %d of %d", key.Stream, rx.Received, m.Tx[key.Stream].Sent)
		}
	}
	if len(m.Rx) != 65_280 || len(perPort) != n {
		t.Fatalf("%d streams at %d ports came back", len(m.Rx), len(perPort))
	}
	for name, received := range perPort {
		if received != 74_404_761 { // half of line rate for 10 s
			t.Errorf("%s received %d, want its capacity of 74404761", name, received)
		}
	}
}

func TestStopCutsATrialShort(t *testing.T) {
	ctx := context.Background()
	e, streams := pairs(t, half, 2)
	if err := errors.Join(e.Configure(ctx, streams), e.Start(ctx, traffic.Trial{
		Loads: map[uint16]traffic.Load{0: load(t, 64, 100_000, 1)}, Duration: time.Hour,
	}), e.Clock().Sleep(ctx, time.Second), e.Stop(ctx), e.Clock().Sleep(ctx, 2*time.Second), e.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	m, err := e.Read(ctx)
	if err != nil || m.Tx[0].Sent != 1_488_095 || m.TxTime != time.Second {
		t.Errorf("sent %d in %s: %v; want 1488095 in 1s", m.Tx[0].Sent, m.TxTime, err)
	}
	if _, sends := m.Tx[1]; sends {
		t.Error("a stream without a load sent")
	}
	if now := e.Clock().Now().Sub(epoch); now != 3*time.Second {
		t.Errorf("%s passed, want 3s", now)
	}
}

func TestNoiseIsRepeatable(t *testing.T) {
	model := header + ",capacity_noise_ppm\n64,50,1,2,3,0,0,10000\n"
	received := func(seed uint64) (counts [20]uint64) {
		e, streams := pairs(t, model, 2, WithSeed(seed))
		for i := range counts {
			m := trial(t, e, streams, load(t, 64, 1_000_000, 1), time.Second)
			counts[i] = m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}].Received
		}
		return counts
	}
	first := received(7)
	if first != received(7) {
		t.Error("the same seed gave other counts")
	}
	different := false
	for _, n := range first {
		different = different || n != first[0]
		if n < 7_291_666 || n > 7_589_286 { // 49 % and 51 % of line rate
			t.Errorf("received %d, outside of the noise", n)
		}
	}
	if !different || first == received(8) {
		t.Error("there is no noise")
	}
}

func TestNeighboursCanBeMute(t *testing.T) {
	gateway := netip.MustParseAddr("198.18.0.1")
	e, _ := pairs(t, half, 2)
	if mac, err := e.Resolve(context.Background(), "p1", gateway); err != nil || mac == (traffic.MAC{}) {
		t.Errorf("resolved %v, %v", mac, err)
	}
	e, _ = pairs(t, half, 2, WithMuteNeighbours())
	var unresolved *traffic.UnresolvedError
	if _, err := e.Resolve(context.Background(), "p1", gateway); !errors.As(err, &unresolved) || unresolved.Port != "p1" {
		t.Errorf("error %v, want that p1 got no answer", err)
	}
}

func TestPaceWaits(t *testing.T) {
	e, _ := pairs(t, half, 2, WithPace(1000))
	ctx, cancel := context.WithCancelCause(context.Background())
	if err := e.Clock().Sleep(ctx, 5*time.Second); err != nil { // 5 ms
		t.Fatal(err)
	}
	stop := errors.New("stop")
	cancel(stop)
	if err := e.Clock().Sleep(ctx, time.Hour); !errors.Is(err, stop) {
		t.Errorf("error %v, want the cause of the end", err)
	}
	if passed := e.Clock().Now().Sub(epoch); passed != 5*time.Second {
		t.Errorf("%s passed, want 5s", passed)
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	e, streams := pairs(t, half, 2)
	if _, err := e.Read(ctx); err == nil {
		t.Error("read without a trial")
	}
	if err := e.Start(ctx, traffic.Trial{}); err == nil {
		t.Error("started without streams")
	}
	if err := e.Configure(ctx, nil); err == nil {
		t.Error("configured without streams")
	}
	streams[0].RxPorts = []string{"p9"}
	if err := e.Configure(ctx, streams); err == nil || !strings.Contains(err.Error(), `"p9"`) {
		t.Errorf("error %v, want the unknown port", err)
	}
	if _, err := New(half, []Port{{Name: "p1", BitsPerSecond: 1}, {Name: "p1", BitsPerSecond: 1}}); err == nil {
		t.Error("the same port twice was accepted")
	}
}
