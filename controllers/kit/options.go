package kit

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/lab/notify"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// Options of the operator. Times that are 0 have the defaults of defaults.go,
// except for ProbeEvery.
type Options struct {
	// Lab contains the location and the images of runs.
	Lab labobjects.Settings
	// DefaultPolicy defines which frames may be sent on beds without a policy of their own;
	// nil is the built-in policy.
	DefaultPolicy *v1alpha1.TrafficPolicy
	// Runner reads the state of runners.
	Runner RunnerClient
	// Metrics is the recorder of the lab; nil without one.
	Metrics Metrics
	// BedSeries is the interval at which the recorder gets a point of each bed.
	BedSeries time.Duration
	// Counts counts what happens, for Prometheus; nil counts nothing.
	Counts *opmetrics.Operator
	// Bench replaces all that happens on a leased bed; nil means real pods.
	Bench Bench
	// Now is the operator's clock.
	Now func() time.Time
	// Deadlines of everything that is waited for.
	Deadlines Deadlines
	// Poll is the interval at which the state of a run is read.
	Poll time.Duration
	// ProgressEvery is the interval at which progress is stored if there is nothing else to
	// store.
	ProgressEvery time.Duration
	// Recheck is the interval at which the operator checks objects that a bed refers to and
	// that it does not watch: ConfigMaps, nodes and templates of claims.
	Recheck time.Duration
	// ProbeEvery is the interval at which the interfaces of beds are probed; 0 probes none.
	ProbeEvery time.Duration
	// Refresh is the minimum interval between two writes of what the status of an object shows people.
	Refresh time.Duration
	// Archive keeps finished results; nil keeps them in the API only. Nothing is
	// deleted before it is in the archive.
	Archive Archive
	// Apart archives large results outside of this process; nil archives them here.
	Apart apart.Worker
	// ArchiveRetry is the longest time between two attempts to reach an unavailable archive.
	ArchiveRetry time.Duration
	// Kueue reports whether benchmarks with the name of a queue are admitted by Kueue, whose
	// definitions must be there. Without it that name has no effect.
	Kueue bool
	// Connections reports whether connection data of beds are handed out to those who have reserved
	// them, which needs rights on Secrets of their namespaces.
	Connections bool
	// Notify sends events to the receivers of teams; nil sends nowhere.
	Notify *notify.Sender
	// TimeToLive is the time for which benchmarks are kept after their end if they do not set
	// it; nil keeps them forever.
	TimeToLive *time.Duration
	// Sweep is the interval at which the operator searches for what no event reports: remains
	// of benchmarks that were removed by force, pods that appeared after a clean-up, and
	// clocks that were set.
	Sweep time.Duration
}

// Metrics is the recorder of the lab.
type Metrics interface {
	// Access returns the access of the runner of the run with this UID to the recorder until a
	// time.
	Access(ctx context.Context, uid string, until time.Time) (*runner.Recorder, error)
	// Record hands lines of rows over. When it returns nil, they are on the recorder's disk;
	// the same lines may be given again.
	Record(ctx context.Context, rows [][]byte) error
	// Sample hands lines of series over, which the recorder may drop later for want of room.
	Sample(ctx context.Context, series [][]byte) error
}

// Deadlines bound every wait.
type Deadlines struct {
	// Device is the time within which a virtual device must come up.
	Device time.Duration
	// Traffic is the time within which traffic pods and runner must come up.
	Traffic time.Duration
	// Runner is the time for which a runner may not answer before its pod is replaced.
	Runner time.Duration
	// CleanUp is the time that the clean-up may take before the bed is quarantined.
	CleanUp time.Duration
	// Baseline is the time for which reading an unreadable baseline of gates is repeated.
	Baseline time.Duration
}

// RunnerClient calls runners. A call ends when its context does, and fails when the
// runner does not answer or does not authenticate.
type RunnerClient interface {
	// State reads the state of a runner, with the rows after the first ones of its log.
	State(ctx context.Context, target RunnerTarget, after int) (runner.Answer, error)
	// Begin passes the stored rows to a runner, and starts it. On a runner that has begun
	// it changes nothing.
	Begin(ctx context.Context, target RunnerTarget, rows []v1alpha1.ResultRow) error
}

// RunnerTarget is one runner.
type RunnerTarget struct {
	// Address is host:port.
	Address string
	// ServerName is the name in the runner's certificate.
	ServerName string
	// Pod is the UID of the runner's pod.
	Pod types.UID
	// Certificate is the operator's certificate.
	Certificate pki.Bundle
}

// Bench runs a benchmark on a leased bed. The operator's own starts device, traffic pods
// and runner; another one allows to measure the allocation of a whole lab without pods.
type Bench interface {
	// Run advances a benchmark. It returns the phase in which the benchmark ends; without
	// one it is called again after a while. It returns the same phase when it is called again: its
	// answer is stored with the last phase only.
	Run(ctx context.Context, b *v1alpha1.Benchmark) (outcome v1alpha1.BenchmarkPhase, after time.Duration, err error)
	// Sweep removes what is left of a run, and names what it could not remove yet.
	Sweep(ctx context.Context, run labobjects.Run) (left string, err error)
}
