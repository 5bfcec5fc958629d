package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
)

// wasAway expects that a device did not forward for as long as its commands took on average, within a tolerance, and at most for
// the time longer that it takes to find its neighbors.
func wasAway(t testing.TB, r *v1alpha1.ResetSummary, times []time.Duration, tolerance, neighbors time.Duration) {
	t.Helper()
	if r == nil || len(times) != 2*int(r.Repetitions) {
		t.Fatalf("%+v, and the commands took these times: %v", r, times)
	}
	var want time.Duration
	for i := 0; i < len(times); i += 2 {
		want += (times[i+1] - times[i]) / time.Duration(r.Repetitions)
	}
	if got := time.Duration(r.AvgNs); got < want-tolerance || got > want+tolerance+neighbors {
		t.Errorf("reset %s: the device did not forward for %s by %s, and its commands took %s", r.Name, got, r.Method, want)
	}
}

// TestRunCommandResets resets Linux by commands of its bed: forwarding is stopped and started, and forgets the packet filter, and
// a port is taken down and up (RFC 6201 sections 4.1 and 4.2).
func TestRunCommandResets(t *testing.T) {
	l := newLinuxDevice(t, devicesample.Resets)
	log := filepath.Join(l.folder, "resets.log")
	now := "date +%s%N >> " + log // when the device stops to forward, and when it forwards again
	ssh := l.sample.Bed.Spec.Device.Physical.Management.SSH
	flap := &ssh.Resets[len(ssh.Resets)-1]
	flap.Commands = slices.Concat([]string{now}, flap.Commands, []string{now})
	ssh.Resets = []v1alpha1.DeviceReset{{
		Name: "forwardingRestart", Kind: v1alpha1.ResetSoftware, Answer: new("1"), Commands: []string{
			now + "; sysctl -qw net.ipv4.ip_forward=0; nft flush ruleset", "read again; sleep 0.7; sysctl -qw net.ipv4.ip_forward=$again; " + now,
		},
	}, *flap}
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		times := switched(t, log)
		if len(times) != 6 {
			t.Fatalf("the commands wrote %v: %+v", times, rows)
		}
		restart, flap := rows[0], rows[1]
		for _, row := range rows {
			if lost := strings.Contains(row.Message, "after the reset the device did not have the configuration of the run"); lost != (row.Test == "restart") {
				t.Errorf("%s: the filter was lost: %t: %s", row.Test, lost, row.Message)
			}
		}
		if restart.Reset.Name != "forwardingRestart" || restart.Reset.Trigger != v1alpha1.ResetByDevice || flap.Reset.Name != "portFlap" || flap.Reset.Kind != v1alpha1.ResetHardware {
			t.Errorf("%+v, %+v", restart.Reset, flap.Reset)
		}
		wasAway(t, restart.Reset, times[:4], 150*time.Millisecond, 0)
		// A port that was down has no neighbors. Linux asks for one again each second, and the first request may be lost.
		wasAway(t, flap.Reset, times[4:], 500*time.Millisecond, 2*time.Second)
	}
	l.measure()
}
