package charts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// portsOf is a bed with these ports, in a list of YAML's flow style.
func portsOf(ports string) string {
	return header + "kind: TestBed\nmetadata: {name: applied}\nspec: {device: {physical: {vendor: v, model: m}}, engine: {kind: xdp}, ports: " + ports + "}\n"
}

const (
	p1 = "{name: p1, node: node1, speed: 1G, attachment: {hostDevice: {interface: e1}}}"
	p2 = "{name: p2, node: node1, speed: 1G, attachment: {hostDevice: {interface: e2}}}"
	p3 = "{name: p3, node: node1, speed: 1G, attachment: {hostDevice: {interface: e3}}}"
)

// applied applies ports in one order and then in another, by server-side apply: the
// order of the manifest is that of the bed, since it decides who sends to whom.
func applied(t *testing.T, c client.Client) {
	for _, step := range []struct {
		ports string
		want  []string
	}{
		{"[" + p1 + ", " + p2 + "]", []string{"p1", "p2"}},
		{"[" + p2 + ", " + p1 + "]", []string{"p2", "p1"}},
		{"[" + p3 + ", " + p1 + ", " + p2 + "]", []string{"p3", "p1", "p2"}},
		{"[" + p2 + ", " + p3 + "]", []string{"p2", "p3"}},
	} {
		u := parse(t, portsOf(step.ports))
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(u.GroupVersionKind())
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), stored); err != nil {
			t.Fatal(err)
		}
		ports, _, _ := unstructured.NestedSlice(stored.Object, "spec", "ports")
		var names []string
		for _, p := range ports {
			names = append(names, p.(map[string]any)["name"].(string))
		}
		if diff := cmp.Diff(step.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.ports, diff)
		}
	}
}
