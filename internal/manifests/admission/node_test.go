package admission_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
)

// beyondGrantOfNode is a team, with the rights of the chart's role, that tries to give the node of a topology what its grant does not allow.
func beyondGrantOfNode(t *testing.T, s *server) {
	g := NewWithT(t)
	trudy := teamMember(t, s, "trudy")
	accepted(t, s, "containerlab-acl")
	bed := &v1alpha1.TestBed{}
	g.Expect(s.c.Get(t.Context(), client.ObjectKey{Name: "linux-router"}, bed)).To(Succeed())
	secret := bed.Spec.Device.Variants[1].DeepCopy()
	secret.Name = "secret"
	secret.Containerlab.Parameters = append(secret.Containerlab.Parameters,
		v1alpha1.DeviceParameter{Name: "depth", Default: "1", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"1", "2"}}})
	bed.Spec.Device.Variants = append(bed.Spec.Device.Variants, *secret)
	bed.Spec.Access[0].DeviceParameters[0].Values = []v1alpha1.ParameterValue{"accept"}
	g.Expect(s.c.Update(t.Context(), bed)).To(Succeed())

	ask := func(spec string) error {
		b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "team-routing", GenerateName: "beyond-"}}
		text := "{testBedName: linux-router, trafficProfileName: linux-router, tests: [{name: latency, latency: {loads: ['50%']}}]}"
		g.Expect(yaml.UnmarshalStrict([]byte(text), &b.Spec)).To(Succeed())
		g.Expect(yaml.UnmarshalStrict([]byte(spec), &b.Spec)).To(Succeed())
		return trudy.Create(t.Context(), b, client.DryRunAll)
	}
	g.Expect(ask("{variants: [plain, list], deviceParameters: [{name: back, value: accept}]}")).To(Succeed(), "what the grant allows")
	texts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operator.DefaultLabNamespace, Name: "linux-lists"}}
	patch := func(o client.Object, text string) error {
		return trudy.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	for what, attempt := range map[string]struct {
		err  error
		want string
	}{
		"a variant outside the grant":   {ask("{variants: [secret]}"), "has only the variants plain, list"},
		"a value outside the grant":     {ask("{variants: [list], deviceParameters: [{name: back, value: drop}]}"), "has the parameter back with one of accept"},
		"a value outside the bed":       {ask("{variants: [list], deviceParameters: [{name: back, value: queue}]}"), "accept"},
		"another rule behind the value": {ask("{variants: [list], deviceParameters: [{name: back, value: 'accept; drop'}]}"), "is not a value of a parameter"},
		"a parameter outside the grant": {ask("{variants: [list], deviceParameters: [{name: depth, value: '2'}]}"), "has only the parameters back"},
		"another text":                  {patch(texts, `{"data":{"list":"flush ruleset\n"}}`), "forbidden"},
		"a reload command":              {patch(bed.DeepCopy(), `{"spec":{"device":{"containerlab":{"configuration":{"platform":"files","files":["/a"],"reload":"reboot"}}}}}`), "forbidden"},
		"the texts":                     {trudy.Get(t.Context(), client.ObjectKeyFromObject(texts), texts), "forbidden"},
	} {
		if attempt.err == nil || !strings.Contains(attempt.err.Error(), attempt.want) {
			t.Errorf("%s: %v, want %q", what, attempt.err, attempt.want)
		}
	}
}
