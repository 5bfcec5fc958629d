package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceTelemetry describes how NoDrop reads the device's own counters and sensors while it is
// measured. Each row then has what the device counted as dropped, and the lost frames that no counter
// explains. A reading that fails ends no run.
//
// +kubebuilder:validation:ExactlyOneOf=snmp;gnmi;linux
type DeviceTelemetry struct {
	// snmp reads the device by SNMP: discards and errors of interfaces (IF-MIB), processors
	// (HOST-RESOURCES-MIB) and sensors (ENTITY-SENSOR-MIB).
	// +optional
	SNMP *SNMPTelemetry `json:"snmp,omitempty"`
	// gnmi reads the device by gNMI with the modules of OpenConfig: discards and errors of interfaces,
	// processors, memory, and the sensors of its components.
	// +optional
	GNMI *GNMITelemetry `json:"gnmi,omitempty"`
	// linux reads a Linux device by SSH: drops and errors of interfaces and queues, rules of its packet
	// filter that count and drop, processors, memory and temperatures.
	// +optional
	Linux *LinuxTelemetry `json:"linux,omitempty"`
	// secretName names a Secret in the lab's namespace, of type nodrop.dev/device. For linux it has the
	// keys user, password or privateKey, and hostKeys; for snmp community (version 2c), or user,
	// authenticationPassword and privacyPassword (version 3); for gnmi certificates, and user and
	// password, or clientCertificate and privateKey. Only pods that reach the device have it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// interfaces are the names of the device's interfaces that belong to the bed, as the device reports
	// them, such as Ethernet1/3. Without them the counters of all its interfaces are read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Interfaces []string `json:"interfaces,omitempty"`
	// interval between two readings of the sensors while a row is measured, 1s to 60s.
	// +optional
	// +default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('60s')",messageExpression="'interval is ' + self + ': give 1s to 60s, a number with one of the units ns, us, ms, s, m and h'"
	Interval metav1.Duration `json:"interval,omitzero"`
	// counterDelay is how late the device's counters may be, up to 60s: each row waits so long before it
	// reads them. 0s for Linux, and for many switches 5s to 15s. Without it, 0s for linux, and 5s for snmp and gnmi.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('60s')",messageExpression="'counterDelay is ' + self + ': give 0s to 60s, a number with one of the units ns, us, ms, s, m and h'"
	CounterDelay *metav1.Duration `json:"counterDelay,omitempty"`
}

// SNMPTelemetry reaches a device by SNMP.
type SNMPTelemetry struct {
	// address is host:port of the SNMP agent, such as 192.0.2.1:161.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.1:161 or [2001:db8::1]:161'"
	Address string `json:"address"`
	// authentication is the algorithm by which version 3 authenticates messages. Privacy is by AES-128.
	// +optional
	// +default="SHA256"
	Authentication SNMPAuthentication `json:"authentication,omitempty"`
}

// SNMPAuthentication is an algorithm of the user-based security model (RFC 3414, RFC 7860).
//
// +kubebuilder:validation:Enum=SHA;SHA256;SHA512
type SNMPAuthentication string

// The algorithms.
const (
	SNMPAuthenticationSHA    SNMPAuthentication = "SHA"
	SNMPAuthenticationSHA256 SNMPAuthentication = "SHA256"
	SNMPAuthenticationSHA512 SNMPAuthentication = "SHA512"
)

// GNMITelemetry reaches a device by gNMI with TLS.
type GNMITelemetry struct {
	// address is host:port of the gNMI server, such as 192.0.2.1:9339.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.1:9339 or [2001:db8::1]:9339'"
	Address string `json:"address"`
}

// LinuxTelemetry reaches a Linux device by SSH.
type LinuxTelemetry struct {
	// address is host:port of the SSH server, such as 192.0.2.1:22.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.1:22 or [2001:db8::1]:22'"
	Address string `json:"address"`
}

// Telemetry returns how NoDrop reads a device; nil if it does not.
func (d *Device) Telemetry() *DeviceTelemetry {
	if d.Physical == nil {
		return nil
	}
	return d.Physical.Telemetry
}

// Address returns where the device is read, for all ways to read it.
func (t *DeviceTelemetry) Address() string {
	switch {
	case t.SNMP != nil:
		return t.SNMP.Address
	case t.GNMI != nil:
		return t.GNMI.Address
	case t.Linux != nil:
		return t.Linux.Address
	}
	return ""
}

// Every returns the interval of readings, with the default.
func (t *DeviceTelemetry) Every() time.Duration {
	if t.Interval.Duration <= 0 {
		return 5 * time.Second
	}
	return t.Interval.Duration
}

// Delay returns how late the counters of the device may be, with the default.
func (t *DeviceTelemetry) Delay() time.Duration {
	switch {
	case t.CounterDelay != nil:
		return t.CounterDelay.Duration
	case t.SNMP != nil, t.GNMI != nil:
		return 5 * time.Second
	}
	return 0
}
