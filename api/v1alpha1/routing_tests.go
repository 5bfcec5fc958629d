package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RouteCapacityTest announces routes block by block, and after each waits until another
// session has received all of them from the device, until it does not. Then a frame to each
// route must arrive, where frames of the profile go to the routes. It makes one row. It needs
// a traffic profile with routes, and a bed with a session that announces none of the set.
type RouteCapacityTest struct {
	// routes is the name of the set of routes of the traffic profile that the test is
	// about; the first one without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Routes string `json:"routes,omitempty"`
	// witness is the name of the session that must receive the routes; the first one that
	// does not announce the set without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	Witness string `json:"witness,omitempty"`
	// block is the number of routes that are announced at once. The last block of the set may
	// be smaller.
	// +optional
	// +kubebuilder:default=40000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Block int32 `json:"block,omitempty"`
	// waitTime is the time without a further route at the witness after which the block counts
	// as not held.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1h')",messageExpression="'waitTime is ' + self + ': give 100ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime metav1.Duration `json:"waitTime,omitzero"`
}

// ConvergenceTest measures how long after routes are announced all frames to them are
// forwarded, and how long after they are withdrawn none is (RFC 7747 terms). It needs a
// traffic profile with routes.
type ConvergenceTest struct {
	// routes is the name of the set of routes of the traffic profile that the test is
	// about; the first one without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Routes string `json:"routes,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found.
	// +optional
	// +kubebuilder:default="90%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent before the routes are announced.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'leadTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// announcedTime is the time for which the routes stay announced. Longer times are not
	// seen.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'announcedTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	AnnouncedTime metav1.Duration `json:"announcedTime,omitzero"`
	// withdrawnTime is the time for which frames are sent after the routes are withdrawn.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'withdrawnTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	WithdrawnTime metav1.Duration `json:"withdrawnTime,omitzero"`
	// cycles is the number of measurements.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Cycles int32 `json:"cycles,omitempty"`
	// samplingInterval is the interval at which the rates are read, and the resolution of the
	// times.
	// +optional
	// +kubebuilder:default="100ms"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('1h')",messageExpression="'samplingInterval is ' + self + ': give 10ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	SamplingInterval metav1.Duration `json:"samplingInterval,omitzero"`
}

// RouteFlapTest withdraws some of the routes and announces them again, several times in
// one trial, and measures what becomes of the frames to these networks and to the others.
// It needs a traffic profile with routes; further sets with the same networks and longer
// AS paths are the paths that the device uses meanwhile.
type RouteFlapTest struct {
	// routes is the name of the set of routes of the traffic profile that the test is
	// about; the first one without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Routes string `json:"routes,omitempty"`
	// flapped is the number of routes that flap: the first ones of the set.
	// +optional
	// +kubebuilder:default=50000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Flapped int32 `json:"flapped,omitempty"`
	// flaps is the number of times that they are withdrawn and announced again.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Flaps int32 `json:"flaps,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found.
	// +optional
	// +kubebuilder:default="100%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent before the routes are first withdrawn.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'leadTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// withdrawnTime is the time for which the routes stay withdrawn.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'withdrawnTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	WithdrawnTime metav1.Duration `json:"withdrawnTime,omitzero"`
	// announcedTime is the time for which the routes then stay announced.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'announcedTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	AnnouncedTime metav1.Duration `json:"announcedTime,omitzero"`
	// samplingInterval is the interval at which the rates are read, and the resolution of the
	// times.
	// +optional
	// +kubebuilder:default="100ms"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('1h')",messageExpression="'samplingInterval is ' + self + ': give 10ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	SamplingInterval metav1.Duration `json:"samplingInterval,omitzero"`
}
