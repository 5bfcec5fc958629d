package labobjects

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// Telemetry is the pod that reads the device of a bed, and the meter of its power, while it is measured, and that resets the device.
type Telemetry struct {
	// device and power describe how both are read, and management how the device is reset, and configured again afterwards. Two of
	// them may be nil.
	device     *v1alpha1.DeviceTelemetry
	power      *v1alpha1.PowerMeter
	management *v1alpha1.DeviceManagement
	// index of its certificate, which is one of those for agents.
	index int
	// certificates is the name of the secret with the certificate.
	certificates string
}

// TelemetryOf returns the pod that reads and resets the device of a bed; nil where it is neither read nor reset.
func TelemetryOf(bed *v1alpha1.TestBed) *Telemetry {
	t := &Telemetry{device: bed.Spec.Device.Telemetry(), power: bed.Spec.Device.Power(), index: len(Agents(bed))}
	if device.ConfiguredInRuns(bed.Spec.Device) {
		t.management = bed.Spec.Device.Management()
	}
	if t.device == nil && t.power == nil && t.management == nil {
		return nil
	}
	return t
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

// PodName is the name of the pod of a run that reads its device.
func (t Telemetry) PodName(run Run) string { return run.telemetryName() }

// Pod has no right in the cluster and no capability. Only this pod and the pods that configure the device have
// the credentials of the device and reach its management network. A killed container restarts in the same pod.
func (t Telemetry) Pod(s Settings, run Run) (*corev1.Pod, error) {
	volumes := []corev1.Volume{certificateVolume(t.certificates, ownerAgent(t.index))}
	mounts := []corev1.VolumeMount{{Name: "tls", MountPath: tlsDir, ReadOnly: true}}
	args := []string{"device", "telemetry", "--tls", tlsDir, "--runner", run.RunnerHost()}
	reads := func(flag string, described any, name, secretName, dir string) error {
		text, err := json.Marshal(described)
		if err != nil {
			return fmt.Errorf("describing the %s of the device: %w", flag, err)
		}
		volumes = append(volumes, secretVolume(name, secretName))
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: dir, ReadOnly: true})
		args = append(args, "--"+flag, string(text), "--"+name, dir)
		return nil
	}
	if t.device != nil {
		if err := reads("device", t.device, "access", t.device.SecretName, accessDir); err != nil {
			return nil, err
		}
	}
	if t.power != nil {
		if err := reads("power", t.power, "power-access", t.power.SecretName, powerAccessDir); err != nil {
			return nil, err
		}
	}
	if t.management != nil {
		if err := reads("management", t.management, "management-access", t.management.SecretName, managementAccessDir); err != nil {
			return nil, err
		}
		volumes = append(volumes, secretVolume("configuration", run.deviceName()))
		mounts = append(mounts, corev1.VolumeMount{Name: "configuration", MountPath: configurationDir, ReadOnly: true})
		args = append(args, "--configuration", configurationDir+"/"+wantedFile)
	}
	pod := pod(s, run, run.telemetryName(), RoleTelemetry)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.SecurityContext.FSGroup = ptr(int64(user))
	pod.Spec.Volumes = volumes
	pod.Spec.Containers = []corev1.Container{{
		Name:                     RoleTelemetry,
		Image:                    s.Image,
		ImagePullPolicy:          s.PullPolicy,
		Args:                     args,
		Ports:                    []corev1.ContainerPort{{Name: "https", ContainerPort: AgentPort}},
		VolumeMounts:             mounts,
		ReadinessProbe:           listening(AgentPort),
		Resources:                sharing("10m", "32Mi", "256Mi"),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	return pod, nil
}
