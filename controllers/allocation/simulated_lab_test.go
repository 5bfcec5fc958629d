package allocation

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// simulatedLab is a lab in simulated time: the view of an allocator decides, and objects have the times and
// the standings that the API server would store. Benchmarks have beds for a while, and nothing fails.
type simulatedLab struct {
	benchmarks, beds, teams int
	// policy reports whether there is a LabPolicy, with a team of weight 1 to 4 for each namespace.
	policy, mixed bool
	// run returns for how long a benchmark measures.
	run func(number int) time.Duration
	// turnover is the time from the end of a benchmark until its bed can be leased again.
	turnover func(number int) time.Duration

	view    *view
	now     time.Time
	version int
	objects struct {
		benchmarks []*v1alpha1.Benchmark
		beds       []*v1alpha1.TestBed
		policy     *v1alpha1.LabPolicy
		namespaces []corev1.Namespace
		profiles   []v1alpha1.TrafficProfile
	}
	numbers map[queue.Key]int
	// starts are the exact times of leases, by number, and ended is the number of benchmarks that have ended.
	starts []time.Time
	ended  int
	events map[int64][]func()
	shown  time.Time
	// tick is the interval of decisions; 0 if each event is followed by one.
	tick time.Duration
}

var simulatedBegin = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// fraction returns a number from 0 to 1 that follows from the arguments.
func fraction(of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x) / math.MaxUint64
}

func (l *simulatedLab) teamName(i int) string { return fmt.Sprintf("team-%02d", i) }

func (l *simulatedLab) begin() {
	l.now = simulatedBegin
	l.events, l.numbers = map[int64][]func(){}, map[queue.Key]int{}
	l.starts = make([]time.Time, l.benchmarks)
	l.view = newView(kit.Options{Now: func() time.Time { return l.now }}.WithDefaults())
	ch := newChanges()
	if l.policy {
		p := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName, Generation: 1, UID: "policy"}}
		p.Spec.Window.Duration = 6 * time.Hour
		p.Spec.Others = v1alpha1.TeamShare{Weight: 1}
		for i := range l.teams {
			p.Spec.Teams = append(p.Spec.Teams, v1alpha1.Team{Name: l.teamName(i), Namespaces: []string{l.teamName(i)}, TeamShare: v1alpha1.TeamShare{Weight: int32(1 + i%4)}})
		}
		l.objects.policy = p
		ch.policy(p, false)
	}
	for i := range l.teams {
		ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.teamName(i)}}
		l.objects.namespaces = append(l.objects.namespaces, ns)
		ch.namespace(&ns, false)
		p := objects.TrafficProfile(ns.Name, "pairs", objects.IPv4Pairs(64, 128))
		l.objects.profiles = append(l.objects.profiles, *p)
		ch.profile(p, false)
	}
	for i := range l.beds {
		bed := simulatedBed(fmt.Sprintf("sim-%03d", i))
		bed.Labels["rack"] = fmt.Sprint("r", i%8)
		bed.Spec.Access = []v1alpha1.AccessGrant{{MaxPriority: 100, MaxDuration: metav1.Duration{Duration: 12 * time.Hour}}}
		for team := range l.teams {
			bed.Spec.Access[0].Names = append(bed.Spec.Access[0].Names, l.teamName(team))
		}
		bed.UID = types.UID(bed.Name)
		bed.Finalizers = []string{v1alpha1.FinalizerLeased}
		bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		l.objects.beds = append(l.objects.beds, bed)
		ch.bed(bed, false)
	}
	l.view.apply(ch, l.now)
	l.objects.benchmarks = make([]*v1alpha1.Benchmark, l.benchmarks)
	for i := range l.benchmarks {
		l.after(0, func() { l.create(i) })
	}
}

// after lets something happen.
func (l *simulatedLab) after(d time.Duration, do func()) {
	at := l.now.Add(d.Round(time.Millisecond)).UnixMilli()
	if ms := l.tick.Milliseconds(); ms > 0 {
		at = (at + ms - 1) / ms * ms
	}
	l.events[at] = append(l.events[at], do)
}

func (l *simulatedLab) nextVersion() string { l.version++; return strconv.Itoa(l.version) }

// stored is the present time as the API server stores it.
func (l *simulatedLab) stored() *metav1.Time { return &metav1.Time{Time: l.now.Truncate(time.Second)} }

func (l *simulatedLab) create(i int) {
	b := objects.Benchmark(l.teamName(i%l.teams), fmt.Sprintf("b-%05d", i), objects.UID(types.UID(fmt.Sprint("b-", i))), objects.ProfileName("pairs"),
		objects.Deadline(3600), objects.Tests(objects.QuickThroughput(time.Second)), objects.Created(*l.stored()))
	b.Spec.TestBedName = ""
	b.Spec.Priority = int32(i % 3)
	if l.mixed {
		b.Spec.FrameSizes = []v1alpha1.FrameSize{[]v1alpha1.FrameSize{64, 128, 256, 512}[i/l.teams%4]}
	}
	in := func(op metav1.LabelSelectorOperator, racks ...string) {
		b.Spec.TestBedSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "rack", Operator: op, Values: racks}}}
	}
	switch {
	case i%10 == 0:
		b.Spec.TestBedName = l.objects.beds[i/10%l.beds].Name
	case i%10 < 6:
		in(metav1.LabelSelectorOpIn, fmt.Sprint("r", i%8), fmt.Sprint("r", (i+3)%8))
	default:
		in(metav1.LabelSelectorOpExists)
	}
	l.numbers[queueKey(b)] = i
	l.store(i, b)
}

func (l *simulatedLab) store(i int, b *v1alpha1.Benchmark) {
	b.ResourceVersion = l.nextVersion()
	l.objects.benchmarks[i] = b
	ch := newChanges()
	ch.benchmark(b, false)
	l.view.apply(ch, l.now)
}

func (l *simulatedLab) storeBed(i int, lease *v1alpha1.BedLease) {
	bed := l.objects.beds[i].DeepCopy()
	bed.ResourceVersion = l.nextVersion()
	bed.Status.Lease = lease
	l.objects.beds[i] = bed
	ch := newChanges()
	ch.bed(bed, false)
	l.view.apply(ch, l.now)
}

// step goes on to the next event, and decides; it reports whether there was one.
func (l *simulatedLab) step() bool {
	next := int64(math.MaxInt64)
	for at := range l.events {
		next = min(next, at)
	}
	if next == math.MaxInt64 {
		return false
	}
	due := l.events[next]
	delete(l.events, next)
	l.now = time.UnixMilli(next).UTC()
	for _, do := range due {
		do()
	}
	for _, d := range l.view.line.queue.Decide(l.view.snapshot(l.now)) {
		l.lease(d)
	}
	if l.policy && l.now.Sub(l.shown) >= 30*time.Second {
		l.shown = l.now
		p := l.objects.policy.DeepCopy()
		p.Status.Teams = l.view.shares.standings(l.view.snapshot(l.now))
		l.objects.policy = p
	}
	return true
}

func (l *simulatedLab) lease(d queue.Decision) {
	i := l.numbers[d.Entry.Key]
	var bed int
	_, _ = fmt.Sscanf(d.Bed, "sim-%d", &bed)
	b := l.objects.benchmarks[i].DeepCopy()
	l.starts[i] = l.now
	l.storeBed(bed, &v1alpha1.BedLease{Holder: d.Entry.String(), UID: string(b.UID), AcquireTime: *l.stored(), DeadlineSeconds: 3600})
	b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhaseRunning, StartTime: l.stored(), LeaseTime: l.stored(), TestBedName: d.Bed}
	l.store(i, b)
	l.after(l.run(i), func() {
		b := l.objects.benchmarks[i].DeepCopy()
		b.Status.Phase, b.Status.CompletionTime = v1alpha1.PhaseMeasured, l.stored()
		l.store(i, b)
		l.ended++
		l.after(l.turnover(i), func() { l.storeBed(bed, nil) })
	})
}

// lineup returns what a user computes now.
func (l *simulatedLab) lineup() []Place {
	in := LineupInput{Now: l.now, Namespaces: l.objects.namespaces, Profiles: l.objects.profiles, Policy: l.objects.policy}
	for _, b := range l.objects.benchmarks {
		if b != nil {
			in.Benchmarks = append(in.Benchmarks, *b)
		}
	}
	for _, b := range l.objects.beds {
		in.Beds = append(in.Beds, *b)
	}
	return Lineup(in)
}

// labError is the error of an expected start: a benchmark waited on for some time, and was expected late by
// another.
type labError struct {
	wait, late time.Duration
}

// errors runs the lab, and returns the errors of the starts that were expected at some moments.
func (l *simulatedLab) errors(t *testing.T, shortest time.Duration, moments ...float64) (all []labError) {
	t.Helper()
	l.begin()
	type expected struct {
		made, at time.Time
		number   int
	}
	var made []expected
	for l.step() {
		if len(moments) == 0 || float64(l.ended) < moments[0]*float64(l.benchmarks) {
			continue
		}
		for _, p := range l.lineup() {
			if p.Start.IsZero() {
				t.Errorf("%s has no expected start: %s", p.Benchmark.Name, p.Why)
				continue
			}
			made = append(made, expected{l.now, p.Start, l.numbers[queueKey(p.Benchmark)]})
		}
		moments = moments[1:]
	}
	for _, e := range made {
		start := l.starts[e.number]
		if start.IsZero() {
			t.Fatalf("benchmark %d got no bed", e.number)
		}
		if wait := start.Sub(e.made); wait >= shortest {
			all = append(all, labError{wait, e.at.Sub(start)})
		}
	}
	return all
}
