package labobjects

import (
	"reflect"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzWithImage holds a topology in which a node has another image to having the rest as it was.
func FuzzWithImage(f *testing.F) {
	for _, text := range []string{
		"name: a\ntopology: {nodes: {dut: {kind: linux, image: old}}}", "topology: {nodes: {dut: }}", "topology: {nodes: {dut: [1]}}",
		"x: &base {kind: linux, image: old}\ntopology: {nodes: {dut: *base, other: *base}}",
		"topology: {nodes: {dut: &base {kind: linux}, other: *base}}", "x: &all {dut: {kind: linux}}\ntopology: {nodes: *all}", "a: &a [*a]\ntopology: {nodes: {dut: {}}}",
		"topology: {defaults: &d {kind: linux}, nodes: {dut: {<<: *d, memory: 1G}}}", "topology: &t {nodes: {dut: {image: 1, image: 2}}}", "- a", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after map[string]any
		if yaml.Unmarshal(text, &before) != nil {
			return // Containerlab cannot read it either.
		}
		changed, err := withImage(text, "dut", "new:1")
		if err != nil {
			return
		}
		if err := yaml.Unmarshal(changed, &after); err != nil {
			t.Fatalf("%v:\n%s", err, changed)
		}
		if _, plain := under(after, "topology", "nodes", "dut").(map[string]any); !plain {
			return // It has keys that are no texts, which containerlab refuses.
		}
		was, is := nodeOf(before), nodeOf(after)
		if is["image"] != "new:1" {
			t.Errorf("the node has image %v:\n%s", is["image"], changed)
		}
		delete(was, "image")
		delete(is, "image")
		if len(was)+len(is) > 0 && !reflect.DeepEqual(was, is) {
			t.Errorf("the node has %v, and had %v", is, was)
		}
		for _, all := range []map[string]any{before, after} {
			if nodes, ok := under(all, "topology", "nodes").(map[string]any); ok {
				delete(nodes, "dut")
			}
		}
		if !reflect.DeepEqual(before, after) {
			t.Errorf("the rest is %v, and was %v", after, before)
		}
	})
}

// nodeOf returns the fields of the node dut; empty if it has none.
func nodeOf(topology map[string]any) map[string]any {
	fields, ok := under(topology, "topology", "nodes", "dut").(map[string]any)
	if !ok {
		return map[string]any{}
	}
	copied := map[string]any{}
	for key, value := range fields {
		copied[key] = value
	}
	return copied
}

func under(at any, keys ...string) any {
	for _, key := range keys {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = fields[key]
	}
	return at
}
