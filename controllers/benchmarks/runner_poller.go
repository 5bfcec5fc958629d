package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/runner/service"
)

const (
	// askTimeout bounds one request to a runner.
	askTimeout = 5 * time.Second
	// beginTimeout bounds the transfer of stored rows.
	beginTimeout = time.Minute
	// maxWaitingRows is the number of rows that may wait to be stored before a runner is asked
	// for more.
	maxWaitingRows = 1024
)

// Poller polls runners, each in a goroutine of its own, so that a silent one delays
// no other. A reconcile takes the latest answer from memory;
// it is woken when there are new rows, when the run has ended, and when the runner
// begins or stops to answer.
type Poller struct {
	client kit.RunnerClient
	every  time.Duration
	// wakes carries the benchmarks to reconcile.
	wakes chan event.TypedGenericEvent[*v1alpha1.Benchmark]

	ctx    context.Context
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu   sync.Mutex
	runs map[types.NamespacedName]*followed
}

var _ manager.LeaderElectionRunnable = (*Poller)(nil)

// NewPoller returns a poller that reads the state of each runner at an interval.
func NewPoller(c kit.RunnerClient, every time.Duration) *Poller {
	ctx, cancel := context.WithCancel(context.Background())
	return &Poller{
		client: c, every: every, ctx: ctx, cancel: cancel,
		wakes: make(chan event.TypedGenericEvent[*v1alpha1.Benchmark], 1024),
		runs:  map[types.NamespacedName]*followed{},
	}
}

// Start runs the poller until the operator ends.
func (p *Poller) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.asking.Wait()
	return nil
}

// NeedLeaderElection is true: only the leader polls.
func (p *Poller) NeedLeaderElection() bool { return true }

// followed is a runner that is polled.
type followed struct {
	key    types.NamespacedName
	pod    types.UID
	target kit.RunnerTarget
	// validUntil is the time at which the certificate of the target expires.
	validUntil time.Time
	check      *results.Checker
	cancel     context.CancelFunc
	// poke ends the pause between two requests.
	poke chan struct{}

	mu sync.Mutex
	heard
	// rows were checked, and wait to be stored.
	rows []v1alpha1.ResultRow
	// begin has the stored rows to pass to the runner; nil when it is not to begin.
	begin *[]v1alpha1.ResultRow
	// poll reports whether a reconcile waits for the answer to the next request.
	poll bool
}

// heard is the latest state of a runner.
type heard struct {
	// answered reports whether there is an answer, or an error.
	answered bool
	state    runner.State
	begun    bool
	// more reports whether the log has rows that were not read yet.
	more bool
	// err is the reason why the last request was not answered.
	err error
	// refused is the reason why the runner's answers are no longer accepted.
	refused error
	// polled reports whether a requested poll has its answer, or will not get one.
	polled bool
}

// following reports whether the runner in a pod is polled already.
func (p *Poller) following(key types.NamespacedName, pod types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.runs[key]
	return f != nil && f.pod == pod
}

// validUntil returns the time at which the certificate expires with which the runner of a benchmark is
// polled; the zero time if none is polled.
func (p *Poller) validUntil(key types.NamespacedName) time.Time {
	f := p.of(key)
	if f == nil {
		return time.Time{}
	}
	return f.validUntil
}

// follow begins to poll the runner in a pod, and stops to poll another one of the
// benchmark. It does nothing once the operator ends.
func (p *Poller) follow(key types.NamespacedName, pod types.UID, target kit.RunnerTarget, check *results.Checker) {
	p.forget(key)
	ctx, cancel := context.WithCancel(p.ctx)
	f := &followed{key: key, pod: pod, target: target, validUntil: target.Certificate.ValidUntil(), check: check, cancel: cancel, poke: make(chan struct{}, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		cancel()
		return
	}
	p.runs[key] = f
	p.asking.Go(func() { p.askOn(ctx, f) })
}

// forget stops to poll the runner of a benchmark.
func (p *Poller) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.runs[key]; f != nil {
		f.cancel()
		delete(p.runs, key)
	}
}

func (p *Poller) of(key types.NamespacedName) *followed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[key]
}

// hear returns the latest state of the runner of a benchmark, with the rows that are
// not stored yet.
func (p *Poller) hear(key types.NamespacedName) (heard, []v1alpha1.ResultRow) {
	f := p.of(key)
	if f == nil {
		return heard{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heard, slices.Clip(f.rows)
}

// stored drops the first n rows of the state, which are stored.
func (p *Poller) stored(key types.NamespacedName, n int) {
	if f := p.of(key); f != nil && n > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rows = slices.Clone(f.rows[n:])
	}
}

// letBegin starts the runner with the stored rows.
func (p *Poller) letBegin(key types.NamespacedName, rows []v1alpha1.ResultRow) {
	if f := p.of(key); f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.begin = &rows
		f.wakeUp()
	}
}

// pollNow requests an answer that is newer than this call; it is there when the benchmark
// is woken and heard.polled is true.
func (p *Poller) pollNow(key types.NamespacedName) {
	if f := p.of(key); f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.poll && !f.polled {
			f.poll = true
			f.wakeUp()
		}
	}
}

func (f *followed) wakeUp() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// askOn polls a runner until it has ended and all rows were read, or the context ends.
func (p *Poller) askOn(ctx context.Context, f *followed) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var after int
	var log string
	for {
		select {
		case <-pause.C:
		case <-f.poke:
		case <-ctx.Done():
			return
		}
		for again := true; again && ctx.Err() == nil; {
			after, log, again = p.ask(ctx, f, after, log)
		}
		pause.Reset(p.every)
	}
}

// ask polls once. It returns how much of which log was read, and whether more can be
// read at once.
func (p *Poller) ask(ctx context.Context, f *followed, after int, log string) (_ int, _ string, again bool) {
	f.mu.Lock()
	begin, poll, over := f.begin, f.poll, f.refused != nil || f.state.Done && !f.more && f.err == nil
	full := len(f.rows) >= maxWaitingRows
	f.begin = nil
	f.mu.Unlock()
	if over || full && !poll {
		f.endPoll(p)
		return after, log, false
	}
	answer, err := p.question(ctx, f, begin, after)
	if ctx.Err() != nil {
		return after, log, false
	}
	if err == nil && answer.Log != log && after > 0 {
		return 0, answer.Log, true // Another log, which is read from its beginning.
	}
	if err == nil && answer.After != after {
		err = fmt.Errorf("it was asked for the rows after %d, and answered with those after %d", after, answer.After)
	}
	var refused error
	if err == nil {
		refused = f.check.Check(&answer)
	} else if errors.Is(err, service.ErrTooLong) {
		refused = err
	}
	if f.take(answer, err, refused) {
		p.wake(f.key)
	}
	if err != nil || refused != nil {
		return after, log, false
	}
	return after + len(answer.LogRows), answer.Log, answer.More
}

// question starts the runner when that was requested, and reads its state.
func (p *Poller) question(ctx context.Context, f *followed, begin *[]v1alpha1.ResultRow, after int) (runner.Answer, error) {
	if begin != nil {
		slow, cancel := context.WithTimeout(ctx, beginTimeout)
		defer cancel()
		if err := p.client.Begin(slow, f.target, *begin); err != nil {
			return runner.Answer{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return p.client.State(ctx, f.target, after)
}

// take stores an answer, and reports whether to wake the benchmark.
func (f *followed) take(answer runner.Answer, err, refused error) (wake bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.heard
	f.answered, f.err, f.refused = true, err, refused
	if err == nil && refused == nil {
		f.state, f.begun, f.more = answer.State, answer.Begun, answer.More
		f.rows = append(f.rows, answer.LogRows...)
	}
	if f.poll && (err != nil || !f.more) {
		f.poll, f.polled, wake = false, true, true
	}
	return wake || !before.answered || refused != nil || (err == nil) != (before.err == nil) ||
		len(answer.LogRows) > 0 || f.state.Done != before.state.Done || f.begun != before.begun || err == nil && !f.begun
}

// endPoll ends a requested poll that gets no newer answer.
func (f *followed) endPoll(p *Poller) {
	f.mu.Lock()
	ended := f.poll
	if ended {
		f.poll, f.polled = false, true
	}
	f.mu.Unlock()
	if ended {
		p.wake(f.key)
	}
}

// wake requests a reconcile of a benchmark. When very many wait, the next regular
// reconcile has to do.
func (p *Poller) wake(key types.NamespacedName) {
	b := &v1alpha1.Benchmark{}
	b.Namespace, b.Name = key.Namespace, key.Name
	select {
	case p.wakes <- event.TypedGenericEvent[*v1alpha1.Benchmark]{Object: b}:
	default:
	}
}

// keyOf is the key of a benchmark.
func keyOf(b *v1alpha1.Benchmark) types.NamespacedName { return client.ObjectKeyFromObject(b) }
