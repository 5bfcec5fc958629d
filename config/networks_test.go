package config

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// pluginConfig reads the CNI plugin's configuration out of a network.
func pluginConfig(t *testing.T, network *object) map[string]any {
	t.Helper()
	text, _, err := unstructured.NestedString(network.Object, "spec", "config")
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return config
}

// TestNetworksAreThoseOfTheOperator: a network of the chart does what the network
// does that NoDrop makes of the same settings in a TestBed.
func TestNetworksAreThoseOfTheOperator(t *testing.T) {
	yes, no, vlan, none := true, false, int32(100), int32(0)
	for name, tc := range map[string]struct {
		values string
		port   v1alpha1.SRIOVAttachment
	}{
		"no settings":  {values: ``},
		"type alone":   {values: `, "type": "sriov"`},
		"all settings": {values: `, "vlan": 100, "trust": false, "spoofCheck": true`, port: v1alpha1.SRIOVAttachment{VLAN: &vlan, Trust: &no, SpoofCheck: &yes}},
		"said aloud":   {values: `, "vlan": 0, "trust": true, "spoofCheck": false`, port: v1alpha1.SRIOVAttachment{VLAN: &none, Trust: &yes, SpoofCheck: &no}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := chart(t, "--set-json", `networks=[{"name": "dut-p1", "resourceName": "intel.com/dut_p1"`+tc.values+`}]`)
			if err != nil {
				t.Fatal(err)
			}
			got := find(t, objects, "NetworkAttachmentDefinition", "dut-p1")
			tc.port.ResourceName = "intel.com/dut_p1"
			made, err := labobjects.Networks(labobjects.Settings{Namespace: "nodrop-lab"}, labobjects.Run{UID: "0f8fad5bd9"}, labobjects.Agent{
				Ports: []v1alpha1.Port{{Name: "p1", Attachment: &v1alpha1.Attachment{SRIOV: &tc.port}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			const resource = "k8s.v1.cni.cncf.io/resourceName"
			if got.GetNamespace() != "nodrop-lab" || got.GetAnnotations()[resource] != made[0].GetAnnotations()[resource] {
				t.Errorf("network of resource %q in namespace %q", got.GetAnnotations()[resource], got.GetNamespace())
			}
			want, config := pluginConfig(t, made[0]), pluginConfig(t, got)
			if config["name"] != "dut-p1" {
				t.Errorf("the plugin knows it as %v", config["name"])
			}
			want["name"] = config["name"]
			if diff := cmp.Diff(want, config); diff != "" {
				t.Errorf("configuration (-operator +chart):\n%s", diff)
			}
		})
	}
}

// TestNetworksOfWholeCards: the plugin host-device has none of sriov's settings.
func TestNetworksOfWholeCards(t *testing.T) {
	const card = `{"name": "dut-p2", "resourceName": "example.com/card", "type": "host-device"`
	objects, err := chart(t, "--set-json", `networks=[{"name": "dut-p1", "resourceName": "intel.com/dut_p1"}, `+card+`}]`)
	if err != nil {
		t.Fatal(err)
	}
	find(t, objects, "NetworkAttachmentDefinition", "dut-p1")
	want := map[string]any{"cniVersion": "1.0.0", "name": "dut-p2", "type": "host-device"}
	if diff := cmp.Diff(want, pluginConfig(t, find(t, objects, "NetworkAttachmentDefinition", "dut-p2"))); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	for _, broken := range []string{
		card + `, "trust": true}`,
		card + `, "vlan": 5}`,
		`{"name": "dut-p1"}`,
		`{"name": "dut-p1", "resourceName": "dut_p1"}`,
		`{"name": "Dut", "resourceName": "intel.com/dut_p1"}`,
		`{"name": "dut-p1", "resourceName": "intel.com/dut_p1", "vlan": 4095}`,
		`{"name": "dut-p1", "resourceName": "intel.com/dut_p1", "spoofchk": "off"}`,
		`{"name": "dut-p1", "resourceName": "intel.com/dut_p1", "type": "macvlan"}`,
	} {
		if _, err := chart(t, "--set-json", "networks=["+broken+"]"); err == nil {
			t.Errorf("network %s was accepted", broken)
		}
	}
}

// TestNoNetworksUnlessAsked: a lab without Multus can install the chart.
func TestNoNetworksUnlessAsked(t *testing.T) {
	objects, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(objects, func(o object) bool { return o.GetKind() == "NetworkAttachmentDefinition" }) {
		t.Error("the chart makes networks that nobody asked for")
	}
}
