package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RouteRefreshTest asks the device by ROUTE-REFRESH (RFC 2918) for all routes of a session
// once more while frames are sent, and measures how long it takes until the whole table
// has come again. No frame may be lost meanwhile. It needs a traffic profile with routes.
type RouteRefreshTest struct {
	// session that asks, by its name; the first one to which the device advertises routes
	// without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=48
	Session string `json:"session,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found.
	// +optional
	// +kubebuilder:default="90%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent before the first request.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'leadTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// interval is the time from a request to the next one, and from the last one to the end of
	// the trial. A table that takes longer is not seen.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'interval is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	Interval metav1.Duration `json:"interval,omitzero"`
	// refreshes is the number of requests for the routes in the trial.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Refreshes int32 `json:"refreshes,omitempty"`
}

// BGPRestartTest restarts the BGP of the device while frames are sent to learned routes, and
// measures for how long frames are lost (RFC 6412 section 3.4, loss-derived time) and how
// long it takes until all sessions and all routes are back. Graceful restart is off. It
// needs a traffic profile with routes, and a device whose BGP the lab can restart: the
// router that nodrop run starts, or a simulated device.
type BGPRestartTest struct {
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found.
	// +optional
	// +kubebuilder:default="90%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent before the restart.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'leadTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// recoveryTime is the time for which frames are sent after the beginning of the restart.
	// Longer recoveries are not seen.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",messageExpression="'recoveryTime is ' + self + ': give 1s to 24h, a number with one of the units ns, us, ms, s, m and h'"
	RecoveryTime metav1.Duration `json:"recoveryTime,omitzero"`
	// restarts is the number of restarts, each in a separate trial.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Restarts int32 `json:"restarts,omitempty"`
}

// SessionScaleTest searches how many of the BGP sessions of the bed are established together,
// and measures how long that takes and what these sessions survive: routes that are
// withdrawn and announced again. No test frames are sent, so that it makes one row. The
// number of sessions is doubled until some do not come up, and then halved in between.
type SessionScaleTest struct {
	// first is the number of sessions with which the search begins.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	First int32 `json:"first,omitempty"`
	// resolution is the accuracy of the result, as a number of sessions.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Resolution int32 `json:"resolution,omitempty"`
	// waitTime is the time within which all sessions must be established.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",messageExpression="'waitTime is ' + self + ': give 1s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime metav1.Duration `json:"waitTime,omitzero"`
	// soakTime is the time for which the sessions must stay established after that.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",messageExpression="'soakTime is ' + self + ': give 0s to 24h, a number with one of the units ns, us, ms, s, m and h'"
	SoakTime *metav1.Duration `json:"soakTime,omitempty"`
	// flapInterval is the interval at which, in that time, the routes of one session are
	// withdrawn and announced again, of each session in turn. Without routes in the traffic
	// profile no routes are withdrawn.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('10ms') && duration(self) <= duration('24h')",messageExpression="'flapInterval is ' + self + ': give 10ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	FlapInterval metav1.Duration `json:"flapInterval,omitzero"`
}
