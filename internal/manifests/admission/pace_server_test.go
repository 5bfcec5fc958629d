package admission_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// as returns a client of another user with some groups, who may write everything of NoDrop, and its warnings.
func (s *server) as(name string, groups ...string) (client.Client, *warnings) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "writer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	kubetest.Grant(s.t, s.c, role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(name, ":", "-")},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
	})
	w := &warnings{}
	cfg := rest.CopyConfig(s.cfg)
	cfg.QPS, cfg.WarningHandler = -1, w
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	c, err := client.New(cfg, client.Options{Scheme: s.c.Scheme()})
	s.Expect(err).NotTo(HaveOccurred())
	return c, w
}

// pacedWrites changes an object as fast as it can: the writes of a user wait, also if they change metadata only. Users of other namespaces, the
// operator and administrators do not wait.
func pacedWrites(s *server) {
	ctx := s.t.Context()
	names := []string{"team-fast", "team-slow", "team-operated"}
	for _, name := range names {
		s.Expect(s.c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		p := s.sampleProfile()
		p.ObjectMeta = metav1.ObjectMeta{Namespace: name, Name: "p"}
		s.Expect(s.c.Create(ctx, p)).To(Succeed())
	}
	// write changes the profile of a namespace n times, so that it has so many bytes of annotations.
	write := func(c client.Client, namespace string, n, bytes int) {
		for i := range n {
			p := &v1alpha1.TrafficProfile{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}}
			text := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d","x":%q}}}`, i, strings.Repeat("x", bytes))
			s.Expect(c.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(text)))).To(Succeed())
		}
	}
	// A slow machine needs more writes until one waits.
	const large, most = 60 << 10, 300
	fast, warned := s.as("fast")
	writes := 0
	for ; len(warned.texts) == 0 && writes < most; writes++ {
		write(fast, "team-fast", 1, large)
	}
	s.Expect(warned.texts).To(ContainElement(
		"writes wait in namespace team-fast for up to 500 ms each: 200 objects of NoDrop may be written at once, and then 20 per second, where each 8 KiB of an object count as one"))
	slow, warned := s.as("slow")
	write(slow, "team-slow", writes, 0)
	s.Expect(warned.texts).To(BeEmpty(), "another namespace writes less")
	operator, warned := s.as("system:serviceaccount:nodrop-system:nodrop-operator", "system:serviceaccounts", "system:serviceaccounts:nodrop-system")
	write(operator, "team-operated", writes, large)
	s.Expect(warned.texts).To(BeEmpty(), "the operator writes")
	before := len(s.warnings.texts)
	write(s.c, "team-operated", writes, large)
	s.Expect(s.warnings.texts[before:]).NotTo(ContainElement(ContainSubstring("writes wait")), "an administrator writes")
}

// passesUnpaced changes the labels of an object as a user while no operator answers.
func passesUnpaced(s *server) {
	p := s.sampleProfile()
	c, _ := s.as("patient")
	s.Expect(c.Patch(s.t.Context(), p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
}

// sampleProfile returns the profile of the sample benchmark.
func (s *server) sampleProfile() *v1alpha1.TrafficProfile {
	p := &v1alpha1.TrafficProfile{}
	s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "team-routing", Name: s.sampleBenchmark().Spec.TrafficProfileName}, p)).To(Succeed())
	return p
}
