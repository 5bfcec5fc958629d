package labpage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/calibration"
)

// Device describes the device of the bed.
func (v bedView) Device() string { return device.Describe(v.Bed.Spec.Device) }

// Tester describes engine and ports: "sim, 256 ports of 100G".
func (v bedView) Tester() string {
	ports, speeds := len(v.Bed.Spec.Ports), map[string]bool{}
	for _, p := range v.Bed.Spec.Ports {
		speeds[string(p.Speed)] = true
	}
	if sim := v.Bed.Spec.Engine.Sim; sim != nil && sim.Ports != nil {
		ports, speeds = int(sim.Ports.Count), map[string]bool{string(sim.Ports.Speed): true}
	}
	text := fmt.Sprintf("%s, %s", v.Bed.Spec.Engine.Kind, count(ports, "port"))
	if delete(speeds, ""); len(speeds) > 0 {
		text += " of " + strings.Join(slices.SortedFunc(maps.Keys(speeds), compareNaturally), " and ")
	}
	return text
}

// Labels are the labels by which benchmarks select the bed.
func (v bedView) Labels() []string { return labelsOf(v.Bed) }

// labelsOf returns the labels by which benchmarks select a bed, as "key=value". Labels of tools are left out.
func labelsOf(bed *v1alpha1.TestBed) (labels []string) {
	for _, key := range slices.Sorted(maps.Keys(bed.Labels)) {
		if !strings.Contains(key, "kubernetes.io/") && !strings.HasPrefix(key, "helm.sh/") {
			labels = append(labels, key+"="+bed.Labels[key])
		}
	}
	return labels
}

// health is the result of the last probe of the interfaces of a bed.
type health struct {
	// Text is empty for a bed that is not probed.
	Text, Why string
	// Bad reports whether the probe found something wrong.
	Bad bool
	// Probed is the time of the last probe; zero before it.
	Probed time.Time
}

// Health of the bed, by its condition Healthy.
func (v bedView) Health() (h health) {
	c := meta.FindStatusCondition(v.Bed.Status.Conditions, v1alpha1.ConditionHealthy)
	if c == nil {
		return h
	}
	switch c.Status {
	case metav1.ConditionTrue:
		h.Text = "healthy"
	case metav1.ConditionFalse:
		h.Text, h.Why, h.Bad = "not healthy", c.Message, true
	default:
		h.Text, h.Why = "not known", c.Message
	}
	if b := v.Bed.Status.Health; b != nil && b.ProbeTime != nil {
		h.Probed = b.ProbeTime.Time
	}
	return h
}

// calibrated is the calibration of the tester of a bed.
type calibrated struct {
	// Needed reports whether results of the bed need one.
	Needed bool
	// At is the time of the calibration, and Ends the time until which benchmarks may begin with it; zero without
	// one.
	At, Ends time.Time
	// Old reports whether it has ended.
	Old bool
	// By is the bed that measured it.
	By string
}

// calibrationOf returns the calibration of a bed: its own, if it has no device, or the one of the bed that it names.
func (s *snapshot) calibrationOf(bed *v1alpha1.TestBed) calibrated {
	if own := bed.Status.Calibration; own != nil {
		return calibrated{At: own.Time.Time, By: bed.Name}
	}
	c := calibrated{Needed: device.Of(bed.Spec.Device).Calibrated}
	ref := bed.Spec.Calibration
	if ref == nil {
		return c
	}
	c.Needed, c.By = true, ref.TestBedName
	c.At, c.Ends = calibration.Term(ref, s.bed(ref.TestBedName))
	c.Old = !c.Ends.IsZero() && s.at.After(c.Ends)
	return c
}

// nextFree is the time at which a bed is expected to be free.
type nextFree struct {
	// At is zero if it is not known, or the bed takes no benchmark.
	At time.Time
	// Now reports whether the bed is free, Latest that the use can end earlier, and About that its end is an estimate.
	Now, Latest, About bool
}

// Free is the time at which the use of the bed ends, and with it the reservations that follow without a gap.
// Benchmarks in the queue of the bed can have it then.
func (v bedView) Free() (f nextFree) {
	switch v.State {
	case stateClosed, stateNotReady, stateQuarantined:
		return f
	}
	f.At = v.Now
	if l := v.Lease; l != nil {
		switch {
		case v.Closing:
			return nextFree{}
		case !l.Until.IsZero():
			f.At, f.About = l.Until, true
		case !l.Latest.IsZero():
			f.At, f.Latest = l.Latest, true
		default:
			return nextFree{}
		}
	}
	for _, r := range v.Reserved { // By their begins.
		if !r.From.After(f.At) && r.Until.After(f.At) {
			f = nextFree{At: r.Until}
		}
	}
	f.Now = f.At.Equal(v.Now)
	return f
}
