package hostileteam

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Sizes of objects in bytes as JSON: the largest that admission accepts, with a margin for the
// defaults that the API server adds, one that it refuses, and the largest of a ConfigMap.
const (
	largest          = 120 << 10
	tooLarge         = 300 << 10
	largestConfigMap = 1000 << 10
	// mostConfigMaps is the number of ConfigMaps that a team tries to make: API server and etcd need 8 MB for each, and with 2,700 they had
	// all 24 GB of a machine, whose kernel then ended the operator.
	mostConfigMaps  = 2000
	largestMetadata = 7 << 10
)

// kind is a kind of object that a team may make.
type kind struct {
	name    string
	largest int
	build   func(a *attack, name string, size int) client.Object
}

// kinds are the kinds of objects of NoDrop that a team may make.
var kinds = []kind{
	{"Benchmark", largest, func(a *attack, name string, size int) client.Object { return a.benchmark(name, size) }},
	{"TrafficProfile", largest, func(a *attack, name string, size int) client.Object { return fill(a.profile(name), size) }},
	{"BenchmarkSchedule", largest, (*attack).schedule},
	{"Reservation", largest, (*attack).reservation},
	{"NotificationSink", largest, (*attack).sink},
}

// configMaps is the kind of objects of Kubernetes that a team makes in addition.
var configMaps = kind{"ConfigMap", largestConfigMap, (*attack).configMap}

func v1alpha1Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return scheme, nil
}

// longName returns a name of n characters.
func longName(prefix string, n int) string {
	return prefix + strings.Repeat("x", max(n-len(prefix), 0))
}

// labels returns labels of about size bytes as JSON.
func labels(size int) map[string]string {
	set := map[string]string{}
	for i := 0; i*131 < size; i++ {
		set[longName(fmt.Sprintf("l%05d", i), 63)] = longName("v", 63)
	}
	return set
}

// fill adds labels to an object, as many as admission accepts, and annotations until it has about size
// bytes. The operator keeps labels in its memory, and no annotations.
func fill(o client.Object, size int) client.Object {
	o.SetLabels(labels(min(size, largestMetadata)))
	if size > largestMetadata {
		o.SetAnnotations(map[string]string{"team/note": longName("x", size-largestMetadata)})
	}
	return o
}

// metadata is the metadata of an object of the team.
func (a *attack) metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.Namespace, Name: name}
}

// profile is a small profile, which every benchmark of the team uses.
func (a *attack) profile(name string) *v1alpha1.TrafficProfile {
	p := &v1alpha1.TrafficProfile{ObjectMeta: a.metadata(name)}
	p.Spec.FrameSizes = []int32{64}
	p.Spec.Pattern.Pairs = &v1alpha1.PairsPattern{}
	p.Spec.Packet.IPv4 = &v1alpha1.IPPacket{}
	return p
}

// benchmark is a benchmark with as many tests as it may have, or with one if size is 0.
func (a *attack) benchmark(name string, size int) *v1alpha1.Benchmark {
	b := &v1alpha1.Benchmark{ObjectMeta: a.metadata(name)}
	b.Spec = a.spec(size)
	for i := range 32 {
		if size < len(b.Spec.Gates)*largestGate+40<<10 {
			break
		}
		b.Spec.Gates = append(b.Spec.Gates, gate(i))
	}
	fill(b, size-20<<10-len(b.Spec.Gates)*largestGate)
	return b
}

// largestGate is the size in bytes of what gate returns.
const largestGate = 2400

// gate compares with a baseline that a selector with the most values chooses. The values are empty: each has 3 bytes as JSON, and needs 16 in memory.
func gate(i int) v1alpha1.Gate {
	decrease := v1alpha1.Tolerance("5%")
	return v1alpha1.Gate{
		Name: longName(fmt.Sprintf("g%d-", i), 63), Test: "t", Metric: "Throughput",
		Relative: &v1alpha1.RelativeBound{Baseline: v1alpha1.GateBaseline{BenchmarkSelector: noBaseline()}, MaxDecrease: &decrease},
	}
}

func (a *attack) spec(size int) v1alpha1.BenchmarkSpec {
	s := v1alpha1.BenchmarkSpec{
		TestBedName: a.Bed, TrafficProfileName: "hostile", ActiveDeadlineSeconds: 86_400,
		Tests: []v1alpha1.Test{{Name: "t", Throughput: &v1alpha1.ThroughputTest{}}},
	}
	for i := 1; i < 32 && size > 0; i++ {
		s.Tests = append(s.Tests, v1alpha1.Test{Name: longName(fmt.Sprintf("t%d-", i), 63), Throughput: &v1alpha1.ThroughputTest{}})
	}
	return s
}

// manyBeds selects beds by as many expressions as a selector may have.
func manyBeds() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for i := range 16 {
		e := metav1.LabelSelectorRequirement{Key: fmt.Sprintf("k%d", i), Operator: metav1.LabelSelectorOpNotIn}
		for j := range 32 {
			e.Values = append(e.Values, longName(fmt.Sprintf("v%d-", j), 63))
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	return s
}

// noBaseline selects benchmarks by as many values as a selector may have, all of them empty.
func noBaseline() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for range 16 {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpNotIn, Values: make([]string, 32)})
	}
	return s
}

// schedule fires every minute, with as many benchmarks as it may, and waits for none.
func (a *attack) schedule(name string, size int) client.Object {
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: a.metadata(name)}
	s.Spec.Schedule, s.Spec.ConcurrencyPolicy = "* * * * *", v1alpha1.ConcurrencyAllow
	s.Spec.BenchmarkTemplate.Spec = a.spec(0)
	s.Spec.Matrix = &v1alpha1.BenchmarkMatrix{}
	for i := range 64 {
		s.Spec.Matrix.FrameSizes = append(s.Spec.Matrix.FrameSizes, v1alpha1.FrameSize(64+i))
	}
	return fill(s, size-4<<10)
}

// reservation asks for the team's bed from now on, as often and as long as it may.
func (a *attack) reservation(name string, size int) client.Object {
	r := &v1alpha1.Reservation{ObjectMeta: a.metadata(name)}
	from := time.Now().Add(time.Minute).Truncate(time.Second)
	r.Spec.From, r.Spec.Until = metav1.NewTime(from), metav1.NewTime(from.Add(time.Hour))
	r.Spec.TestBedNames, r.Spec.Purpose = []string{a.Bed}, longName("p", 253)
	r.Spec.Recurrence = &v1alpha1.Recurrence{Rule: "FREQ=DAILY", TimeZone: "UTC"}
	for i := range 256 {
		r.Spec.Recurrence.Exceptions = append(r.Spec.Recurrence.Exceptions, metav1.NewTime(from.AddDate(0, 0, 100+i)))
	}
	return fill(r, size-8<<10)
}

// sink sends every event to a receiver.
func (a *attack) sink(name string, size int) client.Object {
	s := &v1alpha1.NotificationSink{ObjectMeta: a.metadata(name)}
	s.Spec.URL = longName(a.Receiver+"/"+name+"/", 2048)
	s.Spec.Events = []v1alpha1.NotificationEvent{v1alpha1.NotifyFinished, v1alpha1.NotifyGateFailed, v1alpha1.NotifyLabFailed}
	s.Spec.SecretRef = v1alpha1.NotificationSecret{Name: "hostile", Key: "secret"}
	return fill(s, size-4<<10)
}

func (a *attack) configMap(name string, size int) client.Object {
	return &corev1.ConfigMap{ObjectMeta: a.metadata(name), Data: map[string]string{"a": strings.Repeat("x", size)}}
}
