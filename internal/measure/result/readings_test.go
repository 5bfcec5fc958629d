package result

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestDescribeReadings writes what the counters of a device explain of the loss.
func TestDescribeReadings(t *testing.T) {
	t.Parallel()
	counters := []v1alpha1.DeviceCounter{{Name: "input discards of Ethernet1/3", Frames: 1492}, {Name: "a", Frames: 3}, {Name: "b", Frames: 2}, {Name: "c", Frames: 1}}
	for want, r := range map[string]*v1alpha1.DeviceReadings{
		"": {Unexplained: new(int64(0))},
		"the device counted all 1,492 frames that were lost in the trials: 1,492 input discards of Ethernet1/3": {
			Lost: 1492, Counted: 1492, Unexplained: new(int64(0)), Counters: counters[:1],
		},
		"of 2,000 frames that were lost in the trials, the device counted 1,492 (1,492 input discards of Ethernet1/3), and no counter of it explains the other 508": {
			Lost: 2000, Counted: 1492, Unexplained: new(int64(508)), Counters: counters[:1],
		},
		"no counter of the device explains the 7 frames that were lost in the trials": {Lost: 7, Unexplained: new(int64(7))},
		"the device counted 1,492 input discards of Ethernet1/3, 3 a, 2 b, and 1 more counters; the device counted 1,498 frames more": {
			Counted: 1498, Unexplained: new(int64(0)), Counters: counters, Message: "the device counted 1,498 frames more",
		},
		"the counters of the device are not known: it has restarted": {Lost: 7, Message: "the counters of the device are not known: it has restarted"},
	} {
		if got := DescribeReadings(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := DescribeReadings(nil); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}
