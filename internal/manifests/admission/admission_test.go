package admission_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics/opmetricstest"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestAdmission applies manifests to a real API server with the webhooks running.
func TestAdmission(t *testing.T) {
	s := startServer(t)
	t.Run("accepts frr", func(t *testing.T) { accepted(t, s, "frr") })
	if len(s.warnings.texts) > 0 {
		t.Errorf("the samples are warned of: %q", s.warnings.texts)
	}
	t.Run("broken", func(t *testing.T) { broken(t, s) })
	t.Run("a leased bed keeps its hardware", func(t *testing.T) { leasedBed(s) })
	t.Run("a benchmark keeps its spec", func(t *testing.T) { keepsItsSpec(t, s) })
	t.Run("a benchmark is written by a Go client", func(t *testing.T) { writtenAnew(s) })
	t.Run("a benchmark only takes an abort", func(t *testing.T) { abortOnly(s) })
	t.Run("warnings", func(t *testing.T) { warned(s) })
	for _, name := range samples(t) {
		t.Run("accepts "+name, func(t *testing.T) { accepted(t, s, name) })
	}
	t.Run("accepts calibration", func(t *testing.T) {
		for _, file := range []string{"1-testbeds.yaml", "2-calibrate-benchmark.yaml", "3-switch-benchmark.yaml"} {
			for _, o := range s.load("config", "samples", "calibration", file) {
				if err := s.apply(o); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		}
	})
	t.Run("beyond a grant", func(t *testing.T) { beyondGrant(t, s) })
	t.Run("beyond a grant of a node", func(t *testing.T) { beyondGrantOfNode(t, s) })
	t.Run("a schedule changes", func(t *testing.T) { scheduleChanges(s) })
	t.Run("a benchmark names a queue", func(t *testing.T) { namesAQueue(s) })
	t.Run("a reservation changes", func(t *testing.T) { reservationChanges(s) })
	t.Run("a team reserves too much", func(t *testing.T) { reservesTooMuch(s) })
	t.Run("a team reserves every bed", func(t *testing.T) { reservesEveryBed(s) })
	t.Run("large objects", func(t *testing.T) { largeObjects(s) })
	t.Run("large selectors", func(t *testing.T) { largeSelectors(s) })
	t.Run("many objects", func(t *testing.T) { manyObjects(s) })
	t.Run("many bytes", func(t *testing.T) { manyBytes(s) })
	t.Run("many writes", func(t *testing.T) { pacedWrites(s) })
	for _, kind := range []string{"Benchmark", "BenchmarkSchedule", "Reservation", "TestBed"} {
		for _, decision := range []string{opmetrics.Allowed, opmetrics.Refused} {
			if opmetricstest.Value(t, s.counts, "nodrop_admission_duration_seconds", "kind", kind, "decision", decision) == 0 {
				t.Errorf("no %s was counted as %s", kind, decision)
			}
		}
		if n := opmetricstest.Value(t, s.counts, "nodrop_admission_duration_seconds", "kind", kind, "decision", opmetrics.Failed); n != 0 {
			t.Errorf("%v decisions on a %s are counted as failed", n, kind)
		}
	}
	s.stop()
	t.Run("writes without the operator", func(t *testing.T) { passesUnpaced(s) })
	t.Run("without the operator", func(t *testing.T) { operatorAway(s) })
}

// samples are the directories of the samples that are whole, but frr, which
// other tests go on with, and those for one machine without a cluster.
func samples(t *testing.T) []string {
	t.Helper()
	dirs, err := os.ReadDir(filepath.Join(kubetest.Root(t), "config", "samples"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, dir := range dirs {
		if dir.IsDir() && !slices.Contains([]string{"bgp-router", "broken", "bulk-linux", "capture", "collectives-linux", "connections-linux", "frr", "incast-linux", "machine", "message-rate-linux", "rpc-latency-linux", "two-nics"}, dir.Name()) {
			names = append(names, dir.Name())
		}
	}
	return names
}

// accepted applies a sample.
func accepted(t *testing.T, s *server, name string) {
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "config", "samples", name, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue // for kubectl only
		}
		objects = append(objects, s.load("config", "samples", name, filepath.Base(file))...)
	}
	// Multus installs the definition of networks, which this API server does not have.
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "NetworkAttachmentDefinition" })
	// What others refer to goes first.
	last := []string{"TestBed", "TrafficProfile", "Reservation", "Benchmark", "BenchmarkSchedule"}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return slices.Index(last, a.GetKind()) - slices.Index(last, b.GetKind())
	})
	for _, o := range objects {
		if err := s.apply(o); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// broken applies what must be refused. The first lines of every file say with
// which words.
func broken(t *testing.T, s *server) {
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "config", "samples", "broken", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d broken manifests, want at least 10", len(files))
	}
	given, err := os.ReadDir(filepath.Join(kubetest.Root(t), "config", "samples", "broken", "given"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range given {
		for _, given := range s.load("config", "samples", "broken", "given", file.Name()) {
			s.Expect(s.apply(given)).To(Succeed(), "what the broken manifests are broken against")
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			wants := kubetest.Expectations(t, file)
			objects := s.load("config", "samples", "broken", filepath.Base(file))
			if len(objects) != 1 {
				t.Fatalf("%d objects, want 1", len(objects))
			}
			err = s.apply(objects[0])
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func (s *server) sampleBed() *v1alpha1.TestBed {
	bed := &v1alpha1.TestBed{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Name: "frr-router"}, bed)).To(Succeed())
	return bed
}

func (s *server) sampleBenchmark() *v1alpha1.Benchmark {
	b := &v1alpha1.Benchmark{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "team-routing", Name: "router-rfc2544"}, b)).To(Succeed())
	return b
}

func leasedBed(s *server) {
	bed := s.sampleBed()
	bed.Status.Lease = &v1alpha1.BedLease{Holder: "team-routing/b", UID: "1", AcquireTime: metav1.Now()}
	s.Expect(s.c.Status().Update(s.t.Context(), bed)).To(Succeed(), "the operator leases")

	bed.Spec.Ports[0].Speed = "10G"
	s.Expect(s.c.Update(s.t.Context(), bed)).To(MatchError(ContainSubstring("benchmark team-routing/b has the bed")))

	bed = s.sampleBed()
	bed.Spec.Hooks = &v1alpha1.LeaseHooks{AfterLease: []v1alpha1.LeaseHook{{Name: "clean", Image: "lab-tools:1"}}}
	s.Expect(s.c.Update(s.t.Context(), bed)).To(MatchError(ContainSubstring("benchmark team-routing/b has the bed")), "hooks stay as they are")

	bed = s.sampleBed()
	bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHookFailed, LastTransitionTime: metav1.Now()}}
	s.Expect(s.c.Status().Update(s.t.Context(), bed)).To(Succeed())
	bed.Spec.Hooks = &v1alpha1.LeaseHooks{AfterLease: []v1alpha1.LeaseHook{{Name: "clean", Image: "lab-tools:1"}}}
	s.Expect(s.c.Update(s.t.Context(), bed)).To(Succeed(), "a hook that failed is corrected")
	bed.Spec.Hooks = nil
	s.Expect(s.c.Update(s.t.Context(), bed)).To(Succeed())
	bed.Status.Conditions = nil
	s.Expect(s.c.Status().Update(s.t.Context(), bed)).To(Succeed())

	bed = s.sampleBed()
	slices.Reverse(bed.Spec.Ports)
	s.Expect(s.c.Update(s.t.Context(), bed)).To(MatchError(ContainSubstring("benchmark team-routing/b has the bed")), "the order of ports decides who sends to whom")

	bed = s.sampleBed()
	bed.Spec.Access = append(bed.Spec.Access, v1alpha1.AccessGrant{Names: []string{"team-other"}})
	bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"}
	s.Expect(s.c.Update(s.t.Context(), bed)).To(Succeed(), "who may use the bed, and what calibrates it, can change at any time")

	bed.Status.Lease = nil
	s.Expect(s.c.Status().Update(s.t.Context(), bed)).To(Succeed())
	bed.Spec.Ports[0].Speed = "10G"
	s.Expect(s.c.Update(s.t.Context(), bed)).To(Succeed(), "a free bed can change")
}

func abortOnly(s *server) {
	b := s.sampleBenchmark()
	b.Spec.Tests[0].Throughput.Resolution = "2%"
	s.Expect(s.c.Update(s.t.Context(), b)).To(MatchError(ContainSubstring(
		"a Benchmark cannot be changed after it was admitted (only abort and ttlSecondsAfterFinished can be set, and suspend be taken back)")))

	b = s.sampleBenchmark()
	b.Spec.Abort = true
	s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed())
	b.Spec.Abort = false
	s.Expect(s.c.Update(s.t.Context(), b)).To(MatchError(ContainSubstring("abort cannot be taken back")))

	b = s.sampleBenchmark()
	for _, seconds := range []int32{3600, 0} {
		b.Spec.TTLSecondsAfterFinished = &seconds
		s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed(), "how long a result is kept can change at any time")
	}
	b.Spec.TTLSecondsAfterFinished = nil
	s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed())
	negative := int32(-1)
	b.Spec.TTLSecondsAfterFinished = &negative
	s.Expect(s.c.Update(s.t.Context(), b)).To(MatchError(ContainSubstring("should be greater than or equal to 0")))
}

func warned(s *server) {
	bed := s.sampleBed()
	bed.ObjectMeta = metav1.ObjectMeta{Name: "odd"}
	bed.Spec.Access, bed.Spec.Calibration = nil, nil
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
		Name: "p3", Node: "node1", Speed: "1G", Addresses: []string{"10.0.0.2/24"},
		Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "nd-p3"}},
	})
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
	no, yes := false, true
	bed.Spec.Ports[0].Attachment = &v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/p1", Trust: &no, SpoofCheck: &yes}}
	s.warnings.texts = nil
	s.Expect(s.c.Create(s.t.Context(), bed)).To(Succeed())
	s.Expect(s.warnings.texts).To(ConsistOf(
		ContainSubstring("spec.engine: TRex in software sends some hundred thousand frames per second"),
		ContainSubstring("spec.ports[0].attachment.sriov.trust is false"),
		ContainSubstring("spec.ports[0].attachment.sriov.spoofCheck is true"),
		ContainSubstring("no namespace can use this bed"),
		ContainSubstring("results are Uncalibrated until it names a bed"),
		ContainSubstring("3 ports: the pattern pairs needs an even number"),
		ContainSubstring("10.0.0.2/24 is outside the ranges kept for benchmarks"),
	))
}

// scheduleChanges edits a schedule: its template can change, and what does not change is not
// judged again.
func scheduleChanges(s *server) {
	nightly := &v1alpha1.BenchmarkSchedule{}
	read := func() {
		s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "team-routing", Name: "nightly"}, nightly)).To(Succeed())
	}
	read()
	s.Expect(nightly.Spec.BenchmarkTemplate.Spec.ActiveDeadlineSeconds).To(BeEquivalentTo(86400), "a template gets the defaults of a benchmark")
	s.Expect(nightly.Spec.BenchmarkTemplate.Spec.Tests[0].Throughput.TrialDuration.Duration).To(Equal(time.Minute))
	nightly.Spec.BenchmarkTemplate.Spec.Tests[0].Throughput.TrialDuration.Duration = 30 * time.Second
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(Succeed(), "a benchmark cannot be changed, the template of others can")

	s.warnings.texts = nil
	nightly.Spec.Schedule = "30 2 * * *"
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(Succeed())
	s.Expect(s.warnings.texts).To(ConsistOf(
		MatchRegexp("spec.schedule: on [0-9]{4}-03-[0-9]{2} clocks in Europe/Berlin are set, and the firing of that day does not come"),
		ContainSubstring("comes twice")))

	nightly.Spec.Schedule = "0 24 * * *"
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(MatchError(ContainSubstring(`spec.schedule: Invalid value: "0 24 * * *"`)))

	bed := &v1alpha1.TestBed{}
	bed.Name = "image-candidate"
	s.Expect(s.c.Delete(s.t.Context(), bed)).To(Succeed())
	read()
	nightly.Spec.Suspend = true
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(Succeed(), "a schedule whose bed is gone can be suspended")
	nightly.Spec.BenchmarkTemplate.Spec.Priority = -1
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(MatchError(ContainSubstring(
		`spec.matrix.testBedNames[1]: Invalid value: "image-candidate": there is no TestBed of this name`)))
}

// reservationChanges makes a reservation longer, next to another one.
func reservationChanges(s *server) {
	now := time.Now().Truncate(time.Second)
	made := func(name string, from, until time.Duration) *v1alpha1.Reservation {
		r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: name}}
		r.Spec = v1alpha1.ReservationSpec{TestBedNames: []string{"frr-router"}, From: metav1.NewTime(now.Add(from)), Until: metav1.NewTime(now.Add(until))}
		return r
	}
	first, second := made("first", time.Hour, 2*time.Hour), made("second", 3*time.Hour, 4*time.Hour)
	s.warnings.texts = nil
	s.Expect(s.c.Create(s.t.Context(), first)).To(Succeed())
	s.Expect(s.c.Create(s.t.Context(), second)).To(Succeed())
	s.Expect(s.warnings.texts).To(BeEmpty())
	s.Expect(s.c.Create(s.t.Context(), made("inside", time.Hour, 90*time.Minute))).To(MatchError(ContainSubstring("would hold no bed at any of its times: reservation team-routing/first has bed frr-router from ")))
	s.Expect(s.c.Create(s.t.Context(), made("third", 30*time.Minute, 90*time.Minute))).To(Succeed())
	s.Expect(s.warnings.texts).To(ConsistOf(HavePrefix("reservation team-routing/first has bed frr-router from ")))

	first.Spec.Until = metav1.NewTime(now.Add(3*time.Hour + time.Second))
	s.Expect(s.c.Update(s.t.Context(), first)).To(MatchError(ContainSubstring("reservation team-routing/second has bed frr-router from ")))
	first.Spec.Until = metav1.NewTime(now.Add(3 * time.Hour))
	s.Expect(s.c.Update(s.t.Context(), first)).To(Succeed(), "until the next one begins")
	first.Spec.Until = metav1.NewTime(now.Add(25*time.Hour + time.Minute))
	s.Expect(s.c.Update(s.t.Context(), first)).To(MatchError(ContainSubstring("has the bed for at most 24h, and the reservation takes 24h1m")))
	first.Spec.Until = metav1.NewTime(now.Add(90 * time.Minute))
	s.Expect(s.c.Update(s.t.Context(), first)).To(Succeed(), "a reservation can end earlier")
	first.Spec.From = metav1.NewTime(now)
	s.Expect(s.c.Update(s.t.Context(), first)).To(MatchError(ContainSubstring("beds, from and the rule of a Reservation cannot be changed")))

	s.Expect(s.c.Create(s.t.Context(), made("past", -2*time.Hour, -time.Hour))).To(MatchError(ContainSubstring("spec.until: Invalid value:")))
	s.Expect(s.c.Create(s.t.Context(), made("far", 91*24*time.Hour, 92*24*time.Hour))).To(MatchError(ContainSubstring("a reservation begins at most 90 days ahead")))

	b := s.sampleBenchmark()
	b.ObjectMeta = metav1.ObjectMeta{Name: "inside", Namespace: "team-routing"}
	b.Spec.Abort, b.Spec.ReservationName, b.Spec.ActiveDeadlineSeconds = false, "second", 3600
	s.Expect(s.c.Create(s.t.Context(), b)).To(MatchError(ContainSubstring(
		"spec.activeDeadlineSeconds: Invalid value: 3600: reservation second takes 1h, of which 5m are for the begin and the clean-up: give at most 3300, or make the reservation longer")))
	b.Spec.ActiveDeadlineSeconds = 3300
	s.Expect(s.c.Create(s.t.Context(), b)).To(Succeed())
	b.Spec.ReservationName = "first"
	s.Expect(s.c.Update(s.t.Context(), b)).To(MatchError(ContainSubstring("a Benchmark cannot be changed after it was admitted")))

	// A rule that ends by itself.
	nightly := made("nights", 26*time.Hour, 27*time.Hour)
	nightly.Spec.Recurrence = &v1alpha1.Recurrence{Rule: "FREQ=DAILY;COUNT=3"}
	s.Expect(s.c.Create(s.t.Context(), nightly)).To(Succeed())
	s.Expect(nightly.Spec.Recurrence.TimeZone).To(Equal("UTC"))
	nightly.Spec.Recurrence.Exceptions = []metav1.Time{nightly.Spec.From}
	s.Expect(s.c.Update(s.t.Context(), nightly)).To(Succeed(), "an occurrence can be left out")
	for _, r := range []*v1alpha1.Reservation{first, second, nightly, made("third", 0, 0)} {
		s.Expect(s.c.Delete(s.t.Context(), r)).To(Succeed())
	}
}

// reservesTooMuch reserves beyond the limit of a team.
func reservesTooMuch(s *server) {
	policy := &v1alpha1.LabPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LabPolicyName}}
	limit := func(hours int32) func() error {
		return func() error {
			policy.Spec.Teams = []v1alpha1.Team{{Name: "routing", Namespaces: []string{"team-routing"}, TeamShare: v1alpha1.TeamShare{MaxReservedBedHoursPerWeek: hours}}}
			return nil
		}
	}
	change := func(hours int32) {
		_, err := controllerutil.CreateOrUpdate(s.t.Context(), s.c, policy, limit(hours))
		s.Expect(err).NotTo(HaveOccurred())
	}
	change(20)
	// Those of the samples count, too.
	s.Expect(s.c.DeleteAllOf(s.t.Context(), &v1alpha1.Reservation{}, client.InNamespace("team-routing"))).To(Succeed())
	now := time.Now().Truncate(time.Second)
	made := func(namespace, name string, from, until time.Duration) *v1alpha1.Reservation {
		r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		r.Spec = v1alpha1.ReservationSpec{TestBedNames: []string{"frr-router"}, From: metav1.NewTime(now.Add(from)), Until: metav1.NewTime(now.Add(until))}
		return r
	}
	day := 24 * time.Hour
	first, later := made("team-routing", "first", day, day+12*time.Hour), made("team-routing", "later", 20*day, 20*day+20*time.Hour)
	s.Expect(s.c.Create(s.t.Context(), first)).To(Succeed())
	s.Expect(s.c.Create(s.t.Context(), made("team-routing", "much", 3*day, 3*day+9*time.Hour))).To(MatchError(And(
		ContainSubstring("spec.until: Invalid value: "), ContainSubstring("team routing would have beds reserved for 21h within 168h from "),
		ContainSubstring(", and may for 20h: give an earlier until or fewer beds, release another reservation, or ask the lab for a higher maxReservedBedHoursPerWeek in LabPolicy lab"))))
	s.Expect(s.c.Create(s.t.Context(), later)).To(Succeed(), "in another week")
	repair := made("nodrop-lab", "repair", 3*day, 3*day+100*time.Hour)
	s.Expect(s.c.Create(s.t.Context(), repair)).To(Succeed(), "a maintenance window")
	first.Spec.Until = metav1.NewTime(now.Add(day + 21*time.Hour))
	s.Expect(s.c.Update(s.t.Context(), first)).To(MatchError(ContainSubstring("reserved for 21h within 168h")))
	change(10)
	first.Spec.Until = metav1.NewTime(now.Add(day + 11*time.Hour))
	s.Expect(s.c.Update(s.t.Context(), first)).To(Succeed(), "shorter, under a lower limit")
	for _, o := range []client.Object{first, later, repair, policy} {
		s.Expect(s.c.Delete(s.t.Context(), o)).To(Succeed())
	}
}

// operatorAway checks what works while the webhooks do not answer: nothing new is admitted,
// and everything can be ended.
func operatorAway(s *server) {
	b := s.sampleBenchmark()
	b.ObjectMeta = metav1.ObjectMeta{Name: "new", Namespace: "team-routing"}
	b.Spec.Abort = false
	s.Expect(s.c.Create(s.t.Context(), b)).To(MatchError(ContainSubstring("benchmarks.nodrop.dev")))

	b = s.sampleBenchmark()
	b.Finalizers = append(b.Finalizers, v1alpha1.FinalizerArchive)
	b.Spec.TTLSecondsAfterFinished = new(int32)
	s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed())
	changed := b.DeepCopy()
	changed.Spec.Priority = 3
	s.Expect(s.c.Update(s.t.Context(), changed)).To(MatchError(ContainSubstring("benchmarks.nodrop.dev")))
	bed := s.sampleBed()
	bed.Annotations = map[string]string{v1alpha1.AnnotationReleaseQuarantine: "yes"}
	s.Expect(s.c.Update(s.t.Context(), bed)).To(Succeed())
	s.Expect(s.c.Delete(s.t.Context(), bed)).To(Succeed())
	s.Expect(s.c.Delete(s.t.Context(), b)).To(Succeed())
}
