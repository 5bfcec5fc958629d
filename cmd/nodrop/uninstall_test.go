//go:build !standalone

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// stuckLab is a lab whose operator does not run: a team's namespace cannot be deleted.
type stuckLab struct {
	*WithT
	*apiServer
	t *testing.T
}

const stuckTeam = "team-gone"

func newStuckLab(t *testing.T) *stuckLab {
	config, env := testserver.StartAPIServer(t, nil) // The definitions are removed: no other test can have it.
	l := &stuckLab{NewWithT(t), newAPIServerAt(t, launched{config, env.KubeConfig}), t}
	l.SetDefaultEventuallyTimeout(time.Minute)
	l.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	l.startNamespaceController()
	for _, name := range []string{operator.DefaultNamespace, operator.DefaultLabNamespace, stuckTeam} {
		l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	root := kubetest.Root(t)
	for _, o := range kubetest.Objects(t, filepath.Join(root, "config", "manager", "deployment.yaml")) {
		l.create(o)
	}
	l.bedWithHolder("bed", stuckTeam+"/ran", 0)
	b := objects.Benchmark(stuckTeam, "ran", objects.BedName("bed"), objects.ProfileName("pairs"), objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})))
	b.Finalizers = []string{"example.com/of-another", v1alpha1.FinalizerArchive}
	b.Spec.Tests[0].Throughput.TrialDuration.Duration, b.Spec.Tests[0].Throughput.SearchTrialDuration.Duration = time.Minute, 10*time.Second
	l.create(b)
	part := stored.NewPart(b, 1, "throughput", "")
	part.Finalizers, part.Labels[v1alpha1.LabelUnarchived] = []string{v1alpha1.FinalizerArchive}, "true"
	part.Spec.Rows = []v1alpha1.ResultRow{oneRow[0]}
	l.create(part)
	of := map[string]string{labobjects.LabelUID: string(b.UID), labobjects.LabelRole: labobjects.RoleDevice}
	l.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: operator.DefaultLabNamespace, Name: "run-device", Labels: of, Finalizers: []string{labobjects.FinalizerDevice},
		Annotations: map[string]string{labobjects.AnnotationBenchmark: stuckTeam + "/ran", labobjects.AnnotationNode: "node7"},
	}})
	l.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.DefaultLabNamespace, Name: "run-agent", Labels: map[string]string{labobjects.LabelUID: string(b.UID)}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent"}}},
	})
	// Last: these webhooks have no operator that answers.
	for _, o := range kubetest.Objects(t, filepath.Join(root, "config", "webhook", "manifests.yaml")) {
		l.create(o)
	}
	return l
}

// startNamespaceController runs the controller that empties and removes namespaces that are deleted.
func (l *stuckLab) startNamespaceController() {
	l.t.Helper()
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager")
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		program = filepath.Join(kubetest.Root(l.t), ".cache", "k8s", "bin", "kube-controller-manager")
	}
	cmd := exec.CommandContext(l.t.Context(), program, "--kubeconfig", l.kubeconfig, "--controllers=namespace-controller", "--leader-elect=false", "--secure-port=0")
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Wait() // The end of the context has killed it.
		if l.t.Failed() {
			l.t.Log(output.String())
		}
	})
}

func (l *stuckLab) create(all ...client.Object) {
	l.t.Helper()
	for _, o := range all {
		l.Expect(l.client.Create(l.t.Context(), o)).To(Succeed(), "%T %s", o, o.GetName())
	}
}

// exists reports whether an object exists.
func (l *stuckLab) exists(kind schema.GroupVersionKind, namespace, name string) bool {
	l.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := l.client.Get(l.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	l.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return !apierrors.IsNotFound(err)
}

// TestUninstall removes a NoDrop whose operator does not run, so that a namespace of a team, which cannot be
// deleted before, goes.
func TestUninstall(t *testing.T) {
	sendsNoFrames(t)
	l := newStuckLab(t)
	namespaceKind, benchmarkKind := corev1.SchemeGroupVersion.WithKind("Namespace"), v1alpha1.GroupVersion.WithKind("Benchmark")
	l.Expect(l.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stuckTeam}})).To(Succeed())
	stuck := func() []corev1.NamespaceCondition {
		var n corev1.Namespace
		l.Expect(l.client.Get(t.Context(), client.ObjectKey{Name: stuckTeam}, &n)).To(Succeed())
		return n.Status.Conditions
	}
	l.Eventually(stuck).Should(ContainElement(And(HaveField("Type", corev1.NamespaceFinalizersRemaining), HaveField("Status", corev1.ConditionTrue))))
	profile := objects.TrafficProfile("default", "refused")
	profile.Spec.Pattern.Pairs, profile.Spec.Packet.IPv4 = &v1alpha1.PairsPattern{}, &v1alpha1.IPPacket{}
	l.Expect(l.client.Create(t.Context(), profile)).To(MatchError(ContainSubstring("failed calling webhook")))

	l.nodrop(t, "uninstall").wants(exit.Use, "", "benchmark team-gone/ran has bed bed")
	dry := l.nodrop(t, "uninstall", "--dry-run")
	dry.wants(exit.Passed, "would refuse without --force", "")
	for _, want := range []string{
		"benchmark team-gone/ran has bed bed", "the device of benchmark team-gone/ran on node node7 (topology in Secret nodrop-lab/run-device) may be up",
		"would stop the operator, Deployment nodrop-system/nodrop-operator", "would delete ValidatingWebhookConfiguration nodrop", "would delete Pod nodrop-lab/run-agent",
		"would release BenchmarkResult team-gone/", "would release Benchmark team-gone/ran", "would release TestBed bed", "would release Secret nodrop-lab/run-device",
	} {
		l.Expect(dry.stdout.String()).To(ContainSubstring(want))
	}
	l.Expect(l.exists(webhookKind, "", operator.WebhookConfiguration)).To(BeTrue(), "the webhooks after a dry run")
	l.Expect(l.exists(benchmarkKind, stuckTeam, "ran")).To(BeTrue())

	l.nodrop(t, "uninstall", "--force").wants(exit.Passed, "on node node7 (topology in Secret nodrop-lab/run-device) was not stopped", "")
	l.Expect(l.exists(webhookKind, "", operator.WebhookConfiguration)).To(BeFalse(), "the webhooks")
	l.Expect(l.exists(corev1.SchemeGroupVersion.WithKind("Pod"), operator.DefaultLabNamespace, "run-agent")).To(BeFalse())
	l.Expect(l.exists(corev1.SchemeGroupVersion.WithKind("Secret"), operator.DefaultLabNamespace, "run-device")).To(BeTrue(), "the topology of the device")
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(deploymentKind)
	l.Expect(l.client.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: "nodrop-operator"}, deployment)).To(Succeed())
	l.Expect(deployment.Object["spec"]).To(HaveKeyWithValue("replicas", int64(0)))
	// Finalizers of others stay.
	b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: stuckTeam, Name: "ran"}}
	l.Expect(l.client.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	l.Expect(b.Finalizers).To(Equal([]string{"example.com/of-another"}))
	b.Finalizers = nil
	l.Expect(l.client.Update(t.Context(), b)).To(Succeed())
	l.Eventually(func() bool { return l.exists(namespaceKind, "", stuckTeam) }).Should(BeFalse(), "the namespace of the team")

	// The operator's namespace goes as well, and uninstalling continues with what is left.
	l.Expect(l.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operator.DefaultNamespace}})).To(Succeed())
	l.Eventually(func() bool { return l.exists(namespaceKind, "", operator.DefaultNamespace) }).Should(BeFalse())
	l.nodrop(t, "uninstall", "--force").wants(exit.Passed, "there is nothing to remove", "")
	// The API server removes the objects of each definition first; a busy one took longer than patience.
	last := l.nodrop(t, "uninstall", "--force", "--crds", "--timeout", (3 * patience).String())
	last.exitWithin(4 * patience)
	last.ended(exit.Passed, "deleted CustomResourceDefinition testbeds.nodrop.dev", "")
	l.Expect(l.exists(definitionKind, "", "testbeds.nodrop.dev")).To(BeFalse())
	l.nodrop(t, "uninstall", "--crds").wants(exit.Passed, "there is nothing to remove", "")
}
