package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestPortGroups shares one device between benchmarks.
func TestPortGroups(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"two groups, then the whole device": portGroupsThenAll,
		"a reservation of the whole device": portGroupsReserved,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// leafBed is a bed with some ports of one switch.
func leafBed(name string, group bool, ports ...string) *v1alpha1.TestBed {
	bed := virtual(name)
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	if group {
		bed.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf-1"}
	}
	bed.Spec.Ports = nil
	for _, p := range ports {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: p, Node: "node1", Speed: "1G", Addresses: []string{"198.18.1." + p[1:] + "/24"},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "nd-" + p}},
		})
	}
	return bed
}

func leafBeds(w *world) {
	create(w.t, w.c, profile(), leafBed("leaf-1-a", true, "p1", "p2"), leafBed("leaf-1-b", true, "p3", "p4"), leafBed("leaf-1", false, "p1", "p2", "p3", "p4"))
}

func portGroupsThenAll(w *world) {
	leafBeds(w)
	create(w.t, w.c, benchmark("on-a", "leaf-1-a"), benchmark("on-b", "leaf-1-b"))
	a, b := w.reaches("on-a", v1alpha1.PhaseRunning), w.reaches("on-b", v1alpha1.PhaseRunning)
	w.Expect(w.benchmark("on-a").Status.Phase).To(Equal(v1alpha1.PhaseRunning), "both at once")
	create(w.t, w.c, benchmark("on-all", "leaf-1"))
	w.reaches("on-all", v1alpha1.PhaseQueued)
	w.Eventually(func() string { return w.place(named("on-all")).Why }).Should(MatchRegexp(
		"waits for bed leaf-1, whose interface node1/nd-p[13] bed leaf-1-[ab] has too, which team-routing/on-[ab] has; comes next"))
	w.Eventually(func() []string { return w.benchmark("on-a").Status.SharedWith }).Should(ConsistOf(team + "/on-b"))
	w.Eventually(func() []string { return w.benchmark("on-b").Status.SharedWith }).Should(ConsistOf(team + "/on-a"))
	w.runners.report(a, measured(row(64)))
	w.reaches("on-a", v1alpha1.PhaseMeasured)
	w.Expect(w.benchmark("on-all").Status.Phase).To(Equal(v1alpha1.PhaseQueued), "one group is still in use")
	w.runners.report(b, measured(row(64)))
	w.reaches("on-b", v1alpha1.PhaseMeasured)
	all := w.reaches("on-all", v1alpha1.PhaseRunning)
	create(w.t, w.c, benchmark("again", "leaf-1-b"))
	w.reaches("again", v1alpha1.PhaseQueued)
	w.runners.report(all, measured(row(64)))
	w.Expect(w.reaches("on-all", v1alpha1.PhaseMeasured).Status.SharedWith).To(BeEmpty())
	w.runners.report(w.reaches("again", v1alpha1.PhaseRunning), measured(row(64)))
	w.Expect(w.reaches("again", v1alpha1.PhaseMeasured).Status.SharedWith).To(BeEmpty())
}

// Who has reserved the whole device has all groups, and gets a group last that is in use.
func portGroupsReserved(w *world) {
	leafBeds(w)
	create(w.t, w.c, benchmark("on-a", "leaf-1-a", limitedTo(time.Hour)))
	a := w.reaches("on-a", v1alpha1.PhaseRunning)
	r := booked(w, team, "all", 0, 2*time.Hour)
	r.Spec.TestBedNames = []string{"leaf-1"}
	create(w.t, w.c, r, benchmark("on-b", "leaf-1-b", limitedTo(time.Hour)))
	w.reservationBecomes("all", v1alpha1.ReservationActive)
	w.waitsBecause(named("on-b"), v1alpha1.ReasonReserved, "reservation team-routing/all has bed leaf-1, which shares an interface or a device with leaf-1-b")
	w.runners.report(a, measured(row(64)))
	w.reaches("on-a", v1alpha1.PhaseMeasured)
	w.Expect(w.c.Delete(w.t.Context(), w.reservation("all"))).To(Succeed())
	w.runners.report(w.reaches("on-b", v1alpha1.PhaseRunning), measured(row(64)))
	w.reaches("on-b", v1alpha1.PhaseMeasured)
}
