package admission_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// teamMember returns a client of a user with the rights of the chart's role in the namespace team-routing.
func teamMember(t *testing.T, s *server, name string) client.Client {
	t.Helper()
	g := NewWithT(t)
	kubetest.Grant(t, s.c, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nodrop-edit"},
	})
	cfg := rest.CopyConfig(s.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	c, err := client.New(cfg, client.Options{Scheme: s.c.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

// beyondGrant is a team, with the rights of the chart's role, that tries to give a device what its grant does not allow.
// The bed leaf-1 is the one of the sample; leaf-2 is for another team, and has the variant core.
func beyondGrant(t *testing.T, s *server) {
	g := NewWithT(t)
	for _, o := range s.load("config", "rbac", "user_roles.yaml") {
		g.Expect(s.apply(o)).To(Succeed())
	}
	mallory := teamMember(t, s, "mallory")
	accepted(t, s, "configured")
	bed := &v1alpha1.TestBed{}
	g.Expect(s.c.Get(t.Context(), client.ObjectKey{Name: "leaf-1"}, bed)).To(Succeed())
	bed.Spec.Device.Variants = append(bed.Spec.Device.Variants, v1alpha1.DeviceVariant{Name: "core", Physical: bed.Spec.Device.Variants[1].Physical})
	bed.Spec.Device.Variants[2].Physical.Parameters = append(bed.Spec.Device.Variants[2].Physical.Parameters,
		v1alpha1.DeviceParameter{Name: "depth", Default: "1", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"1", "2"}}})
	bed.Spec.Access[0].Variants = nil
	g.Expect(s.c.Update(t.Context(), bed)).To(Succeed())
	other := bed.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Name: "leaf-2"}
	other.Spec.Access[0].Names = []string{"team-core"}
	g.Expect(s.c.Create(t.Context(), other)).To(Succeed())
	bed.Spec.Access[0].Variants = []v1alpha1.VariantName{"plain", "filter"}
	g.Expect(s.c.Update(t.Context(), bed)).To(Succeed())

	accepted(t, s, "acl-scale")
	lists := &v1alpha1.TestBed{}
	g.Expect(s.c.Get(t.Context(), client.ObjectKey{Name: "acl-scale"}, lists)).To(Succeed())
	scales := &lists.Spec.Device.Physical.Management.SSH.Scales
	*scales = append(*scales, (*scales)[0])
	(*scales)[1].Name = "core"
	lists.Spec.Access[0].Scales = []v1alpha1.ScaleGrant{{Name: "acl", Maximum: 400}}
	g.Expect(s.c.Update(t.Context(), lists)).To(Succeed())
	entries := func(test string) client.Object {
		b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", GenerateName: "beyond-"}}
		text := "{testBedName: acl-scale, trafficProfileName: acl-scale, tests: [{name: entries, configurationScale: {load: 10%%, %s}}]}"
		g.Expect(yaml.UnmarshalStrict(fmt.Appendf(nil, text, test), &b.Spec)).To(Succeed())
		return b
	}
	asks := func(spec string) client.Object {
		b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", GenerateName: "beyond-"}}
		text := "{testBedName: leaf-1, trafficProfileName: leaf-pairs, tests: [{name: latency, latency: {loads: ['50%']}}]}"
		g.Expect(yaml.UnmarshalStrict([]byte(text), &b.Spec)).To(Succeed())
		g.Expect(yaml.Unmarshal([]byte(spec), &b.Spec)).To(Succeed())
		if b.Spec.TestBedSelector != nil {
			b.Spec.TestBedName = ""
		}
		return b
	}
	value := func(v string) client.Object {
		return asks(fmt.Sprintf("{variants: [filter], deviceParameters: [{name: network, value: %q}]}", v))
	}
	g.Expect(mallory.Create(t.Context(), value("99"), client.DryRunAll)).To(Succeed(), "the highest value of the grant")
	g.Expect(mallory.Create(t.Context(), entries("name: acl, maximum: 400"), client.DryRunAll)).To(Succeed(), "the longest list of the grant")
	create := func(o client.Object) func() error { return func() error { return mallory.Create(t.Context(), o) } }
	patch := func(o client.Object, text string) func() error {
		return func() error {
			return mallory.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(text)))
		}
	}
	filterEffect := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", Name: "filter-effect"}}
	texts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operator.DefaultLabNamespace, Name: "leaf-1"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.DefaultLabNamespace, Name: "leaf-1"}}
	mine := other.DeepCopy()
	mine.ObjectMeta = metav1.ObjectMeta{Name: "mine"}
	mine.Spec.Device.Physical.Management.SSH.Address = "192.0.2.99:22"
	attempts := []struct {
		what string
		do   func() error
		want string
	}{
		{"a variant outside the grant", create(asks("{variants: [core]}")), "has only the variants plain, filter"},
		{"one of two variants outside the grant", create(asks("{variants: [plain, core]}")), "spec.variants[1]"},
		{"a variant that the bed does not have", create(asks("{variants: [base]}")), "has only the variants plain, filter"},
		{"a variant in capital letters", create(asks("{variants: [Filter]}")), "has only the variants plain, filter"},
		{"a value above the grant", create(value("100")), "has the parameter network with a whole number from 2 to 99: give such a value"},
		{"a value above the bed", create(value("256")), "a whole number from 2 to"},
		{"a value below the bed", create(value("1")), "a whole number from 2 to"},
		{"a negative value", create(value("-3")), "is not a value of a parameter"},
		{"zeros in front", create(value("007")), "a whole number from 2 to"},
		{"an exponent", create(value("1e1")), "a whole number from 2 to"},
		{"a word behind the value", create(value("7 permit")), "is not a value of a parameter"},
		{"another line", create(value("7\nno access-list lab")), "failed rule"},
		{"another place", create(value("{{network}}")), "is not a value of a parameter"},
		{"an empty value", create(value("")), "should be at least 1 chars long"},
		{"a parameter of a variant outside the grant", create(asks("{variants: [filter], deviceParameters: [{name: depth, value: '2'}]}")), "has only the parameters network: choose only network"},
		{"such a parameter with its variant", create(asks("{variants: [core], deviceParameters: [{name: depth, value: '2'}]}")), "has only the parameters network"},
		{"a parameter twice", create(asks("{variants: [filter], deviceParameters: [{name: network, value: '7'}, {name: network, value: '200'}]}")), "Duplicate value"},
		{"a parameter without its variant", create(asks("{deviceParameters: [{name: network, value: '7'}]}")), "have no parameters on test bed leaf-1"},
		{"a list outside the grant", create(entries("name: core, maximum: 400")), "has only the lists acl: choose only acl"},
		{"a list that the bed does not describe", create(entries("name: nat, maximum: 400")), "the bed describes the lists acl, core"},
		{"more entries than the grant has", create(entries("name: acl, maximum: 401")), "has the list acl with at most 400 entries: give a maximum of at most 400"},
		{"no maximum, so that the one of the bed counts", create(entries("name: acl")), "has the list acl with at most 400 entries"},
		{"more entries than the bed has", create(entries("name: acl, maximum: 65536")), "has the list acl with at most 400 entries"},
		{"a bed of another team", create(asks("{testBedName: leaf-2, variants: [core]}")), "does not allow namespace team-routing"},
		{"a change after admission", patch(filterEffect, `{"spec":{"deviceParameters":[{"name":"network","value":"200"}]}}`), "a Benchmark cannot be changed"},
		{"a wider grant", patch(bed.DeepCopy(), `{"spec":{"access":[{"names":["team-routing"]}]}}`), "forbidden"},
		{"another host of the bed", patch(bed.DeepCopy(), `{"spec":{"device":{"physical":{"management":{"ssh":{"address":"192.0.2.99:22"}}}}}}`), "forbidden"},
		{"a bed with another host", create(mine), "forbidden"},
		{"another text of the configuration", patch(texts, `{"data":{"filter.conf":"hostname mallory\n"}}`), "forbidden"},
		{"the texts", func() error { return mallory.Get(t.Context(), client.ObjectKeyFromObject(texts), texts) }, "forbidden"},
		{"the password", func() error { return mallory.Get(t.Context(), client.ObjectKeyFromObject(secret), secret) }, "forbidden"},
	}
	if len(attempts) < 20 {
		t.Errorf("%d attempts", len(attempts))
	}
	for _, a := range attempts {
		err := a.do()
		if err == nil || !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v, want %q", a.what, err, a.want)
		}
	}
	var all v1alpha1.BenchmarkList
	g.Expect(s.c.List(t.Context(), &all, client.InNamespace("team-routing"))).To(Succeed())
	for _, b := range all.Items {
		if strings.HasPrefix(b.Name, "beyond-") {
			t.Errorf("%s exists", b.Name)
		}
	}
}
