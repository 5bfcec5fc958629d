//go:build !standalone

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
)

// TestPipelineExamples runs the commands of the examples in docs/pipelines as the pipelines do,
// against a real API server: the gate fails, and so does the step, with the reports kept.
func TestPipelineExamples(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	for name, read := range map[string]func(t *testing.T, replace *strings.Replacer) [][]string{
		"ci": githubSteps, "tekton": tektonStep, "argo": argoStep,
	} {
		t.Run(name, func(t *testing.T) { c.pipeline(t, name, read) })
	}
}

func (c *apiServer) pipeline(t *testing.T, name string, read func(*testing.T, *strings.Replacer) [][]string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, repository := t.TempDir(), t.TempDir()
	program := filepath.Join(bin, "nodrop")
	if err := errors.Join(os.Symlink(self, program), os.Mkdir(filepath.Join(repository, "bench"), 0o755)); err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(profileText, name, "64") + fmt.Sprintf(benchmarkText, name, name, "30s")
	if err := os.WriteFile(filepath.Join(repository, "bench", "bench.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"path": "bench", "namespace": "default", "revision": "0a1b2c3d4e5f", "bed": "image-candidate", "timeout": "10m"}
	pairs := []string{"/nodrop", program}
	for key, value := range values {
		pairs = append(pairs, "$(params."+key+")", value, "{{inputs.parameters."+key+"}}", value)
	}
	summary := filepath.Join(repository, "summary.md")
	environment := append(os.Environ(), asProgram+"=1", "KUBECONFIG="+c.kubeconfig, "PATH="+bin+":"+os.Getenv("PATH"),
		"NAMESPACE=default", "BED=image-candidate", "GITHUB_SHA=0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "GITHUB_STEP_SUMMARY="+summary)
	for i, args := range read(t, strings.NewReplacer(pairs...)) {
		p := &process{t: t, cmd: exec.Command(args[0], args[1:]...)}
		p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = repository, environment, &p.stdout, &p.stderr
		p.begin()
		if i > 0 { // What follows the measurement reads its results.
			p.wants(0, "::error title=Benchmark default/"+name, "")
			continue
		}
		p.says("applied benchmark default/" + name + "-0a1b2c3d4e5f")
		b := c.appears(t, name+"-0a1b2c3d4e5f")
		if b.Spec.TestBedName != "image-candidate" || b.Spec.HistoryName != name {
			t.Errorf("spec: %+v", b.Spec)
		}
		c.store(b.Name, oneRow...)
		c.status(b.Name, inPhase(v1alpha1.PhaseFailed, "gate rate failed"))
		p.wants(exit.Failed, "Failed", "")
	}
	for _, ending := range []string{".html", ".json", ".xml", ".sarif"} {
		if _, err := os.Stat(filepath.Join(repository, "reports", name+"-0a1b2c3d4e5f"+ending)); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(summary); name == "ci" && (err != nil || !strings.Contains(string(text), name)) {
		t.Errorf("summary: %v %s", err, text)
	}
}

// example reads an example into a value.
func example(t *testing.T, into any, elem ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{repository, "docs", "pipelines"}, elem...)...))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// githubSteps are the scripts of the job that call nodrop.
func githubSteps(t *testing.T, _ *strings.Replacer) (commands [][]string) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	example(t, &workflow, "ci", "github-actions.yaml")
	for _, step := range workflow.Jobs["bench"].Steps {
		if strings.Contains(step.Run, "nodrop ") {
			commands = append(commands, []string{"bash", "-e", "-c", step.Run})
		}
	}
	if len(commands) != 2 {
		t.Fatalf("%d steps call nodrop", len(commands))
	}
	return commands
}

type containerStep struct{ Command, Args []string }

func (s containerStep) command(replace *strings.Replacer) [][]string {
	var all []string
	for _, arg := range append(s.Command, s.Args...) {
		all = append(all, replace.Replace(arg))
	}
	return [][]string{all}
}

func tektonStep(t *testing.T, replace *strings.Replacer) [][]string {
	var task struct {
		Spec struct{ Steps []containerStep }
	}
	example(t, &task, "tekton", "task.yaml")
	return task.Spec.Steps[0].command(replace)
}

func argoStep(t *testing.T, replace *strings.Replacer) [][]string {
	var template struct {
		Spec struct {
			Templates []struct{ Container containerStep }
		}
	}
	example(t, &template, "argo-workflows", "workflowtemplate.yaml")
	return template.Spec.Templates[0].Container.command(replace)
}
