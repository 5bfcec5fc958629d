package main

import (
	"strings"
	"testing"
	"time"
)

// simSchedule makes benchmarks of the bed and the profile of simManifests.
const simSchedule = `apiVersion: nodrop.dev/v1alpha1
kind: BenchmarkSchedule
metadata: {name: nightly}
spec:
  schedule: "30 2 * * *"
  timeZone: Asia/Tokyo
  matrix: {trafficProfileNames: [pairs]}
  benchmarkTemplate:
    spec:
      testBedName: chassis
      trafficProfileName: other
      tests:
      - name: throughput
        throughput: {maxLoad: 99.994%}
`

// TestValidateSchedule judges the benchmarks that a schedule makes, at the lines of the
// schedule.
func TestValidateSchedule(t *testing.T) {
	file := manifests(t, simSchedule, simManifests)
	f, err := forecastOf(t, "-f", file)
	if err != nil || len(f.Benchmarks) != 1 || f.Benchmarks[0].Name != "nightly-pairs" || len(f.Schedules) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	next := f.Schedules[0].Next
	if len(next) != 3 || next[0].Before(time.Now()) || next[1].Sub(next[0]) != 24*time.Hour || next[0].UTC().Format("15:04") != "17:30" {
		t.Errorf("next at %v", next)
	}
	if _, err := forecastOf(t, "-f", file, "nightly"); err != nil {
		t.Errorf("by its name: %v", err)
	}
	if f, err := forecastOf(t, "-f", file, "--set", "schedule.spec.timeZone=UTC"); err != nil || f.Schedules[0].TimeZone != "UTC" {
		t.Errorf("with --set: %+v, %v", f.Schedules, err)
	}
	stdout, err := command(t, "validate", "-f", file)
	if err != nil || !strings.Contains(stdout, "BenchmarkSchedule default/nightly makes one benchmark at each firing, next at\n") || !strings.Contains(stdout, " 02:30:00 JST\n") {
		t.Errorf("%v\n%s", err, stdout)
	}
	for name, tc := range map[string]struct{ replace, want []string }{
		"times":   {[]string{"30 2 *", "30 25 *"}, []string{`:5`, `BenchmarkSchedule "nightly": spec.schedule`, `its hour "25" cannot be read`}},
		"profile": {[]string{"[pairs]", "[pears]"}, []string{":7", `BenchmarkSchedule "nightly": spec.matrix.trafficProfileNames[0]: TrafficProfile "pears" not found`}},
		"bed":     {[]string{"chassis", "chasis"}, []string{":10", "spec.benchmarkTemplate.spec.testBedName", `TestBed "chasis" not found`}},
		"test":    {[]string{"throughput: {maxLoad: 99.994%}", "groupJoinDelay: {}"}, []string{`BenchmarkSchedule "nightly": spec.benchmarkTemplate.spec.tests[0]`}},
		"field":   {[]string{"timeZone", "timezone"}, []string{":6", "unknown field", `did you mean "timeZone"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.NewReplacer(tc.replace...).Replace(simSchedule)
			if broken == simSchedule {
				t.Fatal("nothing is broken")
			}
			_, err := command(t, "validate", "-f", manifests(t, broken, simManifests))
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
		})
	}
}
