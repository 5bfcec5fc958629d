package labobjects

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// Telemetry is the pod that reads the device of a bed while it is measured.
type Telemetry struct {
	device *v1alpha1.DeviceTelemetry
	// index of its certificate, which is one of those for agents.
	index int
	// certificates is the name of the secret with the certificate.
	certificates string
}

// TelemetryOf returns the pod that reads the device of a bed; nil where the device is not read.
func TelemetryOf(bed *v1alpha1.TestBed) *Telemetry {
	t := bed.Spec.Device.Telemetry()
	if t == nil {
		return nil
	}
	return &Telemetry{device: t, index: len(Agents(bed))}
}

// Certificates returns the number of certificates that a run needs for agents and for the pod that reads the device.
func Certificates(bed *v1alpha1.TestBed) int {
	n := len(Agents(bed))
	if TelemetryOf(bed) != nil {
		n++
	}
	return n
}

// WithCertificate returns the pod with the secret that holds its certificate, of the set that the secret CertificatesName
// belongs to.
func (t Telemetry) WithCertificate(run Run, sec *corev1.Secret) Telemetry {
	t.certificates = Agent{Index: t.index}.WithCertificate(run, sec).certificates
	return t
}

// Endpoint is the address of the pod for the runner.
func (t Telemetry) Endpoint(run Run, podIP string) *runner.TelemetryEndpoint {
	return &runner.TelemetryEndpoint{Name: run.agentHost(t.index), Address: hostPort(podIP, AgentPort)}
}

// Pod has no right in the cluster and no capability. Only this pod and the pods that configure the device have
// the credentials of the device and reach its management network. A killed container restarts in the same pod.
func (t Telemetry) Pod(s Settings, run Run) (*corev1.Pod, error) {
	described, err := json.Marshal(t.device)
	if err != nil {
		return nil, fmt.Errorf("describing the telemetry of the device: %w", err)
	}
	pod := pod(s, run, run.telemetryName(), RoleTelemetry)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.SecurityContext.FSGroup = ptr(int64(user))
	pod.Spec.Volumes = []corev1.Volume{
		secretVolume("access", t.device.SecretName),
		certificateVolume(t.certificates, ownerAgent(t.index)),
	}
	pod.Spec.Containers = []corev1.Container{{
		Name:            RoleTelemetry,
		Image:           s.Image,
		ImagePullPolicy: s.PullPolicy,
		Args: []string{
			"device", "telemetry", "--device", string(described), "--access", accessDir, "--tls", tlsDir, "--runner", run.RunnerHost(),
		},
		Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: AgentPort}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "access", MountPath: accessDir, ReadOnly: true},
			{Name: "tls", MountPath: tlsDir, ReadOnly: true},
		},
		ReadinessProbe:           listening(AgentPort),
		Resources:                sharing("10m", "32Mi", "256Mi"),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	return pod, nil
}
