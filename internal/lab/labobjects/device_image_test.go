package labobjects

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestWithImage(t *testing.T) {
	for name, tc := range map[string]struct{ topology, want, problem string }{
		"replaced": {"name: x\ntopology:\n  nodes:\n    dut: {kind: linux, image: old:1}\n    other: {image: old:1}\n",
			"name: x\ntopology:\n  nodes:\n    dut: {kind: linux, image: new:2}\n    other: {image: old:1}\n", ""},
		"of the kind": {"topology:\n  kinds: {linux: {image: old:1}}\n  nodes:\n    dut:\n      kind: linux\n      mtu: 9500 # jumbo\n",
			"topology:\n  kinds: {linux: {image: old:1}}\n  nodes:\n    dut: {kind: linux, mtu: 9500, image: new:2}\n", ""},
		"a node of defaults only": {"topology: {defaults: {image: old:1}, nodes: {dut: }}", "topology: {defaults: {image: old:1}, nodes: {dut: {image: new:2}}}", ""},
		"no such node":            {"topology: {nodes: {r1: {}}}", "", "there is no topology.nodes.dut"},
		"no YAML":                 {"topology: {", "", "setting the image of node dut"},
		"empty":                   {"", "", "there is no topology.nodes.dut"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withImage([]byte(tc.topology), "dut", "new:2")
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("%v lacks %q", err, tc.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			is, err := yaml.YAMLToJSON(got)
			if err != nil {
				t.Fatal(err)
			}
			want, err := yaml.YAMLToJSON([]byte(tc.want))
			if err != nil {
				t.Fatal(err)
			}
			if string(is) != string(want) {
				t.Errorf("%s\nwant %s", is, want)
			}
		})
	}
}
