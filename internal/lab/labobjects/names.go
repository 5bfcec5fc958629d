package labobjects

import (
	"fmt"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
)

// Labels of everything that belongs to a benchmark.
const (
	// LabelUID holds the UID of the benchmark.
	LabelUID = "nodrop.dev/benchmark-uid"
	// LabelAttempt holds the number of the benchmark's attempt; without it that is 0.
	LabelAttempt = "nodrop.dev/attempt"
	// LabelRole is the purpose of the object: one of the roles below.
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
	// RoleDevice is the role of the objects that start and stop a virtual device.
	RoleDevice = "device"
	// RoleConfigure is a pod that configures a device of the lab.
	RoleConfigure = "configure"
	// RoleTelemetry is a pod that reads a device of the lab while it is measured.
	RoleTelemetry = "telemetry"
	// RoleHook is the role of the objects that run the hooks of a bed.
	RoleHook = "hook"
	// RoleProbe is a pod that reads the interfaces of a bed; it belongs to no benchmark.
	RoleProbe = "probe"
)

// Run identifies one attempt of a benchmark in the lab's namespace. No two attempts share an
// object, so that an operator that is late with the clean-up of one does not harm the next.
type Run struct {
	// Namespace and Name of the benchmark.
	Namespace, Name string
	// UID of the benchmark.
	UID string
	// Attempt is its number.
	Attempt int32
}

// RunOf returns the run of a benchmark that waits for a bed, has one or is returning it.
func RunOf(b *v1alpha1.Benchmark) Run {
	run := Run{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID), Attempt: b.Status.Attempt}
	if b.Status.Preemption != nil && run.Attempt > 0 {
		run.Attempt-- // That attempt has ended, and is being removed.
	}
	return run
}

// AttemptOf is the number of the attempt that an object with these labels belongs to.
func AttemptOf(labels map[string]string) int32 {
	n, _ := strconv.ParseInt(labels[LabelAttempt], 10, 32)
	return int32(n)
}

// prefixLength is the length of the part of the UID that is in names: 40 bits distinguish the
// few runs that exist at the same time.
const prefixLength = 10

// Prefix begins the name of every object of the run.
func (r Run) Prefix() string {
	id := strings.ReplaceAll(r.UID, "-", "")
	prefix := "nd-" + id[:min(prefixLength, len(id))]
	if r.Attempt > 0 {
		prefix += fmt.Sprintf("r%d", r.Attempt)
	}
	return prefix
}

// Names of the run's objects.
func (r Run) agentName(index int) string  { return fmt.Sprintf("%s-agent-%d", r.Prefix(), index) }
func (r Run) networkName(p string) string { return r.Prefix() + "-" + p }
func (r Run) certificatesName() string    { return r.Prefix() + "-tls" }
func (r Run) deviceName() string          { return r.Prefix() + "-device" }
func (r Run) deviceUpName() string        { return r.Prefix() + "-device-up" }
func (r Run) deviceDownName() string      { return r.Prefix() + "-device-down" }
func (r Run) telemetryName() string       { return r.Prefix() + "-telemetry" }
func (r Run) agentHost(index int) string  { return pki.AgentName(r.UID, index) }
func (r Run) labels(role string) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/name":       "nodrop",
		"app.kubernetes.io/managed-by": "nodrop-operator",
		LabelUID:                       r.UID,
	}
	if r.Attempt > 0 {
		labels[LabelAttempt] = strconv.Itoa(int(r.Attempt))
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

// Selector selects everything of the benchmark; Has reports what of that belongs to the run.
func (r Run) Selector() map[string]string { return map[string]string{LabelUID: r.UID} }

// Has reports whether an object with these labels belongs to the run.
func (r Run) Has(labels map[string]string) bool {
	return labels[LabelUID] == r.UID && AttemptOf(labels) == r.Attempt
}
