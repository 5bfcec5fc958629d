//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/doctor"
)

// examine runs kubectl nodrop doctor as the cluster's administrator, and returns
// what it printed and its exit code. The plugin lies next to the program of the
// tests.
func examine(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(filepath.Dir(self), "kubectl-nodrop")
	if _, err := os.Stat(plugin); err != nil {
		t.Fatalf("no plugin to test: %v: make build puts it beside the tests", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, plugin, append([]string{"doctor"}, args...)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	t.Logf("doctor %v: exit code %d\n%s%s", args, cmd.ProcessState.ExitCode(), &out, &problems)
	return out.String(), cmd.ProcessState.ExitCode()
}

// TestDoctor looks at the local cluster, which measures with the engine xdp, and
// lacks what TRex needs for the line rate of network cards.
func TestDoctor(t *testing.T) {
	l := newLab(t)
	g := NewWithT(t)

	text, code := examine(t, "--engine", "xdp", "--probe")
	g.Expect(code).To(Equal(0))
	g.Expect(text).To(ContainSubstring("xdp: ready"))

	text, code = examine(t, "--probe")
	g.Expect(code).To(Equal(2))
	g.Expect(text).To(And(ContainSubstring("xdp: ready"), MatchRegexp(`trex \(line rate\): [1-9][0-9]* things missing`)))

	text, code = examine(t, "--engine", "trex", "--probe", "-o", "json")
	g.Expect(code).To(Equal(2))
	var report doctor.Report
	g.Expect(json.Unmarshal([]byte(text), &report)).To(Succeed())
	levels := map[string]doctor.Level{}
	for _, f := range report.Findings {
		levels[f.Check] = f.Level
		if f.Level != doctor.Good {
			g.Expect(f.Advice).NotTo(BeEmpty(), f.Check)
		}
	}
	for _, check := range []string{"huge pages", "CPU manager policy", "device plugin", "IOMMU"} {
		g.Expect(levels).To(HaveKeyWithValue(check, doctor.Missing))
	}
	for _, check := range []string{"Multus", "operator", "capabilities", "node"} {
		g.Expect(levels).To(HaveKeyWithValue(check, doctor.Good))
	}

	var pods corev1.PodList
	g.Expect(l.List(t.Context(), &pods, client.InNamespace(labNamespace), client.MatchingLabels{"app.kubernetes.io/component": "doctor"})).To(Succeed())
	g.Expect(pods.Items).To(BeEmpty(), "pods that looked at nodes are left")
}
