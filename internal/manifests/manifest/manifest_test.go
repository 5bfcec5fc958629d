package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
)

const (
	benchmarkText = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: router}
spec:
  testBedName: bed
  trafficProfileName: pairs
  tests:
  - name: throughput
    throughput: {maxLoad: 99.994%}
  - name: latency
    latency: {}
`
	profileText = `apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: pairs}
spec:
  pattern: {pairs: {}}
  packet: {ipv4: {}}
`
	bedText = `apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: bed, labels: {speed: fast}}
spec:
  device: {simulated: {model: {configMapRef: {name: models, key: fast.csv}}}}
  engine: {kind: sim, sim: {ports: {count: 2, speed: 100G}}}
`
	modelText = `apiVersion: v1
kind: ConfigMap
metadata: {name: models, namespace: nodrop-lab}
data:
  fast.csv: |
    frame_size_bytes
    64
`
)

// write puts files into a new directory and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func resolve(t *testing.T, name string, paths ...string) (*Bundle, error) {
	t.Helper()
	set, err := Load(paths, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	return set.Resolve(name)
}

func TestResolveFindsSiblings(t *testing.T) {
	dir := write(t, map[string]string{
		"benchmark.yaml": benchmarkText,
		"profile.yml":    profileText,
		"bed.yaml":       "# the lab's bed\n---\n" + bedText + "---\n" + modelText,
		"values.yaml":    "a: {{ .Values.template }}\n",
		"notes.txt":      "not a manifest",
	})
	bundle, err := resolve(t, "", filepath.Join(dir, "benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if bundle.Benchmark.Name != "router" || bundle.Profile.Name != "pairs" || bundle.Bed.Name != "bed" {
		t.Errorf("found %s, %s and %s", bundle.Benchmark.Name, bundle.Profile.Name, bundle.Bed.Name)
	}
	if want := "frame_size_bytes\n64\n"; bundle.Tables[""].Model != want {
		t.Errorf("model = %q, want %q", bundle.Tables[""].Model, want)
	}
	var files []string
	for _, file := range bundle.Files {
		files = append(files, filepath.Base(file))
	}
	if diff := cmp.Diff([]string{"benchmark.yaml", "profile.yml", "bed.yaml"}, files); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsOfTheSchema(t *testing.T) {
	dir := write(t, map[string]string{"all.yaml": strings.Join([]string{benchmarkText, profileText, bedText, modelText}, "---\n")})
	bundle, err := resolve(t, "router", dir)
	if err != nil {
		t.Fatal(err)
	}
	spec := bundle.Benchmark.Spec
	if spec.SettleTime.Duration != 2*time.Second || spec.Rest() != 5*time.Second || spec.ActiveDeadlineSeconds != 86400 {
		t.Errorf("times: settle %s, rest %s, deadline %d s", spec.SettleTime.Duration, spec.Rest(), spec.ActiveDeadlineSeconds)
	}
	throughput := spec.Tests[0].Throughput
	if throughput.MaxLoad != "99.994%" || throughput.Resolution != "0.1%" || throughput.TrialDuration.Duration != time.Minute || throughput.Search != v1alpha1.SearchBinary {
		t.Errorf("throughput: %+v", throughput)
	}
	if diff := cmp.Diff([]v1alpha1.Load{"10%", "50%", "90%", "throughput"}, spec.Tests[1].Latency.Loads); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{64, 128, 256, 512, 1024, 1280, 1518}, bundle.Profile.Spec.Sizes()); diff != "" {
		t.Error(diff)
	}
	if pairs := bundle.Profile.Spec.Pattern.Pairs; pairs.Bidirectional == nil || !*pairs.Bidirectional {
		t.Errorf("pairs: %+v", pairs)
	}
	if bundle.Benchmark.Namespace != "default" || bundle.Profile.Namespace != "default" || bundle.Bed.Namespace != "" {
		t.Errorf("namespaces %q, %q, %q", bundle.Benchmark.Namespace, bundle.Profile.Namespace, bundle.Bed.Namespace)
	}
}

func TestRefused(t *testing.T) {
	all := func(replace ...string) string {
		return strings.NewReplacer(replace...).Replace(strings.Join([]string{benchmarkText, profileText, bedText, modelText}, "---\n"))
	}
	tests := map[string]struct {
		text string
		want string // in the message
		hint string // in the hint
	}{
		"misspelt field": {
			text: all("maxLoad", "maxLod"),
			want: `:9 (document 1): Benchmark "router": spec.tests[0].throughput.maxLod: unknown field; did you mean "maxLoad"?`,
		},
		"field at the wrong place": {
			text: all("  testBedName: bed", "  testBedName: bed\n  trialDuration: 5s"),
			want: `spec.trialDuration: unknown field; this field belongs to spec.tests[].`,
		},
		"unknown field in metadata": {
			text: all("{name: router}", "{name: router, lables: {a: b}}"),
			want: `:3 (document 1): Benchmark "router": metadata.lables: unknown field`,
		},
		"field unlike any": {
			text: all("pattern: {pairs: {}}", "pattern: {pairs: {}, xyz: 1}"),
			want: `spec.pattern.xyz: unknown field; the fields here are fanOut, fullMesh, mixedClass, nToN, pairs, partialMesh`,
		},
		"load of 120 %": {
			text: all("99.994%", "120%"),
			want: `:9 (document 1): Benchmark "router": spec.tests[0].throughput.maxLoad: Invalid value: "120%": "120%" is not a load: give a percentage of line rate above 0% and up to 100%, such as 50%, or a rate of each sending port, such as 5Mpps or 2.5Gbps`,
		},
		"load in a unit that there is not": {
			text: all("latency: {}", "latency: {loads: [5Mpps, 2.5Gbps, 5Mfps]}"),
			want: `spec.tests[1].latency.loads[2]: Invalid value: "5Mfps": "5Mfps" is not a load: give a percentage of line rate above 0% and up to 100%, such as 50%, a rate of each sending port, such as 5Mpps or 2.5Gbps, or the word throughput`,
		},
		"rate of 0": {
			text: all("latency: {}", "latency: {loads: [0.000Mpps]}"),
			want: `spec.tests[1].latency.loads[0]: Invalid value: "0.000Mpps": "0.000Mpps" is not a load`,
		},
		"rate of parts of a frame": {
			text: all("latency: {}", "soak: {load: 1.5pps}"),
			want: `spec.tests[1].soak.load: Invalid value: "1.5pps": "1.5pps" is not a load`,
		},
		"frame too small for IPv6": {
			text: all("packet: {ipv4: {}}", "packet: {ipv6: {}}"),
			want: `spec.frameSizes is not given, and its default begins with 64: an IPv6/UDP frame with its signature needs at least 86 bytes`,
		},
		"frame too small": {
			text: all("  pattern:", "  frameSizes: [60, 128]\n  pattern:"),
			want: `:17 (document 2): TrafficProfile "pairs": spec.frameSizes[0]: Invalid value: 60: a frame of 60 bytes is too small`,
		},
		"two methods in a test": {
			text: all("latency: {}", "latency: {}\n    throughput: {}"),
			want: `spec.tests[1]: Invalid value`,
		},
		"two tests of one name": {
			text: all("name: latency", "name: throughput"),
			want: `tests has the name throughput more than once`,
		},
		"missing profile name": {
			text: all("  trafficProfileName: pairs\n", ""),
			want: `:4 (document 1): Benchmark "router": spec.trafficProfileName: Required value`,
		},
		"text for a number": {
			text: all("count: 2", "count: two"),
			want: `spec.engine.sim.ports.count: Invalid value: "two": is a string, and a whole number from 2 to 1024 is needed`,
		},
		"misspelt kind": {
			text: all("kind: TestBed", "kind: Testbed"),
			want: `kind: "Testbed" is not a kind of nodrop.dev/v1alpha1; did you mean "TestBed"?`,
		},
		"wrong API version": {
			text: all("nodrop.dev/v1alpha1\nkind: Benchmark", "nodrop.io/v1\nkind: Benchmark"),
			want: `apiVersion: "nodrop.io/v1" is not an API of NoDrop; write apiVersion: nodrop.dev/v1alpha1`,
		},
		"bad name": {
			text: all("name: router", "name: Router_1"),
			want: `metadata.name: Invalid value: "Router_1": a lowercase RFC 1123 subdomain`,
		},
		"no name": {
			text: all("metadata: {name: router}", "metadata: {}"),
			want: `metadata.name: Required value`,
		},
		"key written twice": {
			text: all("  testBedName: bed", "  testBedName: bed\n  testBedName: bed2"),
			want: `:6 (document 1): testBedName: is given twice in the same object; keep one of the two`,
		},
		"not YAML": {
			text: all("tests:", "tests: ]"),
			want: `: is not YAML: did not find expected node content; look there`,
		},
		"no object": {
			text: "- a\n- b\n",
			want: `is not an object`,
		},
		"misspelt field of a ConfigMap": {
			text: all("\ndata:", "\ndta:"),
			want: `ConfigMap "models": dta: unknown field; did you mean "data"?`,
		},
		"unknown profile": {
			text: all("trafficProfileName: pairs", "trafficProfileName: pair"),
			want: `:6 (document 1): Benchmark "router": spec.trafficProfileName: TrafficProfile "pair" not found`,
			hint: `did you mean "pairs"?`,
		},
		"unknown bed": {
			text: all("testBedName: bed", "testBedName: other"),
			want: `spec.testBedName: TestBed "other" not found`,
			hint: `the names of kind TestBed are bed; searched`,
		},
		"no bed with these labels": {
			text: all("testBedName: bed", "testBedSelector: {matchLabels: {speed: slow}}"),
			want: `spec.testBedSelector: no TestBed has the labels speed=slow`,
		},
		"no bed with what it must have": {
			text: all("testBedName: bed", "testBedRequirements: {ports: 512}"),
			want: `spec.testBedRequirements: no TestBed has all of this: ports: 512`,
		},
		"unknown model": {
			text: all("{name: models, key", "{name: model, key"),
			want: `TestBed "bed": spec.device.simulated.model.configMapRef.name: ConfigMap "model" not found`,
			hint: `did you mean "models"?`,
		},
		"unknown key of the model": {
			text: all("key: fast.csv", "key: slow.csv"),
			want: `has no key "slow.csv"`,
			hint: `fast.csv`,
		},
		"unknown table of jitter": {
			text: all("key: fast.csv}}", "key: fast.csv}}, jitterMaximumByLoad: {configMapRef: {name: models, key: slow.csv}}"),
			want: `TestBed "bed": spec.device.simulated.jitterMaximumByLoad.configMapRef.key: ConfigMap "models" in`,
			hint: `fast.csv`,
		},
		"profile of another namespace": {
			text: all("{name: router}", "{name: router, namespace: a}", "{name: pairs}", "{name: pairs, namespace: b}"),
			want: `TrafficProfile "pairs" not found`,
			hint: `it is in namespace b, and must be in that of the Benchmark, a`,
		},
		"defined twice": {
			text: all() + "---\n" + profileText,
			want: `TrafficProfile "pairs" is defined twice`,
			hint: `-f`,
		},
		"several benchmarks": {
			text: all() + "---\n" + strings.Replace(benchmarkText, "router", "second", 1),
			want: `there are 2 benchmarks: router, second`,
			hint: `nodrop run -f FILE NAME`,
		},
		"no benchmark": {
			text: profileText,
			want: `no Benchmark in what was given`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"all.yaml": test.text})
			_, err := resolve(t, "", filepath.Join(dir, "all.yaml"))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("message:\n%s\nwant in it:\n%s", err, test.want)
			}
			if !strings.Contains(hint.Of(err), test.hint) {
				t.Errorf("hint %q, want in it %q", hint.Of(err), test.hint)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	text := strings.NewReplacer("99.994%", "120%", "testBedName", "testBedNam").Replace(benchmarkText)
	dir := write(t, map[string]string{"benchmark.yaml": text})
	_, err := Load([]string{filepath.Join(dir, "benchmark.yaml")}, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error is %v", err)
	}
	fields := map[string]int{}
	for _, problem := range invalid.Problems {
		fields[problem.Field] = problem.Line
	}
	if fields["spec.testBedNam"] != 5 || fields["spec.tests[0].throughput.maxLoad"] != 9 {
		t.Errorf("problems: %v", err)
	}
}

func TestLoadFromStdinAndBesideOtherKinds(t *testing.T) {
	text := "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n" +
		strings.Join([]string{strings.Replace(benchmarkText, "testBedName: bed", "testBedSelector: {matchLabels: {speed: fast}}", 1), profileText, bedText, modelText}, "---\n")
	set, err := Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := set.Resolve("router")
	if err != nil {
		t.Fatal(err)
	}
	if bundle.Bed.Name != "bed" || bundle.Files[0] != "stdin" {
		t.Errorf("bed %q from %v", bundle.Bed.Name, bundle.Files)
	}
	if _, err := set.Resolve("ruoter"); err == nil || !strings.Contains(hint.Of(err), `did you mean "router"?`) {
		t.Errorf("resolving a misspelt name: %v, hint %q", err, hint.Of(err))
	}
}

func TestGivenComesBeforeSiblings(t *testing.T) {
	other := strings.Replace(profileText, "spec:", "spec:\n  frameSizes: [1518]", 1)
	dir := write(t, map[string]string{"benchmark.yaml": benchmarkText, "profile.yaml": profileText, "bed.yaml": bedText, "model.yaml": modelText})
	elsewhere := write(t, map[string]string{"other.yaml": other})
	bundle, err := resolve(t, "", filepath.Join(dir, "benchmark.yaml"), filepath.Join(elsewhere, "other.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{1518}, bundle.Profile.Spec.FrameSizes); diff != "" {
		t.Error(diff)
	}
}

func TestNoFile(t *testing.T) {
	if _, err := Load([]string{filepath.Join(t.TempDir(), "none.yaml")}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
	if _, err := Load([]string{t.TempDir()}, nil); err == nil || !strings.Contains(err.Error(), "holds no manifests") {
		t.Errorf("error is %v", err)
	}
}

func TestProblemsOfSeveralObjects(t *testing.T) {
	dir := write(t, map[string]string{"benchmark.yaml": benchmarkText, "profile.yaml": profileText, "rest.yaml": bedText + "---\n" + modelText})
	set, err := Load([]string{filepath.Join(dir, "benchmark.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := set.Resolve("")
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.Invalid(nil); err != nil {
		t.Errorf("no problem is %v", err)
	}
	err = bundle.Invalid(field.ErrorList{
		field.Invalid(field.NewPath("spec", "tests").Index(1), "latency", "cannot be"),
		field.Invalid(field.NewPath("TrafficProfile/pairs").Child("spec", "packet", "ipv4"), "x", "does not fit"),
		field.Invalid(field.NewPath("TestBed/bed").Child("spec", "engine", "kind"), "sim", "cannot do it"),
	})
	for _, want := range []string{
		`benchmark.yaml:10: Benchmark "router": spec.tests[1]: Invalid value: "latency": cannot be`,
		`profile.yaml:6: TrafficProfile "pairs": spec.packet.ipv4: Invalid value: "x": does not fit`,
		`rest.yaml:6 (document 1): TestBed "bed": spec.engine.kind: Invalid value: "sim": cannot do it`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message:\n%s\nwant in it:\n%s", err, want)
		}
	}
}
