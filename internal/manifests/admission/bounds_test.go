package admission_test

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/manifests/admission"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// largeObjects are refused at their creation, and when annotations make them large.
func largeObjects(s *server) {
	ctx := s.t.Context()
	note := map[string]string{"note": strings.Repeat("x", 200<<10)}
	p := objects.TrafficProfile("team-routing", "large", objects.IPv4Pairs(64))
	p.Annotations = note
	s.Expect(s.c.Create(ctx, p)).To(MatchError(And(ContainSubstring("metadata: Invalid value: \"large\": the object has "), ContainSubstring(
		" bytes as JSON, 204804 of them in annotations, and may have 0 to 131072: leave out annotations"))))
	p.Annotations = nil
	s.Expect(s.c.Create(ctx, p)).To(Succeed())
	p.Annotations = note
	s.Expect(s.c.Update(ctx, p)).To(MatchError(ContainSubstring("and may have 0 to 131072")))
	p.Annotations = map[string]string{"note": strings.Repeat("x", 100<<10)}
	s.Expect(s.c.Update(ctx, p)).To(Succeed())

	b := s.sampleBenchmark()
	b.ObjectMeta = metav1.ObjectMeta{Name: "large", Namespace: "team-routing"}
	b.Spec.Abort = false
	s.Expect(s.c.Create(ctx, b)).To(Succeed())
	b.Annotations = note
	s.Expect(s.c.Update(ctx, b)).To(MatchError(ContainSubstring("and may have 0 to 131072")))
	b.Annotations, b.Spec.Abort = nil, true
	s.Expect(s.c.Update(ctx, b)).To(Succeed())
	largestMetadata(s, b)
	largeMetadata(s, b)
	s.Expect(s.c.Delete(ctx, b)).To(Succeed())
	largeMetadata(s, b) // It still exists, because of its finalizer.
	s.Expect(s.c.Patch(ctx, b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
}

// largestMetadata has a team use all of the metadata that it may have, which does not keep the operator from adding the
// finalizer of the archive: a benchmark without it would not begin, and would keep its bed.
func largestMetadata(s *server, b *v1alpha1.Benchmark) {
	labels := map[string]string{}
	size := func() int {
		text, err := json.Marshal([]any{labels, b.OwnerReferences, b.Finalizers})
		s.Expect(err).NotTo(HaveOccurred())
		return len(text)
	}
	for i := 0; size()+80 < admission.MaxMetadata; i++ {
		labels[fmt.Sprintf("l%d", i)] = strings.Repeat("x", 40)
	}
	labels["rest"] = ""
	labels["rest"] = strings.Repeat("x", admission.MaxMetadata-size())
	b.Labels = labels
	s.Expect(s.c.Update(s.t.Context(), b)).To(Succeed())
	s.Expect(kit.HoldForArchive(s.t.Context(), s.c, b)).To(Succeed())
	body := `{"metadata":{"finalizers":["` + v1alpha1.FinalizerArchive + `","` + v1alpha1.FinalizerArchive + `"]}}`
	s.Expect(s.c.Patch(s.t.Context(), b.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))).
		To(MatchError(ContainSubstring("and may have 0 to 8192")), "a second time")
	s.Expect(s.c.Patch(s.t.Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null,"labels":null}}`)))).To(Succeed())
}

// largeMetadata adds labels and owners to an existing object, which the operator has in its memory.
func largeMetadata(s *server, b *v1alpha1.Benchmark) {
	note := `{"metadata":{"annotations":{"note":"` + strings.Repeat("x", 40000) + `"}}}`
	s.Expect(s.c.Patch(s.t.Context(), b, client.RawPatch(types.MergePatchType, []byte(note)))).To(Succeed())
	var labels []string
	for i := range 200 {
		labels = append(labels, fmt.Sprintf(`"l%d":"%s"`, i, strings.Repeat("x", 63)))
	}
	owner := `{"apiVersion":"v1","kind":"Pod","uid":"1","name":"` + strings.Repeat("x", 20000) + `"}`
	for name, body := range map[string]string{
		"labels":                           `{"metadata":{"labels":{` + strings.Join(labels, ",") + `}}}`,
		"owners":                           `{"metadata":{"ownerReferences":[` + owner + `]}}`,
		"labels in place of an annotation": `{"metadata":{"annotations":null,"labels":{` + strings.Join(labels, ",") + `}}}`,
	} {
		err := s.c.Patch(s.t.Context(), b.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)))
		s.Expect(err).To(MatchError(And(ContainSubstring("labels, owners and finalizers have "), ContainSubstring("and may have 0 to 8192"))), name)
	}
	s.Expect(s.c.Patch(s.t.Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"small":"yes"},"finalizers":["team/a"]}}`)))).To(Succeed())
}

// largeSelectors are refused by the schema, or when the values in them are read.
func largeSelectors(s *server) {
	ctx := s.t.Context()
	create := func(change func(*metav1.LabelSelector)) error {
		b := s.sampleBenchmark()
		b.ObjectMeta = metav1.ObjectMeta{Name: "selects", Namespace: "team-routing"}
		b.Spec.TestBedName, b.Spec.TestBedSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{}}
		change(b.Spec.TestBedSelector)
		return s.c.Create(ctx, b)
	}
	s.Expect(create(func(l *metav1.LabelSelector) {
		for i := range 17 {
			l.MatchLabels[fmt.Sprint("l", i)] = "v"
		}
	})).To(MatchError(ContainSubstring("the selector has more than 16 matchLabels, 16 matchExpressions, or 32 values of an expression")))
	long := metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpIn, Values: []string{strings.Repeat("x", 100<<10)}}
	err := create(func(l *metav1.LabelSelector) { l.MatchExpressions = append(l.MatchExpressions, long) })
	s.Expect(err).To(MatchError(ContainSubstring("a value has at most 63 characters")))
	s.Expect(len(err.Error())).To(BeNumerically("<", 2000), "the size of the message")
}

// manyObjects makes sinks until the team has as many as it may. The cache may be a little behind.
func manyObjects(s *server) {
	for i := range 2 * v1alpha1.DefaultMaxNotificationSinks {
		sink := &v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Namespace: "team-honest", Name: fmt.Sprint("sink-", i)}}
		sink.Spec.SecretRef.Name = "key"
		sink.Spec.URL, sink.Spec.Events = "https://example.com/hook", []v1alpha1.NotificationEvent{v1alpha1.NotifyFinished}
		if err := s.c.Create(s.t.Context(), sink); err != nil {
			s.Expect(err).To(MatchError(MatchRegexp(`team namespace/team-honest of namespace team-honest has 5\d objects of kind NotificationSink, and may have 50: .* higher maxNotificationSinks in LabPolicy lab`)))
			s.Expect(i).To(BeNumerically(">=", v1alpha1.DefaultMaxNotificationSinks))
			return
		}
	}
	s.t.Errorf("a team made %d sinks", 2*v1alpha1.DefaultMaxNotificationSinks)
}
