//go:build !standalone

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
)

const (
	profileText = `---
apiVersion: nodrop.dev/v1alpha1
kind: TrafficProfile
metadata: {name: %s}
spec:
  frameSizes: [%s]
  pattern: {pairs: {bidirectional: true}}
  packet: {ipv4: {}}
`
	benchmarkText = `---
apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: %s}
spec:
  testBedName: bed
  trafficProfileName: %s
  tests:
  - name: throughput
    throughput: {trialDuration: %s}
`
	bedText = `---
apiVersion: nodrop.dev/v1alpha1
kind: TestBed
metadata: {name: bed}
spec:
  engine: {kind: sim}
  device: {simulated: {model: {configMapRef: {name: table, key: table}}}}
  ports:
  - {name: p1, speed: 10G}
  - {name: p2, speed: 10G}
`
)

func TestRunInTheCluster(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	for name, test := range map[string]func(*testing.T, *apiServer){
		"a run per commit": runPerCommit, "the same name": runTheSameName, "no fights": runWithoutFights,
		"interrupted": runInterrupted, "aborted": runAborted, "several": runSeveral, "all or none": runAllOrNone, "timeout": runTimesOut,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// pipelineFile writes a file, which tests name by a relative path as pipelines do.
func pipelineFile(t *testing.T, texts ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "manifests-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(texts, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// appears waits for a benchmark.
func (c *apiServer) appears(t *testing.T, name string) *v1alpha1.Benchmark {
	t.Helper()
	b := &v1alpha1.Benchmark{}
	eventually(t, "benchmark "+name, func() bool {
		return c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, b) == nil
	}, func() string { return "not there" })
	return b
}

func managers(o client.Object) []string {
	var all []string
	for _, f := range o.GetManagedFields() {
		all = append(all, f.Manager+" "+string(f.Operation))
	}
	return all
}

func runPerCommit(t *testing.T, c *apiServer) {
	file := pipelineFile(t, fmt.Sprintf(profileText, "commit", "64"), fmt.Sprintf(benchmarkText, "commit", "commit", "30s"), bedText)
	reports := filepath.Join(t.TempDir(), "new", "reports")
	args := []string{"run", "--wait", "-f", file, "--name-suffix", "0a1b2c3", "--report-dir", reports, "--set", "benchmark.spec.testBedName=candidate"}
	p := c.nodrop(t, args...)
	b := c.appears(t, "commit-0a1b2c3")
	p.says("not applied, since only benchmarks and profiles are: TestBed bed")
	p.says("applied benchmark default/commit-0a1b2c3")
	p.says("Pending")
	c.store(b.Name, oneRow...)
	c.status(b.Name, inPhase(v1alpha1.PhaseFailed, "gate rate failed"))
	p.wants(exit.Failed, "Benchmark default/commit-0a1b2c3: Failed", "Failed: gate rate failed")

	if b.Spec.HistoryName != "commit" || b.Spec.TrafficProfileName != "commit-0a1b2c3" || b.Spec.TestBedName != "candidate" {
		t.Errorf("spec: %+v", b.Spec)
	}
	if !slices.Contains(managers(b), "nodrop-cli Apply") {
		t.Errorf("managers: %v", managers(b))
	}
	profile := &v1alpha1.TrafficProfile{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "commit-0a1b2c3"}, profile); err != nil {
		t.Fatal(err)
	}
	if owners := profile.OwnerReferences; len(owners) != 1 || owners[0].UID != b.UID {
		t.Errorf("the profile is not removed with its benchmark: %+v", owners)
	}
	for ending, want := range map[string]string{".html": "<h1>commit-0a1b2c3</h1>", ".json": `"historyName": "commit"`, ".xml": "<testsuites", ".sarif": `"uri": "` + file + `"`} {
		if text, err := os.ReadFile(filepath.Join(reports, b.Name+ending)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("report %s lacks %s: %v", ending, want, err)
		}
	}

	// A job that is run once more for the same commit finds its benchmark, and what it ended with.
	p = c.nodrop(t, args...)
	p.wants(exit.Failed, "Benchmark default/commit-0a1b2c3: Failed", "it is not measured again")
}

func runTheSameName(t *testing.T, c *apiServer) {
	c.judgeChanges(t)
	c.nodrop(t, "run", "--wait", "--timeout", "1s", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "taken", "pairs", "30s"))).wants(exit.Unfinished, "", "")
	p := c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "taken", "pairs", "32s")))
	p.wants(exit.Use, "", "hint: give --name-suffix")
	p = c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "taken", "pairs", "32s")), "--name-suffix", "feature/x")
	p.wants(exit.Use, "", `nodrop: --name-suffix is "feature/x"`)
	p = c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "taken", "pairs", "32s")), "--sim-pace", "1")
	p.wants(exit.Use, "", "--sim-pace cannot be given with --wait")
	p = c.nodrop(t, "run", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "taken", "pairs", "32s")))
	p.wants(exit.Use, "", "--kubeconfig needs --wait")
}

// runWithoutFights leaves fields to a tool such as Argo CD.
func runWithoutFights(t *testing.T, c *apiServer) {
	owned := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "nodrop.dev/v1alpha1", "kind": "TrafficProfile",
		"metadata": map[string]any{"name": "of-argo", "namespace": "default"},
		"spec":     map[string]any{"frameSizes": []any{int64(64)}, "pattern": map[string]any{"pairs": map[string]any{"bidirectional": true}}, "packet": map[string]any{"ipv4": map[string]any{}}}}}
	if err := c.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(owned), client.FieldOwner("argocd-controller")); err != nil {
		t.Fatal(err)
	}
	p := c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(profileText, "of-argo", "128"), fmt.Sprintf(benchmarkText, "argo", "of-argo", "30s")))
	p.wants(exit.Use, "", "TrafficProfile default/of-argo is owned by another tool")
	if !strings.Contains(p.stderr.String(), `"argocd-controller"`) {
		t.Errorf("who owns it is not said: %s", &p.stderr)
	}
	// The same values cause no conflict.
	p = c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(profileText, "of-argo", "64"), fmt.Sprintf(benchmarkText, "argo", "of-argo", "30s")))
	b := c.appears(t, "argo")
	c.status(b.Name, inPhase(v1alpha1.PhasePassed, "all rows were measured"))
	p.wants(exit.Passed, "Passed", "")
}

func runInterrupted(t *testing.T, c *apiServer) {
	p := c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "left", "pairs", "30s")))
	p.says("Pending")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Unfinished, "", "nodrop: watching was interrupted\nhint: it goes on in the cluster")
	if b := c.appears(t, "left"); b.Spec.Abort {
		t.Error("the benchmark was aborted")
	}
}

func runAborted(t *testing.T, c *apiServer) {
	reports := t.TempDir()
	p := c.nodrop(t, "run", "--wait", "--abort-on-interrupt", "--report-dir", reports, "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "stopped", "pairs", "30s")))
	p.says("Pending")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "spec.abort", func() bool { return c.appears(t, "stopped").Spec.Abort }, p.stderr.String)
	c.status("stopped", inPhase(v1alpha1.PhaseAborted, "spec.abort was set"))
	p.wants(exit.Aborted, "Aborted", "interrupted: aborting")
	if _, err := os.Stat(filepath.Join(reports, "stopped.json")); err != nil {
		t.Error(err)
	}
}

func runSeveral(t *testing.T, c *apiServer) {
	file := pipelineFile(t, fmt.Sprintf(benchmarkText, "one", "pairs", "30s"), fmt.Sprintf(benchmarkText, "two", "pairs", "31s"), fmt.Sprintf(benchmarkText, "three", "pairs", "32s"))
	c.nodrop(t, "run", "--wait", "-f", file, "-o", "json").wants(exit.Use, "", "hint: give --report-dir")
	p := c.nodrop(t, "run", "--wait", "-f", file)
	for _, name := range []string{"three", "two", "one"} { // All run at once.
		c.appears(t, name)
	}
	c.status("one", inPhase(v1alpha1.PhaseInconclusive, "because"))
	c.status("two", inPhase(v1alpha1.PhaseError, "because"))
	c.status("three", inPhase(v1alpha1.PhaseFailed, "because"))
	p.wants(exit.Failed, "Benchmark default/three: Failed", "benchmark two (2 of 3)")
	p = c.nodrop(t, "run", "--wait", "-f", file, "one")
	p.wants(exit.Inconclusive, "Benchmark default/one: Inconclusive", "")
}

// runAllOrNone makes no benchmark of files of which one is refused.
func runAllOrNone(t *testing.T, c *apiServer) {
	c.benchmark("second", nil)
	p := c.nodrop(t, "run", "--wait", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "first", "pairs", "30s"), fmt.Sprintf(benchmarkText, "second", "pairs", "33s")))
	p.wants(exit.Use, "", "Benchmark default/second is owned by another tool")
	err := c.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "first"}, &v1alpha1.Benchmark{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the first benchmark was made: %v", err)
	}
}

func runTimesOut(t *testing.T, c *apiServer) {
	p := c.nodrop(t, "run", "--wait", "--timeout", "2s", "-f", pipelineFile(t, fmt.Sprintf(benchmarkText, "long", "pairs", "30s")))
	p.wants(exit.Unfinished, "", "nodrop: benchmark long did not end in 2s")
}
