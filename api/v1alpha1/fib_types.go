package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FIBTruthTest announces routes while a frame is sent to each of them in turn, and then checks
// each route on its own: whether the device forwards to it, drops the frames, or sends them
// out of another port. It makes one row. It needs a traffic profile with routes to which
// frames go, and an engine that knows when the first frame to each destination arrives.
type FIBTruthTest struct {
	// routes is the name of the set of routes of the traffic profile that the test is
	// about; the first one without it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Routes string `json:"routes,omitempty"`
	// probesPerSecond is the number of frames per second that are sent to all routes
	// together, at most half of line rate. Each route gets a frame in a turn, which takes
	// the number of routes divided by probesPerSecond: delays are no finer than that.
	// +optional
	// +kubebuilder:default=50000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000000
	ProbesPerSecond int32 `json:"probesPerSecond,omitempty"`
	// rounds is the number of frames that are sent to each route after the device has
	// finished. A route counts as dropped if none of them arrives at any port.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=100
	Rounds int32 `json:"rounds,omitempty"`
	// waitTime is the time without a frame to a further route after which the device has
	// finished, if it does not forward to all of them.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('1h')",messageExpression="'waitTime is ' + self + ': give 100ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime metav1.Duration `json:"waitTime,omitzero"`
}

// FIBTruthSummary contains the number of announced routes by what the device does with frames
// to them, and when it began to forward.
type FIBTruthSummary struct {
	// routes is the number of routes that were announced, and to each of which frames were
	// sent.
	// +required
	Routes int64 `json:"routes"`
	// forwarded is the number of routes of which frames arrived at the port that announced
	// them, and at no other port.
	// +required
	Forwarded int64 `json:"forwarded"`
	// dropped is the number of routes of which no frame arrived at any port in all rounds.
	// +required
	Dropped int64 `json:"dropped"`
	// misrouted is the number of routes of which a frame arrived at a port that did not
	// announce them.
	// +required
	Misrouted int64 `json:"misrouted"`
	// forgotten is the number of dropped routes to which the device had forwarded before.
	// +optional
	Forgotten int64 `json:"forgotten"`
	// rounds is the number of frames that were sent to each route.
	// +required
	Rounds int32 `json:"rounds"`
	// lostProbes is the number of frames to forwarded routes that did not arrive. Others to
	// the same route did.
	// +optional
	LostProbes int64 `json:"lostProbes"`
	// droppedPrefixes are the first 100 dropped routes, in the order of the announcements.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=64
	DroppedPrefixes []string `json:"droppedPrefixes,omitempty"`
	// misroutedPrefixes are the first 100 misrouted routes, in the order of the
	// announcements.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	MisroutedPrefixes []MisroutedPrefix `json:"misroutedPrefixes,omitempty"`
	// delay is the time from the UPDATE of a route to its first forwarded frame. It is absent
	// if the sessions and the receiving ports are on different hosts, or no frame was
	// forwarded.
	// +optional
	Delay *FIBDelay `json:"delay,omitempty"`
}

// MisroutedPrefix is a route whose frames arrived at a wrong port.
type MisroutedPrefix struct {
	// prefix of the route.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Prefix string `json:"prefix"`
	// port is the name of the wrong port at which frames arrived; the first of several.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Port string `json:"port"`
}

// FIBDelay is the distribution of the delay from the control plane to the data plane. Each
// delay counts from the moment at which the tester began to hand over the UPDATE messages with
// the route to the arrival of the first frame to it. The device began to forward at most
// resolutionNs earlier.
type FIBDelay struct {
	// routes is the number of routes whose delay was measured.
	// +required
	Routes int64 `json:"routes"`
	// p50Ns is the delay that half of the routes do not exceed, in nanoseconds.
	// +required
	P50Ns int64 `json:"p50Ns"`
	// p99Ns is the delay that 99 % of the routes do not exceed, in nanoseconds.
	// +required
	P99Ns int64 `json:"p99Ns"`
	// lastNs is the longest delay, in nanoseconds.
	// +required
	LastNs int64 `json:"lastNs"`
	// resolutionNs is the time between two frames to a route and the time in which the UPDATE
	// messages around it were handed over, together, in nanoseconds.
	// +required
	ResolutionNs int64 `json:"resolutionNs"`
}
