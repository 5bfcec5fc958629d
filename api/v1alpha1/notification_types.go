package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NotificationSink is a receiver of CloudEvents about the benchmarks of its namespace. Every
// event is signed, and sent again until the receiver takes it or the time for it is over.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=nsink,categories=nodrop
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastDelivery.time`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.lastDelivery.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NotificationSink struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec defines the events that are sent, and their receiver.
	// +required
	Spec NotificationSinkSpec `json:"spec"`
	// status contains the state of the receiver as known to the operator.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status NotificationSinkStatus `json:"status,omitempty"`
}

// NotificationSinkList is a list of sinks.
//
// +kubebuilder:object:root=true
type NotificationSinkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NotificationSink `json:"items"`
}

// NotificationSinkSpec defines the events that are sent, and their receiver.
type NotificationSinkSpec struct {
	// url of the receiver. It begins with https://, names a host that the owner of the lab
	// allows, and has neither a user nor a fragment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != ''",message="url is not an https:// URL with a host: give one such as https://hooks.example.com/nodrop"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[a-z]+://[^/]*@')",message="url has a user: leave it out; events are signed with the secret of secretRef"
	// +kubebuilder:validation:XValidation:rule="!self.contains('#')",message="url has a fragment, which is not sent: leave out what follows #"
	URL string `json:"url"`
	// events are the kinds of events that are sent.
	// +optional
	// +kubebuilder:default={Finished}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Events []NotificationEvent `json:"events,omitempty"`
	// benchmarkSelector chooses benchmarks by their labels. Without it all of the namespace
	// are meant.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || self.matchLabels.size() <= 16) && (!has(self.matchExpressions) || self.matchExpressions.size() <= 16 && self.matchExpressions.all(e, !has(e.values) || e.values.size() <= 32))",message="the selector has more than 16 matchLabels, 16 matchExpressions, or 32 values of an expression: give objects that belong together a label of their own, and select that"
	BenchmarkSelector *metav1.LabelSelector `json:"benchmarkSelector,omitempty"`
	// secretRef names the Secret with which events are signed (Standard Webhooks). The
	// operator may read it only if a Role of the namespace allows it.
	// +required
	SecretRef NotificationSecret `json:"secretRef"`
	// retrySeconds is the time in seconds after an event during which a failed delivery is
	// repeated. A benchmark that is due to be deleted waits at most this long for the
	// delivery. The default is one hour.
	// +optional
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	RetrySeconds int32 `json:"retrySeconds,omitempty"`
	// suspend stops new events and further attempts. Those whose time is over meanwhile are
	// not sent.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// NotificationSecret names a Secret in the same namespace.
type NotificationSecret struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key of the value: whsec_ and base64 of 24 to 64 random bytes. Several, with spaces
	// between them, sign each event several times, so that a receiver can change from one to
	// the next.
	// +optional
	// +kubebuilder:default=secret
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// NotificationEvent is something that a receiver is notified of.
//
// +kubebuilder:validation:Enum=Finished;GateFailed;GateInconclusive;LabFailed;Regression
type NotificationEvent string

const (
	// NotifyFinished is the end of a benchmark, however it ended.
	NotifyFinished NotificationEvent = "Finished"
	// NotifyGateFailed is a gate that failed.
	NotifyGateFailed NotificationEvent = "GateFailed"
	// NotifyGateInconclusive is sent if no gate failed and at least one is inconclusive.
	NotifyGateInconclusive NotificationEvent = "GateInconclusive"
	// NotifyLabFailed is a benchmark that ended with Error or Invalid.
	NotifyLabFailed NotificationEvent = "LabFailed"
	// NotifyRegression is a figure whose level became worse in the history of the benchmark.
	NotifyRegression NotificationEvent = "Regression"
)

// NotificationState is the state of the delivery of an event.
//
// +kubebuilder:validation:Enum=Pending;Delivered;Failed
type NotificationState string

const (
	// NotificationPending means that the event is sent, or sent again.
	NotificationPending NotificationState = "Pending"
	// NotificationDelivered means that the receiver took the event.
	NotificationDelivered NotificationState = "Delivered"
	// NotificationFailed means that the event is not sent any more.
	NotificationFailed NotificationState = "Failed"
)

// Notification is an event of a benchmark for one sink.
type Notification struct {
	// sink is the name of the NotificationSink.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Sink string `json:"sink"`
	// event is the kind of event. The identifier of the event is the UID of the benchmark, a
	// slash and this value.
	// +required
	Event NotificationEvent `json:"event"`
	// time is the time at which the operator decided to send the event.
	// +required
	Time metav1.Time `json:"time"`
	// state is the state of the delivery.
	// +required
	State NotificationState `json:"state"`
	// attempts is the number of delivery attempts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempts int32 `json:"attempts,omitempty"`
	// nextAttempt is the time of the next attempt; absent unless the delivery is pending.
	// +optional
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`
	// message is the reason why the last attempt failed. Of the receiver's answer it contains
	// only the status code.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	Message string `json:"message,omitempty"`
}

// NotificationSinkStatus contains the state of a receiver as known to the operator.
type NotificationSinkStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and, for tools that watch any kind of object, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// lastDelivery is the event that was sent last, or that was given up.
	// +optional
	LastDelivery *NotificationDelivery `json:"lastDelivery,omitempty"`
}

// NotificationDelivery is the last attempt of a sink.
type NotificationDelivery struct {
	// benchmark is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Benchmark string `json:"benchmark"`
	// event is the kind of event.
	// +required
	Event NotificationEvent `json:"event"`
	// time of the attempt.
	// +required
	Time metav1.Time `json:"time"`
	// state is the result of the attempt.
	// +required
	State NotificationState `json:"state"`
	// message is the reason why the attempt failed.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	Message string `json:"message,omitempty"`
}

// Reasons of the condition Ready of a NotificationSink.
const (
	// ReasonSinkReady means that events can be sent.
	ReasonSinkReady = "SinkReady"
	// ReasonHostNotAllowed means that the owner of the lab does not allow the host of the URL.
	ReasonHostNotAllowed = "HostNotAllowed"
	// ReasonSecretUnreadable means that the Secret is missing, that the operator may not read
	// it, or that it has no key to sign with.
	ReasonSecretUnreadable = "SecretUnreadable"
	// ReasonSinkInvalid means that the sink cannot work as it is written.
	ReasonSinkInvalid = "SinkInvalid"
	// ReasonSinkSuspended means that spec.suspend is set.
	ReasonSinkSuspended = "Suspended"
)
