package report

import (
	"strings"
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

// A load is printed with the digits that its search supports, and never above the load that
// passed. The upper bound is one that failed.
func TestDigitsOfASearchedLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		ppm, upper int64
		want       string
	}{
		"1% of line rate":  {122_972, 132_900, "64 1,820,000 930 12.2"},
		"0.1%":             {122_972, 123_950, "64 1,829,000 936 12.29"},
		"to the last ppm":  {122_972, 122_973, "64 1,829,940 936.929 12.2972"},
		"the highest load": {999_900, 0, "64 14,879,463 7.618 99.9900"},
		"very coarse":      {122_972, 622_972, "64 1,800,000 930 12"},
	} {
		t.Run(name, func(t *testing.T) {
			rate := tc.ppm * 14_880_952 / 1_000_000
			row := v1alpha1.ResultRow{
				RowID:    v1alpha1.RowID{Test: "t", Method: v1alpha1.MethodThroughput, FrameSize: 64},
				Validity: v1alpha1.ValidityValid, Search: &v1alpha1.SearchSummary{UpperBoundPPM: tc.upper},
				Frames: &v1alpha1.FrameSection{LineRatePPM: tc.ppm, FramesPerSecond: rate, OfferedFramesPerSecond: rate, BitsPerSecond: rate * 512, Sent: 1, Received: 1},
			}
			d := &Document{Rows: []v1alpha1.ResultRow{row}}
			if text := d.Text(); !strings.Contains(strings.Join(strings.Fields(text), " "), tc.want) {
				t.Errorf("no %q in\n%s", tc.want, text)
			}
		})
	}
}
