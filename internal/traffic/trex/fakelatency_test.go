package trex

// fakeTimes are the latencies of a stream, as the server keeps them: every frame
// goes into its bucket at once, but extremes are brought up to date from time to
// time, the greatest leaves out the first period, and what took less than 10 us
// is reported once it was in an update.
type fakeTimes struct {
	next      int
	histogram map[string]uint64
	// all counts frames by their latency in microseconds.
	all map[int]int
	// fresh is the number of frames in the current period, and freshHigh the maximum of
	// its latency as far as it counts. periods is the number of earlier periods that had
	// frames, and counted the number of frames in them.
	fresh, counted, periods uint64
	freshLow, freshHigh     int
	low, high, last         int
	// short is the number of frames that took less than 10 us, and shortKnown that number
	// at the last update.
	short, shortKnown uint64
}

// fakeLatencies are the latencies of each eight frames in turn, in microseconds, with the
// buckets that they lie in.
var fakeLatencies = [...]struct {
	us     int
	bucket string
}{{6, "0"}, {25, "20"}, {4321, "4000"}, {28, "20"}, {300, "300"}, {4321, "4000"}, {28, "20"}, {301, "300"}}

// fakeWarmUp is the number of frames that must have been counted before the greatest latency
// is kept, unless two periods have passed.
const fakeWarmUp = 10

func (t *fakeTimes) add() {
	one := fakeLatencies[t.next%len(fakeLatencies)]
	t.next++
	if t.all == nil {
		t.all = map[int]int{}
	}
	t.all[one.us]++
	if t.fresh == 0 || one.us < t.freshLow {
		t.freshLow = one.us
	}
	t.fresh++
	if t.counted > fakeWarmUp || t.periods > 1 {
		t.freshHigh = max(t.freshHigh, one.us)
	}
	if one.bucket == "0" {
		t.short++
		return
	}
	if t.histogram == nil {
		t.histogram = map[string]uint64{}
	}
	t.histogram[one.bucket]++
}

// update does what the server does twice a second.
func (t *fakeTimes) update() {
	if t.fresh == 0 {
		return
	}
	if t.counted == 0 || t.freshLow < t.low {
		t.low = t.freshLow
	}
	t.last, t.high = t.freshHigh, max(t.high, t.freshHigh)
	t.counted, t.periods = t.counted+t.fresh, t.periods+1
	t.fresh, t.freshLow, t.freshHigh = 0, 0, 0
	t.shortKnown = t.short
}

// latencyAnswer is the server's answer about a latency stream. The count of the first bucket
// never goes down, not even for another stream in the same place.
func (f *fakeServer) latencyAnswer(s *fakeStream) map[string]any {
	t := &s.times
	histogram := map[string]any{}
	for k, n := range t.histogram {
		histogram[k] = n
	}
	if t.shortKnown > 0 {
		f.mostShort[s.group] = max(f.mostShort[s.group], t.short)
		histogram["0"] = f.mostShort[s.group]
	}
	one := map[string]any{"lat": map[string]any{
		"average": 506.0, "histogram": histogram, "jit": 604, "last_max": t.last, "total_max": t.high, "total_min": t.low,
	}}
	if f.hdr {
		one["lat"].(map[string]any)["hdrh"] = t.hdr()
	}
	if s.dropped > 0 {
		one["er"] = map[string]any{"drp": s.dropped, "sth": s.dropped}
	}
	return one
}
