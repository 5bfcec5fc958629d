package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Reservation keeps beds for a team at a time: for a person's hands-on time, or for
// benchmarks that name the reservation. No other benchmark starts on a reserved bed that
// would not end before the reservation begins. In the lab's namespace a reservation is a
// maintenance window, in which no benchmark runs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rsv,categories=nodrop
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Beds",type=string,JSONPath=`.status.beds[*].name`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.occurrence.from`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.occurrence.until`
// +kubebuilder:printcolumn:name="Conflict",type=string,JSONPath=`.status.conditions[?(@.type=="Conflict")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Reservation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec defines which beds are reserved, and when.
	// +required
	Spec ReservationSpec `json:"spec"`
	// status contains the state of the reservation as known to the operator.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ReservationStatus `json:"status,omitempty"`
}

// ReservationList is a list of reservations.
//
// +kubebuilder:object:root=true
type ReservationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Reservation `json:"items"`
}

// ReservationSpec defines which beds are reserved, and when. If reservations overlap, the one
// that was created first has the bed. For this reason only until, purpose and exceptions can
// be changed later.
//
// +kubebuilder:validation:ExactlyOneOf=testBedNames;testBedSelector
// +kubebuilder:validation:XValidation:rule="self.from < self.until",message="until is not after from: give a later until",fieldPath=".until"
// +kubebuilder:validation:XValidation:rule="self.until - self.from <= duration('720h')",message="the reservation is longer than 720h (30 days), the limit for the lab itself; the limit for a team is maxDuration of its grant of each bed, 24h by default: give an earlier until, or make several reservations",fieldPath=".until"
// +kubebuilder:validation:XValidation:rule="self.from >= timestamp('2020-01-01T00:00:00Z')",message="from is before 2020-01-01T00:00:00Z: give a later time",fieldPath=".from"
// +kubebuilder:validation:XValidation:rule="self.from == oldSelf.from && has(self.testBedNames) == has(oldSelf.testBedNames) && (!has(self.testBedNames) || self.testBedNames == oldSelf.testBedNames) && has(self.testBedSelector) == has(oldSelf.testBedSelector) && (!has(self.testBedSelector) || self.testBedSelector == oldSelf.testBedSelector) && has(self.recurrence) == has(oldSelf.recurrence) && (!has(self.recurrence) || (self.recurrence.rule == oldSelf.recurrence.rule && self.recurrence.timeZone == oldSelf.recurrence.timeZone))",message="beds, from and the rule of a Reservation cannot be changed (only until, purpose and recurrence.exceptions can): delete it, and apply it again"
type ReservationSpec struct {
	// testBedNames names the beds. All of them are reserved.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	TestBedNames []string `json:"testBedNames,omitempty"`
	// testBedSelector reserves all beds with these labels that allow this namespace; in
	// the lab's namespace all with these labels.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || self.matchLabels.size() <= 16) && (!has(self.matchExpressions) || self.matchExpressions.size() <= 16 && self.matchExpressions.all(e, !has(e.values) || e.values.size() <= 32))",message="the selector has more than 16 matchLabels, 16 matchExpressions, or 32 values of an expression: give objects that belong together a label of their own, and select that"
	TestBedSelector *metav1.LabelSelector `json:"testBedSelector,omitempty"`
	// from is the time at which the reservation begins, or begins first if it recurs.
	// +required
	From metav1.Time `json:"from"`
	// until is the time at which the reservation ends, or ends first if it recurs. The grants
	// of the beds limit its length (maxDuration). A reservation of the lab is limited to 720h.
	// +required
	Until metav1.Time `json:"until"`
	// purpose is for people of this namespace. Others are not shown it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Purpose string `json:"purpose,omitempty"`
	// recurrence repeats the reservation. Without it there is one.
	// +optional
	Recurrence *Recurrence `json:"recurrence,omitempty"`
}

// Recurrence repeats a reservation by a rule of RFC 5545, each time as long as the first.
type Recurrence struct {
	// rule is an RRULE of RFC 5545 section 3.3.10, such as FREQ=WEEKLY;BYDAY=MO,WE. The
	// parts are FREQ (DAILY, WEEKLY, MONTHLY or YEARLY), INTERVAL, COUNT, UNTIL, BYDAY,
	// BYMONTHDAY, BYMONTH, BYSETPOS and WKST. The time of day is the one of from, which must
	// be the first time of the rule.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Rule string `json:"rule"`
	// timeZone is the zone of the IANA database in which days and the time of day are
	// counted, such as Europe/Berlin, so that a nightly window keeps its hour in summer.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TimeZone string `json:"timeZone,omitempty"`
	// exceptions are the times at which occurrences begin that are left out.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Exceptions []metav1.Time `json:"exceptions,omitempty"`
}

// ReservationPhase is the phase of a reservation in its life cycle.
//
// +kubebuilder:validation:Enum=Pending;Scheduled;Active;Ended
type ReservationPhase string

const (
	// ReservationPending means that it reserves no bed at present; the condition Accepted
	// contains the reason.
	ReservationPending ReservationPhase = "Pending"
	// ReservationScheduled means that it will begin.
	ReservationScheduled ReservationPhase = "Scheduled"
	// ReservationActive means that it has a bed now.
	ReservationActive ReservationPhase = "Active"
	// ReservationEnded means that there is no occurrence to come.
	ReservationEnded ReservationPhase = "Ended"
)

// ReservationStatus contains the state of a reservation as known to the operator.
type ReservationStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the current phase of the reservation.
	// +optional
	Phase ReservationPhase `json:"phase,omitempty"`
	// message explains the phase in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are Accepted, Active and Conflict, of beds with connection data
	// ConnectionData, and for tools that watch any kind of object Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// occurrence is the one in progress, or else the next one within 90 days; after the end
	// of a reservation that does not recur, the last one.
	// +optional
	Occurrence *ReservedTime `json:"occurrence,omitempty"`
	// beds are the beds that it reserves, by name, 64 at most.
	// +optional
	// +listType=map
	// +listMapKey=name
	Beds []ReservedBed `json:"beds,omitempty"`
	// connectionSecretName is the Secret of this namespace with the connection data of the beds
	// that the reservation has now; empty while it has none. The data of a bed are its keys
	// that begin with the name of the bed and an underscore.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConnectionSecretName string `json:"connectionSecretName,omitempty"`
	// lastReminder is the last event that was made of an occurrence.
	// +optional
	LastReminder *Reminder `json:"lastReminder,omitempty"`
}

// ConnectionSecretType is the type of a Secret whose data may be handed out. The type of a
// Secret cannot be changed, so that no other Secret of the lab can be handed out by its name.
const ConnectionSecretType = "nodrop.dev/connection" //nolint:gosec // a type, not a secret

// ConnectionSecretName is the name of the Secret with connection data in each namespace that
// has reserved beds. It is the same everywhere, so that the operator needs rights on Secrets of
// this name only.
const ConnectionSecretName = "nodrop-connections"

// ReservedTime is the time from from until until, which does not belong to it.
type ReservedTime struct {
	// from is its begin.
	// +required
	From metav1.Time `json:"from"`
	// until is its end.
	// +required
	Until metav1.Time `json:"until"`
}

// ReservedBed is one bed of a reservation.
type ReservedBed struct {
	// name of the bed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// current is the time in progress in which the bed is kept for the reservation. It is
	// shorter than the occurrence where another reservation has a part of it.
	// +optional
	Current *ReservedTime `json:"current,omitempty"`
	// next is the next such time within 90 days.
	// +optional
	Next *ReservedTime `json:"next,omitempty"`
	// occupiedBy is the benchmark that has the bed during the reservation and does not name
	// it, as namespace/name: it had the bed before. The bed is kept once it has ended.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	OccupiedBy string `json:"occupiedBy,omitempty"`
}

// Reminder is an event that was made of an occurrence, so that it is not made twice.
type Reminder struct {
	// reason of the event: BeginsSoon, Begun, EndsSoon or Ended.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// from is the time at which the occurrence in question begins.
	// +required
	From metav1.Time `json:"from"`
}
