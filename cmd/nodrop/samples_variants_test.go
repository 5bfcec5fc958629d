package main

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// publishedDifferences holds the sample of variants to the differences that its
// first lines speak of: mean and highest latency by frame size, in nanoseconds.
func publishedDifferences(t *testing.T, all []compare.Difference) {
	t.Helper()
	published := map[int32][2]int64{
		64: {319, 280}, 128: {509, 540}, 256: {316, 300}, 512: {319, 80},
		1024: {309, 90}, 1280: {322, -230}, 1518: {319, -190}, 9216: {372, -1220},
	}
	checked := 0
	for _, d := range all {
		if d.Variant != "fec-on" || d.Baseline != "fec-off" {
			t.Errorf("%+v", d)
		}
		// At lower loads the model has less to wait for, and smaller differences.
		if d.Load != "" && d.Load != v1alpha1.LoadThroughput {
			continue
		}
		checked++
		want := published[d.FrameSize]
		if x := d.Deltas; x.LatencyAvgNs == nil || *x.LatencyAvgNs != want[0] || x.LatencyMaxNs == nil || *x.LatencyMaxNs != want[1] || x.LatencyMinNs == nil || *x.LatencyMinNs != 0 {
			t.Errorf("%s %d B %s: %+v, want %d and %d", d.Test, d.FrameSize, d.Load, x, want[0], want[1])
		}
	}
	if checked != 2*len(published) {
		t.Errorf("%d differences at the throughput, want %d", checked, 2*len(published))
	}
}
