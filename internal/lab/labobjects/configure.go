package labobjects

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
)

// Annotations of the secret of a device that NoDrop configures: how it is reached, so that it is restored
// where it was configured even when its bed was changed or deleted in between.
const (
	annotationPlatform = "nodrop.dev/platform"
	annotationAddress  = "nodrop.dev/address"
	// annotationAccess names the Secret of the lab with the credentials. It is mounted, not copied: a
	// password that is changed during a run is used when the device is restored.
	annotationAccess = "nodrop.dev/access-secret"
)

// Keys of the device's secret with the configuration that a run gives the device, and with the base.
const (
	wantedFile = "wanted.conf"
	baseFile   = "base.conf"
)

// Paths in the pods that configure a device.
const (
	accessDir        = "/etc/nodrop/access"
	configurationDir = "/etc/nodrop/configuration"
	powerAccessDir   = "/etc/nodrop/power"
	// managementAccessDir is in the pod that reads a device, possibly with another Secret.
	managementAccessDir = "/etc/nodrop/management"
)

const (
	// configureTimeout and restoreTimeout bound one attempt, a little less than the operator waits for the pod,
	// so that its own message is the one that is seen.
	configureTimeout = "150s"
	restoreTimeout   = "90s"
	// restoringSeconds bounds all attempts to restore a device: each of them is a login, and a device
	// locks accounts after too many that fail.
	restoringSeconds = 300
)

// ConfigurationSecret has the configuration that a run gives a device, its base, and how the device is
// reached. As long as it exists the device may have something else than its base.
func ConfigurationSecret(s Settings, run Run, bed *v1alpha1.TestBed, m *v1alpha1.DeviceManagement, wanted, base string) (*corev1.Secret, error) {
	files := map[string][]byte{wantedFile: []byte(wanted), baseFile: []byte(base)}
	if err := CheckConfigurations(bed.Name, wanted, base); err != nil {
		return nil, err
	}
	sec := secret(s, run, run.deviceName(), RoleDevice, files)
	sec.Finalizers = []string{FinalizerDevice}
	sec.Annotations[annotationPlatform] = m.Platform()
	sec.Annotations[annotationAddress] = m.Address()
	sec.Annotations[annotationAccess] = m.SecretName
	return sec, nil
}

// CheckConfigurations fails when the configurations of a device are too large to be kept for the run: two
// of them are 175 KiB at most.
func CheckConfigurations(bed, wanted, base string) error {
	if size := len(wanted) + len(base); size > maxFiles-(1<<10) {
		return fmt.Errorf("two configurations of the device of bed %s have %d KiB, and at most %d KiB are allowed: remove comments and what the device does not need",
			bed, kib(size), kib(maxFiles)-1)
	}
	return nil
}

// IsConfiguration reports whether the secret of a device has configurations, and not a topology.
func IsConfiguration(sec *corev1.Secret) bool { return sec.Annotations[annotationPlatform] != "" }

// configurePod gives a device a configuration of its secret. It has no right in the cluster and no
// capability, and is the only one that has the credentials of the device and reaches its management network.
func configurePod(s Settings, run Run, sec *corev1.Secret, name, file, timeout string) (*corev1.Pod, error) {
	access, address := sec.Annotations[annotationAccess], sec.Annotations[annotationAddress]
	if access == "" || address == "" {
		return nil, fmt.Errorf("secret %s of the device does not have its address and access: it was changed by another program or user", sec.Name)
	}
	pod := pod(s, run, name, RoleConfigure)
	manages(s, &pod.Spec, secretVolume("configuration", sec.Name), access,
		[]string{
			"device", "configure", "--platform", sec.Annotations[annotationPlatform], "--address", address, "--access", accessDir,
			"--base", configurationDir + "/" + baseFile, "--configuration", configurationDir + "/" + file, "--within", timeout, "--report", terminationLog,
		})
	return pod, nil
}

// manages adds to a pod the container that reaches a device, with its configurations and its credentials.
func manages(s Settings, spec *corev1.PodSpec, configurations corev1.Volume, access string, args []string) {
	spec.SecurityContext.FSGroup = ptr(int64(user))
	spec.Volumes = []corev1.Volume{configurations, secretVolume("access", access)}
	spec.Containers = []corev1.Container{{
		Name:            RoleConfigure,
		Image:           s.Image,
		ImagePullPolicy: s.PullPolicy,
		Args:            args,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "configuration", MountPath: configurationDir, ReadOnly: true},
			{Name: "access", MountPath: accessDir, ReadOnly: true},
		},
		Resources:                sharing("10m", "32Mi", "256Mi"),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
}

// compareTimeout is how long a device may take to be compared with its base, or to get it, within the time of a
// probe.
const compareTimeout = "45s"

// DeviceProbePod compares the device of a free bed with its base, or restores that. The bed owns it.
func DeviceProbePod(s Settings, bed *v1alpha1.TestBed, n ProbedNode, probe string, deadlineSeconds int64, restore bool) *corev1.Pod {
	m := bed.Spec.Device.Management()
	ref := m.Configuration.ConfigMapRef
	pod := probePod(s, bed, n, probe, deadlineSeconds, RoleConfigure)
	args := []string{
		"device", "compare", "--platform", m.Platform(), "--address", m.Address(), "--access", accessDir,
		"--base", configurationDir + "/" + baseFile, "--within", compareTimeout, "--report", terminationLog,
	}
	if restore {
		args = append(args, "--restore")
	}
	manages(s, &pod.Spec, corev1.Volume{Name: "configuration", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: ref.Name}, Items: []corev1.KeyToPath{{Key: ref.Key, Path: baseFile}},
	}}}, m.SecretName, args)
	return pod
}

// DeviceComparison returns what a pod that has ended found of a device.
func DeviceComparison(pod *corev1.Pod) (c configure.Comparison, _ error) {
	for _, status := range pod.Status.ContainerStatuses {
		if t := status.State.Terminated; t != nil {
			return c, json.Unmarshal([]byte(t.Message), &c)
		}
	}
	return c, fmt.Errorf("pod %s has no answer", pod.Name)
}

// ReportedConfiguration returns what a pod reported that has configured a device.
func ReportedConfiguration(up *corev1.Pod) (*v1alpha1.DeviceConfiguration, error) {
	for _, c := range up.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			out := &v1alpha1.DeviceConfiguration{}
			if err := json.Unmarshal([]byte(t.Message), out); err != nil {
				return nil, fmt.Errorf("reading what pod %s reported: %w", up.Name, err)
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("pod %s has configured the device, and did not report how", up.Name)
}
