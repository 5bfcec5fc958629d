package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// command runs nodrop in this process, and returns what it wrote to stdout.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var stdout bytes.Buffer
	root := newRootCommand("nodrop")
	root.SetOut(&stdout)
	root.SetArgs(args)
	err := root.Execute()
	return stdout.String(), err
}

// forecastOf returns the JSON output of validate.
func forecastOf(t *testing.T, args ...string) (forecast, error) {
	t.Helper()
	stdout, err := command(t, append([]string{"validate", "-o", "json"}, args...)...)
	var f forecast
	if err := json.Unmarshal([]byte(stdout), &f); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	return f, err
}

func TestValidateForecasts(t *testing.T) {
	file := manifests(t, simBenchmark, simManifests)
	stdout, err := command(t, "validate", "-f", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Benchmark default/chassis is valid\n  bed chassis (engine sim, 256 ports), profile pairs\n", "  throughput  2     about ", "  latency     2     about 2 ", "  all         4     about "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, stdout)
		}
	}

	// 2 sizes with one trial of 60 s, 2 s to settle and 5 s of rest each.
	f, err := forecastOf(t, "-f", file)
	if err != nil || !f.Valid || len(f.Benchmarks) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if latency := f.Benchmarks[0].Tests[1]; latency.Rows != 2 || latency.Trials != 2 || latency.Seconds != 2*67 || latency.Method != "Latency" {
		t.Errorf("latency: %+v", latency)
	}
	// One size, and a shorter trial.
	f, err = forecastOf(t, "-f", file, "--set", "profile.spec.frameSizes=[512]", "--set", "benchmark.spec.tests[latency].latency.trialDuration=1s")
	if err != nil || len(f.Benchmarks) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if latency := f.Benchmarks[0].Tests[1]; latency.Rows != 1 || latency.Seconds != 8 {
		t.Errorf("latency after --set: %+v", latency)
	}
}

// Everything that people begin with is valid.
func TestValidateSamples(t *testing.T) {
	sendsNoFrames(t)
	dirs, err := filepath.Glob("../../config/samples/*")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%v, %v", dirs, err)
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == "broken" {
			continue
		}
		f, err := forecastOf(t, "-R", "-f", dir)
		if err != nil {
			t.Errorf("%s: %v, hint %q", dir, err, hint.Of(err))
		}
		for _, b := range f.Benchmarks {
			if b.Rows < 1 || b.Trials < 1 || b.Seconds < 1 {
				t.Errorf("%s: %+v", dir, b)
			}
		}
	}
}

// TestValidateReadsParameters misspells the place of a parameter in a configuration, and gives one a default beyond its range.
func TestValidateReadsParameters(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"{{network}}.0/24", "{{netwrk}}.0/24"}: "has {{netwrk}}, and the variant has no such parameter",
		{`default: "2"`, `default: "1"`}:        `parameter network is "1", and variant filter allows a whole number from 2 to 255`,
	} {
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS("../../config/samples/configured")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "testbed.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := forecastOf(t, "-f", folder)
		if err == nil || len(f.Problems) != 1 || f.Problems[0].Field != "spec.device.variants[1].physical.parameters" || f.Problems[0].Line == 0 || !strings.Contains(f.Problems[0].Message, want) {
			t.Errorf("%+v, %v, want %q", f.Problems, err, want)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	broken := strings.NewReplacer("99.994%", "120%", "[throughput]", "[50 %]").Replace(simBenchmark)
	file := manifests(t, broken, simManifests)
	f, err := forecastOf(t, "-f", file)
	if err == nil || f.Valid || len(f.Problems) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	want := problem{File: file, Line: 11, Object: `Benchmark "chassis"`, Field: "spec.tests[1].latency.loads[0]",
		Suggestion: "did you mean 50%?"}
	for i := range f.Problems {
		if strings.HasPrefix(f.Problems[i].Message, "Invalid value: \"50 %\"") {
			f.Problems[i].Message = ""
		}
	}
	if !slices.Contains(f.Problems, want) {
		t.Errorf("problems %+v\nwant among them %+v", f.Problems, want)
	}
	var coded *exit.Coded
	if errors.As(err, &coded) {
		t.Errorf("exit code %d, want %d", coded.Code, exit.Use)
	}

	// A valid benchmark next to one whose profile is missing.
	other := strings.NewReplacer("name: chassis}", "name: other}", "trafficProfileName: pairs", "trafficProfileName: pair").Replace(simBenchmark)
	f, err = forecastOf(t, "-f", manifests(t, simBenchmark+"---\n"+other, simManifests))
	if err == nil || f.Valid || len(f.Benchmarks) != 1 || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Suggestion, `did you mean "pairs"?`) {
		t.Errorf("%+v, %v", f, err)
	}
	// A bed for itself.
	bed := strings.Replace(bridgedBed[:strings.Index(bridgedBed, "---")], "198.18.1.2/24", "198.18.1.1/24", 1)
	f, err = forecastOf(t, "-f", manifests(t, bed, bed))
	if err == nil || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Message, "has this address already") {
		t.Errorf("%+v, %v", f, err)
	}
}

// A typo does not hide what else is wrong: values that a definition refuses, and what only
// shows when all manifests are looked at together.
func TestATypoHidesNothing(t *testing.T) {
	sample, err := os.ReadFile("../../config/samples/flows/benchmark.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		replace []string
		want    []string
	}{
		"a share above line rate": {[]string{"- name: voice", "- nam: voice", "share: 60%", "share: 130%"}, []string{
			`spec.flows[0].nam: unknown field; did you mean "name"?`, "spec.flows[0].name: Required value", `spec.flows[1].share: Invalid value: `}},
		"shares that add up to more": {[]string{"- name: voice", "- nam: voice", "share: 60%", "share: 95%"}, []string{
			"spec.flows[0].nam: unknown field", "spec.flows[0].name: Required value", "at a load of 100% port p1 would send 105.00% of line rate", "port p2 would receive 105.00%"}},
		"the name of the profile": {[]string{"kind: TrafficProfile\nmetadata:\n  name: flows", "kind: TrafficProfile\nmetadata:\n  nam: flows", "share: 60%", "share: 95%"}, []string{
			"metadata.nam: unknown field", "metadata.name: Required value", "port p1 would send 105.00%", "port p2 would receive 105.00%"}},
		"a duration": {[]string{"trialDuration: 10s", "trialDuration: 10 sec", "share: 60%", "share: 95%"}, []string{
			"did you mean 10s?", "port p1 would send 105.00%", "port p2 would receive 105.00%"}},
		"a field that nothing is near to": {[]string{"- name: voice", "- name: voice\n    qqqqqqqqq: 1", "share: 60%", "share: 95%"}, []string{
			"qqqqqqqqq: unknown field", "port p1 would send 105.00%", "port p2 would receive 105.00%"}},
		"nothing else": {[]string{"- name: voice", "- nam: voice"}, []string{"unknown field", "Required value"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := strings.NewReplacer(tc.replace...).Replace(string(sample))
			f, err := forecastOf(t, "-f", manifests(t, broken, ""))
			if err == nil || len(f.Problems) != len(tc.want) {
				t.Errorf("%d problems, want %d: %v", len(f.Problems), len(tc.want), err)
			}
			for _, want := range tc.want {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
		})
	}
}

func TestRecursive(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(root, "beds", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		// Each directory has a profile of the same name with sizes of its own.
		size := map[string]string{"a": "[64]", "b": "[64, 512, 1518]"}[name]
		for file, text := range map[string]string{"benchmark.yaml": strings.Replace(simBenchmark, "name: chassis}", "name: "+name+"}", 1), "rest.yaml": strings.Replace(simManifests, "[64, 1518]", size, 1)} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := command(t, "validate", "-f", root); err == nil || !strings.Contains(hint.Of(err), "-R") {
		t.Errorf("without -R: %v, hint %q", err, hint.Of(err))
	}
	f, err := forecastOf(t, "-R", "-f", root)
	if err != nil || len(f.Benchmarks) != 2 || f.Benchmarks[0].Rows != 2 || f.Benchmarks[1].Rows != 6 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestSetRefuses(t *testing.T) {
	file := manifests(t, simBenchmark, simManifests)
	for set, want := range map[string]struct{ text, hint string }{
		"benchmark.spec.test[0].name=a":                    {`benchmark.spec has no field "test"`, "did you mean benchmark.spec.tests?"},
		"benchmark.spec.pattern={pairs: {}}":               {`benchmark.spec has no field "pattern"`, "did you mean profile.spec.pattern?"},
		"profile.frameSizes=[64]":                          {`profile has no field "frameSizes"`, "did you mean profile.spec.frameSizes?"},
		"benchmark.spec.tests[2].name=a":                   {"benchmark.spec.tests has no item [2]: give [throughput], [latency], or an index from 0 to 1", ""},
		"benchmark.spec.tests[thruput].name=a":             {"has no item [thruput]: give [throughput], [latency]", ""},
		"profile.spec.frameSizes[5]=64":                    {"profile.spec.frameSizes has no item [5]: give an index from 0 to 1", ""},
		"spec.testBedName=a":                               {`begins with "spec", which is no kind: begin with benchmark, profile or bed`, "did you mean benchmark.spec.testBedName=a?"},
		"benchmrk.spec.testBedName=a":                      {`begins with "benchmrk"`, "did you mean benchmark.spec.testBedName=a?"},
		"benchmark.spec.testBedName":                       {"is not PATH=VALUE", ""},
		"benchmark=a":                                      {"names no field", ""},
		"bed.spec.engine.sim.ports.speed=10Gbit":           {`--set bed.spec.engine.sim.ports.speed=10Gbit: TestBed "chassis": spec.engine.sim.ports.speed: Invalid value: "10Gbit": "10Gbit" is not a port speed`, ""},
		"benchmark.spec.tests[1].latency.trialDuration=10": {`spec.tests[1].latency.trialDuration: Invalid value: 10: is a number, and a string is needed; write 10s`, ""},
		"benchmark.spec.testBedName=chasis":                {`--set benchmark.spec.testBedName=chasis: Benchmark "chassis": spec.testBedName: TestBed "chasis" not found`, `did you mean "chassis"?`},
	} {
		_, err := command(t, "validate", "-f", file, "--set", set)
		if err == nil {
			t.Errorf("--set %s: accepted", set)
			continue
		}
		if !strings.Contains(err.Error(), want.text) || !strings.Contains(err.Error()+hint.Of(err), want.hint) {
			t.Errorf("--set %s:\n%v\nhint: %s\nwant %q and %q", set, err, hint.Of(err), want.text, want.hint)
		}
	}
}

// A quick try says so in its result.
func TestRunSets(t *testing.T) {
	sendsNoFrames(t)
	stdout, err := command(t, "run", "-f", manifests(t, simBenchmark, simManifests), "--set", "profile.spec.frameSizes=[64]", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"frameSize": 64`, "the manifests were changed for this run by --set profile.spec.frameSizes=[64]"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the result lacks %q", want)
		}
	}
	if strings.Contains(stdout, `"frameSize": 1518`) {
		t.Error("a size was measured that is not set")
	}
}

// A result that cannot be written is known before the run.
func TestOutputIsCheckedBefore(t *testing.T) {
	file, dir := manifests(t, simBenchmark, simManifests), t.TempDir()
	old := filepath.Join(dir, "old.json")
	if err := os.WriteFile(old, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "results", "a.json"): "mkdir -p " + filepath.Join(dir, "results"),
		dir:                                     "is a directory",
		filepath.Join(old, "a.json"):            "not a directory",
	} {
		_, err := command(t, "run", "-f", file, "-o", "json", "--output-file", path)
		if err == nil || !strings.Contains(err.Error()+hint.Of(err), want) {
			t.Errorf("%s: %v, hint %q, want %q", path, err, hint.Of(err), want)
		}
	}
	if _, err := command(t, "run", "-f", filepath.Join(dir, "none.yaml"), "--output-file", old); err == nil {
		t.Error("ran without manifests")
	}
	if text, _ := os.ReadFile(old); string(text) != "kept" {
		t.Errorf("a run that did not begin left %q in the file", text)
	}
	fresh := filepath.Join(dir, "new.json")
	if _, err := command(t, "run", "-f", filepath.Join(dir, "none.yaml"), "--output-file", fresh); err == nil {
		t.Error("ran without manifests")
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that did not begin made its file: %v", err)
	}
}

// TestValidateRefusesWhatCannotBeMeasured checks samples that only their bed shows to be
// broken.
func TestValidateRefusesWhatCannotBeMeasured(t *testing.T) {
	const samples = "../../config/samples/"
	for _, name := range []string{"model-without-this-size", "deadline-shorter-than-the-soak"} {
		t.Run(name, func(t *testing.T) {
			file := samples + "broken/" + name + ".yaml"
			f, err := forecastOf(t, "-f", file, "-f", samples+"broken/given/short-model.yaml", "-f", samples+"broken/given/two-nodes.yaml", "-f", samples+"frr/trafficprofile.yaml")
			if err == nil || f.Valid || len(f.Problems) != 1 {
				t.Fatalf("%+v, %v", f, err)
			}
			text := f.Problems[0].Field + ": " + f.Problems[0].Message
			for _, want := range kubetest.Expectations(t, file) {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant in it: %s", text, want)
				}
			}
		})
	}
}

// A value that is refused only together with another one is not suggested again.
func TestValidateSuggestsNoRefusedValue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reservation.yaml")
	text := `{apiVersion: nodrop.dev/v1alpha1, kind: Reservation, metadata: {name: long, namespace: team}, spec: {testBedNames: [sim], from: "2026-12-01T00:00:00Z", until: "2036-12-01T00:00:00Z"}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := command(t, "validate", "-f", file)
	if err == nil || !strings.HasSuffix(err.Error(), "the reservation is longer than 720h (30 days), the limit for the lab itself; the limit for a team is maxDuration of its grant of each bed, 24h by default: give an earlier until, or make several reservations") {
		t.Errorf("%v", err)
	}
}
