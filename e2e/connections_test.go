//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestConnections hands connection data out with the rights of the chart: a member of the team
// reads them, others do not, and they go with the reservation, also while no operator is there.
func TestConnections(t *testing.T) {
	long(t) // TestConnections of controllers has the same with the rights of the chart.
	l, g := newLab(t), NewWithT(t)
	l.helm(t, "connections.enabled=true")
	l.apply(t, "config", "samples", "reservations", "lab.yaml")
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"scale", "deployment", "nodrop-operator", "-n", operatorNamespace, "--replicas=1"},
			{"delete", "-f", l.path("config", "samples", "reservations", "lab.yaml"), "--ignore-not-found", "--timeout=1m"},
			{"delete", "rolebinding", "connections", "-n", teamNamespace, "--ignore-not-found"},
		} {
			if out, err := l.kubectl(t, "", args...); err != nil {
				t.Errorf("%v: %s", args, out)
			}
		}
		l.helm(t, "connections.enabled=false")
	})
	run := func(args ...string) string {
		t.Helper()
		out, err := l.kubectl(t, "", args...)
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, out)
		}
		return out
	}
	read := func(group string) string {
		out, _ := l.kubectl(t, "", "get", "secret", v1alpha1.ConnectionSecretName, "-n", teamNamespace, "--as=ada", "--as-group="+group,
			"-o", "jsonpath={.data.nights_management}")
		return out
	}
	const data = "MTkyLjAuMi4xMQ==" // 192.0.2.11
	run("create", "rolebinding", "connections", "-n", teamNamespace, "--clusterrole=edit", "--group=hands-on")
	// The sample closes the bed in the first night of a month.
	run("delete", "reservation", "repairs", "-n", labNamespace)
	for _, away := range []bool{false, true} {
		run("nodrop", "reserve", "nights", "-n", teamNamespace, "--name", "hands-on", "--for", "30m")
		g.Eventually(func() string { return read("hands-on") }, time.Minute, poll).Should(Equal(data))
		g.Expect(read("others")).To(ContainSubstring("Forbidden"))
		run("wait", "reservation/hands-on", "-n", teamNamespace, "--for=condition=ConnectionData", "--timeout=1m")
		if away {
			run("scale", "deployment", "nodrop-operator", "-n", operatorNamespace, "--replicas=0")
			g.Eventually(func() string { return run("get", "pods", "-n", operatorNamespace, "-o", "name") }, time.Minute, poll).Should(BeEmpty())
		}
		run("delete", "reservation", "hands-on", "-n", teamNamespace)
		g.Eventually(func() string { return read("hands-on") }, time.Minute, poll).Should(ContainSubstring("not found"))
	}
}
