//go:build e2e

package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// applying is a hook that gives the router a configuration of its Secret, by nodrop itself.
func applying(name, file, secret string) v1alpha1.LeaseHook {
	return v1alpha1.LeaseHook{
		Name: name, Image: "localhost/nodrop:dev", SecretName: secret, Timeout: &metav1.Duration{Duration: time.Minute},
		Args: []string{
			"configure", "apply", "/etc/nodrop/hook/" + file, "--platform", "frr", "--address", "$(NODROP_DEVICE_ADDRESS)", "--user", sshrouter.User,
			"--password-file", "/etc/nodrop/hook/password", "--host-keys", "/etc/nodrop/hook/hostKeys", "--within", "40s",
		},
	}
}

// TestHooks has a router that a hook changes before each lease, and another one after it. One begins anew when its pod is gone. A hook
// that fails and one that does not end quarantine the bed until it is released.
func TestHooks(t *testing.T) {
	together(t)
	l, g := newLab(t), NewWithT(t)
	const loaded, marked = "ip route 198.18.200.0/24 198.18.1.9", "ip route 198.18.201.0/24 198.18.1.9"
	r := l.newConfigured(t, "hooked", 50, func(bed *v1alpha1.TestBed) {
		bed.Spec.Hooks = &v1alpha1.LeaseHooks{
			BeforeLease: []v1alpha1.LeaseHook{applying("load", "loaded.conf", "hooked-hook")},
			AfterLease:  []v1alpha1.LeaseHook{applying("mark", "marked.conf", "hooked-hook")},
		}
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: "hooked-hook"}, Type: v1alpha1.HookSecretType,
		Data: map[string][]byte{
			"password": []byte(sshrouter.Password), "hostKeys": r.HostKey, "loaded.conf": []byte(r.base + loaded + "\n"), "marked.conf": []byte(r.base + marked + "\n"),
		},
	}
	g.Expect(l.Create(t.Context(), secret)).To(Succeed())
	t.Cleanup(func() { l.discard(t, secret) })

	key := l.measure(t, r, "hooked", "open")
	b := l.inPhase(t, key, v1alpha1.PhasePreparing, 0)
	g.Eventually(func() []corev1.Pod { return l.podsOf(t, b, "hook") }, time.Minute, 50*time.Millisecond).ShouldNot(BeEmpty())
	g.Expect(l.Delete(t.Context(), &l.podsOf(t, b, "hook")[0], client.GracePeriodSeconds(0))).To(Succeed())
	b = l.finish(t, key)
	expectAllMeasured(g, b)
	g.Expect(l.environment(t, b).Configurations()["open"].Drift).To(ConsistOf("+ "+loaded), "what the device had before it got its base")
	g.Expect(r.Running()).To(ContainSubstring(marked), "the last hook ran when the base was restored")
	g.Expect(r.Running()).NotTo(ContainSubstring(loaded))
	l.expectClean(t, b)
	l.expectNoSecret(t)

	l.setHookKey(t, secret, otherKey(t))
	b = l.finish(t, l.measure(t, r, "hooked-fails", "open"))
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseError))
	g.Expect(b.Status.Message).To(And(HavePrefix("beforeLease hook load failed with exit code 1: "), ContainSubstring("host key")))
	l.expectHookFailed(t, "hooked", "beforeLease hook load failed with exit code 1: ")
	l.setHookKey(t, secret, r.HostKey)
	l.releaseBed(t, "hooked")
	if testing.Short() { // TestHooks of controllers has hooks that do not end.
		return
	}

	var bed v1alpha1.TestBed
	g.Eventually(func() error {
		if err := l.Get(t.Context(), client.ObjectKey{Name: "hooked"}, &bed); err != nil {
			return err
		}
		bed.Spec.Hooks.BeforeLease[0].Timeout = &metav1.Duration{Duration: 5 * time.Second}
		bed.Spec.Hooks.BeforeLease[0].Args = []string{
			"configure", "read", "--platform", "frr", "--address", silentServer(t), "--user", "lab", "--timeout", "5m", "--within", "10m",
			"--password-file", "/etc/nodrop/hook/password", "--host-keys", "/etc/nodrop/hook/hostKeys",
		}
		return l.Update(t.Context(), &bed)
	}, time.Minute, poll).Should(Succeed())
	b = l.finish(t, l.measure(t, r, "hooked-late", "open"))
	g.Expect(b.Status.Phase).To(Equal(v1alpha1.PhaseError))
	g.Expect(b.Status.Message).To(HavePrefix("beforeLease hook load did not end within its timeout of 5s"))
	l.expectHookFailed(t, "hooked", "beforeLease hook load did not end within its timeout of 5s")
	l.releaseBed(t, "hooked")
	l.expectClean(t, b)
}

// otherKey is a host key that no server has.
func otherKey(t *testing.T) []byte {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	key, err := ssh.NewPublicKey(public)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return ssh.MarshalAuthorizedKey(key)
}

// silentServer takes connections, and sends nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", nodeAddress+":0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// setHookKey changes the host key that hooks expect.
func (l *lab) setHookKey(t *testing.T, secret *corev1.Secret, hostKey []byte) {
	t.Helper()
	secret.Data["hostKeys"] = hostKey
	NewWithT(t).Expect(l.Update(t.Context(), secret)).To(Succeed())
}

// expectHookFailed checks that a bed is quarantined because of a hook.
func (l *lab) expectHookFailed(t *testing.T, name, why string) {
	t.Helper()
	g := NewWithT(t)
	var bed v1alpha1.TestBed
	g.Expect(l.Get(t.Context(), client.ObjectKey{Name: name}, &bed)).To(Succeed())
	c := meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionQuarantined)
	g.Expect(c).NotTo(BeNil())
	t.Logf("%s: %s", c.Reason, c.Message)
	g.Expect(c.Reason).To(Equal(v1alpha1.ReasonHookFailed))
	g.Expect(c.Message).To(ContainSubstring(why))
	g.Expect(bed.Status.Lease).NotTo(BeNil())
}

// releaseBed releases a bed from its quarantine, and waits until it is free.
func (l *lab) releaseBed(t *testing.T, name string) {
	t.Helper()
	l.kubectlMust(t, "annotate", "testbed", name, v1alpha1.AnnotationReleaseQuarantine+"=yes")
	NewWithT(t).Eventually(func(g Gomega) {
		var bed v1alpha1.TestBed
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: name}, &bed)).To(Succeed())
		g.Expect(bed.Status.Lease).To(BeNil())
		g.Expect(meta.FindStatusCondition(bed.Status.Conditions, v1alpha1.ConditionQuarantined)).To(BeNil())
	}, 2*time.Minute, poll).Should(Succeed())
}
