package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// rights asks the API server what a user may do, of everything that matters here.
type rights struct {
	t *testing.T
	c client.Client
}

// everything that is asked for, as group/resource.
var everything = []string{
	"nodrop.dev/benchmarks", "nodrop.dev/benchmarks/status", "nodrop.dev/benchmarkschedules", "nodrop.dev/benchmarkschedules/status", "nodrop.dev/trafficprofiles",
	"nodrop.dev/benchmarkresults", "nodrop.dev/benchmarkresults/status", "nodrop.dev/benchmarksnapshots",
	"nodrop.dev/reservations", "nodrop.dev/reservations/status",
	"nodrop.dev/notificationsinks", "nodrop.dev/notificationsinks/status",
	"nodrop.dev/testbeds", "nodrop.dev/testbeds/status",
	"/configmaps", "/secrets", "/pods", "/pods/log", "/pods/exec", "/events", "/namespaces", "/nodes",
	"k8s.cni.cncf.io/network-attachment-definitions", "resource.k8s.io/resourceclaimtemplates",
	"coordination.k8s.io/leases", "admissionregistration.k8s.io/validatingwebhookconfigurations",
	"rbac.authorization.k8s.io/rolebindings", "rbac.authorization.k8s.io/clusterrolebindings",
}

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "delete", "patch", "update"}
	whole  = append(append([]string{"deletecollection"}, reads...), writes...)
)

// of returns what a user may do in a namespace, as lines "verb group/resource".
func (r rights) of(user, namespace string) []string {
	r.t.Helper()
	var all []string
	for _, resource := range everything {
		group, name, _ := strings.Cut(resource, "/")
		name, sub, _ := strings.Cut(name, "/")
		for _, verb := range whole {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, Groups: []string{"system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: sub},
			}}
			if err := r.c.Create(r.t.Context(), review); err != nil {
				r.t.Fatal(err)
			}
			if review.Status.Allowed {
				all = append(all, verb+" "+resource)
			}
		}
	}
	slices.Sort(all)
	return all
}

// lines are rights as rights.of returns them.
func lines(verbs []string, resources ...string) []string {
	var all []string
	for _, resource := range resources {
		for _, verb := range verbs {
			all = append(all, verb+" "+resource)
		}
	}
	return all
}

// whoMayDoWhat binds the roles as an administrator would, and asks the API server for
// everything that each user may do. Without a controller manager nothing is aggregated:
// roles of teams are bound by their own names.
func (c *cluster) whoMayDoWhat(t *testing.T) {
	const team = "team-routing"
	grants := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}}
	for user, role := range map[string]string{"editor": "nodrop-edit", "viewer": "nodrop-view"} {
		grants = append(grants, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: role}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})
	}
	kubetest.Grant(t, c.Client, grants...)
	r := rights{t, c.Client}
	everybody := lines(reads, "nodrop.dev/testbeds")
	results := lines(reads, "nodrop.dev/benchmarkresults", "nodrop.dev/benchmarksnapshots")
	owner := slices.Concat(lines(whole, "nodrop.dev/testbeds"), lines(reads, "nodrop.dev/benchmarks", "nodrop.dev/benchmarkschedules", "nodrop.dev/trafficprofiles", "nodrop.dev/notificationsinks", "nodrop.dev/reservations"), results)
	inLab := slices.Concat(owner, lines(append(slices.Clone(writes), reads...), "/configmaps", "k8s.cni.cncf.io/network-attachment-definitions", "resource.k8s.io/resourceclaimtemplates"),
		lines(append(slices.Clone(writes), "deletecollection"), "nodrop.dev/reservations"),
		lines(append(slices.Clone(writes), "get"), "/secrets"),
		lines(reads, "/pods", "/pods/log", "/events"))
	for name, tc := range map[string]struct {
		user, namespace string
		want            []string
	}{
		"anybody":                   {"anybody", team, everybody},
		"anybody in the lab":        {"anybody", operator.DefaultLabNamespace, everybody},
		"viewer":                    {"viewer", team, slices.Concat(everybody, results, lines(reads, "nodrop.dev/benchmarks", "nodrop.dev/benchmarkschedules", "nodrop.dev/trafficprofiles", "nodrop.dev/notificationsinks", "nodrop.dev/reservations"))},
		"editor":                    {"editor", team, slices.Concat(everybody, lines(whole, "nodrop.dev/benchmarks", "nodrop.dev/benchmarkschedules", "nodrop.dev/trafficprofiles", "nodrop.dev/notificationsinks", "nodrop.dev/reservations"))},
		"editor elsewhere":          {"editor", "default", everybody},
		"editor in the lab":         {"editor", operator.DefaultLabNamespace, everybody},
		"owner":                     {"owner", team, owner},
		"owner in the lab":          {"owner", operator.DefaultLabNamespace, inLab},
		"owner where operators are": {"owner", operator.DefaultNamespace, owner},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(tc.want)
			if got := r.of(tc.user, tc.namespace); !slices.Equal(got, tc.want) {
				for _, line := range got {
					if !slices.Contains(tc.want, line) {
						t.Errorf("%s may %s", tc.user, line)
					}
				}
				for _, line := range tc.want {
					if !slices.Contains(got, line) {
						t.Errorf("%s may not %s", tc.user, line)
					}
				}
			}
		})
	}
}

// quarantineIsReleased acts as the owner: a bed is created, released from quarantine by
// its annotation, and deleted; a viewer of a team cannot do it.
func (c *cluster) quarantineIsReleased(t *testing.T) {
	// No operator answers here.
	if err := c.Delete(t.Context(), &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: operator.WebhookConfiguration}}); err != nil {
		t.Fatal(err)
	}
	as := func(user string) client.Client {
		cfg := rest.CopyConfig(c.config)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		s, err := operator.Scheme()
		if err != nil {
			t.Fatal(err)
		}
		limited, err := client.New(cfg, client.Options{Scheme: s})
		if err != nil {
			t.Fatal(err)
		}
		return limited
	}
	bed := objects.TestBed("switch")
	bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "example", Model: "switch"}
	bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	for i := range 2 {
		name := fmt.Sprintf("p%d", i+1)
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "node1", Speed: "10G", Addresses: []string{fmt.Sprintf("198.18.1.%d/24", i+1)},
			Attachment: objects.HostDevice(name),
		})
	}
	if err := as("owner").Create(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	release := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, v1alpha1.AnnotationReleaseQuarantine))
	if err := as("editor").Patch(t.Context(), bed.DeepCopy(), release); err == nil {
		t.Error("a team releases a bed from quarantine")
	}
	if err := as("owner").Patch(t.Context(), bed, release); err != nil {
		t.Error(err)
	}
	if err := as("owner").Delete(t.Context(), bed); err != nil {
		t.Error(err)
	}
}

// TestWhatTestBedsEqual checks that all descriptions of the right to write TestBeds state its
// risk.
func TestWhatTestBedsEqual(t *testing.T) {
	charted, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"chart's role":         find(t, charted, "ClusterRole", "nodrop-lab-owner").GetAnnotations()["kubernetes.io/description"],
		"kustomization's role": find(t, kustomization(t, "default"), "ClusterRole", "nodrop-lab-owner").GetAnnotations()["kubernetes.io/description"],
		"values.yaml":          read(t, filepath.Join("..", "charts", "nodrop", "values.yaml")),
		"chart's README":       read(t, filepath.Join("..", "charts", "nodrop", "README.md")),
		"docs/own-cluster.md":  read(t, filepath.Join("..", "docs", "own-cluster.md")),
	}
	for name, text := range texts {
		words := strings.Fields(strings.NewReplacer("*", "", "#", "").Replace(text))
		if !strings.Contains(strings.Join(words, " "), "Writing TestBeds equals root on the nodes") {
			t.Errorf("%s does not say that writing TestBeds equals root on the nodes", name)
		}
	}
}
