package labobjects

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// NetworkGVK is Multus' NetworkAttachmentDefinition. It is handled unstructured:
// its Go types would add the CNI libraries for two fields.
var NetworkGVK = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

// Annotations that Multus reads.
const (
	// annotationNetworks lists the networks of a pod.
	annotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// AnnotationStatus lists the interfaces that Multus has given to a pod.
	AnnotationStatus = "k8s.v1.cni.cncf.io/network-status"
	// AnnotationResource of a network names the resource of which the pod has a device
	// for it. Multus writes the device's address into the plugin's configuration; of
	// several devices each network of the pod gets the next.
	AnnotationResource = "k8s.v1.cni.cncf.io/resourceName"
)

// hostDeviceConfig is for the CNI plugin host-device.
type hostDeviceConfig struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Device     string `json:"device"`
}

// sriovCNIVersion is the version of CNI that every release of the SR-IOV CNI knows; the earliest
// know no later one.
const sriovCNIVersion = "0.3.1"

// sriovConfig is for the CNI plugin sriov. It moves a virtual function that is
// bound to the kernel's driver into the pod; of one that is bound to vfio-pci it
// sets what the card does, and the pod has the device's file. Multus adds deviceID.
type sriovConfig struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	VLAN       *int32 `json:"vlan,omitempty"`
	Trust      string `json:"trust"`
	SpoofCheck string `json:"spoofchk"`
}

// Networks returns the networks that move the interfaces of a traffic pod into it, one for
// each port, except for ports that name a network of the bed's owner or a claim.
func Networks(s Settings, run Run, a Agent) ([]*unstructured.Unstructured, error) {
	var networks []*unstructured.Unstructured
	for _, p := range a.Ports {
		var config any
		var annotations map[string]string
		switch {
		case p.Attachment == nil:
			return nil, errNoAttachment(p)
		case p.Attachment.HostDevice != nil:
			config = hostDeviceConfig{
				CNIVersion: "1.0.0", Name: run.networkName(p.Name),
				Type: "host-device", Device: p.Attachment.HostDevice.Interface,
			}
		case p.Attachment.SRIOV != nil && p.Attachment.SRIOV.NetworkName == "":
			config = newSRIOVConfig(run.networkName(p.Name), p.Attachment.SRIOV)
			annotations = map[string]string{AnnotationResource: p.Attachment.SRIOV.ResourceName}
		default:
			continue
		}
		n, err := network(s, run, p.Name, config, annotations)
		if err != nil {
			return nil, err
		}
		networks = append(networks, n)
	}
	return networks, nil
}

func newSRIOVConfig(name string, a *v1alpha1.SRIOVAttachment) sriovConfig {
	trust := a.Trust == nil || *a.Trust
	check := a.SpoofCheck != nil && *a.SpoofCheck
	return sriovConfig{
		CNIVersion: sriovCNIVersion, Name: name, Type: "sriov",
		VLAN: a.VLAN, Trust: onOff(trust), SpoofCheck: onOff(check),
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func network(s Settings, run Run, port string, config any, annotations map[string]string) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing the network of port %s: %w", port, err)
	}
	n := &unstructured.Unstructured{}
	n.SetGroupVersionKind(NetworkGVK)
	n.SetNamespace(s.Namespace)
	n.SetName(run.networkName(port))
	n.SetLabels(run.labels(RoleAgent))
	all := map[string]string{AnnotationBenchmark: run.Namespace + "/" + run.Name}
	for k, v := range annotations {
		all[k] = v
	}
	n.SetAnnotations(all)
	if err := unstructured.SetNestedField(n.Object, string(text), "spec", "config"); err != nil {
		return nil, fmt.Errorf("writing the network of port %s: %w", port, err)
	}
	return n, nil
}

// networkSelection is an entry of annotationNetworks. Without a namespace the network is in
// the namespace of the pod, which is the lab's.
type networkSelection struct {
	Name      string `json:"name"`
	Interface string `json:"interface"`
}

// Attach lets a pod request the interfaces of an agent's ports, as the agent's pod does: by
// Multus, with devices and claims for the pod's first container.
func Attach(pod *corev1.Pod, run Run, a Agent) error {
	if err := requestNetworks(pod, run, a.Ports); err != nil {
		return err
	}
	return addDevices(&pod.Spec, &pod.Spec.Containers[0], a.Ports)
}

// PluginProblem returns the part of a message of the kubelet that describes why a plugin could not
// attach a network. The kubelet, the container runtime and Multus each put their own words, with
// identifiers of the pod, around it. Other messages remain as they are.
func PluginProblem(message string) string {
	if i := strings.LastIndex(message, multusFailed); i >= 0 {
		message = "network " + message[i+len(multusFailed):]
		for _, end := range []string{"\n", `\n`, "': StdinData"} {
			message, _, _ = strings.Cut(message, end)
		}
	} else if _, after, found := strings.Cut(message, "plugin type="); found {
		message = "plugin type=" + after
	}
	return strings.TrimSpace(message)
}

// multusFailed is before the name of the network, and the message of its plugin.
const multusFailed = "error adding container to network "

// requestNetworks annotates a pod with the networks of ports.
func requestNetworks(pod *corev1.Pod, run Run, ports []v1alpha1.Port) error {
	networks, err := networksAnnotation(run, ports)
	if err != nil || networks == "" {
		return err
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[annotationNetworks] = networks
	return nil
}

// networksAnnotation requests the ports from Multus; inside the pod an interface has
// the name of its port. It is empty when every port comes with a claim.
func networksAnnotation(run Run, ports []v1alpha1.Port) (string, error) {
	var selections []networkSelection
	for _, p := range ports {
		switch a := p.Attachment; {
		case a == nil:
			return "", errNoAttachment(p)
		case a.ResourceClaim != nil:
		case a.SRIOV != nil && a.SRIOV.NetworkName != "":
			selections = append(selections, networkSelection{Name: a.SRIOV.NetworkName, Interface: podInterface(p)})
		default:
			selections = append(selections, networkSelection{Name: run.networkName(p.Name), Interface: podInterface(p)})
		}
	}
	if len(selections) == 0 {
		return "", nil
	}
	text, err := json.Marshal(selections)
	if err != nil {
		return "", fmt.Errorf("writing the networks of a traffic pod: %w", err)
	}
	return string(text), nil
}
