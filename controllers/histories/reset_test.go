package histories

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// bootText is the configuration with which the device comes back after a reset.
const bootText deviceText = "hostname boot\n"

func deviceResets() []v1alpha1.DeviceReset {
	return []v1alpha1.DeviceReset{{Name: "reload", Kind: v1alpha1.ResetSoftware, Commands: []string{"reload now"}}}
}

// deviceReset is a reset that a pod has made.
type deviceReset struct {
	// asked names the process of the runner that asked for it.
	asked string
	began time.Time
	// restoring is the time since which the device gets its configuration again; zero before.
	restoring time.Time
	done      bool
}

// resetDevice lets the pod go on that resets the device. Once for each process of a runner the device comes back with another
// configuration. When the trial is over it gets the configuration of the run again, also if the pod is being deleted meanwhile: its process
// may end late.
func (l *fakeLab) resetDevice(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodRunning {
		return
	}
	uid := pod.Labels[labobjects.LabelUID]
	process, measures := l.runners.measuring(uid)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.resets[pod.UID]
	alive := pod.DeletionTimestamp.IsZero()
	switch now := time.Now(); {
	case alive && process != "" && (r == nil || r.asked != process) && measures >= l.unit+l.delay(pod, process):
		l.resets[pod.UID] = &deviceReset{asked: process, began: now}
		l.check.setDevice(bootText)
		l.check.countReset()
	case r == nil || r.done:
	case r.restoring.IsZero():
		if alive && process == r.asked && now.Sub(r.began) >= 3*l.unit+l.delay(pod, "restore") {
			r.restoring = now
			l.check.setDevice(partText)
		}
	case now.Sub(r.restoring) >= 2*l.unit+3*l.delay(pod, "slow"):
		r.done = true
		l.check.restore(uid)
	}
}

// measuring returns the process that measures a run, and for how long; empty without one.
func (f *fakeRunners) measuring(uid string) (process string, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for pod, r := range f.pods {
		if r.uid == uid && r.begun && r.failed == "" && len(r.log(f.unit))+len(r.given) < len(sizes) {
			return fmt.Sprint(pod, "-", r.process), time.Since(r.began)
		}
	}
	return "", 0
}

// loseResetter takes the pod away that resets the device. The runner that measures then fails.
func (w *world) loseResetter(ctx context.Context, e event) {
	pod := w.loseRunning(ctx, labobjects.RoleTelemetry, e)
	if pod == nil {
		return
	}
	uid := pod.Labels[labobjects.LabelUID]
	w.check.allow(w.check.keyOf(uid).Name, v1alpha1.PhaseError)
	w.lab.runners.failRun(uid, "the pod that resets the device does not answer")
}

// failRun ends what the runner of a run measures.
func (f *fakeRunners) failRun(uid, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.pods {
		if r.uid == uid && r.begun {
			r.failed = why
		}
	}
}

// restore gives the device the configuration of a run.
func (c *checker) restore(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.device = c.wanted(uid)
}

// restoreFirst gives the device the configuration of the run when a runner begins, as runners do whose benchmark resets the device or gives it lists: an earlier one may have been
// lost after a reset, or with a list. It reports whether the device has it.
func (c *checker) restoreFirst(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.beds[uid] != managedBed || c.device == c.wanted(uid) {
		return true
	}
	if c.defect == listStays {
		return true
	}
	for _, pod := range c.pods {
		if pod.Labels[labobjects.LabelUID] == uid && pod.Labels[labobjects.LabelRole] == labobjects.RoleTelemetry && runs(pod) && pod.DeletionTimestamp.IsZero() {
			if isList(c.device) {
				c.listsRestored++
			} else {
				c.restoredFirst++
			}
			c.device = c.wanted(uid)
			return true
		}
	}
	b := c.last[uid]
	if b != nil {
		c.allowed[b.Name] = append(c.allowed[b.Name], v1alpha1.PhaseError)
	}
	return false
}

func (c *checker) countReset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resets++
}
