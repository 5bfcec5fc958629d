package controllers_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// levelLabel sets the level of PodSecurity that a namespace enforces.
const levelLabel = "pod-security.kubernetes.io/enforce"

func namespace(name, level string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{levelLabel: level}}}
}

// TestPodSecurity applies every manifest of a traffic pod in the testdata of package labobjects to a real API
// server: admitted at the level of the lab's namespace, and refused below it, which
// shows that the level is what decides.
func TestPodSecurity(t *testing.T) {
	c := newClient(t, startServer(t).admin)
	create(t, c, namespace("level-privileged", "privileged"), namespace("level-baseline", "baseline"), namespace("level-restricted", "restricted"))
	claimable(t, c, "level-privileged")
	files, err := filepath.Glob(filepath.Join("..", "internal", "lab", "labobjects", "testdata", "*-[01].yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("manifests %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := NewWithT(t)
			var pod *unstructured.Unstructured
			for _, o := range kubetest.Objects(t, file) {
				o.SetNamespace("level-privileged")
				create(t, c, o)
				t.Cleanup(func() {
					w.Expect(c.Delete(context.Background(), o, client.GracePeriodSeconds(0))).To(Succeed())
				})
				if o.GetKind() == "Pod" {
					pod = o
				}
			}
			asTheServerHasIt(t, c, pod)
			for _, level := range []string{"baseline", "restricted"} {
				again := kubetest.Objects(t, file)
				refused := again[len(again)-1]
				refused.SetNamespace("level-" + level)
				err := c.Create(t.Context(), refused)
				w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", level, err)
				w.Expect(err).To(MatchError(ContainSubstring(`violates PodSecurity "` + level)))
			}
		})
	}
}

// TestConfiguringPodsAreRestricted applies the pods that configure devices, and pods of hooks, at the strictest level.
func TestConfiguringPodsAreRestricted(t *testing.T) {
	c := newClient(t, startServer(t).admin)
	for _, file := range []string{"configuration-up-pod.yaml", "configuration-down-pod.yaml", "hook-before-pod.yaml", "hook-after-pod.yaml"} {
		for _, o := range kubetest.Objects(t, filepath.Join("..", "internal", "lab", "labobjects", "testdata", file)) {
			o.SetNamespace(team)
			create(t, c, o)
			if err := c.Delete(context.Background(), o, client.GracePeriodSeconds(0)); err != nil {
				t.Error(err)
			}
		}
	}
}

// claimable makes what resource claims of the lab's ports refer to.
func claimable(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	create(t, c,
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "dut-port"}},
		&resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "dut-port", Namespace: namespace},
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "port", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "dut-port"}}},
			}}},
		})
}

// asTheServerHasIt compares what the server has made of a pod: nothing was dropped
// that the server does not know, and a pod whose TRex has processors of its own is of
// the class Guaranteed.
func asTheServerHasIt(t *testing.T, c client.Client, asked *unstructured.Unstructured) {
	t.Helper()
	w := NewWithT(t)
	pod := &corev1.Pod{}
	w.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(asked), pod)).To(Succeed())
	claims, _, err := unstructured.NestedSlice(asked.Object, "spec", "resourceClaims")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(pod.Spec.ResourceClaims).To(HaveLen(len(claims)))
	want := corev1.PodQOSBurstable
	for _, container := range pod.Spec.Containers {
		if container.Name == "trex" && !container.Resources.Limits.Cpu().IsZero() {
			want = corev1.PodQOSGuaranteed
		}
	}
	w.Expect(pod.Status.QOSClass).To(Equal(want))
}

// TestTeamsNeedNoPrivilege runs a benchmark of a team whose namespace is at level
// restricted to its end, on a bed with TRex. Nothing is ever made in that namespace:
// it is watched from the beginning.
func TestTeamsNeedNoPrivilege(t *testing.T) {
	w := newWorld(t, startServer(t))
	w.Expect(apierrors.IsForbidden(w.c.Create(t.Context(), aPod("needy", "NET_RAW")))).To(BeTrue(), "the team's namespace is not restricted")
	made := w.madeForTheTeam()
	create(t, w.c, networkFor("dut-p1", "intel.com/dut_p1"), networkFor("dut-p5", "intel.com/dut_p5"), onCards("switch"), profile(), benchmark("b", "switch"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.pod("b", "agent-1").Spec.Containers).To(HaveLen(2))
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("switch")
	// The last of each kind: whatever came before it was seen.
	network := networkFor("last", "")
	network.SetNamespace(team)
	create(t, w.c, aPod("last"), network,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "last", Namespace: team}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "last", Namespace: team}})
	w.Eventually(made).Should(ConsistOf("Pod last", "NetworkAttachmentDefinition last", "Secret last", "ConfigMap last"))
}

// madeForTheTeam watches the team's namespace for everything that the operator makes
// for a run; the function returns what was made until now.
func (w *world) madeForTheTeam() func() []string {
	w.t.Helper()
	c, err := client.NewWithWatch(w.server.admin, client.Options{Scheme: w.c.Scheme()})
	w.Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var made []string
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Secret"),
		corev1.SchemeGroupVersion.WithKind("ConfigMap"), labobjects.NetworkGVK,
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		events, err := c.Watch(context.Background(), list, client.InNamespace(team))
		w.Expect(err).NotTo(HaveOccurred())
		w.t.Cleanup(events.Stop)
		go func() {
			for e := range events.ResultChan() {
				if o, ok := e.Object.(client.Object); ok && e.Type == watch.Added {
					mu.Lock()
					made = append(made, kind.Kind+" "+o.GetName())
					mu.Unlock()
				}
			}
		}()
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(made)
	}
}

// aPod of the team conforms to the level restricted, except for the capabilities that it
// requests.
func aPod(name string, capabilities ...corev1.Capability) *corev1.Pod {
	yes, no := true, false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: team},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no,
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: capabilities},
			}}},
		},
	}
}
