package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nodrop.dev/nodrop/internal/manifests/manifest"
)

// TestDefaultPolicy gives the chart a default policy, and reads what the operator
// would read.
func TestDefaultPolicy(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	const policy = "lab:\n  defaultPolicy: {vlans: [{first: 100, last: 199}], groups: [], sourceAddresses: [\"2001:2::/48\"], ethernet: false}\n"
	if err := os.WriteFile(values, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := chart(t, "--values", values)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := unstructured.NestedString(find(t, objects, "ConfigMap", "nodrop-default-policy").Object, "data", "policy.yaml")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := manifest.ReadPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.VLANs) != 1 || read.VLANs[0].Last != 199 || read.Groups == nil || len(read.SourceAddresses) != 1 || read.Ethernet == nil || *read.Ethernet {
		t.Errorf("the operator reads %+v", read)
	}
	if !slices.Contains(operatorArgs(t, objects), "--default-policy-file=/etc/nodrop/policy/policy.yaml") {
		t.Error("the operator is not given the file")
	}

	if objects, err = chart(t); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetName() == "nodrop-default-policy" {
			t.Error("there is a default policy without the value")
		}
	}
	if _, err := chart(t, "--set", "lab.defaultPolicy.vlan=1"); err == nil {
		t.Error("a member that there is not is accepted")
	}
}

func operatorArgs(t *testing.T, objects []object) []string {
	t.Helper()
	containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "nodrop-operator").Object, "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	return args
}
