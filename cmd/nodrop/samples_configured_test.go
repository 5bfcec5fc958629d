package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// noRules is the base of the Linux devices of the samples.
const noRules = "flush ruleset\n"

// generatedSamples are the configurations of samples, by their variants, as arguments of nodrop configure generate.
var generatedSamples = map[string]map[string]string{
	"acl": {
		"first": "acl --ports e1,e2 --entries 201 --permit 198.18.1.0/24,198.18.2.0/24 --match first",
		"last":  "acl --ports e1,e2 --entries 201 --permit 198.18.1.0/24,198.18.2.0/24 --match last",
	},
	"filters": {
		"ingress-allow": "filter --ports e1,e2 --direction ingress --first 198.18.68.0/24 --count 8 --action allow",
		"ingress-deny":  "filter --ports e1,e2 --direction ingress --first 198.18.68.0/24 --count 8 --action deny",
		"egress-allow":  "filter --ports e1,e2 --direction egress --first 198.18.68.0/24 --count 8 --action allow",
		"egress-deny":   "filter --ports e1,e2 --direction egress --first 198.18.68.0/24 --count 8 --action deny",
	},
	"nat":     {"translated": "nat --inside 198.18.1.0/24 --static e2=198.18.1.2=198.18.2.200 --pat e3=198.18.3.200"},
	"mirror":  {"mirrored": "mirror --from e1 --to e3,e4"},
	"classes": {"classes": "classes --port e2 --class cs5=1:10,cs3=1:20 --default 1:30"},
}

// generated returns the output of nodrop configure generate for Linux.
func generated(t *testing.T, args ...string) string {
	t.Helper()
	root := newRootCommand("nodrop")
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append([]string{"configure", "generate", "--dialect", "nftables"}, args...))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestGeneratedSamples holds the configurations of samples against the commands that write them.
func TestGeneratedSamples(t *testing.T) {
	for name, variants := range generatedSamples {
		config := corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "nodrop-lab"},
			Data: map[string]string{"base": noRules},
		}
		comments := []string{}
		for variant, args := range variants {
			config.Data[variant] = generated(t, strings.Fields(args)...)
			kind, flags, _ := strings.Cut(args, " ")
			comments = append(comments, "# "+variant+": nodrop configure generate "+kind+" --dialect nftables "+flags+"\n")
		}
		slices.Sort(comments)
		text, err := yaml.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(comments, "") + string(text)
		file := filepath.Join(samplesDir, name, "configurations.yaml")
		if *updateGolden {
			if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s differs from what its commands write: %v: go test ./cmd/nodrop -run '^TestGeneratedSamples$' -update", file, err)
		}
	}
}
