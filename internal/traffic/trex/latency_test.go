package trex

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// recordedLatency is the real server's answer about 4001 frames, of which 5 % were
// dropped on the way (recording 10), with "drp" as frames that did not come.
const recordedLatency = `{"er":{"drp":197,"sth":189},"lat":{"average":506.0,"histogram":{"10":42,"100":198,"1000":394,"20":171,"200":279,"2000":12,"30":214,"300":553,"3000":12,"40":172,"400":112,"4000":4,"50":58,"500":339,"5000":3,"60":82,"600":47,"70":109,"700":218,"80":48,"800":575,"8000":1,"90":38,"900":123},"jit":604,"last_max":8186,"total_max":8186,"total_min":10}}`

func TestLatencyAsRecorded(t *testing.T) {
	var stats latencyStats
	if err := json.Unmarshal([]byte(recordedLatency), &stats); err != nil {
		t.Fatal(err)
	}
	l, err := stats.latency()
	if err != nil {
		t.Fatal(err)
	}
	if l.Count != 3804 || l.MinNs != 10_000 || l.MaxNs != 8_186_000 {
		t.Errorf("%d frames of %d to %d ns: recorded are 3804 received, 10 to 8186 us", l.Count, l.MinNs, l.MaxNs)
	}
	if mean := l.SumNs / l.Count; mean < 460_000 || mean > 660_000 {
		t.Errorf("mean %d ns: the bounds of the buckets allow 460 to 660 us", mean)
	}
	if l.JitterCount != 0 || stats.Errors.Dropped != 197 {
		t.Errorf("jitter of %d frames, %d dropped: want none, and 197", l.JitterCount, stats.Errors.Dropped)
	}
	if l.Buckets[traffic.BucketIndex(8_186_000)] != 1 {
		t.Errorf("the slowest frame is not in the bucket of the maximum: %v", l.Buckets)
	}
}

// A maximum below the highest bucket leaves out the frames in it, as the server
// returned after a run of 200 ms: then the maximum is the upper end of the bucket.
func TestMaximumOfTheBeginning(t *testing.T) {
	for maximum, want := range map[string]uint64{"0": 8_999_999, "7999": 8_999_999, "8186": 8_186_000} {
		var stats latencyStats
		if err := json.Unmarshal([]byte(strings.ReplaceAll(recordedLatency, `"total_max":8186`, `"total_max":`+maximum)), &stats); err != nil {
			t.Fatal(err)
		}
		if l, err := stats.latency(); l.MaxNs != want || err != nil {
			t.Errorf("maximum of %s us: %d ns, %v: want %d", maximum, l.MaxNs, err, want)
		}
	}
	stats := latencyStats{}
	stats.Lat.Histogram = map[string]uint64{"0": 3}
	if l, err := stats.latency(); l.MaxNs != 9_999 || l.Count != 3 || err != nil {
		t.Errorf("%+v, %v: want 3 frames of less than 10 us", l, err)
	}
}

// The first bucket has the frames that are in no other, if the server ever counted as many.
func TestFirstBucket(t *testing.T) {
	for name, c := range map[string]struct{ stats, least, received, want uint64 }{
		"of earlier streams": {stats: 79, least: 4, received: 60, want: 10},
		"as it is":           {stats: 10, least: 4, received: 60, want: 10},
		"others took long":   {stats: 10, least: 4, received: 70, want: 10},
		"none was so short":  {stats: 79, least: 12, received: 60, want: 0},
		"none is left":       {stats: 79, least: 4, received: 50, want: 0},
		"fewer were counted": {stats: 79, least: 4, received: 40, want: 0},
	} {
		var stats latencyStats
		stats.Lat.Min, stats.Lat.Histogram = float64(c.least), map[string]uint64{"0": c.stats, "10": 20, "300": 30}
		if stats.correct(c.received); stats.Lat.Histogram["0"] != c.want || stats.timed() != c.want+50 {
			t.Errorf("%s: %d frames below 10 us of %d timed: want %d", name, stats.Lat.Histogram["0"], stats.timed(), c.want)
		}
	}
}

func TestBucketBounds(t *testing.T) {
	var stats latencyStats
	stats.Lat.Histogram = map[string]uint64{"0": 1, "10": 2, "90": 3, "100": 4, "20000": 5}
	got, err := stats.buckets()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b bucket) int { return int(a.count) - int(b.count) })
	want := []bucket{{0, 10_000, 1}, {10_000, 20_000, 2}, {90_000, 100_000, 3}, {100_000, 200_000, 4}, {20_000_000, 30_000_000, 5}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, key := range []string{"15", "110", "x", "-10"} {
		stats.Lat.Histogram = map[string]uint64{key: 1}
		if _, err := stats.latency(); err == nil {
			t.Errorf("a bucket from %s on was taken", key)
		}
	}
}

// The server leaves out fields when nothing was received.
func TestLatencyOfNothing(t *testing.T) {
	for _, text := range []string{`{}`, `{"lat":{}}`, `{"lat":{"histogram":{},"total_max":0},"er":null}`} {
		var stats latencyStats
		if err := json.Unmarshal([]byte(text), &stats); err != nil {
			t.Fatal(err)
		}
		if l, err := stats.latency(); err != nil || l.Count != 0 || l.MaxNs != 0 {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
}

func TestDrawbacks(t *testing.T) {
	for driver, want := range map[string]string{
		"net_ice": "E810", "net_ice_dcf": "E810", "net_mlx5": "ConnectX", "mlx5_pci": "", "net_af_packet": "10 Gbit/s", "net_e1000_igb": "",
	} {
		p := &port{systemPort: systemPort{Driver: driver}}
		notes := strings.Join(p.notes(false), "\n")
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: %q, want %q", driver, notes, want)
		}
		if slices.Contains(p.notes(false), unsolicited) {
			t.Errorf("%s: a word on addresses of a port that has none", driver)
		}
		if timed := p.notes(true); !slices.Contains(timed, oneCore) {
			t.Errorf("%s: %q lacks that one core receives all timed frames", driver, timed)
		}
		p.Addresses = []netip.Prefix{netip.MustParsePrefix("198.18.0.2/24"), netip.MustParsePrefix("2001:2::2/64")}
		if !slices.Contains(p.notes(false), unsolicited) {
			t.Errorf("%s: %q lacks how gateways learn the port's addresses", driver, p.notes(false))
		}
		if timed, not := p.notes(true), p.notes(false); !slices.Contains(timed, badChecksum) || slices.Contains(not, badChecksum) {
			t.Errorf("%s: %q and %q: want a word on the UDP checksum of IPv6 where frames are timed", driver, timed, not)
		}
	}
}

func TestCapabilities(t *testing.T) {
	few, many := &port{}, &port{}
	few.RX.Counters, many.RX.Counters = 127, 1023
	ports := []*port{many, few}
	if c := capabilities(ports, 0); c.SampledLatency || c.LatencyType != "not measured" {
		t.Errorf("%+v promises latency, and no frame is timed", c)
	}
	c := capabilities(ports, 1_000)
	if !c.SampledLatency || !strings.Contains(c.LatencyType, "of 1,000 frames per second of each stream") {
		t.Errorf("%+v: want latency of 1,000 frames per second", c)
	}
	if c.MaxStreams != 127 {
		t.Errorf("%d streams: want as many as the port with fewest counters has, 127", c.MaxStreams)
	}
	if c.PerFrameLatency || c.Ordering || c.CrossHostLatency || c.Multicast || c.MPLS {
		t.Errorf("%+v promises what TRex cannot measure", c)
	}
}
