package lab

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// NetworkGVK is Multus' NetworkAttachmentDefinition. It is handled unstructured:
// its Go types would bring the CNI libraries along for two fields.
var NetworkGVK = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

type hostDeviceConfig struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Device     string `json:"device"`
}

// Network moves the interface of one port into the traffic pod that asks for it.
func Network(s Settings, run Run, port v1alpha1.Port) (*unstructured.Unstructured, error) {
	if port.Attachment == nil || port.Attachment.HostDevice == nil {
		return nil, fmt.Errorf("port %s has no attachment: set attachment.hostDevice.interface", port.Name)
	}
	config, err := json.Marshal(hostDeviceConfig{
		CNIVersion: "1.0.0", Name: run.networkName(port.Name),
		Type: "host-device", Device: port.Attachment.HostDevice.Interface,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the network of port %s: %w", port.Name, err)
	}
	network := &unstructured.Unstructured{}
	network.SetGroupVersionKind(NetworkGVK)
	network.SetNamespace(s.Namespace)
	network.SetName(run.networkName(port.Name))
	network.SetLabels(run.labels(RoleAgent))
	network.SetAnnotations(map[string]string{AnnotationBenchmark: run.Namespace + "/" + run.Name})
	if err := unstructured.SetNestedField(network.Object, string(config), "spec", "config"); err != nil {
		return nil, fmt.Errorf("writing the network of port %s: %w", port.Name, err)
	}
	return network, nil
}

type networkSelection struct {
	Name      string `json:"name"`
	Interface string `json:"interface"`
}

// networksAnnotation asks Multus for the ports; inside the pod an interface has
// the name of its port.
func networksAnnotation(run Run, ports []v1alpha1.Port) (string, error) {
	var selections []networkSelection
	for _, p := range ports {
		selections = append(selections, networkSelection{Name: run.networkName(p.Name), Interface: p.Name})
	}
	text, err := json.Marshal(selections)
	if err != nil {
		return "", fmt.Errorf("writing the networks of a traffic pod: %w", err)
	}
	return string(text), nil
}
