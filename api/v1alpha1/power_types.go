package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PowerMeter describes how NoDrop reads the electrical power that the device takes, while it is
// measured and once before, without test frames. Rows with a trial that is longer than settle and
// interval together have W and nJ/bit.
//
// +kubebuilder:validation:ExactlyOneOf=snmp
type PowerMeter struct {
	// snmp reads a meter, or the outlets of a power distribution unit, by SNMP.
	// +optional
	SNMP *SNMPPowerMeter `json:"snmp,omitempty"`
	// secretName names a Secret in the lab's namespace, of type nodrop.dev/device, with the key
	// community (version 2c), or user, authenticationPassword and privacyPassword (version 3). Only the
	// pod that reads the meter has it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// accuracyPPM is the error of the meter that grows with the power, in parts per million of the
	// reading, by its data sheet.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500000
	AccuracyPPM *int32 `json:"accuracyPPM,omitempty"`
	// accuracyMilliwatts is the error of the meter that does not depend on the power, in mW, by its data
	// sheet. At least half of what the meter can show apart is taken.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	AccuracyMilliwatts int32 `json:"accuracyMilliwatts,omitempty"`
	// settle is how long the meter takes until it shows another load, such as the time over which it
	// averages: 0s to 60s. Readings in this time of a trial are left out.
	// +optional
	// +default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('60s')",messageExpression="'settle is ' + self + ': give 0s to 60s, a number with one of the units ns, us, ms, s, m and h'"
	Settle *metav1.Duration `json:"settle,omitempty"`
	// interval between two readings, 100ms to 60s.
	// +optional
	// +default="1s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('60s')",messageExpression="'interval is ' + self + ': give 100ms to 60s, a number with one of the units ns, us, ms, s, m and h'"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// SNMPPowerMeter reaches a meter by SNMP.
//
// +kubebuilder:validation:XValidation:rule="self.outlets.all(o, has(o.switch)) || !self.outlets.exists(o, has(o.switch))",message="outlets has some with and some without switch: a device keeps running on a power supply whose outlet stays on, so give a switch to each of them, or to none"
type SNMPPowerMeter struct {
	// address is host:port of the SNMP agent, such as 192.0.2.9:161.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:XValidation:rule="self.matches('^([-a-zA-Z0-9._]+|[[][0-9a-fA-F:.]+[]]):[1-9][0-9]{0,4}$')",messageExpression="'\"' + self + '\" is not an address: give host:port, such as 192.0.2.9:161 or [2001:db8::9]:161'"
	Address string `json:"address"`
	// authentication is the algorithm by which version 3 authenticates messages. Privacy is by AES-128.
	// +optional
	// +default="SHA256"
	Authentication SNMPAuthentication `json:"authentication,omitempty"`
	// outlets are the objects whose sum is the power of the device: one for each of its power supplies.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Outlets []PowerOutlet `json:"outlets"`
}

// PowerOutlet is an object of SNMP with a power.
type PowerOutlet struct {
	// oid of the object, with its index: 1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-2]([.](0|[1-9][0-9]{0,9}))+$')",messageExpression="'oid is \"' + self + '\": give numbers with dots between them, without a dot in front, such as 1.3.6.1.2.1.99.1.1.1.4.1'"
	OID string `json:"oid"`
	// milliwattsPerUnit is the power that 1 of the object means, in mW: 1000 for an object in W, 100 for one in tenths of W.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MilliwattsPerUnit int32 `json:"milliwattsPerUnit"`
	// switch turns the outlet off and on, for the test reset with kind Power and trigger Device. With version 2c the key
	// writeCommunity of the Secret is used, or else community.
	// +optional
	Switch *OutletSwitch `json:"switch,omitempty"`
}

// OutletSwitch is an object of SNMP that turns an outlet off and on.
//
// +kubebuilder:validation:XValidation:rule="self.on != self.off",messageExpression="'on and off are both %d: give the two values of the MIB of the power distribution unit'.format([self.on])"
type OutletSwitch struct {
	// oid of the object, with its index: 1.3.6.1.4.1.318.1.1.26.9.2.4.1.5.3.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-2]([.](0|[1-9][0-9]{0,9}))+$')",messageExpression="'oid is \"' + self + '\": give numbers with dots between them, without a dot in front, such as 1.3.6.1.4.1.318.1.1.26.9.2.4.1.5.3'"
	OID string `json:"oid"`
	// on is the value that turns the outlet on at once.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	On int32 `json:"on"`
	// off is the value that turns the outlet off at once.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Off int32 `json:"off"`
}

// Power returns how NoDrop reads the power of a device; nil if it does not.
func (d *Device) Power() *PowerMeter {
	if d.Physical == nil {
		return nil
	}
	return d.Physical.Power
}

// Address returns where the meter is read, for all kinds of meters.
func (m *PowerMeter) Address() string {
	if m.SNMP == nil {
		return ""
	}
	return m.SNMP.Address
}

// Switches reports whether NoDrop may take the power of the device away.
func (m *PowerMeter) Switches() bool {
	return m != nil && m.SNMP != nil && len(m.SNMP.Outlets) > 0 && m.SNMP.Outlets[0].Switch != nil
}

// Every returns the interval of readings, with the default.
func (m *PowerMeter) Every() time.Duration {
	if m.Interval == nil {
		return time.Second
	}
	return m.Interval.Duration
}

// Settling returns how long the meter takes until it shows another load, with the default.
func (m *PowerMeter) Settling() time.Duration {
	if m.Settle == nil {
		return 5 * time.Second
	}
	return m.Settle.Duration
}

// Constant returns the error of the meter that does not depend on the power, in mW: at least half of the smallest
// step of each outlet.
func (m *PowerMeter) Constant() int64 {
	steps := int64(0)
	if m.SNMP != nil {
		for _, o := range m.SNMP.Outlets {
			steps += int64(o.MilliwattsPerUnit)
		}
	}
	return max(int64(m.AccuracyMilliwatts), (steps+1)/2)
}

// Growing returns the error of the meter that grows with the power, in parts per million, with the default.
func (m *PowerMeter) Growing() int64 {
	if m.AccuracyPPM == nil {
		return 10_000
	}
	return int64(*m.AccuracyPPM)
}
