package lab

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/pki"
)

// Labels of everything that belongs to a benchmark.
const (
	// LabelUID holds the UID of the benchmark.
	LabelUID = "nodrop.dev/benchmark-uid"
	// LabelRole says what the object is for: one of the roles below.
	LabelRole = "nodrop.dev/role"
	// AnnotationBenchmark names the benchmark as namespace/name, for people.
	AnnotationBenchmark = "nodrop.dev/benchmark"
)

// Roles of objects.
const (
	// RoleAgent is a traffic pod, which owns the ports of one node.
	RoleAgent = "agent"
	// RoleRunner is the pod that executes the plan.
	RoleRunner = "runner"
	// RoleDevice is what starts and stops a virtual device.
	RoleDevice = "device"
)

// Run identifies one benchmark in the lab's namespace.
type Run struct {
	// Namespace and Name of the benchmark.
	Namespace, Name string
	// UID of the benchmark.
	UID string
}

// RunOf returns the run of a benchmark.
func RunOf(b *v1alpha1.Benchmark) Run {
	return Run{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)}
}

// prefixLength is how much of the UID is in names: 40 bits distinguish the few runs that
// exist at the same time.
const prefixLength = 10

// Prefix begins the name of every object of the run.
func (r Run) Prefix() string {
	id := strings.ReplaceAll(r.UID, "-", "")
	return "nd-" + id[:min(prefixLength, len(id))]
}

// Names of the run's objects.
func (r Run) agentName(index int) string  { return fmt.Sprintf("%s-agent-%d", r.Prefix(), index) }
func (r Run) networkName(p string) string { return r.Prefix() + "-" + p }
func (r Run) certificatesName() string    { return r.Prefix() + "-tls" }
func (r Run) deviceName() string          { return r.Prefix() + "-device" }
func (r Run) deviceUpName() string        { return r.Prefix() + "-device-up" }
func (r Run) deviceDownName() string      { return r.Prefix() + "-device-down" }
func (r Run) agentHost(index int) string  { return pki.AgentName(r.UID, index) }
func (r Run) labels(role string) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/name":       "nodrop",
		"app.kubernetes.io/managed-by": "nodrop-operator",
		LabelUID:                       r.UID,
	}
	if role != "" {
		labels["app.kubernetes.io/component"] = role
		labels[LabelRole] = role
	}
	return labels
}

// RunnerName is the name of the runner's pod, and of its secret.
func (r Run) RunnerName() string { return r.Prefix() + "-runner" }

// RunnerHost is the DNS name in the runner's certificate.
func (r Run) RunnerHost() string { return pki.RunnerName(r.UID) }

// OperatorHost is the name in the certificate with which the operator calls the runner.
func (r Run) OperatorHost() string { return pki.OperatorName(r.UID) }

// Selector selects everything of the run.
func (r Run) Selector() map[string]string { return map[string]string{LabelUID: r.UID} }
