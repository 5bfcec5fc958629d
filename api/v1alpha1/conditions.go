package v1alpha1

// Condition types and reasons of a TestBed.
const (
	// ConditionReady reports whether benchmarks can lease the bed.
	ConditionReady = "Ready"
	// ReasonBedReady means that the bed can be leased.
	ReasonBedReady = "BedReady"
	// ReasonBedInvalid means that the bed's description cannot work; the message says why.
	ReasonBedInvalid = "BedInvalid"
	// ReasonResourcesMissing means that a node of the bed, or the cluster, does not
	// offer what traffic pods of the bed ask for; the message says what, and what to
	// install. It is looked for again, so that nothing has to be done once it is there.
	ReasonResourcesMissing = "ResourcesMissing"
	// ConditionQuarantined is true if the clean-up after a benchmark failed, or a hook of the bed. The bed is not
	// leased again until a person has checked it and has set the annotation that
	// AnnotationReleaseQuarantine names. The condition is unknown while the operator cleans up
	// after a benchmark that no longer exists.
	ConditionQuarantined = "Quarantined"
	// ReasonBedQuarantined means that the bed cannot be leased; the condition Quarantined
	// contains the reason.
	ReasonBedQuarantined = "BedQuarantined"
	// ReasonNodeNotReady means that a node of the bed is not ready, and starts no pods.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonBedDeleted means that the bed is being deleted.
	ReasonBedDeleted = "BedDeleted"
	// ReasonChecking means that the operator checks the bed, which it does from time to
	// time.
	ReasonChecking = "Checking"
	// ReasonCleanUpFailed means that the clean-up did not succeed in its time.
	ReasonCleanUpFailed = "CleanUpFailed"
	// ReasonCleanedUp means that nothing of a benchmark is left on the bed.
	ReasonCleanedUp = "CleanedUp"
)

// Condition type and reasons of a TestBed whose interfaces are probed. A bed that is not healthy
// is not ready, for the same reason.
const (
	// ConditionHealthy reports whether the interfaces of the bed were found on their nodes as the
	// bed describes them. It is unknown as long as no probe has found out.
	ConditionHealthy = "Healthy"
	// ReasonHealthy means that the last probe found nothing wrong.
	ReasonHealthy = "Healthy"
	// ReasonProbing means that the bed is being probed before its next lease.
	ReasonProbing = "Probing"
	// ReasonProbeFailed means that a probe did not end with an answer; the message says why. The
	// bed can be leased unless an earlier probe found something wrong.
	ReasonProbeFailed = "ProbeFailed"
	// ReasonInterfaceMissing means that a node does not have the interface of a port.
	ReasonInterfaceMissing = "InterfaceMissing"
	// ReasonLinkDown means that the interface of a port is up and has no link.
	ReasonLinkDown = "LinkDown"
	// ReasonSpeedTooLow means that the link of a port is slower than the bed describes.
	ReasonSpeedTooLow = "SpeedTooLow"
	// ReasonClockWrong means that the clock of a node differs from the clock of the operator.
	ReasonClockWrong = "ClockWrong"
	// ReasonDeviceUnreachable means that the device cannot be reached to configure it.
	ReasonDeviceUnreachable = "DeviceUnreachable"
	// ReasonDeviceRefused means that the device refused the user, or is not the one that it should be. That is tried
	// again at the interval of probes only, since devices lock accounts.
	ReasonDeviceRefused = "DeviceRefused"
	// ReasonConfigurationDiffers means that the device does not have its base configuration; the message
	// has the differences.
	ReasonConfigurationDiffers = "ConfigurationDiffers"
)

// AnnotationRestoreBase on a TestBed that is closed because its device does not have its base
// configuration, with any value, restores it.
const AnnotationRestoreBase = "nodrop.dev/restore-base"

// AnnotationReleaseQuarantine on a TestBed, with any value, releases a quarantined bed: a
// person has checked it, and it may be leased again.
const AnnotationReleaseQuarantine = "nodrop.dev/release-quarantine"

// Conditions of any object, as tools for any kind of object understand them
// (kstatus: Flux, kpt; kubectl wait). An object is settled when both are absent.
const (
	// ConditionReconciling is true while the object makes its way, and absent when it
	// is settled or stalled.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true if the object cannot go on without a change by a person. It is
	// false for the first minute of that state, so that an edit does not mark the object as
	// stalled, and absent otherwise. Its reason is the reason of the condition that does not
	// hold. For a finished benchmark that did not pass, the reason is the outcome.
	ConditionStalled = "Stalled"
)

// Condition types and reasons of a Benchmark, in the order in which they turn true.
//
// A finished benchmark says nothing of what was: every condition that was ever set
// ends as follows.
//
//	condition     ends as  with reason
//	Accepted      True     Accepted
//	              False    NotAccepted
//	BedLeased     False    BedReleased; Ended before it had a bed; LeaseLost;
//	                       BedQuarantined
//	BedPrepared   False    Removed; HookFailed
//	DeviceReady   False    Removed; DeviceFailed
//	              Unknown  CleanUpFailed: it may still run
//	TrafficReady  False    Removed; TrafficFailed
//	              Unknown  CleanUpFailed: they may still run
//	Measured      True     AllMeasured; Inconclusive; NothingForwarded
//	              False    why not; Ended when another condition says why
//	CleanedUp     True     CleanedUp
//	              False    CleanUpFailed, HookFailed: the bed is quarantined
//	GatesPassed   True     GatesPassed
//	              False    GateFailed
//	              Unknown  GateInconclusive
//	Succeeded     True     Passed
//	              False    Inconclusive, Failed, Invalid, Aborted or Error
//	Reconciling   absent
//	Stalled       absent when Passed, True otherwise, with the outcome
const (
	// ConditionSucceeded is unknown until the benchmark is finished, then true when it
	// passed and false otherwise. Its reason is the phase.
	ConditionSucceeded = "Succeeded"
	// ReasonEnded means that the benchmark ended before the condition could hold.
	ReasonEnded = "Ended"
	// ReasonRemoved means that what the condition is about was removed at the end.
	ReasonRemoved = "Removed"

	// ConditionAccepted reports whether profile and bed exist and fit the tests.
	ConditionAccepted = "Accepted"
	// ReasonAccepted means that the benchmark can be queued.
	ReasonAccepted = "Accepted"
	// ReasonNotAccepted means that it cannot run as things are; the message says why. It
	// goes on by itself when profile, bed or access change so that it can.
	ReasonNotAccepted = "NotAccepted"

	// ConditionBedLeased reports whether the benchmark holds the lease of its bed.
	ConditionBedLeased = "BedLeased"
	// ReasonBedLeased means that the bed is leased.
	ReasonBedLeased = "BedLeased"
	// ReasonQueued means that the benchmark is in the queue of an open bed. Its place is computed
	// on request: kubectl nodrop queue.
	ReasonQueued = "Queued"
	// ReasonBedNotReady means that none of the beds that it fits can be leased now.
	ReasonBedNotReady = "BedNotReady"
	// ReasonBedUnschedulable means that none of the beds that it fits takes new benchmarks.
	ReasonBedUnschedulable = "BedUnschedulable"
	// ReasonLimitReached means that the team has as many beds as it may have. It is no reason of
	// a condition, but of kubectl nodrop queue.
	ReasonLimitReached = "LimitReached"
	// ReasonGangIncomplete means that other members of the gang are not there, or cannot
	// start.
	ReasonGangIncomplete = "GangIncomplete"
	// ReasonReserved means that the reservation that the benchmark names does not exist. In
	// kubectl nodrop queue also that it waits for that reservation, or would not end before one of
	// others begins.
	ReasonReserved = "Reserved"
	// ReasonPreempted means that the bed was taken away in favor of another benchmark, and
	// that the benchmark waits for its turn again; the message says in whose favor, how
	// many rows are kept, and on which bed it resumes.
	ReasonPreempted = "Preempted"
	// ReasonBedReleased means that the bed was given back.
	ReasonBedReleased = "BedReleased"

	// ConditionBedPrepared reports whether the hooks before the lease have succeeded. It is set for beds
	// with hooks only.
	ConditionBedPrepared = "BedPrepared"
	// ReasonBedPrepared means that they have succeeded.
	ReasonBedPrepared = "BedPrepared"
	// ReasonHookRunning means that a hook runs or is being started.
	ReasonHookRunning = "HookRunning"
	// ReasonHookFailed means that a hook of the bed failed or did not end in its time. Of a bed that is
	// quarantined and of a clean-up it has the same meaning.
	ReasonHookFailed = "HookFailed"

	// ConditionDeviceReady reports whether the device under test is up.
	ConditionDeviceReady = "DeviceReady"
	// ReasonDeviceReady means that the device is up.
	ReasonDeviceReady = "DeviceReady"
	// ReasonDeviceStarting means that the device is being started.
	ReasonDeviceStarting = "DeviceStarting"
	// ReasonVariantMeasured means that a variant of the device was measured, and is
	// being removed to make room for the next one.
	ReasonVariantMeasured = "VariantMeasured"
	// ReasonNotResumable means that the benchmark begins anew: what it measures with has
	// changed since its rows were measured, and what was started is being removed.
	ReasonNotResumable = "NotResumable"
	// ReasonDeviceFailed means that the device did not come up.
	ReasonDeviceFailed = "DeviceFailed"

	// ConditionTrafficReady reports whether every agent holds its ports.
	ConditionTrafficReady = "TrafficReady"
	// ReasonTrafficReady means that every agent holds its ports.
	ReasonTrafficReady = "TrafficReady"
	// ReasonTrafficStarting means that traffic pods are being started.
	ReasonTrafficStarting = "TrafficStarting"
	// ReasonTrafficFailed means that a traffic pod did not come up.
	ReasonTrafficFailed = "TrafficFailed"
	// ReasonRunnerUnreachable means that the runner does not answer.
	ReasonRunnerUnreachable = "RunnerUnreachable"
	// ReasonRunnerRestarting means that the runner's pod was lost and another one
	// goes on with the rows known so far.
	ReasonRunnerRestarting = "RunnerRestarting"

	// ConditionMeasured reports whether every row of the plan was measured.
	ConditionMeasured = "Measured"
	// ReasonMeasuring means that trials run.
	ReasonMeasuring = "Measuring"
	// ReasonAllMeasured means that every row was measured.
	ReasonAllMeasured = "AllMeasured"
	// ReasonInconclusive means that every row was measured, and that a test has no row
	// that can be judged by; the message says why, and what to do.
	ReasonInconclusive = "Inconclusive"
	// ReasonNothingForwarded means that the device forwarded no frame at some frame size.
	ReasonNothingForwarded = "NothingForwarded"
	// ReasonGeneratorBound means that the tester was too slow to measure anything.
	ReasonGeneratorBound = "GeneratorBound"
	// ReasonNothingHappened means that what was to be measured did not happen during
	// a trial, such as a reset.
	ReasonNothingHappened = "NothingHappened"
	// ReasonNotSupported means that the tester cannot do what the tests ask, which
	// only its ports or its device model could tell.
	ReasonNotSupported = "NotSupported"
	// ReasonLeaseLost means that another party than the operator took the bed away from the
	// benchmark.
	ReasonLeaseLost = "LeaseLost"
	// ReasonRunnerFailed means that the runner ended without a result.
	ReasonRunnerFailed = "RunnerFailed"
	// ReasonCertificatesExpired means that operators were away until the certificates of the run had
	// expired, so that its runner could not be asked any more.
	ReasonCertificatesExpired = "CertificatesExpired"
	// ReasonAnswerRefused means that the runner said what does not fit the plan or is
	// too large, so that it was not stored; the message says what.
	ReasonAnswerRefused = "AnswerRefused"
	// ReasonAgentLost means that a traffic pod disappeared during the measurement.
	ReasonAgentLost = "AgentLost"
	// ReasonLabRefused means that the API server refused for too long what the operator needs to measure,
	// for example since its roles in the namespace of the lab were removed; the message says what.
	ReasonLabRefused = "LabRefused"
	// ReasonDeadlineExceeded means that spec.activeDeadlineSeconds passed.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonAborted means that spec.abort was set.
	ReasonAborted = "Aborted"

	// ConditionCleanedUp reports whether everything that was started was removed. Its reasons
	// are ReasonCleanedUp, ReasonCleanUpFailed and ReasonHookFailed.
	ConditionCleanedUp = "CleanedUp"
	// ReasonCleaningUp means that pods, secrets and the device are being removed.
	ReasonCleaningUp = "CleaningUp"
)

// FinalizerLeased on a TestBed keeps it until it is deleted and free. Every bed that
// an operator looked at has it.
const FinalizerLeased = "nodrop.dev/leased"

// Condition types and reasons of a Reservation. ConditionAccepted has the reasons
// ReasonAccepted and ReasonNotAccepted: the latter means that it reserves no bed as things
// are, and the message says why.
const (
	// ConditionActive reports whether the reservation has a bed now.
	ConditionActive = "Active"
	// ReasonBegun means that an occurrence is in progress, and that its beds are free of
	// benchmarks of others. It is also the reason of the event at the begin.
	ReasonBegun = "Begun"
	// ReasonBedOccupied means that an occurrence is in progress, and that a benchmark that
	// had the bed before still has it. It is not stopped; the message says until when it can
	// take.
	ReasonBedOccupied = "BedOccupied"
	// ReasonReservationScheduled means that the next occurrence is to come.
	ReasonReservationScheduled = "Scheduled"
	// ReasonOccurrencesEnded means that no occurrence is to come. Its event is made at the end of each.
	ReasonOccurrencesEnded = "Ended"
	// ReasonBeginsSoon and ReasonEndsSoon are the reasons of the events 15 minutes before an
	// occurrence begins and ends.
	ReasonBeginsSoon = "BeginsSoon"
	ReasonEndsSoon   = "EndsSoon"

	// ConditionConflict is true while a reservation that was created earlier has a bed at a
	// time of this one. The message says which, and what to do.
	ConditionConflict = "Conflict"
	// ReasonOverlap means that there is such a time.
	ReasonOverlap = "Overlap"
	// ReasonNoOverlap means that no such time exists within the next 90 days.
	ReasonNoOverlap = "NoOverlap"

	// ConditionConnectionData of a reservation is true while the connection data of the beds
	// that it has now are in the Secret of status.connectionSecretName. The condition of a TestBed is
	// true while its data can be handed out. Without connection data there is no such condition.
	ConditionConnectionData = "ConnectionData"
	// ReasonHandedOut means that they are there.
	ReasonHandedOut = "HandedOut"
	// ReasonBedNotHeld means that the reservation does not have a bed now, or that a benchmark
	// still has it.
	ReasonBedNotHeld = "BedNotHeld"
	// ReasonConnectionReadable means that the Secret of the owner of the lab is there.
	ReasonConnectionReadable = "ConnectionReadable"
	// ReasonNotHandedOut means that the lab hands no connection data out.
	ReasonNotHandedOut = "NotHandedOut"
	// ReasonConnectionUnreadable means that the Secret of the owner of the lab is missing, or
	// cannot be handed out. The message says of which bed, and why.
	ReasonConnectionUnreadable = "ConnectionUnreadable"
)

// Condition type and reasons of a finished Benchmark with rows, in a lab with a recorder of
// metrics. Without a recorder the condition is absent.
const (
	// ConditionMetricsRecorded reports whether the recorder has all rows of the result.
	ConditionMetricsRecorded = "MetricsRecorded"
	// ReasonRecorded means that the recorder has them: it keeps them until the database has.
	ReasonRecorded = "Recorded"
	// ReasonRecorderUnavailable means that the recorder could not be reached, or has no
	// room. It is tried again.
	ReasonRecorderUnavailable = "RecorderUnavailable"
	// ReasonPointsRefused means that no points can be made of the rows, or that the recorder
	// does not take them. It is tried again when the operator starts.
	ReasonPointsRefused = "PointsRefused"
)

// Condition type and reasons of a Benchmark that was measured, in a lab with an archive.
const (
	// ConditionRegression reports whether the level of a figure became worse in the history of
	// the benchmark: the results of benchmarks with the same name and the same inputs.
	ConditionRegression = "Regression"
	// ReasonLevelWorse means that the last change of a figure's level was for the worse. The
	// message names the figure, the size of the change with its bounds, and the first run.
	ReasonLevelWorse = "LevelBecameWorse"
	// ReasonNoRegression means that no level became worse, or that there are too few runs to
	// say so.
	ReasonNoRegression = "NoRegression"
	// ReasonHistoryUnreadable means that the results could not be read from the archive. It
	// is tried again.
	ReasonHistoryUnreadable = "HistoryUnreadable"
)
