package manifestcheck_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	yamlnode "go.yaml.in/yaml/v3"

	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/manifests/manifestcheck"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// values are at the ends of ranges, or of another kind.
var values = []string{
	"0", "1", "-1", "2", "63", "64", "1518", "9216", "65535", "65536", "4294967295", "9223372036854775807", "1e99", "0.5",
	"0%", "0.0001%", "50%", "100%", "101%", "1ns", "1ms", "1s", "60s", "10h", "2562047h", "1bps", "10G", "100G", "1kpps", "1e9pps",
	"198.18.0.1", "198.18.0.1/32", "198.18.0.0/15", "198.18.0.0/33", "2001:2::1", "2001:2::/48", "::/0", "224.0.0.1", "02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff",
	"[]", "{}", "null", "true", "imix", "*", "a", "left", "right", "p0", "p1", "[64, 1518]", "[a, b]",
}

// FuzzFits puts a value in place of one in the manifests of a sample. What is refused has a reason, and what is accepted can be planned.
func FuzzFits(f *testing.F) {
	samples := readSamples(f)
	for i := range samples {
		f.Add(uint8(i), uint16(i*11), uint8(i), "v")
	}
	f.Fuzz(func(t *testing.T, sample uint8, leaf uint16, known uint8, value string) {
		if int(known) < len(values) {
			value = values[known]
		}
		text, changed := samples[int(sample)%len(samples)].with(t, int(leaf), value)
		if !changed {
			return
		}
		set, err := manifest.Load([]string{"-"}, bytes.NewReader(text))
		if !hasReasons(t, err) {
			return
		}
		for _, given := range set.Benchmarks() {
			bundle, err := set.ResolveGiven(given)
			if !hasReasons(t, err) || !hasReasons(t, manifestcheck.Fits(bundle, nil)) {
				continue
			}
			made, err := plan.Build(&bundle.Benchmark, &bundle.Profile, &bundle.Bed)
			if err != nil {
				t.Fatalf("accepted, and cannot be planned: %v\n%s", err, text)
			}
			if n, d := made.Trials(), made.Duration(); n < 1 || d < 0 {
				t.Errorf("%d trials take %v\n%s", n, d, text)
			}
		}
	})
}

// hasReasons reports whether there is no error, and fails the test if one has no text.
func hasReasons(t *testing.T, err error) (none bool) {
	t.Helper()
	var invalid *manifest.InvalidError
	switch {
	case err == nil:
		return true
	case err.Error() == "":
		t.Error("a failure without a reason")
	case errors.As(err, &invalid):
		for _, p := range invalid.Problems {
			if p.Text == "" {
				t.Errorf("a problem without a text: %+v", p)
			}
		}
	}
	return false
}

// sample contains the manifests of a directory as one text.
type sample []byte

// readSamples reads the samples that are valid by themselves and have a benchmark.
func readSamples(f *testing.F) (all []sample) {
	f.Helper()
	root := filepath.Join(kubetest.Root(f), "config", "samples")
	dirs, err := os.ReadDir(root)
	if err != nil {
		f.Fatal(err)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(root, dir.Name(), "*.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		var text sample
		for _, file := range files {
			one, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			text = append(append(text, "\n---\n"...), one...)
		}
		if set, err := manifest.Load([]string{"-"}, bytes.NewReader(text)); err == nil && len(set.Benchmarks()) > 0 {
			all = append(all, text)
		}
	}
	if len(all) < 20 {
		f.Fatalf("%d samples are valid", len(all))
	}
	return all
}

// with returns the manifests with a value in place of one of theirs, and whether there is one with this number. Names of files stay.
func (s sample) with(t *testing.T, number int, value string) ([]byte, bool) {
	t.Helper()
	var node yamlnode.Node
	if yamlnode.Unmarshal([]byte(value), &node) != nil || len(node.Content) != 1 || strings.Contains(value, "*") || strings.Contains(value, "&") {
		node = yamlnode.Node{Content: []*yamlnode.Node{{Kind: yamlnode.ScalarNode, Tag: "!!str", Value: value}}}
	}
	var documents, leaves []*yamlnode.Node
	for decoder := yamlnode.NewDecoder(bytes.NewReader(s)); ; {
		var document yamlnode.Node
		if err := decoder.Decode(&document); err != nil {
			break
		}
		documents = append(documents, &document)
		leaves = append(leaves, leavesOf(&document)...)
	}
	if len(leaves) == 0 {
		t.Fatal("a sample has no values")
	}
	*leaves[number%len(leaves)] = *node.Content[0]
	var text bytes.Buffer
	encoder := yamlnode.NewEncoder(&text)
	for _, document := range documents {
		if encoder.Encode(document) != nil {
			return nil, false
		}
	}
	return text.Bytes(), encoder.Close() == nil
}

// leavesOf returns the values in a node that have none themselves.
func leavesOf(node *yamlnode.Node) (all []*yamlnode.Node) {
	switch node.Kind {
	case yamlnode.MappingNode:
		for i := 1; i < len(node.Content); i += 2 {
			if key := node.Content[i-1].Value; slices.Contains([]string{"apiVersion", "kind", "file"}, key) {
				continue
			}
			all = append(all, leavesOf(node.Content[i])...)
		}
		return all
	case yamlnode.DocumentNode, yamlnode.SequenceNode:
		for _, item := range node.Content {
			all = append(all, leavesOf(item)...)
		}
		return all
	default:
		return []*yamlnode.Node{node}
	}
}
