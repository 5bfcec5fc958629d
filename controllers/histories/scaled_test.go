package histories

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

func deviceScales() []v1alpha1.DeviceScale {
	return []v1alpha1.DeviceScale{{
		Name: "acl", Range: v1alpha1.ScaleRange{Minimum: 1, Maximum: 4000},
		AccessList: v1alpha1.AccessListScale{Ports: []string{"e1", "e2"}, Permit: []v1alpha1.AddressPrefix{"198.18.0.0/16"}},
	}}
}

// scaling has a benchmark give the device lists of several lengths.
func scaling(b *v1alpha1.Benchmark) {
	trial := metav1.Duration{Duration: 200 * time.Millisecond}
	b.Spec.Tests = []v1alpha1.Test{{Name: "throughput", ConfigurationScale: &v1alpha1.ConfigurationScaleTest{
		Load: "10%", MaxTrials: 2, Resolution: 1, TrialDuration: trial, WaitTime: &metav1.Duration{},
	}}}
}

// listText adds a list to the configuration of a run.
func listText(wanted deviceText, entries int) deviceText {
	return wanted + deviceText(fmt.Sprintf("list nodrop-acl with %d entries\n", entries))
}

func isList(text deviceText) bool { return strings.Contains(string(text), "list nodrop-acl") }

func isReset(text deviceText) bool { return text == bootText }

// lists are the numbers of entries that a runner asks for one after the other; 0 is the configuration of the run.
var lists = []int{1, 4000, 201, 0}

// deviceLists are the lists that a pod has given the device.
type deviceLists struct {
	// asked names the process of the runner that asked for them, and given counts them.
	asked string
	given int
	// entering is the time since which the device gets a list; zero if it gets none. from is the configuration before, and into the one with
	// the list.
	entering   time.Time
	from, into deviceText
	// rested is the time since which the device has a list.
	rested time.Time
}

// scaleDevice lets the pod go on that gives the device lists, each of which leaves the device with a part of it for a while. A request that
// ends, with the runner or with the pod, gives the device back what it had before: maybe another list.
func (l *fakeLab) scaleDevice(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodRunning {
		return
	}
	uid := pod.Labels[labobjects.LabelUID]
	process, measures := l.runners.measuring(uid)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.lists[pod.UID]
	alive := pod.DeletionTimestamp.IsZero()
	now := time.Now()
	if s != nil && process != "" && process != s.asked {
		s.entering = time.Time{} // The next runner has restored the device first, behind the request of the last one.
	}
	switch {
	case alive && process != "" && (s == nil || s.asked != process) && measures >= l.unit:
		l.lists[pod.UID] = &deviceLists{asked: process}
		l.enterList(uid, l.lists[pod.UID])
	case s == nil:
	case s.entering.IsZero():
		if alive && process == s.asked && s.given < len(lists) && now.Sub(s.rested) >= l.unit {
			l.enterList(uid, s)
		}
	case now.Sub(s.entering) >= l.unit+l.delay(pod, fmt.Sprint("list", s.given))/2:
		text := s.from
		if alive && process == s.asked {
			text = s.into
		}
		l.check.setList(text)
		s.entering, s.rested = time.Time{}, now
	}
}

// enterList begins to give the device the next list. The caller holds the lock.
func (l *fakeLab) enterList(uid string, s *deviceLists) {
	text, wanted := l.check.texts(uid)
	s.from, s.into, s.entering = text, wanted, time.Now()
	if n := lists[s.given]; n > 0 {
		s.into = listText(wanted, n)
	}
	s.given++
	l.check.setDevice(partText)
}

// forgetWork lets the process of a pod begin anew that resets the device or gives it lists.
func (l *fakeLab) forgetWork(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.resets, pod)
	delete(l.lists, pod)
}

func (c *checker) setList(text deviceText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.device = text
	if isList(text) {
		c.listsGiven++
	}
}

// texts returns the configuration that the device has, and the one that it has to have in a run.
func (c *checker) texts(uid string) (has, wanted deviceText) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.device, c.wanted(uid)
}

// scales reports whether a benchmark gives the device lists.
func (c *checker) scales(uid string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	spec := c.specs[uid]
	return spec != nil && spec.Tests[0].ConfigurationScale != nil
}

// loseWith waits until the device has a configuration that a benchmark gave it in a trial, and deletes the pod of the runner.
func (w *world) loseWith(ctx context.Context, e event, is func(deviceText) bool) {
	for range 4 * e.much {
		if name := w.check.runningWith(is); name != "" {
			w.losePod(ctx, name, "runner", e, false)
			return
		}
		time.Sleep(w.unit / 2)
	}
}

// runningWith returns the name of the benchmark that runs while the device has such a configuration; empty without one.
func (c *checker) runningWith(is func(deviceText) bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, bed := range c.beds {
		if b := c.last[uid]; bed == managedBed && is(c.device) && b != nil && b.Status.Phase == v1alpha1.PhaseRunning {
			return b.Name
		}
	}
	return ""
}
