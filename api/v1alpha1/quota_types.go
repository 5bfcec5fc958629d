package v1alpha1

// LabelQueueName is the label of a Benchmark that names the LocalQueue of Kueue in its
// namespace by which it is admitted.
const LabelQueueName = "kueue.x-k8s.io/queue-name"

// ResourceBed is the resource of which a benchmark asks Kueue for one.
const ResourceBed = "nodrop.dev/bed"

const (
	// ConditionQuotaReserved reports whether Kueue has admitted the benchmark. Only benchmarks
	// with the label kueue.x-k8s.io/queue-name have it. Until it is true, the benchmark is not
	// in the queue of any bed.
	ConditionQuotaReserved = "QuotaReserved"
	// ReasonQuotaReserved means that Kueue has admitted the benchmark; the message names the
	// ClusterQueue.
	ReasonQuotaReserved = "QuotaReserved"
	// ReasonWaitsForQuota means that Kueue has not admitted the benchmark, or has evicted it
	// before it had a bed; the message is Kueue's.
	ReasonWaitsForQuota = "WaitsForQuota"
	// ReasonEvicted means that Kueue asks for the quota back, and that the benchmark keeps
	// it with its bed until it ends.
	ReasonEvicted = "Evicted"
	// ReasonKueueDisabled means that the operator runs without Kueue, and that the label
	// counts for nothing.
	ReasonKueueDisabled = "KueueDisabled"
)
