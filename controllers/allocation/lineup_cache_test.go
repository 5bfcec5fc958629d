package allocation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// randomLineup is a lab of two teams whose benchmarks wait for beds by name, by rack and by a rack that does not exist.
func randomLineup(r *rand.Rand) LineupInput {
	in := LineupInput{Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Policy: &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName, UID: "policy", Generation: 1}}}
	in.Policy.Spec.Window = metav1.Duration{Duration: time.Hour}
	for _, team := range []string{"a", "b"} {
		in.Namespaces = append(in.Namespaces, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, UID: types.UID("namespace-" + team)}})
		in.Profiles = append(in.Profiles, *objects.TrafficProfile(team, "ipv4", objects.UID(types.UID("profile-"+team)), objects.IPv4Pairs(64)))
	}
	for i, bed := range simulated(6, 2) {
		bed.UID, bed.Generation, bed.Labels = types.UID(bed.Name), 1, map[string]string{"rack": fmt.Sprint(i % 2)}
		bed.Spec.Access[0].Names = []string{"a", "b"}
		bed.Finalizers = []string{v1alpha1.FinalizerLeased}
		bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
		in.Beds = append(in.Beds, *bed)
	}
	for i := range 20 {
		in.Benchmarks = append(in.Benchmarks, *randomWaiting(r, i))
	}
	return in
}

func randomWaiting(r *rand.Rand, i int) *v1alpha1.Benchmark {
	b := racked(fmt.Sprint("waits-", i), int32(r.IntN(3)))
	b.Namespace, b.UID, b.Generation = []string{"a", "b"}[r.IntN(2)], types.UID(fmt.Sprint(i)), 1
	b.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 5, 11, i, 0, 0, time.UTC))
	b.Spec.TestBedSelector.MatchLabels["rack"] = fmt.Sprint(r.IntN(3))
	if r.IntN(3) == 0 {
		b.Spec.TestBedName, b.Spec.TestBedSelector = fmt.Sprintf("bed-%03d", r.IntN(7)), nil
	}
	return b
}

// change changes something in a lab, as the API server would.
func change(r *rand.Rand, in *LineupInput) {
	in.Beds, in.Benchmarks, in.Namespaces, in.Profiles = slices.Clone(in.Beds), slices.Clone(in.Benchmarks), slices.Clone(in.Namespaces), slices.Clone(in.Profiles)
	bed := in.Beds[r.IntN(len(in.Beds))].DeepCopy()
	i := slices.IndexFunc(in.Beds, func(b v1alpha1.TestBed) bool { return b.Name == bed.Name })
	switch r.IntN(10) {
	case 0:
		bed.Labels["rack"] = fmt.Sprint(r.IntN(3))
	case 1:
		bed.Generation++
		bed.Status.Conditions[0].ObservedGeneration++
		bed.Spec.Access[0].Names = []string{"a", "b"}[:1+r.IntN(2)]
	case 2:
		bed.Generation++
		bed.Spec.Access[0].MaxRunning = int32(r.IntN(3))
		bed.Status.Conditions[0].ObservedGeneration++
	case 3:
		in.Policy = in.Policy.DeepCopy()
		in.Policy.Generation++
		in.Policy.Spec.PoolLabel = []string{"", "rack"}[r.IntN(2)]
	case 4:
		version, _ := strconv.Atoi(in.Profiles[0].ResourceVersion) // 0 at first
		in.Profiles[0].ResourceVersion = fmt.Sprint(version + 1)
		in.Profiles[0].Spec.FrameSizes = []int32{64, 512}[:1+r.IntN(2)]
	case 5:
		in.Benchmarks = slices.Delete(in.Benchmarks, 0, 1)
	case 6:
		b := &in.Benchmarks[r.IntN(len(in.Benchmarks))]
		n := b.Generation
		*b = *b.DeepCopy()
		b.Generation, b.Spec.Priority = n+1, int32(r.IntN(9))
	case 7:
		bed.Status.Lease = &v1alpha1.BedLease{Holder: "a/other", UID: "other", AcquireTime: metav1.NewTime(in.Now)}
	case 8:
		in.Namespaces = in.Namespaces[:1+r.IntN(len(in.Namespaces))]
	default: // Caches list objects in any order.
		r.Shuffle(len(in.Benchmarks), func(i, j int) { in.Benchmarks[i], in.Benchmarks[j] = in.Benchmarks[j], in.Benchmarks[i] })
	}
	in.Beds[i] = *bed
	r.Shuffle(len(in.Beds), func(i, j int) { in.Beds[i], in.Beds[j] = in.Beds[j], in.Beds[i] })
}

// shownWaiting contains the fields of a waiting benchmark that people see.
type shownWaiting struct {
	Name, Why string
	Start     time.Time
}

func shownOf(in LineupInput, kept *judgments) (all []shownWaiting) {
	for _, w := range listWaiting(in, kept) {
		all = append(all, shownWaiting{w.Benchmark.Namespace + "/" + w.Benchmark.Name, w.Why, w.Start})
	}
	return all
}

// TestKeptJudgments changes random labs, and compares a lineup that keeps judgments with one that judges all again.
func TestKeptJudgments(t *testing.T) {
	reused := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		in, kept := randomLineup(r), &judgments{}
		for step := range 15 {
			got, want := shownOf(in, kept), shownOf(in, nil)
			if !cmp.Equal(got, want) {
				t.Fatalf("seed %d, step %d: with kept judgments: %s", seed, step, cmp.Diff(want, got))
			}
			v, _ := viewOf(in, kept)
			if v.judge.before == nil {
				t.Fatalf("seed %d, step %d: judgments of the same lab are not kept", seed, step)
			}
			for key := range v.judge.classes {
				if v.judge.before[key] != nil {
					reused++
				}
			}
			change(r, &in)
		}
	}
	if reused < 1000 {
		t.Errorf("only %d judgments were kept", reused)
	}
}

// TestProfileVersions checks that a profile is identified by its version, and by its spec if it has no version.
func TestProfileVersions(t *testing.T) {
	in := randomLineup(rand.New(rand.NewPCG(1, 3)))
	in.Profiles = in.Profiles[:1]
	p := &in.Profiles[0]
	lab := func(version string, size int32) digest {
		p.ResourceVersion, p.Spec.FrameSizes = version, []int32{size}
		return labOf(&in)
	}
	if lab("", 64) == lab("", 512) {
		t.Error("a profile without a version is the same with another spec")
	}
	if lab("1", 64) == lab("2", 64) {
		t.Error("a profile is the same with another version")
	}
	if lab("1", 64) != lab("1", 512) {
		t.Error("the spec of a profile with a version is read")
	}
}

// TestDigestsAreForgotten checks that what is kept does not grow with benchmarks that are gone.
func TestDigestsAreForgotten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	in, kept := randomLineup(r), &judgments{}
	shownOf(in, kept)
	if len(kept.digests) != len(in.Benchmarks) || len(kept.classes) == 0 {
		t.Fatalf("%d specs and %d classes of %d benchmarks are kept", len(kept.digests), len(kept.classes), len(in.Benchmarks))
	}
	in.Benchmarks = in.Benchmarks[:1]
	shownOf(in, kept)
	if len(kept.digests) != 1 || len(kept.classes) != 1 {
		t.Errorf("%d specs and %d classes are kept, and one benchmark waits", len(kept.digests), len(kept.classes))
	}
}

// TestWorksAreRemembered checks that the work of a benchmark is remembered for its generation only, and forgotten with the benchmark.
func TestWorksAreRemembered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	in, kept := randomLineup(r), &judgments{}
	for i := range 3 {
		b := randomWaiting(r, 100+i)
		began, ended := metav1.NewTime(in.Now.Add(-time.Hour)), metav1.NewTime(in.Now.Add(-time.Minute))
		b.Status.Phase, b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = v1alpha1.PhasePassed, "bed-000", &began, &ended
		in.Benchmarks = append(in.Benchmarks, *b)
	}
	remembered := work{own: "remembered"}
	last := &in.Benchmarks[len(in.Benchmarks)-1]
	shownOf(in, kept)
	if len(kept.works) != 3 || kept.works[last.UID].work != workIn(&in, last) {
		t.Fatalf("%d works are kept of 3 benchmarks that have ended, and %v of the last one", len(kept.works), kept.works[last.UID].work)
	}
	kept.works[last.UID] = workAt{last.Generation, kept.works[last.UID].profile, remembered}
	shownOf(in, kept)
	if work := kept.works[last.UID].work; work != remembered {
		t.Errorf("the work is computed again for the same generation: %v", work)
	}
	last.Generation++
	shownOf(in, kept)
	if work := kept.works[last.UID].work; work != workIn(&in, last) {
		t.Errorf("the work of the next generation is %v", work)
	}
	in.Benchmarks = in.Benchmarks[:len(in.Benchmarks)-1]
	shownOf(in, kept)
	if len(kept.works) != 2 {
		t.Errorf("%d works are kept of 2 benchmarks that have ended", len(kept.works))
	}
}

// workIn returns the work of a benchmark with its profile, if the lab has it.
func workIn(in *LineupInput, b *v1alpha1.Benchmark) work {
	for i := range in.Profiles {
		if p := &in.Profiles[i]; p.Namespace == b.Namespace && p.Name == b.Spec.TrafficProfileName {
			spec := digestOf(&p.Spec)
			return workOf(b, &spec)
		}
	}
	return workOf(b, nil)
}
