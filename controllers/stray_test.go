package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestStrays makes objects of a run that has no bed appear in the lab, as an operator
// does that was replaced in that moment. They are removed; those of a run with a bed stay.
func TestStrays(t *testing.T) {
	w := newWorld(t, startServer(t))
	w.measuringOnModel()
	w.with()
	run := labobjects.Run{UID: "7d5f3f0e-5c7e-4a52-9f6a-0f7c31a7b9de"}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: labNamespace, Name: run.Prefix() + name, Labels: run.Selector()}
	}
	pod := &corev1.Pod{ObjectMeta: meta("-late"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "late", Image: "localhost/late:1"}}}}
	secret := &corev1.Secret{ObjectMeta: meta("-late")}
	create(t, w.c, pod, secret)
	for _, o := range []client.Object{pod, secret} {
		w.Eventually(func() bool {
			return apierrors.IsNotFound(w.c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		}).Should(BeTrue(), "%T %s was not removed", o, o.GetName())
	}
	w.Expect(w.pod("b", "runner")).NotTo(BeNil())
	w.Expect(w.benchmark("b").Status.Phase).To(Equal(v1alpha1.PhaseRunning))
}
