//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/doctor"
)

// rowsOfFunctions is the number of rows that the samples sriov and sriov-claims measure: one
// of throughput and one of latency for each of two sizes.
const rowsOfFunctions = 4

// machine is the emulated node of hack/vm/node.
type machine struct{ node string }

// newMachine returns the node that NODROP_VM names.
func newMachine(t *testing.T) *machine {
	t.Helper()
	node := os.Getenv("NODROP_VM")
	if node == "" {
		t.Skip("NODROP_VM is not set: make test-sriov starts a node in an emulated machine")
	}
	return &machine{node}
}

// run runs a command in the machine and returns its output.
func (m *machine) run(t *testing.T, l *lab, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.path("hack", "vm", "node"), append([]string{"run"}, command...)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("in the machine: %v: %v\n%s%s", command, err, &out, &problems)
	}
	return out.String()
}

// functions returns names and MAC addresses of the virtual functions that are on the node.
func (m *machine) functions(t *testing.T, l *lab) []string {
	t.Helper()
	var functions []string
	for line := range strings.Lines(m.run(t, l, "ip", "-brief", "link")) {
		if words := strings.Fields(line); strings.Contains(words[0], "v") && strings.HasPrefix(words[0], "ens2f") {
			functions = append(functions, words[0]+" "+words[2])
		}
	}
	slices.Sort(functions)
	return functions
}

// TestVirtualFunctions runs the samples over virtual functions of emulated cards: by a device
// plugin and the SR-IOV CNI, and by resource claims. Both run twice, the second time with the
// runner's pod killed. Then doctor names each part that is removed.
func TestVirtualFunctions(t *testing.T) {
	l, m := newLab(t), newMachine(t)
	for _, sample := range []struct{ name, folder, daemon string }{
		{"switch-functions", "sriov", "sriovdp"},
		{"switch-claims", "sriov-claims", "dranet"},
	} {
		t.Run(sample.folder, func(t *testing.T) {
			m.run(t, l, l.path("hack", "vm", "node-daemon"), sample.daemon)
			before := m.functions(t, l)
			NewWithT(t).Expect(before).To(HaveLen(4))
			for _, loss := range []string{"none", "runner"} {
				t.Run("loses "+loss, func(t *testing.T) {
					l.applyFolder(t, "config", "samples", sample.folder)
					key := client.ObjectKey{Namespace: teamNamespace, Name: sample.name}
					if loss == "runner" {
						b := l.inPhase(t, key, v1alpha1.PhaseRunning, 1)
						l.deletePod(t, b, "runner")
					}
					l.expectFunctionsMeasured(t, key)
					NewWithT(t).Expect(m.functions(t, l)).To(Equal(before), "the functions did not come back as they were")
				})
			}
		})
	}
	t.Run("doctor", func(t *testing.T) { l.expectDoctorNames(t, m) })
}

// applyFolder applies a folder with a kustomization, which is removed again when the test ends.
func (l *lab) applyFolder(t *testing.T, elem ...string) {
	t.Helper()
	if out, err := l.kubectl(t, "", "apply", "-k", l.path(elem...)); err != nil {
		t.Fatalf("kubectl apply -k: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := l.kubectl(t, "", "delete", "--wait=false", "-k", l.path(elem...)); err != nil {
			t.Errorf("kubectl delete -k: %v\n%s", err, out)
		}
		NewWithT(t).Eventually(func() string {
			out, err := l.kubectl(t, "", "get", "--ignore-not-found", "-o", "name", "-k", l.path(elem...))
			if err != nil {
				return err.Error()
			}
			return out
		}, runTimeout, poll).ShouldNot(MatchRegexp(`(?m)^[a-z0-9.]+/`), "what was applied is still there")
	})
}

// expectFunctionsMeasured waits for the end of a benchmark over virtual functions, and checks
// that each row has frames and that nothing is left.
func (l *lab) expectFunctionsMeasured(t *testing.T, key client.ObjectKey) {
	t.Helper()
	g := NewWithT(t)
	b := l.finish(t, key)
	rows := l.rows(t, b)
	for _, row := range rows {
		t.Logf("%s: %s %d B: sent %d, received %d, %s %s", b.Name, row.Method, row.FrameSize, row.Frames.Sent, row.Frames.Received, row.Validity, row.Message)
	}
	expectAllMeasured(g, b)
	g.Expect(rows).To(HaveLen(rowsOfFunctions))
	g.Expect(duplicateRows(rows)).To(BeEmpty())
	for _, row := range rows {
		g.Expect(row.Frames.Sent).To(BeNumerically(">", 0))
		g.Expect(row.Frames.Received).To(BeNumerically(">", 0))
	}
	l.expectClean(t, b)
}

// expectDoctorNames removes each part that pods with virtual functions need, and checks that
// "doctor --probe" names it.
func (l *lab) expectDoctorNames(t *testing.T, m *machine) {
	t.Helper()
	g := NewWithT(t)
	daemon, functions := l.path("hack", "vm", "node-daemon"), l.path("hack", "vm", "functions")
	shell := func(script string) func() { return func() { m.run(t, l, "bash", "-c", script) } }
	// The benchmark is not part of it: the bed must be free.
	l.apply(t, "config", "samples", "sriov", "networks.yaml")
	l.apply(t, "config", "samples", "sriov", "testbed.yaml")
	t.Cleanup(func() { _, _ = l.kubectl(t, "", "delete", "-f", l.path("config", "samples", "sriov", "testbed.yaml")) })
	offered := func(want int64) {
		g.Eventually(func(g Gomega) {
			var node corev1.Node
			g.Expect(l.Get(t.Context(), client.ObjectKey{Name: m.node}, &node)).To(Succeed())
			count := node.Status.Allocatable["intel.com/dut_p1"]
			g.Expect(count.Value()).To(Equal(want))
		}, 3*time.Minute, poll).Should(Succeed())
	}
	m.run(t, l, daemon, "sriovdp")
	offered(1)
	for _, step := range []struct {
		part            string
		remove, restore func()
		check, seen     string
	}{
		{part: "nothing"},
		{"the network", func() {
			_, err := l.kubectl(t, "", "delete", "-f", l.path("config", "samples", "sriov", "networks.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
		}, func() { l.apply(t, "config", "samples", "sriov", "networks.yaml") }, "networks", "no NetworkAttachmentDefinition dut-p1"},
		{"the SR-IOV CNI", shell("mv /opt/cni/bin/sriov /run/node/"), shell("mv /run/node/sriov /opt/cni/bin/"), "interfaces in pods", `failed to find plugin "sriov"`},
		{"Multus", shell(`printf '{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.2.0/24"}]]}}]}' > /etc/cni/net.d/10-pods.conflist
			mv /etc/cni/net.d/00-multus.conf /run/node/`),
			shell("mv /run/node/00-multus.conf /etc/cni/net.d/; rm /etc/cni/net.d/10-pods.conflist"), "interfaces in pods", "Multus did not handle the pod"},
		{"the device plugin", func() { m.run(t, l, daemon, "stop", "sriovdp"); offered(0) },
			func() { m.run(t, l, daemon, "sriovdp"); offered(1) }, "device plugin", "intel.com/dut_p1: 0 allocatable, 1 for the bed"},
		{"the functions", func() { m.run(t, l, daemon, "stop", "sriovdp"); m.run(t, l, functions, "0"); offered(0) },
			func() { m.run(t, l, functions, "2"); m.run(t, l, daemon, "sriovdp"); offered(1) }, "virtual functions", "no card has any: 0000:01:00.0 (igb, up to 7)"},
	} {
		if step.remove != nil {
			step.remove()
		}
		text, code := examine(t, "--bed", "switch-functions", "--probe", "--probe-timeout", "2m", "-o", "json")
		var report doctor.Report
		g.Expect(json.Unmarshal([]byte(text), &report)).To(Succeed())
		seen := map[string]string{}
		for _, f := range report.Findings {
			if f.Level == doctor.Missing {
				seen[f.Check] += f.Seen
			}
		}
		if step.check == "" {
			g.Expect(seen).To(BeEmpty(), "without %s, exit code %d", step.part, code)
		} else {
			g.Expect(seen).To(HaveKeyWithValue(step.check, ContainSubstring(step.seen)), "without %s, exit code %d", step.part, code)
		}
		if step.restore != nil {
			step.restore()
		}
	}
}
