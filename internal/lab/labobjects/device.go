package labobjects

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	router "nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// Annotations of the device's secret: what the pods that start and stop the
// device need to know, so that a device is stopped as it was started even when
// its bed was changed or deleted in between.
const (
	// AnnotationNode names the node of the device.
	AnnotationNode     = "nodrop.dev/node"
	annotationTopology = "nodrop.dev/topology-key"
	annotationDevice   = "nodrop.dev/topology-node"
	// annotationPlaced is there where the device gets processors of its own: with the
	// engine xdp, which then sends on the others.
	annotationPlaced = "nodrop.dev/own-processors"
	// annotationSessions names the key with the sessions of the bed; it is there where the
	// bed has some.
	annotationSessions = "nodrop.dev/sessions-key"
	// annotationConfiguration names the key with the configuration of the node; it is there
	// where NoDrop configures it.
	annotationConfiguration = "nodrop.dev/configuration-key"
	// annotationConfigured has the report of how the node got its configuration, when it has.
	annotationConfigured = "nodrop.dev/configured"
)

// FinalizerDevice keeps the Secret of a device until the device is stopped: the Secret has what it takes
// to stop it.
const FinalizerDevice = "nodrop.dev/device"

// sessionsFile is the key of the device's secret with the sessions of the bed, and their
// passwords.
const sessionsFile = "sessions.json.zst"

// configurationFile is the key of the device's secret with the configuration of the node.
const configurationFile = "configuration.json.zst"

// How long containerlab may take, a little less than the operator waits for the
// pod, so that its own message is the one that is seen.
const (
	deviceUpTimeout   = "150s"
	deviceDownTimeout = "90s"
)

// Paths on the node, and at the same place in the device's pods.
const (
	dockerSocket = "/run/docker.sock"
	labsDir      = "/run/nodrop/labs"
)

// DeviceSecretName is the name of the secret with the device's topology.
func DeviceSecretName(run Run) string { return run.deviceName() }

// DeviceSecret is the topology of a virtual device as it was when the bed was
// leased, with all keys of its ConfigMap, and the sessions of the bed with their passwords,
// from which the device is configured. As long as it exists the device may be up.
func DeviceSecret(s Settings, run Run, bed *v1alpha1.TestBed, topology *corev1.ConfigMap, passwords Passwords) (*corev1.Secret, error) {
	described := bed.Spec.Device.Containerlab
	if described == nil || len(bed.Spec.Ports) == 0 {
		return nil, fmt.Errorf("bed %s has no containerlab device with ports", bed.Name)
	}
	files := maps.Clone(topology.BinaryData)
	if files == nil {
		files = map[string][]byte{}
	}
	for key, text := range topology.Data {
		files[key] = []byte(text)
	}
	if err := CheckTopology(topology); err != nil {
		return nil, err
	}
	key := described.Topology.ConfigMapRef.Key
	if _, found := files[key]; !found {
		return nil, fmt.Errorf("ConfigMap %s has no key %q: it has %q", topology.Name, key, slices.Sorted(maps.Keys(files)))
	}
	if described.Image != "" {
		text, err := withImage(files[key], described.Node, described.Image)
		if err != nil {
			return nil, fmt.Errorf("topology %s/%s: %w", topology.Name, key, err)
		}
		files[key] = text
	}
	sec := secret(s, run, run.deviceName(), RoleDevice, files)
	sec.Finalizers = []string{FinalizerDevice}
	sec.Annotations[AnnotationNode] = bed.Spec.Ports[0].Node
	sec.Annotations[annotationTopology] = key
	sec.Annotations[annotationDevice] = described.Node
	if bed.Spec.Engine.Kind == v1alpha1.EngineXDP {
		sec.Annotations[annotationPlaced] = "true"
	}
	return sec, addSessions(sec, bed, passwords)
}

// addSessions adds the sessions of a bed, if it has some, to the secret of its device.
func addSessions(sec *corev1.Secret, bed *v1alpha1.TestBed, passwords Passwords) error {
	sessions := router.NewBedSessions(bed, passwords)
	if sessions == nil {
		return nil
	}
	data, err := runner.Compress(sessions)
	if err != nil {
		return fmt.Errorf("writing the sessions of bed %s: %w", bed.Name, err)
	}
	sec.Data[sessionsFile], sec.Annotations[annotationSessions] = data, sessionsFile
	if size := sizeOf(sec.Data); size > maxFiles {
		return fmt.Errorf("the topology of bed %s and its BGP sessions have %d KiB together, and at most %d KiB are allowed: remove keys that the device does not need, or put large files into its image or on its node", bed.Name, kib(size), kib(maxFiles))
	}
	return nil
}

// CheckTopology fails when a ConfigMap with a topology is too large to be kept for the
// run: its keys and their values are 176 KiB at most.
func CheckTopology(topology *corev1.ConfigMap) error {
	size := sizeOf(topology.Data) + sizeOf(topology.BinaryData)
	if size <= maxFiles {
		return nil
	}
	return fmt.Errorf("ConfigMap %s has %d KiB in all keys, and a topology may have at most %d KiB: remove keys that the device does not need, or put large files into its image or on its node",
		topology.Name, kib(size), kib(maxFiles))
}

// DeviceUpPod starts the device that is described in its secret, or gives it its configuration. It is tried
// once: the lab has to inspect a router that does not come up.
func DeviceUpPod(s Settings, run Run, sec *corev1.Secret) (*corev1.Pod, error) {
	if IsConfiguration(sec) {
		p, err := configurePod(s, run, sec, run.deviceUpName(), wantedFile, configureTimeout)
		if err == nil {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
		return p, err
	}
	p, err := devicePod(s, run, sec, run.deviceUpName(), "up", deviceUpTimeout)
	if err != nil {
		return nil, err
	}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	c, placed, configuration := &p.Spec.Containers[0], sec.Annotations[annotationPlaced] != "", sec.Annotations[annotationConfiguration]
	if placed || configuration != "" {
		c.Args = append(c.Args, "--report", terminationLog)
	}
	if placed {
		c.Args = append(c.Args, "--own-processors")
	}
	if configuration != "" {
		c.Args = append(c.Args, "--configuration", topologyDir+"/"+configuration)
	}
	if key := sec.Annotations[annotationSessions]; key != "" {
		c.Args = append(c.Args, "--sessions", topologyDir+"/"+key)
	}
	return p, nil
}

// DeviceUpName is the name of the pod that starts the device.
func DeviceUpName(run Run) string { return run.deviceUpName() }

// silent is the reason why the processors of the device are not known.
const silent = "the pod that started the device did not report which processors it has"

// DevicePlacement returns the processors of the device, as reported by the pod that started
// it.
func DevicePlacement(up *corev1.Pod) device.Placement {
	for _, c := range up.Status.ContainerStatuses {
		var p device.Placement
		if t := c.State.Terminated; t != nil && json.Unmarshal([]byte(t.Message), &p) == nil && (len(p.Device) > 0) != (p.Together != "") {
			return p
		}
	}
	return device.Placement{Together: silent}
}

// DeviceDownPod stops the device, or restores its base configuration. It succeeds when there is nothing to
// do, and is tried again until the clean-up's deadline.
func DeviceDownPod(s Settings, run Run, sec *corev1.Secret) (*corev1.Pod, error) {
	if IsConfiguration(sec) {
		p, err := configurePod(s, run, sec, run.deviceDownName(), baseFile, restoreTimeout)
		if err == nil {
			p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			p.Spec.ActiveDeadlineSeconds = ptr(int64(restoringSeconds))
		}
		return p, err
	}
	p, err := devicePod(s, run, sec, run.deviceDownName(), "down", deviceDownTimeout)
	if err != nil {
		return nil, err
	}
	p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	return p, nil
}

// DeviceDownName is the name of the pod that stops the device.
func DeviceDownName(run Run) string { return run.deviceDownName() }

// devicePod runs containerlab with the container runtime of the node, which is equal to
// root on the node. Only the owner of a bed can cause this, and only with the image that
// the lab was installed with.
func devicePod(s Settings, run Run, sec *corev1.Secret, name, action, timeout string) (*corev1.Pod, error) {
	node, topology, nodeOfTopology := sec.Annotations[AnnotationNode], sec.Annotations[annotationTopology], sec.Annotations[annotationDevice]
	if node == "" || topology == "" || nodeOfTopology == "" {
		return nil, errors.New("the secret of the device does not say its node and topology: it was changed by another program or user")
	}
	pod := pod(s, run, name, RoleDevice)
	pod.Spec.SecurityContext = nil
	pod.Spec.HostNetwork = true
	pod.Spec.HostPID = true
	pod.Spec.Affinity = onNode(node)
	pod.Spec.Volumes = []corev1.Volume{
		secretVolume("topology", sec.Name),
		hostVolume("docker", dockerSocket, corev1.HostPathSocket),
		hostVolume("labs", labsDir, corev1.HostPathDirectoryOrCreate),
		scratchVolume("tmp", "128Mi"),
	}
	pod.Spec.Containers = []corev1.Container{{
		Name:            "device",
		Image:           s.DeviceImage,
		ImagePullPolicy: s.PullPolicy,
		Args: []string{
			"device", action, "--topology", topologyDir + "/" + topology, "--node", nodeOfTopology,
			"--dir", labsDir, "--timeout", timeout,
		},
		Env: []corev1.EnvVar{
			{Name: "CLAB_VERSION_CHECK", Value: "disable"},
			{Name: "DOCKER_HOST", Value: "unix://" + dockerSocket},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "topology", MountPath: topologyDir, ReadOnly: true},
			{Name: "docker", MountPath: dockerSocket},
			// At the same path as on the node: the container runtime resolves bind
			// mounts of the topology there, not in this pod.
			{Name: "labs", MountPath: labsDir},
			{Name: "tmp", MountPath: "/tmp"},
		},
		// The device itself runs in the container runtime of the node, outside of this
		// pod: its resources are those of the topology.
		Resources:                sharing("50m", "64Mi", "512Mi"),
		SecurityContext:          &corev1.SecurityContext{Privileged: ptr(true), RunAsUser: ptr(int64(0))},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	return pod, nil
}

func hostVolume(name, path string, kind corev1.HostPathType) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind},
	}}
}
