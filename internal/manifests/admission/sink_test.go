package admission_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/notify"
	"nodrop.dev/nodrop/internal/manifests/admission"
)

// TestSinks refuses what can never work, and warns of what the lab does not allow yet.
func TestSinks(t *testing.T) {
	g := NewWithT(t)
	v := &admission.Sinks{Receivers: notify.NewSender(notify.Guard{Hosts: []string{"hooks.example.com"}}, nil)}
	s := &v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "ci"}}
	s.Spec.URL = "https://hooks.example.com/x"
	warnings, err := v.ValidateCreate(t.Context(), s)
	g.Expect(errors.Join(err)).To(Succeed())
	g.Expect(warnings).To(BeEmpty())

	s.Spec.URL = "https://other.example.com/x"
	warnings, err = v.ValidateUpdate(t.Context(), nil, s)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(warnings).To(ConsistOf(ContainSubstring("does not allow notifications to other.example.com")))
	warnings, _ = (&admission.Sinks{}).ValidateCreate(t.Context(), s)
	g.Expect(warnings).To(ConsistOf(ContainSubstring("to no host yet")))

	s.Spec.BenchmarkSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	_, err = v.ValidateCreate(t.Context(), s)
	g.Expect(err).To(MatchError(ContainSubstring("spec.benchmarkSelector")))
}
