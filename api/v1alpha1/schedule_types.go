package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BenchmarkSchedule makes benchmarks from a template at the times of a cron expression. It
// is to a Benchmark what a CronJob is to a Job. Its benchmarks have no owner: they stay
// when the schedule is deleted, and one of the same name goes on with them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bmsched,categories=nodrop
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Suspend",type=boolean,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeCount`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Passed",type=string,JSONPath=`.status.conditions[?(@.type=="LastRunPassed")].status`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BenchmarkSchedule struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec defines the times and the benchmarks of the schedule.
	// +required
	Spec BenchmarkScheduleSpec `json:"spec"`
	// status contains the firings of the schedule and their results.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status BenchmarkScheduleStatus `json:"status,omitempty"`
}

// BenchmarkScheduleList is a list of schedules.
//
// +kubebuilder:object:root=true
type BenchmarkScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BenchmarkSchedule `json:"items"`
}

// BenchmarkScheduleSpec defines the times and the benchmarks of a schedule.
type BenchmarkScheduleSpec struct {
	// schedule is a cron expression of five fields, as in a CronJob: minute, hour, day of the
	// month, month, day of the week; or @hourly, @daily, @weekly, @monthly or @yearly.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Schedule string `json:"schedule"`
	// timeZone of the schedule by its name in the IANA database, such as Europe/Berlin. On the
	// day on which clocks go forward, times in the hour that is left out do not come; on the
	// day on which they go back, times in the hour that is doubled come twice.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TimeZone string `json:"timeZone,omitempty"`
	// jitter spreads the schedules of a lab: every firing is late by a time below it, which
	// follows from namespace, name and firing, so that it is always the same.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('24h')",messageExpression="'jitter is ' + self + ': give 0s to 24h, a number with one of the units s, m and h'"
	Jitter *metav1.Duration `json:"jitter,omitempty"`
	// startingDeadlineSeconds is the maximum delay of a firing in seconds. A firing that was
	// missed for longer, because the operator was down or earlier benchmarks were not
	// finished, is skipped. Of the missed firings within the deadline only the latest is made
	// up for. Without a deadline the latest is always made up for.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// concurrencyPolicy defines what happens if benchmarks of the schedule are not finished
	// when it fires. Forbid, the default, waits for them up to startingDeadlineSeconds; Allow
	// fires in any case; Replace aborts them, which keeps their finished rows.
	// +optional
	// +kubebuilder:default=Forbid
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// suspend stops firing. Benchmarks that exist are left alone, and what would have been
	// fired meanwhile is not made up for.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// successfulHistoryLimit is the number of passed benchmarks that are kept for each cell of
	// the matrix. If the lab has an archive, a benchmark is deleted only after its result is
	// archived. By default all are kept for the time that ttlSecondsAfterFinished or the lab
	// sets.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	SuccessfulHistoryLimit *int32 `json:"successfulHistoryLimit,omitempty"`
	// failedHistoryLimit is the same for benchmarks that ended otherwise.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`
	// matrix makes several benchmarks of each firing. Without it there is one.
	// +optional
	Matrix *BenchmarkMatrix `json:"matrix,omitempty"`
	// benchmarkTemplate is the template for every benchmark of the schedule.
	// +required
	BenchmarkTemplate BenchmarkTemplate `json:"benchmarkTemplate"`
}

// ConcurrencyPolicy defines what happens to benchmarks of a schedule that are not finished.
//
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

const (
	// ConcurrencyAllow fires in any case.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid waits until earlier benchmarks are finished.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace aborts earlier benchmarks.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// BenchmarkMatrix has a list for each of some fields of the template. A firing makes a
// benchmark, a cell, for every combination.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.testBedNames) ? size(self.testBedNames) : 1) * (has(self.trafficProfileNames) ? size(self.trafficProfileNames) : 1) * (has(self.frameSizes) ? size(self.frameSizes) : 1) * (has(self.variants) ? size(self.variants) : 1) * (has(self.deviceImages) ? size(self.deviceImages) : 1) * (has(self.testNames) ? size(self.testNames) : 1) <= 64",message="the matrix has too many cells: give lists with at most 64 combinations, or make several schedules"
type BenchmarkMatrix struct {
	// testBedNames are put in place of testBedName or testBedSelector, such as beds with
	// several images of a device.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'testBedNames has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every bed once'"
	TestBedNames []string `json:"testBedNames,omitempty"`
	// trafficProfileNames are put in place of trafficProfileName, such as profiles with
	// several patterns.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'trafficProfileNames has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every profile once'"
	TrafficProfileNames []string `json:"trafficProfileNames,omitempty"`
	// frameSizes in bytes, with the 4-byte FCS, each for a benchmark of its own that measures
	// this size only. A list of frame sizes in the template or in the profile makes one
	// benchmark of all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'frameSizes has %d more than once: name every size once'.format([self.filter(v, !self.exists_one(w, w == v))[0]])"
	FrameSizes []FrameSize `json:"frameSizes,omitempty"`
	// variants of the device, each for a benchmark of its own. A list of variants in the
	// template makes one benchmark that compares them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'variants has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every variant once'"
	Variants []VariantName `json:"variants,omitempty"`
	// deviceImages are put in place of deviceImage: container images of the bed's device that
	// the bed allows.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'deviceImages has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every image once'"
	DeviceImages []DeviceImage `json:"deviceImages,omitempty"`
	// testNames are names of tests of the template, each for a benchmark of its own that runs
	// only this test, with the gates on it. Tests that are not named are not run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w == v))",messageExpression="'testNames has ' + self.filter(v, !self.exists_one(w, w == v))[0] + ' more than once: name every test once'"
	TestNames []string `json:"testNames,omitempty"`
}

// BenchmarkTemplate is the template for benchmarks.
type BenchmarkTemplate struct {
	// metadata of the benchmarks: labels and annotations. Labels of nodrop.dev are added.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`
	// spec of the benchmarks. A change concerns benchmarks that are made from then on.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.abort) || !self.abort",message="abort in a template ends every benchmark at once: set suspend of the schedule to stop it"
	// +kubebuilder:validation:XValidation:rule="!has(self.historyName) || size(self.historyName) <= 189",message="historyName is too long for a template: give at most 189 characters, as the name of a cell is added"
	Spec BenchmarkSpec `json:"spec"`
}

// TemplateMetadata are labels and annotations of benchmarks that are made from a template.
type TemplateMetadata struct {
	// labels of the benchmarks.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the benchmarks.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// BenchmarkScheduleStatus contains the firings of the schedule and their results. It can be
// lost: benchmarks have their firing in their names and labels.
type BenchmarkScheduleStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and LastRunPassed, and for tools that watch any kind of object
	// Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// effective is the schedule that is in force; absent while it is suspended.
	// +optional
	Effective *EffectiveSchedule `json:"effective,omitempty"`
	// firing is the one in hand, until all of its benchmarks are made.
	// +optional
	Firing *Firing `json:"firing,omitempty"`
	// lastScheduleTime is the time of the latest firing, by the schedule and without jitter.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
	// nextScheduleTime is the time of the next firing, with jitter.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// lastSuccessfulTime is the end of the latest finished firing whose benchmarks all passed.
	// +optional
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty"`
	// lastRun is the latest firing whose benchmarks are finished.
	// +optional
	LastRun *ScheduledRun `json:"lastRun,omitempty"`
	// activeCount is the number of benchmarks of the schedule that are not finished.
	// +optional
	ActiveCount int32 `json:"activeCount"`
	// active are the first 64 of them, in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Active []ActiveBenchmark `json:"active,omitempty"`
}

// EffectiveSchedule is a schedule and the time since which it is in force: firings before that
// are not made up for.
type EffectiveSchedule struct {
	// schedule is the value of spec.schedule.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Schedule string `json:"schedule"`
	// timeZone is the value of spec.timeZone.
	// +required
	// +kubebuilder:validation:MaxLength=63
	TimeZone string `json:"timeZone"`
	// since is the time at which the operator first saw the schedule, or at which the
	// BenchmarkSchedule was created.
	// +required
	Since metav1.Time `json:"since"`
}

// Firing is one time of a schedule.
type Firing struct {
	// scheduleTime is its time by the schedule, without jitter.
	// +required
	ScheduleTime metav1.Time `json:"scheduleTime"`
}

// ScheduledRun is a firing whose benchmarks are finished.
type ScheduledRun struct {
	// name of the firing, the value of the label nodrop.dev/firing.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// completionTime is the time at which the last of its benchmarks finished.
	// +required
	CompletionTime metav1.Time `json:"completionTime"`
	// benchmarks is the intended number of benchmarks.
	// +required
	Benchmarks int32 `json:"benchmarks"`
	// passed is the number of benchmarks that passed, or were measured and have no gates.
	// +required
	Passed int32 `json:"passed"`
}

// ActiveBenchmark is a benchmark of a schedule that is not finished.
type ActiveBenchmark struct {
	// name of the benchmark.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the benchmark.
	// +required
	// +kubebuilder:validation:MaxLength=63
	UID string `json:"uid"`
}

// Labels and annotations of the benchmarks of a schedule.
const (
	// LabelSchedule is the name of the schedule.
	LabelSchedule = "nodrop.dev/schedule"
	// LabelFiring is the name of the firing: its time in UTC.
	LabelFiring = "nodrop.dev/firing"
	// LabelCell is the cell of the matrix; absent without a matrix.
	LabelCell = "nodrop.dev/cell"
	// AnnotationFiringSize is the number of benchmarks that the firing makes.
	AnnotationFiringSize = "nodrop.dev/firing-size"
	// AnnotationTriggeredBy is "hand" on benchmarks of a firing that a person asked for.
	AnnotationTriggeredBy = "nodrop.dev/triggered-by"
)

// Reasons of the condition Ready of a BenchmarkSchedule.
const (
	// ReasonScheduled means that the schedule fires at status.nextScheduleTime.
	ReasonScheduled = "Scheduled"
	// ReasonSuspended means that spec.suspend is set.
	ReasonSuspended = "Suspended"
	// ReasonWaitingForEarlier means that a firing is due and waits, by concurrencyPolicy
	// Forbid, for benchmarks that are not finished.
	ReasonWaitingForEarlier = "WaitingForEarlier"
	// ReasonFiring means that a firing is not complete: the schedules of a namespace make
	// benchmarks at a limited rate.
	ReasonFiring = "Firing"
	// ReasonScheduleInvalid means that the cron expression, the time zone or the matrix cannot
	// be used; the message says why.
	ReasonScheduleInvalid = "ScheduleInvalid"
	// ReasonFiringRefused means that benchmarks of the firing in hand were refused, as they
	// fit no bed or exceed a quota. It is tried again until the starting deadline, or until
	// the next firing.
	ReasonFiringRefused = "FiringRefused"
	// ReasonClockBehind means that the last firing is in the future: a clock was set back. The
	// schedule fires again after that time.
	ReasonClockBehind = "ClockBehind"
)

// Condition type and reasons of the last firing of a BenchmarkSchedule.
const (
	// ConditionLastRunPassed reports whether all benchmarks of the latest finished firing
	// passed. It is unknown before the first finished firing.
	ConditionLastRunPassed = "LastRunPassed"
	// ReasonRunPassed means that all passed.
	ReasonRunPassed = "RunPassed"
	// ReasonRunFailed means that some did not pass, or were not made; the message says how
	// many, and how they ended.
	ReasonRunFailed = "RunFailed"
	// ReasonNoRun means that no firing is finished yet.
	ReasonNoRun = "NoRun"
)

// Reasons of events of a BenchmarkSchedule.
const (
	// EventFired means that benchmarks were created.
	EventFired = "Fired"
	// EventFiringsMissed means that firings were skipped.
	EventFiringsMissed = "FiringsMissed"
	// EventFiringRefused means that a benchmark of a firing was refused.
	EventFiringRefused = "FiringRefused"
	// EventReplaced means that earlier benchmarks were aborted to make room.
	EventReplaced = "Replaced"
	// EventRunFailed means that benchmarks of a firing did not pass.
	EventRunFailed = "RunFailed"
)
