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

// wasAway checks that the device did not forward for as long as its commands took, within a tolerance, from the times before and after each
// command that stops the device, and before and after each that starts it again. The time for which the power was to be off counts.
func wasAway(t testing.TB, r *v1alpha1.ResetSummary, times []time.Duration, tolerance time.Duration) {
	t.Helper()
	if r == nil || len(times) != 4*int(r.Repetitions) {
		t.Fatalf("%+v, and the commands took these times: %v", r, times)
	}
	var least, most time.Duration
	for each := range slices.Chunk(times, 4) {
		least += (each[2] - each[1]) / time.Duration(r.Repetitions)
		most += (each[3] - each[0]) / time.Duration(r.Repetitions)
	}
	if got := time.Duration(r.AvgNs + r.PowerOffNs); got < least-tolerance || got > most+tolerance {
		t.Errorf("reset %s: the device did not forward for %s by %s, and its commands took %s to %s", r.Name, got, r.Method, least, most)
	}
}

// TestRunCommandResets resets Linux by commands of its bed: forwarding is stopped and started, and forgets the packet filter, and
// a port is taken down and up (RFC 6201 sections 4.1 and 4.2).
func TestRunCommandResets(t *testing.T) {
	l := newLinuxDevice(t, devicesample.Resets)
	log := filepath.Join(l.folder, "resets.log")
	timed := func(command string) string {
		now := "date +%s%N >> " + log
		return now + "; " + command + "; " + now
	}
	ssh := l.sample.Bed.Spec.Device.Physical.Management.SSH
	flap := &ssh.Resets[len(ssh.Resets)-1]
	// A port that was down has no neighbors. Linux asks for one again each second, and the first request is lost while the other end of the
	// link is not up, which Linux may notice a second late.
	const neighbor = "for i in $(seq 60); do ip neigh show 198.18.2.2 dev e2 | grep -q lladdr && break; sleep 0.05; done"
	for i, command := range flap.Commands {
		command = strings.ReplaceAll(command, "ip link set e2 down", timed("ip link set e2 down"))
		flap.Commands[i] = strings.ReplaceAll(command, "ip link set e2 up", timed("ip link set e2 up; "+neighbor))
	}
	ssh.Resets = []v1alpha1.DeviceReset{{
		Name: "forwardingRestart", Kind: v1alpha1.ResetSoftware, Answer: new("1"), Commands: []string{
			timed("sysctl -qw net.ipv4.ip_forward=0") + "; nft flush ruleset", "read again; sleep 0.7; " + timed("sysctl -qw net.ipv4.ip_forward=$again"),
		},
	}, *flap}
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		times := switched(t, log)
		if len(times) != 8 {
			t.Fatalf("the commands wrote %v: %+v", times, rows)
		}
		restart, flap := rows[0], rows[1]
		for _, row := range rows {
			if row.Reset == nil {
				t.Fatalf("%s was not measured: %v %s", row.Test, row.ValidityReasons, row.Message)
			}
			if lost := strings.Contains(row.Message, "after the reset the device did not have the configuration of the run"); lost != (row.Test == "restart") {
				t.Errorf("%s: the filter was lost: %t: %s", row.Test, lost, row.Message)
			}
		}
		if restart.Reset.Name != "forwardingRestart" || restart.Reset.Trigger != v1alpha1.ResetByDevice || flap.Reset.Name != "portFlap" || flap.Reset.Kind != v1alpha1.ResetHardware {
			t.Errorf("%+v, %+v", restart.Reset, flap.Reset)
		}
		if !devicesample.LimitedByTester(restart) {
			wasAway(t, restart.Reset, times[:4], 150*time.Millisecond)
		}
		wasAway(t, flap.Reset, times[4:], 500*time.Millisecond)
	}
	l.measure()
}
