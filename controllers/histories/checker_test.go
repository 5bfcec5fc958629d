package histories

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// checker checks every version of every object against the invariants.
type checker struct {
	mu sync.Mutex
	// behind reports whether changes of different kinds are not seen in the order of their
	// writes.
	behind bool
	// wrong are the violations, in their order.
	wrong []string
	// beds are the beds by the UIDs of the benchmarks that had them, and attempts those for
	// which they had them. Leases of earlier attempts do not count.
	beds     map[string]string
	attempts map[string]int32
	// second are the beds that attempts have in addition, and contended contains the attempts for which rivals may lease one, by attemptName.
	second    map[string]*secondBed
	contended map[string]bool
	// leaders counts the operators that lead, and twoLed reports whether there were two at once.
	leaders int
	twoLed  bool
	// last is the last version of each benchmark, by UID.
	last map[string]*v1alpha1.Benchmark
	// parts are the frame sizes that each part of a result holds, by the UID of the
	// benchmark and the name of the part.
	parts map[string]map[string][]int32
	// numbers contains the numbers of parts, by name.
	numbers map[string]int32
	// edits counts the changes of each bed that matter to a measurement, and editsAt is how
	// many there were when a benchmark began to measure, by UID.
	edits   map[string]int
	editsAt map[string]int
	// preempted counts the decisions to return a bed, and resumed those with finished rows.
	preempted, resumed int
	// begun are the UIDs of the members of gangs that have begun, and inGangs counts them.
	begun   map[string]bool
	inGangs int
	// allowed are the phases in which a benchmark may end, by namespaced name; Passed
	// when it is not listed.
	allowed map[string][]v1alpha1.BenchmarkPhase
	// sick are the UIDs of runs whose clean-up may fail.
	sick map[string]bool
	// pods are the live pods, by name.
	pods map[string]*corev1.Pod
	// started are the UIDs of benchmarks that had a pod.
	started map[string]bool
	// reserved are the reservations.
	reserved map[string]*reserved
	// specs contains the specs of benchmarks, by UID.
	specs map[string]*v1alpha1.BenchmarkSpec
	// inReserved counts the leases within a reservation, and the others.
	inReserved map[bool]int
	// stores are the archive and the recorder; nil without them.
	stores *fakeStores
	// forced are the names of benchmarks that were forced out.
	forced []string
	// clockSet reports whether the clock of an operator was set.
	clockSet bool
	// nodeDown is the time since which the node is down; zero if it is not.
	nodeDown time.Time
	// device is the configuration of the device that is configured.
	device deviceText
	// configured counts how often it got one, and broken how often a pod was lost that had begun to enter one.
	configured, broken int
	// hooks are the hooks of runs by attemptOf, and hooksRun counts hooks that have succeeded.
	hooks    map[string]*hookProgress
	hooksRun int
	// resets counts the resets of the device, and restoredFirst the runners that began after one that was lost in a reset.
	resets, restoredFirst int
	// listsGiven counts the lists that the device got, and listsRestored the runners that began after one that was lost with a list.
	listsGiven, listsRestored int
	// node is the node of a topology that is configured.
	node node
	// defect is a defect of the lab; empty for none.
	defect string
	// requests counts requests; nil counts none.
	requests *requests
	// askedFor counts the beds that the allocator took for a benchmark.
	askedFor int
	// passedOn counts the leases that replaced one of a benchmark that had ended.
	passedOn int
}

func newChecker() *checker {
	return &checker{
		device: baseText, node: node{lost: map[string]bool{}}, hooks: map[string]*hookProgress{},
		second: map[string]*secondBed{}, contended: map[string]bool{},
		beds: map[string]string{}, attempts: map[string]int32{}, last: map[string]*v1alpha1.Benchmark{}, parts: map[string]map[string][]int32{},
		numbers: map[string]int32{}, edits: map[string]int{}, editsAt: map[string]int{},
		allowed: map[string][]v1alpha1.BenchmarkPhase{}, sick: map[string]bool{}, pods: map[string]*corev1.Pod{},
		begun: map[string]bool{}, started: map[string]bool{}, reserved: map[string]*reserved{}, specs: map[string]*v1alpha1.BenchmarkSpec{}, inReserved: map[bool]int{},
	}
}

// violated records a violation. The caller holds the lock.
func (c *checker) violated(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *checker) violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.wrong)
}

// allow adds phases in which a benchmark may end.
func (c *checker) allow(name string, phases ...v1alpha1.BenchmarkPhase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed[name] = append(c.allowed[name], phases...)
}

func (c *checker) allowSick(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sick[uid] = true
}

// see judges one change.
func (c *checker) see(ch change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch after := ch.after.(type) {
	case *v1alpha1.TestBed:
		before, _ := ch.before.(*v1alpha1.TestBed)
		c.seeBed(before, after)
	case *v1alpha1.Benchmark:
		c.specs[string(after.UID)] = &after.Spec
		c.seeBenchmark(after)
		if ch.what == watch.Deleted {
			c.seeDeletion(after)
		}
	case *v1alpha1.Reservation:
		c.seeReservation(after, ch.what == watch.Deleted)
	case *v1alpha1.BenchmarkResult:
		if ch.what != watch.Deleted {
			c.seePart(after)
		}
	case *corev1.Pod:
		c.seePod(after, ch.what == watch.Deleted)
	}
}

func (c *checker) seeBed(before, after *v1alpha1.TestBed) {
	was, is := v1alpha1.BedLease{}, v1alpha1.BedLease{}
	if before != nil && before.UID == after.UID && before.Status.Lease != nil {
		was = *before.Status.Lease
	}
	if after.Status.Lease != nil {
		is = *after.Status.Lease
	}
	passedOn := was.UID != "" && is.UID != "" && (was.UID != is.UID || was.Attempt != is.Attempt)
	if passedOn && !c.behind && (c.last[was.UID] == nil || !kit.Returned(before, c.last[was.UID])) {
		c.violated("bed %s went from %s to %s without being free", after.Name, was.UID, is.UID)
	}
	if was.UID != "" && (is.UID == "" || passedOn) && c.beds[was.UID] == after.Name && c.attempts[was.UID] == was.Attempt {
		c.seeRelease(after.Name, was.UID)
	}
	if was.UID != "" && (is.UID == "" || passedOn) {
		c.seeSecondReturned(after.Name, was)
	}
	if c.requests != nil && was.UID != is.UID {
		if holder := c.last[was.UID]; holder != nil {
			c.requests.lease(after.Name, holder.Namespace, false)
		}
		if is.UID != "" {
			c.requests.lease(after.Name, "", true)
		}
	}
	if before != nil && !equality.Semantic.DeepEqual(before.Spec.Ports, after.Spec.Ports) {
		c.edits[after.Name]++
	}
	c.seeAsking(before, after)
	if is.UID != "" && (was.UID == "" || passedOn) {
		if passedOn {
			c.passedOn++
		}
		c.seeLease(after)
		c.seeNode(after)
		if last := c.last[is.UID]; (last == nil || last.Status.Resumption == nil) && !c.hasOther(after.Name, is) {
			c.editsAt[is.UID] = c.edits[after.Name]
		}
	}
	if other := c.beds[is.UID]; is.UID != "" && (other == "" || is.Attempt >= c.attempts[is.UID]) {
		if c.hasOther(after.Name, is) {
			c.seeSecondBed(after.Name, is)
		} else {
			if of := attemptName(is.UID, is.Attempt); other != after.Name || c.attempts[is.UID] != is.Attempt {
				c.contended[of] = c.rivals()
			}
			c.beds[is.UID], c.attempts[is.UID] = after.Name, is.Attempt
		}
	}
	if meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionQuarantined) && !c.sick[is.UID] {
		c.violated("bed %s is quarantined after %s, whose clean-up could not fail: %s", after.Name, is.UID,
			meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionQuarantined).Message)
		c.sick[is.UID] = true
	}
}

// seeRelease judges that nothing of a benchmark is left on its bed. An operator that was replaced may have made the pod of a hook
// since the others were removed: it does not start any more (labobjects.CloseStage), and seeHookBegin would see it. The
// caller holds the lock.
func (c *checker) seeRelease(bed, uid string) {
	for _, pod := range c.pods {
		if pod.Labels[labobjects.LabelRole] == labobjects.RoleHook && !runs(pod) {
			continue
		}
		if pod.Labels[labobjects.LabelUID] == uid && labobjects.AttemptOf(pod.Labels) == c.attempts[uid] && !c.behind {
			c.violated("bed %s was given back while pod %s is there", bed, pod.Name)
		}
	}
	if bed == managedBed && c.device != baseText {
		c.violated("bed %s was given back by %s while its device has %q", bed, uid, c.device)
	}
	c.seeNodeReturned(bed, uid)
	if bed == managedBed {
		c.seeHooksEnd(bed, uid)
	}
	if c.behind || !c.started[uid] || c.returnsWithoutRows(uid) {
		delete(c.beds, uid) // It waits again, and may get another bed.
	}
}

func (c *checker) seeBenchmark(after *v1alpha1.Benchmark) {
	uid, name := string(after.UID), after.Name
	before := c.last[uid]
	c.last[uid] = after
	c.seeChoice(uid)
	if before == nil {
		return
	}
	if before.Status.Outcome != "" && before.Status.Outcome != after.Status.Outcome {
		c.violated("benchmark %s: outcome %s became %s: %s", name, before.Status.Outcome, after.Status.Outcome, after.Status.Message)
	}
	c.seePreemption(before, after)
	c.seeGang(before, after)
	waits := after.Status.TestBedName == "" && (after.Status.Phase == v1alpha1.PhasePending && (c.behind || !c.started[uid]) ||
		after.Status.Phase == v1alpha1.PhaseQueued && before.Status.Preemption != nil)
	if before.Status.TestBedName != "" && before.Status.TestBedName != after.Status.TestBedName && !waits {
		c.violated("benchmark %s: bed %s became %q", name, before.Status.TestBedName, after.Status.TestBedName)
	}
	if before.Status.Phase == after.Status.Phase {
		return
	}
	if before.Status.Phase.Finished() {
		c.violated("benchmark %s: after its end phase %s became %s", name, before.Status.Phase, after.Status.Phase)
	}
	phase := after.Status.Phase
	if !phase.Finished() {
		return
	}
	c.seeTimes(after)
	if phase != v1alpha1.PhaseMeasured && !slices.Contains(c.allowed[name], phase) && !c.expired(after) {
		c.violated("benchmark %s ended as %s: %s", name, phase, after.Status.Message)
	}
	if stored := c.stored(uid); phase == v1alpha1.PhaseMeasured && len(stored) != len(sizes) && !c.behind {
		c.violated("benchmark %s passed with rows %v of %v", name, stored, sizes)
	}
	for _, kind := range []string{v1alpha1.ConditionBedLeased, v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady} {
		if meta.IsStatusConditionTrue(after.Status.Conditions, kind) {
			c.violated("benchmark %s is finished, and %s is true", name, kind)
		}
	}
}

// group are beds that share interfaces.
func group(bed string) string { return strings.TrimRight(bed, "0123456789") }

func (c *checker) seePod(pod *corev1.Pod, gone bool) {
	if gone {
		c.seeLost(pod)
		delete(c.pods, pod.Name)
		return
	}
	c.seeHook(pod)
	before := c.pods[pod.Name]
	c.pods[pod.Name] = pod
	uid := pod.Labels[labobjects.LabelUID]
	c.started[uid] = true
	if before == nil {
		c.seePodOfTwo(pod)
	}
	if !runs(pod) || before != nil && runs(before) {
		return
	}
	for _, other := range c.pods {
		o := other.Labels[labobjects.LabelUID]
		if o != uid && runs(other) && c.beds[o] != "" && group(c.beds[o]) == group(c.beds[uid]) {
			c.violated("pod %s of a run on bed %s was started while pod %s of a run on bed %s is there", pod.Name, c.beds[uid], other.Name, c.beds[o])
		}
	}
}

// runs reports whether a pod was started: it may have changed something on its node.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase != "" && pod.Status.Phase != corev1.PodPending
}

// seePart judges a part of a result: rows only come, and each comes once.
func (c *checker) seePart(after *v1alpha1.BenchmarkResult) {
	uid := after.Spec.BenchmarkUID
	if c.parts[uid] == nil {
		c.parts[uid] = map[string][]int32{}
	}
	before := c.parts[uid][after.Name]
	var now []int32
	for i := range after.Spec.Rows {
		now = append(now, after.Spec.Rows[i].FrameSize)
	}
	if len(now) < len(before) || !slices.Equal(before, now[:len(before)]) {
		c.violated("part %s had rows %v and has %v", after.Name, before, now)
	}
	c.parts[uid][after.Name], c.numbers[after.Name] = now, after.Spec.Part
	if b := c.last[uid]; c.behind && b != nil && b.Spec.Preemptible {
		return // Which parts count may not be seen yet.
	}
	all := c.stored(uid)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		c.violated("the result of %s has a row twice: %v", uid, all)
	}
}

// incomplete describes what is missing of benchmarks that passed, once all is settled; empty
// if nothing is.
func (c *checker) incomplete() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, b := range c.last {
		if stored := c.stored(uid); b.Status.Phase == v1alpha1.PhaseMeasured && len(stored) != len(sizes) {
			return fmt.Sprintf("benchmark %s passed with rows %v of %v", b.Name, stored, sizes)
		}
	}
	return ""
}

// stored are the frame sizes of the rows that are stored of a benchmark and count, sorted.
func (c *checker) stored(uid string) []int32 {
	var all []int32
	for name, sizes := range c.parts[uid] {
		if c.numbers[name] > discarded(c.last[uid]) {
			all = append(all, sizes...)
		}
	}
	slices.Sort(all)
	return all
}

// began checks that a runner measures nothing that is stored.
func (c *checker) began(uid string, known map[int32]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if want := c.wanted(uid); c.beds[uid] == managedBed && c.device != want {
		c.violated("a runner of %s began while the device has %q, want %q", uid, c.device, want)
	}
	c.seeNodeMeasured(uid)
	for _, size := range c.stored(uid) {
		if !known[size] {
			c.violated("a runner of %s began and measures the row of %d bytes, which is stored", uid, size)
		}
	}
}
