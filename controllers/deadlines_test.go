package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestAwayOperator replaces the operator in the middle of a wait by one whose clock
// differs much from that of the first. No deadline passes by that.
func TestAwayOperator(t *testing.T) {
	server := startServer(t)
	for clock, difference := range map[string]time.Duration{"an hour later": 2 * time.Hour, "an hour earlier": -2 * time.Hour} {
		for name, tc := range map[string]func(*world, time.Duration){
			"while the device is started":  awayPreparing("device is started"),
			"while the agents are started": awayPreparing("agents are started"),
			"during the measurement":       awayRunning,
			"during the clean-up":          awayCleaningUp,
			"after an orphan":              awayOrphan,
		} {
			t.Run(name+", "+clock, func(t *testing.T) { tc(newWorld(t, server), difference) })
		}
	}
}

// away stops the operator and starts one with another clock, which reads it often
// enough to end a wait if it used its clock.
func (w *world) away(difference time.Duration) {
	w.t.Helper()
	w.stop()
	w.pass(difference)
	w.start()
	w.readsClock(3)
}

// readsClock waits until the operator has read its clock n times.
func (w *world) readsClock(n int64) {
	w.t.Helper()
	until := w.asked.Load() + 2*n
	w.Eventually(w.asked.Load).Should(BeNumerically(">=", until))
}

func awayPreparing(stage string) func(*world, time.Duration) {
	return func(w *world, difference time.Duration) {
		w.at(stage)
		w.away(difference)
		w.Expect(w.benchmark("b").Status.Phase).To(Equal(v1alpha1.PhasePreparing))
		w.letGo("b", stages[stage].held)
		b := w.reaches("b", v1alpha1.PhaseRunning)
		w.runners.report(b, measured(row(64)))
		w.reaches("b", v1alpha1.PhaseMeasured)
		w.bedIsClean("frr")
	}
}

func awayRunning(w *world, difference time.Duration) {
	b := w.measuringOnModel()
	w.away(difference)
	w.Expect(w.benchmark("b").Status.Phase).To(Equal(v1alpha1.PhaseRunning))
	w.runners.report(b, measured(row(64), row(128)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("sim")
}

func awayCleaningUp(w *world, difference time.Duration) {
	w.kubelet.hold("device-down")
	w.at("measuring")
	w.runners.report(w.benchmark("b"), measured(row(64)))
	w.appears("b", "device-down")
	w.says("b", v1alpha1.ConditionCleanedUp, v1alpha1.ReasonCleaningUp)
	w.away(difference)
	w.Expect(w.benchmark("b").Status.Phase).To(Equal(v1alpha1.PhaseCleaningUp))
	w.Expect(w.quarantined().Status).To(BeEmpty())
	w.letGo("b", "device-down")
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

func awayOrphan(w *world, difference time.Duration) {
	w.at("measuring")
	w.stop()
	w.force("b")
	w.kubelet.hold("device-down")
	w.start()
	w.Eventually(func() metav1.ConditionStatus { return w.quarantined().Status }).Should(Equal(metav1.ConditionUnknown))
	w.away(difference)
	w.Expect(w.quarantined().Status).To(Equal(metav1.ConditionUnknown))
	w.kubelet.release(w)
	w.bedIsCleanEventually("frr")
}

// TestExpiredCertificates replaces the operator by one that begins after the certificates of a run have
// expired: no runner can be asked any more, and the run ends with that reason.
func TestExpiredCertificates(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]struct {
		stage          func(*world)
		bed, condition string
	}{
		"during the measurement":   {func(w *world) { w.measuringOnModel() }, "sim", v1alpha1.ConditionMeasured},
		"while agents are started": {func(w *world) { w.at("agents are started") }, "frr", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server)
			tc.stage(w)
			w.stop()
			w.pass(time.Duration(w.benchmark("b").Spec.ActiveDeadlineSeconds)*time.Second + 8*24*time.Hour)
			w.start()
			b := w.reaches("b", v1alpha1.PhaseError)
			if tc.condition != "" {
				w.says("b", tc.condition, v1alpha1.ReasonCertificatesExpired)
			}
			w.Expect(b.Status.Message).To(ContainSubstring("the certificates of the run were valid until"))
			w.bedIsClean(tc.bed)
		})
	}
}
