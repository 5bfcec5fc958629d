//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// attempt of a member of a team, with a part of the answer.
type attempt struct {
	name, manifest, answer string
	args                   []string
}

// TestConfigurationsBeyondTheGrant lets a member of a team, with the role edit in its namespace, try to
// choose a configuration, an address or credentials of a device that its grant does not have.
func TestConfigurationsBeyondTheGrant(t *testing.T) {
	together(t)
	l, g := newLab(t), NewWithT(t)
	r := l.newConfigured(t, "granted", 50, func(bed *v1alpha1.TestBed) {
		bed.Labels = map[string]string{"class": "granted"}
		bed.Spec.Access[0].Variants = []v1alpha1.VariantName{"open"}
	})
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: "mallory"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"}},
	}
	t.Cleanup(func() { l.discard(t, binding) })
	kubetest.Grant(t, l, binding)

	const tests = "  tests: [{name: t, throughput: {}}]\n"
	benchmark := func(lines string) string {
		return "apiVersion: nodrop.dev/v1alpha1\nkind: Benchmark\nmetadata: {name: beyond, namespace: team-routing}\nspec:\n  trafficProfileName: granted\n" + lines + tests
	}
	schedule := func(lines string) string {
		template := "  benchmarkTemplate:\n    spec:\n      testBedName: granted\n      trafficProfileName: granted\n      tests: [{name: t, throughput: {}}]\n"
		return "apiVersion: nodrop.dev/v1alpha1\nkind: BenchmarkSchedule\nmetadata: {name: beyond, namespace: team-routing}\nspec:\n  schedule: \"0 3 * * *\"\n" + template + lines
	}
	create := []string{"create", "--dry-run=server", "-f", "-"}
	const beyond, named = "has only the variants open", "  testBedName: granted\n"
	const forbidden = `User "mallory" cannot `
	lab := func(args ...string) []string { return append([]string{"-n", labNamespace}, args...) }
	attempts := []attempt{
		{"a variant beyond the grant", benchmark(named + "  variants: [closed]\n"), beyond, create},
		{"one of two", benchmark(named + "  variants: [open, closed]\n"), beyond, create},
		{"a bed by its labels", benchmark("  testBedSelector: {matchLabels: {class: granted}}\n  variants: [closed]\n"), beyond, create},
		{"a member of a gang", benchmark(named + "  variants: [closed]\n  gang: {name: g, role: a, members: 2}\n"), "closed", create},
		{"with an image", benchmark(named + "  variants: [closed]\n  deviceImage: router:1\n"), beyond, create},
		{"a variant that does not exist", benchmark(named + "  variants: [other]\n"), beyond, create},
		{"a path as variant", benchmark(named + "  variants: [../closed]\n"), beyond, create},
		{"the key of the ConfigMap", benchmark(named + "  variants: [closed.conf]\n"), beyond, create},
		{"a schedule", schedule("      variants: [closed]\n"), "closed", create},
		{"the matrix of a schedule", schedule("  matrix: {variants: [open, closed]}\n"), "closed", create},
		{"a device of the benchmark's own", benchmark(named + "  device: {physical: {vendor: a, model: b}}\n"), `unknown field "spec.device"`, create},
		{"a configuration of the benchmark's own", benchmark(named + "  configuration: {configMapRef: {name: a, key: b}}\n"), `unknown field "spec.configuration"`, create},
		{"another bed with the device", strings.ReplaceAll(bedText(r.Address), "NAME", "beyond"), forbidden + "create resource \"testbeds\"", create},
		{"an edit of the grant", "", forbidden + "patch resource \"testbeds\"", []string{"patch", "testbed", "granted", "--type=json", "-p", `[{"op":"remove","path":"/spec/access/0/variants"}]`}},
		{"an edit of the address", "", forbidden + "patch resource \"testbeds\"", []string{"patch", "testbed", "granted", "--type=merge", "-p", `{"spec":{"device":{"physical":{"management":{"ssh":{"address":"192.0.2.1:22"}}}}}}`}},
		{"the configurations", "", forbidden + "get resource \"configmaps\"", lab("get", "configmap", "granted")},
		{"an edit of the configurations", "", forbidden, lab("patch", "configmap", "granted", "--type=merge", "-p", `{"data":{"base.conf":"hostname x"}}`)},
		{"the credentials", "", forbidden + "get resource \"secrets\"", lab("get", "secret", "granted")},
		{"the removal of the credentials", "", forbidden + "delete resource \"secrets\"", lab("delete", "secret", "granted")},
		{"other credentials", "", forbidden + "create resource \"secrets\"", lab("create", "secret", "generic", "beyond", "--type=nodrop.dev/device", "--from-literal=user=x")},
		{"a pod that the network policy selects", "", forbidden + "create resource \"pods\"", lab("run", "beyond", "--image=x", "--labels=nodrop.dev/role=configure")},
		{"a shell in a pod that configures", "", forbidden, lab("exec", "nd-0000000000-device-up", "--", "sh")},
	}
	for _, a := range attempts {
		out, err := l.kubectl(t, a.manifest, append([]string{"--as=mallory", "--as-group=system:authenticated"}, a.args...)...)
		if err == nil || !strings.Contains(out, a.answer) {
			t.Errorf("%s: %v, want an answer with %q:\n%s", a.name, err, a.answer, out)
		}
	}
	out, err := l.kubectl(t, benchmark(named+"  variants: [open]\n  suspend: true\n"), "--as=mallory", "create", "-f", "-")
	g.Expect(err).NotTo(HaveOccurred(), out)
	t.Cleanup(func() { _, _ = l.kubectl(t, "", "-n", teamNamespace, "delete", "benchmark", "beyond") })
	out, err = l.kubectl(t, "", "--as=mallory", "-n", teamNamespace, "patch", "benchmark", "beyond", "--type=merge", "-p", `{"spec":{"variants":["closed"]}}`)
	g.Expect(err).To(HaveOccurred())
	g.Expect(out).To(ContainSubstring("a Benchmark cannot be changed after it was admitted"))
	t.Logf("%d attempts", len(attempts)+1)
}

// bedText is a bed with a device at an address.
func bedText(address string) string {
	return fmt.Sprintf(`
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: NAME}
spec:
  device: {physical: {vendor: a, model: b, management: {ssh: {platform: frr, address: %q}, secretName: granted, configuration: {configMapRef: {name: granted, key: base.conf}}}}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: node1, attachment: {hostDevice: {interface: a}}, speed: 1G, addresses: [198.18.60.2/24]}
  - {name: p2, node: node1, attachment: {hostDevice: {interface: b}}, speed: 1G, addresses: [198.18.61.2/24]}
  access: [{names: [team-routing]}]
`, address)
}
