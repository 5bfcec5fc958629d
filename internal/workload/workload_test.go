package workload

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStripe(t *testing.T) {
	if got := Stripe(10, 4); !slices.Equal(got, []int64{3, 3, 2, 2}) {
		t.Errorf("%v", got)
	}
	if got := (IncastRequest{Blocks: Stripe(10_000_001, 23)}).Bytes(); got != 10_000_001 {
		t.Errorf("%d bytes", got)
	}
}

func TestPercentile(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i))
	}
	for percent, want := range map[int]time.Duration{0: 1, 1: 1, 50: 50, 99: 99, 100: 100} {
		if got := Percentile(all, percent); got != want {
			t.Errorf("p%d: %d, want %d", percent, got, want)
		}
	}
	if got := Percentile([]time.Duration{7}, 50); got != 7 {
		t.Errorf("p50 of one: %d", got)
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("p50 of none: %d", got)
	}
}

func TestDifferencesFromARequest(t *testing.T) {
	request := IncastRequest{CongestionControl: "reno", MTU: 1500}
	if got := (Settings{CongestionControl: "reno", MTU: 1500}).Differences(request); len(got) > 0 {
		t.Errorf("no difference: %q", got)
	}
	got := strings.Join((Settings{CongestionControl: "bbr", MTU: 9000, Offloads: []string{"rx-gro"}}).Differences(request), "; ")
	want := `congestion control reno was asked for, and the servers had bbr; an MTU of 1500 bytes was asked for, and the hosts had 9000; offloads should be off, and ["rx-gro"] were on`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := (Settings{CongestionControl: "bbr", MTU: 1500}).Differences(IncastRequest{MTU: 1500}); len(got) > 0 {
		t.Errorf("the default of the hosts: %q", got)
	}
}

func TestDoubtAboutHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		limits Limits
		want   string
	}{
		"idle":    {Limits{BusyPPM: 500_000}, ""},
		"at most": {Limits{BusyPPM: 950_000}, ""},
		"busy":    {Limits{BusyPPM: 990_000}, "busy for 99 % of the time"},
		"drops":   {Limits{SoftnetDrops: 3}, "dropped 3 packets"},
	} {
		if got := tc.limits.Doubt(); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
