package report

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func TestProcessorsLine(t *testing.T) {
	for want, host := range map[string]v1alpha1.HostEnvironment{
		"lab-1: the tester sent on 0-1, and the device worked on 2-3":                                                          {Name: "lab-1", TesterCPUs: "0-1", DeviceCPUs: "2-3"},
		"tester and device together on 0, so that their limit is that of both, because the machine has one processor for both": {TesterCPUs: "0", Together: "the machine has one processor for both"},
		"": {Name: "lab-1", CPUs: 2},
	} {
		if got := processorsLine(host); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
