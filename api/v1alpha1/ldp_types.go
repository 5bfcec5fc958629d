package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LDPRouting is all LDP sessions of a bed (RFC 5036): the device distributes labels for IPv4
// networks to which it has routes by another way, such as static routes to the tester. It needs
// ordered control, by which it advertises a label when it has the label of its next hop.
type LDPRouting struct {
	// sessions of the ports with the device.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Sessions []LDPSession `json:"sessions"`
}

// LDPSession is one session of a port with the device: link hellos, one label space for the
// platform, and labels that are distributed without request.
//
// +kubebuilder:validation:XValidation:rule="has(self.port) || (!has(self.address) && !has(self.deviceAddress) && !has(self.routerID))",messageExpression="'session ' + self.name + ' has no port, and so is one on every port of the bed, which have addresses of their own: give port, or leave address, deviceAddress and routerID out'"
type LDPSession struct {
	// name of the session, unique in the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a session name: use lower-case letters, digits and dashes, such as p1'"
	Name string `json:"name"`
	// port of the bed that the session runs over. Without it there is one session on every
	// port of the bed, named after the session and the port: peer-p1.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Port string `json:"port,omitempty"`
	// address of the tester in the session, and its transport address. Without it, the IPv4
	// address of the port.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",messageExpression="'\"' + self + '\" is not an IPv4 address, such as 198.18.1.2'"
	Address string `json:"address,omitempty"`
	// deviceAddress is the address of the device on the port, from which its hellos come. Without
	// it, the IPv4 gateway of the port. The transport address of the device is in its hellos.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",messageExpression="'\"' + self + '\" is not an IPv4 address, such as 198.18.1.1'"
	DeviceAddress string `json:"deviceAddress,omitempty"`
	// routerID is the LSR ID of the tester. Without it, the address of the session.
	// +optional
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && self != '0.0.0.0'",messageExpression="'\"' + self + '\" is not a router ID: give an IPv4 address other than 0.0.0.0, such as 198.18.1.2'"
	RouterID string `json:"routerID,omitempty"`
	// holdTime that the tester proposes, the KeepAlive time: 3s to 65535s in whole seconds.
	// +optional
	// +kubebuilder:default="180s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('3s') && duration(self) <= duration('65535s') && duration(self).getMilliseconds() % 1000 == 0",messageExpression="'holdTime is ' + self + ': give 3s to 65535s in whole seconds (RFC 5036 section 3.5.3)'"
	HoldTime *metav1.Duration `json:"holdTime,omitempty"`
	// passwordSecretRef names the password of TCP MD5 (RFC 2385) in a Secret of the lab's
	// namespace.
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`
}
