package beds

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/bedprobe"
	"nodrop.dev/nodrop/internal/measure/calibration"
)

// firstRetry is the time after which a bed that failed a probe is probed again. It doubles with
// each failure, up to longestRetry: the time that a person waits for who has repaired the bed.
const (
	firstRetry   = 15 * time.Second
	longestRetry = 2 * time.Minute
)

// maxClockDifference is half of the time by which a clock may be behind for the certificates of
// a run to be valid.
const maxClockDifference = 5 * time.Minute

// probeDue returns the time until the next probe of a bed that no benchmark has; 0 and less if
// it is due. A bed that cannot be leased is probed sooner.
func (r *Reconciler) probeDue(bed *v1alpha1.TestBed, now time.Time) time.Duration {
	h := bed.Status.Health
	if h.ProbeTime == nil || h.Doubted {
		return 0
	}
	pause := r.ProbeEvery
	if h.Failures > 0 {
		pause = min(firstRetry<<min(h.Failures-1, 10), longestRetry, r.ProbeEvery)
		if restoresBase(bed) {
			pause = min(pause, firstRetry) // A person waits for it.
		}
		if kit.ReasonOf(bed.Status.Conditions, v1alpha1.ConditionHealthy) == v1alpha1.ReasonDeviceRefused {
			pause = r.ProbeEvery // Each attempt may count against the account.
		}
	}
	past := now.Sub(h.ProbeTime.Time)
	if past < 0 {
		return 0 // The clock was set back.
	}
	return pause - past
}

// unhealthy returns why a bed that is probed cannot be leased.
func unhealthy(bed *v1alpha1.TestBed) (reason, message string) {
	h := bed.Status.Health
	if h == nil {
		return "", ""
	}
	c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionHealthy)
	switch {
	case c != nil && c.Status == metav1.ConditionFalse:
		return c.Reason, c.Message
	case bed.Status.Lease != nil:
		return "", "" // It has never been probed, and works.
	case h.ProbeTime == nil:
		return v1alpha1.ReasonProbing, "the interfaces of the bed are read on their nodes before its first lease, which takes some seconds"
	case h.Doubted:
		return v1alpha1.ReasonProbing, "the interfaces of the bed are read on their nodes before its next lease, which takes some seconds"
	}
	return "", ""
}

// finding describes a problem of a bed.
type finding struct{ reason, message string }

// judgeAnswers returns what the answers of the nodes show, the worst first. Interfaces that a benchmark
// on another bed uses are in its pods, where the node does not show them.
func judgeAnswers(bed *v1alpha1.TestBed, answers []answered, used map[string]bool) []finding {
	var missing, others []finding
	for _, a := range answers {
		if a.device != nil {
			others = append(others, ofDevice(bed, a.device)...)
			continue
		}
		for _, p := range a.Problems {
			if used[a.node.Node+"/"+p.Port.Interface] {
				continue
			}
			f := describe(bed, a.node.Node, p)
			if p.Fault == bedprobe.Missing {
				missing = append(missing, f)
			} else {
				others = append(others, f)
			}
		}
		if a.More > 0 && len(used) == 0 {
			others = append(others, finding{v1alpha1.ReasonInterfaceMissing, fmt.Sprintf("node %s has %d more such interfaces", a.node.Node, a.More)})
		}
		if d := a.clockDifference(); d != 0 {
			others = append(others, finding{v1alpha1.ReasonClockWrong, fmt.Sprintf(
				"the clock of node %s is %s %s, and certificates of a run are valid up to a difference of 10m: synchronize the clocks of nodes, such as by NTP",
				a.node.Node, d.Abs().Round(time.Second), map[bool]string{true: "behind", false: "ahead"}[d < 0])})
		}
	}
	return append(missing, others...)
}

// describe describes a problem of an interface and its remedy.
func describe(bed *v1alpha1.TestBed, node string, p bedprobe.Problem) finding {
	path := "spec.ports"
	for i := range bed.Spec.Ports {
		if bed.Spec.Ports[i].Name == p.Port.Name {
			path = fmt.Sprintf("spec.ports[%d]", i)
		}
	}
	switch p.Fault {
	case bedprobe.NoLink:
		return finding{v1alpha1.ReasonLinkDown, fmt.Sprintf(
			"interface %s of node %s is up and has no link: check the cable of port %s, and the device at its other end", p.Port.Interface, node, p.Port.Name)}
	case bedprobe.Slow:
		return finding{v1alpha1.ReasonSpeedTooLow, fmt.Sprintf(
			"interface %s of node %s runs at %d Mbit/s, and %s.speed is %d Mbit/s: correct it, or the cable, the module or the settings of the device", p.Port.Interface, node, p.Megabits, path, p.Port.Megabits)}
	default:
		return finding{v1alpha1.ReasonInterfaceMissing, fmt.Sprintf(
			"node %s has no interface %s: correct %s.attachment.hostDevice.interface, or repair the card; ip link on the node lists its interfaces", node, p.Port.Interface, path)}
	}
}

// maxFindings is the number of findings that a message contains.
const maxFindings = 3

// setHealthy ends a probe with its result.
func (r *Reconciler) setHealthy(ctx context.Context, bed *v1alpha1.TestBed, now time.Time, found []finding) error {
	c := metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHealthy}
	if len(found) > 0 {
		var messages []string
		for _, f := range found[:min(len(found), maxFindings)] {
			messages = append(messages, f.message)
		}
		if more := len(found) - len(messages); more > 0 {
			messages = append(messages, fmt.Sprintf("%d more problems", more))
		}
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, found[0].reason, strings.Join(messages, "; ")
		bed.Status.Health.Failures++
	} else {
		calibrated, err := r.calibrated(ctx, bed, now)
		if err != nil {
			return err
		}
		probed := "the interfaces of the bed and the clocks of their nodes"
		if bed.Spec.Device.Management() != nil {
			probed = "the interfaces of the bed, the clocks of their nodes and the configuration of the device"
		}
		c.Message = probed + " are as they should be" + calibrated
		bed.Status.Health.Failures = 0
	}
	endProbe(bed.Status.Health, now)
	kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, c)
	return nil
}

// setUnknown ends a probe without an answer. What an earlier probe found wrong counts until a probe
// finds it right; otherwise the bed can be leased, since nothing speaks against it.
func setUnknown(bed *v1alpha1.TestBed, now time.Time, why string) {
	bed.Status.Health.Failures++
	endProbe(bed.Status.Health, now)
	if c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionHealthy); c != nil && c.Status == metav1.ConditionFalse {
		return
	}
	kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, metav1.Condition{
		Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProbeFailed,
		Message: "the interfaces of the bed could not be read: " + why,
	})
}

func endProbe(h *v1alpha1.BedHealth, now time.Time) {
	h.StartTime, h.Doubted = nil, false
	h.ProbeTime = &metav1.Time{Time: now}
}

// calibrated describes until when the calibration of the tester of a bed is used; empty for a bed
// that needs none.
func (r *Reconciler) calibrated(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) (string, error) {
	ref := bed.Spec.Calibration
	if ref == nil {
		return "", nil
	}
	var by v1alpha1.TestBed
	if err := r.Live.Get(ctx, client.ObjectKey{Name: ref.TestBedName}, &by); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading test bed %s: %w", ref.TestBedName, err)
	}
	if by.Status.Calibration == nil {
		return fmt.Sprintf("; bed %s has no calibration of the tester yet", ref.TestBedName), nil
	}
	until := by.Status.Calibration.Time.Add(calibration.MaxAge(ref))
	if until.Before(now) {
		return fmt.Sprintf("; the calibration of the tester is too old since %s: run a benchmark on bed %s", kit.Stamp(until), ref.TestBedName), nil
	}
	return "; the calibration of the tester is used until " + kit.Stamp(until), nil
}
