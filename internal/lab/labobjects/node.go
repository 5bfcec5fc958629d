package labobjects

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// AddNodeConfiguration adds to the secret of a device what its node is configured with when the topology has started.
func AddNodeConfiguration(sec *corev1.Secret, bed string, node *device.Node) error {
	data, err := runner.Compress(node)
	if err != nil {
		return fmt.Errorf("writing the configuration of the node of bed %s: %w", bed, err)
	}
	sec.Data[configurationFile], sec.Annotations[annotationConfiguration] = data, configurationFile
	if size := sizeOf(sec.Data); size > maxFiles {
		return fmt.Errorf("the topology of bed %s and the configuration of its node have %d KiB together, and at most %d KiB are allowed: remove keys that the device does not need, or put large files into its image or on its node",
			bed, kib(size), kib(maxFiles))
	}
	return nil
}

// IsNodeConfigured reports whether the secret of a device has a configuration of its node.
func IsNodeConfigured(sec *corev1.Secret) bool { return sec.Annotations[annotationConfiguration] != "" }

// KeepNodeReport adds to the secret of a device how its node got its configuration, as the pod that started the device has reported it. A
// pod that is made again would deploy the topology anew, below the traffic pods. It fails for a pod that reported nothing.
func KeepNodeReport(sec *corev1.Secret, up *corev1.Pod) error {
	for _, c := range up.Status.ContainerStatuses {
		t := c.State.Terminated
		if t == nil {
			continue
		}
		started := &device.Started{}
		if err := json.Unmarshal([]byte(t.Message), started); err != nil {
			return fmt.Errorf("reading what pod %s reported: %w", up.Name, err)
		}
		if started.Configuration == nil {
			break
		}
		text, err := json.Marshal(started.Configuration)
		if err != nil {
			return fmt.Errorf("writing what pod %s reported: %w", up.Name, err)
		}
		sec.Annotations[annotationConfigured] = string(text)
		return nil
	}
	return fmt.Errorf("pod %s has configured the device, and did not report how", up.Name)
}

// NodeReport returns what KeepNodeReport has kept.
func NodeReport(sec *corev1.Secret) (*v1alpha1.DeviceConfiguration, error) {
	text := sec.Annotations[annotationConfigured]
	if text == "" {
		return nil, errors.New("the secret of the device does not say how its node was configured: it was changed by another program or user")
	}
	out := &v1alpha1.DeviceConfiguration{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("reading how the node was configured: %w", err)
	}
	return out, nil
}
