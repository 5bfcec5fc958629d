package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LabPolicyName is the name of the one LabPolicy of a cluster.
const LabPolicyName = "lab"

// LabPolicy defines how teams share the beds of the lab: the teams, their weights and limits,
// and the priority classes. There is one, with the name lab. Without it the queue is ordered
// by priority, then first come, over all namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=labpolicies,categories=nodrop
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'lab'",message="a cluster has one LabPolicy: name it lab"
// +kubebuilder:printcolumn:name="Window",type=string,JSONPath=`.spec.window`
// +kubebuilder:printcolumn:name="Teams",type=string,JSONPath=`.spec.teams[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LabPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec defines how teams share beds.
	// +required
	Spec LabPolicySpec `json:"spec"`
	// status contains the bed usage of the teams.
	// +optional
	Status LabPolicyStatus `json:"status,omitempty"`
}

// LabPolicyList is a list of lab policies.
//
// +kubebuilder:object:root=true
type LabPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LabPolicy `json:"items"`
}

// LabPolicySpec defines how teams share beds.
type LabPolicySpec struct {
	// window is the time over which shares are kept, 1h to 168h. A team that has had less
	// in it than it was due comes first.
	// +optional
	// +kubebuilder:default="6h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1h') && duration(self) <= duration('168h')",messageExpression="'window is ' + self + ': give 1h to 168h, a number with one of the units ns, us, ms, s, m and h'"
	Window metav1.Duration `json:"window,omitzero"`
	// poolLabel is the label of TestBeds whose value is the pool of a bed. The beds of each
	// pool are shared for themselves, so that a team that uses much of one pool is not held
	// back in another. By default all beds are one pool.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PoolLabel string `json:"poolLabel,omitempty"`
	// maxReservationsPerBed is the maximum number of reservations of a bed that have not ended, of
	// all teams. A further one is refused. Maintenance windows do not count. The limit also
	// applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReservationsPerBed int32 `json:"maxReservationsPerBed,omitempty"`
	// maxAllObjectsMiB is the size of all benchmarks, schedules, traffic profiles, reservations and notification sinks that the
	// lab has room for, in MiB as maxObjectsMiB counts them. A team may have twice what all teams leave free of it, and 1 MiB in
	// any case: 32 MiB if it is alone, and less the more the others have. The operator needs up to 6 MB of memory for each MiB.
	// The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=48
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxAllObjectsMiB int32 `json:"maxAllObjectsMiB,omitempty"`
	// teams are sets of namespaces. A namespace belongs to the first team that selects it;
	// one that no team selects is a team of its own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Teams []Team `json:"teams,omitempty"`
	// others are weight and limits of each namespace that no team selects.
	// +optional
	// +kubebuilder:default={}
	Others TeamShare `json:"others,omitzero"`
	// priorityClasses are the names that benchmarks can give as priorityClassName. Which
	// values a namespace may use on a bed is bounded by maxPriority of its grant.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	PriorityClasses []PriorityClass `json:"priorityClasses,omitempty"`
	// aging raises the priority of what waits, so that no benchmark of a team waits behind
	// newer ones of a higher priority for ever. Without it priority is never raised.
	// +optional
	Aging *Aging `json:"aging,omitempty"`
}

// Team is a set of namespaces that share.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.selector)",message="a team selects namespaces by namespaces, by selector, or by both: give one of them"
type Team struct {
	// name of the team.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a team: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// namespaces lists namespaces of the team.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// selector selects namespaces by their labels, in addition to namespaces.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// TeamShare is its weight and its limits.
	TeamShare `json:",inline"`
}

// TeamShare is the weight of a team, and its limits.
type TeamShare struct {
	// weight is the share of the team where teams compete: one of weight 2 is due twice as
	// much bed time as one of weight 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight,omitempty"`
	// maxRunning is the maximum number of benchmarks of the team that may have beds at once.
	// Further ones wait. Without it there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxRunning int32 `json:"maxRunning,omitempty"`
	// maxQueued is the maximum number of benchmarks of the team that may wait. A further one
	// is refused. Without it there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxQueued int32 `json:"maxQueued,omitempty"`
	// maxBedHoursPerWeek is the maximum number of hours for which the benchmarks of the team
	// may have had beds within the last 168 hours, counted over all beds. Further benchmarks
	// wait once it is reached. Without it there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxBedHoursPerWeek int32 `json:"maxBedHoursPerWeek,omitempty"`
	// maxReservedBedHoursPerWeek is the maximum number of hours for which the reservations of
	// the team may have beds within any future 168 hours, counted over all beds. A reservation
	// that would exceed it is refused. Without it there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxReservedBedHoursPerWeek int32 `json:"maxReservedBedHoursPerWeek,omitempty"`
	// maxReservations is the maximum number of reservations of the team that have not ended. A
	// further one is refused. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReservations int32 `json:"maxReservations,omitempty"`
	// maxReservedPoolPercent is the maximum share of the beds of a pool, in percent, that
	// reservations of the team keep at one time, of the beds that other teams may use, too. A
	// reservation of more than one bed that would exceed it is refused. Below 100, one bed of
	// two or more stays free. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReservedPoolPercent int32 `json:"maxReservedPoolPercent,omitempty"`
	// maxBenchmarks is the maximum number of benchmarks of the team that exist, waiting, running or finished. A further one
	// is refused. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=2000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxBenchmarks int32 `json:"maxBenchmarks,omitempty"`
	// maxSchedules is the maximum number of schedules of the team. A further one
	// is refused. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxSchedules int32 `json:"maxSchedules,omitempty"`
	// maxTrafficProfiles is the maximum number of traffic profiles of the team. A further one
	// is refused. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=500
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxTrafficProfiles int32 `json:"maxTrafficProfiles,omitempty"`
	// maxNotificationSinks is the maximum number of notification sinks of the team. A further one
	// is refused. The limit also applies without a LabPolicy.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxNotificationSinks int32 `json:"maxNotificationSinks,omitempty"`
	// maxObjectsMiB is the maximum size of all benchmarks, schedules, traffic profiles, reservations and notification sinks of
	// the team together, in MiB as JSON, with status and without annotations. A further object, and a change by which an object
	// grows, is refused if it exceeds the limit, or what maxAllObjectsMiB leaves to the team. The limit also applies without a
	// LabPolicy.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxObjectsMiB int32 `json:"maxObjectsMiB,omitempty"`
}

// Limits of a team and of a bed where the LabPolicy has none, or where there is no LabPolicy.
const (
	DefaultMaxBenchmarks          = 2000
	DefaultMaxSchedules           = 200
	DefaultMaxTrafficProfiles     = 500
	DefaultMaxNotificationSinks   = 50
	DefaultMaxObjectsMiB          = 32
	DefaultMaxAllObjectsMiB       = 48
	DefaultMaxReservations        = 50
	DefaultMaxReservedPoolPercent = 50
	DefaultMaxReservationsPerBed  = 100
	// DefaultPoolLabel is the label of TestBeds whose value is the pool of a bed for the limits
	// of reservations, without poolLabel of a LabPolicy.
	DefaultPoolLabel = "nodrop.dev/pool"
)

// PriorityClass is a name for a priority.
type PriorityClass struct {
	// name of the class.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a priority class: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// value is the priority of its benchmarks, -1000 to 1000.
	// +required
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	Value int32 `json:"value"`
	// preempts reports whether benchmarks of the class preempt. They come before all benchmarks
	// of other classes, of all teams. If no bed is free, the lab takes one for them from a
	// preemptible benchmark of lower priority. Their use counts in the share of their team.
	// +optional
	Preempts bool `json:"preempts,omitempty"`
}

// Aging raises the priority of what waits.
type Aging struct {
	// interval after which the priority of a benchmark that waits is raised each time, 1m
	// to 168h.
	// +optional
	// +kubebuilder:default="6h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",messageExpression="'interval is ' + self + ': give 1m to 168h, a number with one of the units ns, us, ms, s, m and h'"
	Interval metav1.Duration `json:"interval,omitzero"`
	// points by which it is raised.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Points int32 `json:"points,omitempty"`
	// maxPriority is the priority up to which it is raised.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	MaxPriority int32 `json:"maxPriority,omitempty"`
}

// LabPolicyStatus contains the bed usage of the teams.
type LabPolicyStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// teams lists the teams that use beds, or used beds within the window, at most 256.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Teams []TeamStanding `json:"teams,omitempty"`
}

// TeamStanding contains the bed usage of a team.
type TeamStanding struct {
	// name of the team, or of the namespace that is a team of its own.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// weight of the team.
	// +required
	Weight int32 `json:"weight"`
	// running is the number of benchmarks of the team that have beds.
	// +required
	Running int32 `json:"running"`
	// queued is the number of benchmarks of the team that wait for a bed.
	// +required
	Queued int32 `json:"queued"`
	// bedHoursInWeek is the time for which benchmarks of the team had beds within the last 168
	// hours, in full hours.
	// +optional
	BedHoursInWeek int32 `json:"bedHoursInWeek"`
	// pools contains the bed usage of the team in each pool, at most 32 pools.
	// +optional
	// +listType=map
	// +listMapKey=pool
	// +kubebuilder:validation:MaxItems=32
	Pools []PoolStanding `json:"pools,omitempty"`
}

// PoolStanding contains the bed usage of a team in a pool of beds.
type PoolStanding struct {
	// pool is the value of the pool's label; empty for beds without it.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool"`
	// due is the bed time that the team was due within the window: its share by weight of
	// what it could have used.
	// +required
	Due metav1.Duration `json:"due"`
	// had is the bed time that it has had.
	// +required
	Had metav1.Duration `json:"had"`
	// behind is due less had, and less what its running benchmarks will still use within the
	// next half hour. Divided by the weight it orders the teams: the highest comes first.
	// +required
	Behind metav1.Duration `json:"behind"`
}
