package objects

import "nodrop.dev/nodrop/api/v1alpha1"

// Port builds a port of 1 Gbit/s with an address and the DUT's address in its subnet.
func Port(name, address, gateway string) v1alpha1.Port {
	return v1alpha1.Port{Name: name, Speed: "1G", Addresses: []string{address}, Gateways: []string{gateway}}
}

// HostPort builds a Port that has the interface "nd-<name>" of a node.
func HostPort(name, node, address, gateway string) v1alpha1.Port {
	p := Port(name, address, gateway)
	p.Node = node
	p.Attachment = HostDevice("nd-" + name)
	return p
}

// HostDevice builds the attachment to an interface of the node.
func HostDevice(name string) *v1alpha1.Attachment {
	return &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: name}}
}
