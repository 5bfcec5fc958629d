package manifest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// What this package says of a manifest is compared with what a real API server
// says of it: message by message, and default by default.
func TestAgreesWithTheServer(t *testing.T) {
	config, _ := testserver.StartAPIServer(t, nil)
	server, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(server, "Strict")

	good := map[string]string{"benchmark": benchmarkText, "profile": profileText, "bed": bedText,
		"profile with ports": strings.NewReplacer("name: pairs", "name: ports", "ipv4: {}", "ipv6: {}, udp: {sourcePorts: {first: 7}}", "  pattern", "  frameSizes: [86]\n  pattern").Replace(profileText)}
	for name, text := range good {
		t.Run(name, func(t *testing.T) {
			ours, problems := parse(t, text).checkOurs()
			if problems != nil {
				t.Fatal(problems)
			}
			theirs := &unstructured.Unstructured{Object: parse(t, text).object}
			if theirs.GetKind() != "TestBed" {
				theirs.SetNamespace(defaultNamespace)
			}
			if err := strict.Create(context.Background(), theirs); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(theirs.Object["spec"], ours["spec"]); diff != "" {
				t.Errorf("spec (-server +here):\n%s", diff)
			}
		})
	}

	bad := map[string]string{
		"load of 120 %":        strings.Replace(benchmarkText, "99.994%", "120%", 1),
		"zero load":            strings.Replace(benchmarkText, "99.994%", "0%", 1),
		"trial too long":       strings.Replace(benchmarkText, "latency: {}", "latency: {trialDuration: 25h}", 1),
		"search too long":      strings.Replace(benchmarkText, "maxLoad: 99.994%", "trialDuration: 1s", 1),
		"two methods":          strings.Replace(benchmarkText, "latency: {}", "latency: {}\n    throughput: {}", 1),
		"no method":            strings.Replace(benchmarkText, "    latency: {}\n", "", 1),
		"no tests":             benchmarkText[:strings.Index(benchmarkText, "  tests:")] + "  tests: []\n",
		"same test twice":      strings.Replace(benchmarkText, "name: latency", "name: throughput", 1),
		"same load twice":      strings.Replace(benchmarkText, "latency: {}", "latency: {loads: [1%, 1%]}", 1),
		"unknown search":       strings.Replace(benchmarkText, "maxLoad: 99.994%", "search: Linear", 1),
		"priority too high":    strings.Replace(benchmarkText, "  tests:", "  priority: 2000\n  tests:", 1),
		"no bed":               strings.Replace(benchmarkText, "  testBedName: bed\n", "", 1),
		"no profile":           strings.Replace(benchmarkText, "  trafficProfileName: pairs\n", "", 1),
		"bad name":             strings.Replace(benchmarkText, "{name: router}", "{name: Router_1}", 1),
		"frame too small":      strings.Replace(profileText, "  pattern", "  frameSizes: [60]\n  pattern", 1),
		"frame too large":      strings.Replace(profileText, "  pattern", "  frameSizes: [9217]\n  pattern", 1),
		"small for IPv6":       strings.Replace(profileText, "ipv4", "ipv6", 1),
		"a number for a text":  strings.Replace(benchmarkText, "99.994%", "50", 1),
		"no duration":          strings.Replace(benchmarkText, "latency: {}", "latency: {trialDuration: 10 sec}", 1),
		"two lengths, one bad": strings.Replace(benchmarkText, "maxLoad: 99.994%", "trialDuration: 10 sec", 1),
		"no 0 % among ratios":  strings.Replace(benchmarkText, "maxLoad: 99.994%", "search: MLRsearch, lossRatios: [0.5%]", 1),
		"bound with a space":   strings.Replace(benchmarkText, "99.994%", "50 %", 1),
		"text for a number":    strings.Replace(profileText, "  pattern", "  frameSizes: [big]\n  pattern", 1),
		"beyond the last port": strings.Replace(profileText, "ipv4: {}", "ipv4: {}, udp: {sourcePorts: {first: 65000, count: 600}}", 1),
		"two families":         strings.Replace(profileText, "ipv4: {}", "ipv4: {}, ipv6: {}", 1),
		"two ports of a name":  strings.Replace(bedText, "sim: {ports: {count: 2, speed: 100G}}}", "sim: {}}\n  ports: [{name: p1, speed: 1G}, {name: p1, speed: 1G}]", 1),
		"bad speed":            strings.Replace(bedText, "100G", "100Gbit", 1),
		"bad address":          strings.Replace(bedText, "sim: {ports: {count: 2, speed: 100G}}}", "sim: {}}\n  ports: [{name: p1, speed: 1G, addresses: [198.18.0.1]}]", 1),
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) {
			_, problems := parse(t, text).checkOurs()
			if problems == nil {
				t.Fatal("accepted here")
			}
			object := &unstructured.Unstructured{Object: parse(t, text).object}
			if object.GetKind() != "TestBed" {
				object.SetNamespace(defaultNamespace)
			}
			err := strict.Create(context.Background(), object)
			var status apierrors.APIStatus
			if !errors.As(err, &status) || status.Status().Details == nil {
				t.Fatalf("the server's answer: %v", err)
			}
			theirs := map[string]bool{}
			for _, cause := range status.Status().Details.Causes {
				// The server adds that it did not check all rules; this package does not.
				switch {
				case strings.Contains(cause.Message, "some validation rules were not checked"):
				case strings.Contains(cause.Message, "in body must be of type"):
					theirs[cause.Field+": wrong type"] = true // Said here with the value.
				default:
					theirs[cause.Field+": "+cause.Message] = true
				}
			}
			ours := map[string]bool{}
			for _, p := range problems {
				if strings.HasSuffix(p.Text, "is needed") {
					p.Text = "wrong type"
				}
				ours[p.Field+": "+p.Text] = true
			}
			if diff := cmp.Diff(theirs, ours); diff != "" {
				t.Errorf("problems (-server +here):\n%s", diff)
			}
		})
	}

	t.Run("unknown field", func(t *testing.T) {
		text := strings.Replace(benchmarkText, "maxLoad", "maxLod", 1)
		_, problems := parse(t, text).checkOurs()
		if len(problems) != 1 || problems[0].Field != "spec.tests[0].throughput.maxLod" {
			t.Errorf("here: %v", problems)
		}
		object := &unstructured.Unstructured{Object: parse(t, text).object}
		object.SetNamespace(defaultNamespace)
		if err := strict.Create(context.Background(), object); err == nil || !strings.Contains(err.Error(), `unknown field "spec.tests[0].throughput.maxLod"`) {
			t.Errorf("the server: %v", err)
		}
	})
}

func parse(t *testing.T, text string) *document {
	t.Helper()
	documents, err := parseDocuments("test.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	return documents[0]
}
