package report

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A throughput is as exact as its search, at each frame size.
func TestResolutionOfARow(t *testing.T) {
	document := func(resolution v1alpha1.LoadAmount, speeds ...v1alpha1.BitRate) *Document {
		d := &Document{Profile: &v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64, 1518}}, Environment: &v1alpha1.ResultEnvironment{}}
		d.Spec.Tests = []v1alpha1.Test{{Name: "t", Throughput: &v1alpha1.ThroughputTest{Resolution: resolution}}, {Name: "s", Soak: &v1alpha1.SoakTest{}}}
		for _, speed := range speeds {
			d.Environment.Ports = append(d.Environment.Ports, v1alpha1.PortEnvironment{Speed: speed})
		}
		return d
	}
	for name, tc := range map[string]struct {
		d    *Document
		test string
		size int32
		want int64
	}{
		"percent":             {document("0.5%", "10G"), "t", 64, 5_000},
		"a rate of small":     {document("100kpps", "10G", "10G"), "t", 64, 6_720},
		"a rate of large":     {document("10kpps", "10G", "10G"), "t", 1518, 12_304},
		"ports of two speeds": {document("100kpps", "10G", "25G"), "t", 64, 0},
		"without a search":    {document("100kpps", "10G"), "s", 64, 0},
		"no longer in spec":   {document("100kpps", "10G"), "gone", 64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.d.resolutionPPM(&v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: tc.test, FrameSize: tc.size}}); got != tc.want {
				t.Errorf("%d ppm, want %d", got, tc.want)
			}
		})
	}
}
