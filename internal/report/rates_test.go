package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A load is shown as it was written.
func TestLoadsAreShownAsWritten(t *testing.T) {
	row := v1alpha1.ResultRow{
		RowID:    v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: "5Mpps"},
		Frames:   &v1alpha1.FrameSection{LineRatePPM: 336_000, FramesPerSecond: 10_000_000, OfferedFramesPerSecond: 9_999_998, Sent: 10, Received: 10},
		Validity: v1alpha1.ValidityValid,
	}
	text := tableOf([]v1alpha1.ResultRow{row}, unitFor(1)).String()
	for _, want := range []string{"offered", "5Mpps", "10,000,000", "9,999,998", "33.6000"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What left the tester comes next to the intended load where the two differ, whether the
// load was asked for or found.
func TestOfferedNextToIntended(t *testing.T) {
	for name, tc := range map[string]struct {
		load    v1alpha1.Load
		method  v1alpha1.Method
		offered int64
		many    *v1alpha1.MulticastSummary
		want    bool
	}{
		"a rate":                 {"5Mpps", v1alpha1.MethodLatency, 10_000_000, nil, true},
		"as intended":            {"50%", v1alpha1.MethodLatency, 9_999_998, nil, false},
		"less":                   {"50%", v1alpha1.MethodLatency, 9_989_999, nil, true},
		"more":                   {"50%", v1alpha1.MethodLatency, 10_010_001, nil, true},
		"less of what was found": {"", v1alpha1.MethodThroughput, 9_000_000, nil, true},
		"not known":              {"50%", v1alpha1.MethodLatency, 0, nil, false},
		"many receivers":         {"50%", v1alpha1.MethodLatency, 5_000_000, &v1alpha1.MulticastSummary{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			as := v1alpha1.ResultRow{
				RowID:  v1alpha1.RowID{Test: "a", Method: tc.method, FrameSize: 64, Load: tc.load},
				Frames: &v1alpha1.FrameSection{LineRatePPM: 336_000, FramesPerSecond: 10_000_000, OfferedFramesPerSecond: tc.offered, Sent: 10, Received: 10}, Multicast: tc.many,
			}
			text := tableOf([]v1alpha1.ResultRow{as}, unitFor(1)).String()
			if got := strings.Contains(text, "offered") && strings.Contains(text, group(tc.offered)); got != tc.want {
				t.Errorf("offered is shown: %t, want %t\n%s", got, tc.want, text)
			}
		})
	}
}
