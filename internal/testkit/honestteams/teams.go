package honestteams

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/hostileteam"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// Count is the number of honest teams.
const Count = 10

// WarmUp is the time at the beginning of a run in which ended benchmarks do not count.
const WarmUp = 10 * time.Second

// Namespace returns the namespace of an honest team.
func Namespace(i int) string { return fmt.Sprintf("team-honest-%d", i) }

// Teams are honest teams, each with a namespace and an account.
type Teams struct {
	// Lab reaches the API server as an administrator, whose client is Admin.
	Lab   *rest.Config
	Admin client.Client
	// Waiting is the number of benchmarks that each team has waiting or running.
	Waiting int
	// Benchmark returns a benchmark that any bed of the lab can run.
	Benchmark func(namespace, name string) *v1alpha1.Benchmark
	// Patience bounds the wait for the end of a benchmark.
	Patience time.Duration
	// ServerParent is the process that has started the API server and etcd.
	ServerParent int

	mu    sync.Mutex
	ended map[string]chan v1alpha1.BenchmarkPhase
	run   *Run
}

// Measure lets the teams work for WarmUp and the length of a run, and fills in the run. At the same time attack runs, if
// it is not nil, until its context ends. Then the benchmarks that the teams still have must end, and all beds must become free.
func (h *Teams) Measure(ctx context.Context, r *Run, attack func(context.Context) (hostileteam.Report, error)) error {
	h.ended, h.run = map[string]chan v1alpha1.BenchmarkPhase{}, r
	follows, unfollow := context.WithCancel(ctx)
	defer unfollow()
	if err := h.follow(follows); err != nil {
		return err
	}
	clients, err := h.clients(ctx)
	if err != nil {
		return err
	}
	before, _, err := testserver.Usage(h.ServerParent)
	if err != nil {
		return err
	}
	from := time.Now().Add(WarmUp)
	works, cancel := context.WithDeadline(ctx, from.Add(r.Length))
	defer cancel()
	var all sync.WaitGroup
	for i, c := range clients {
		for slot := range h.Waiting {
			all.Go(func() { h.submit(works, c, Namespace(i), slot, from) })
		}
	}
	if attack != nil {
		r.Attack, err = attack(works)
	}
	<-works.Done()
	cpu, memory, err2 := testserver.Usage(h.ServerParent)
	r.CPU, r.Memory = cpu, memory
	for name := range before {
		r.CPU[name] -= before[name]
	}
	all.Wait()
	held, err3 := heldBeds(ctx, h.Admin)
	r.Held = held
	return errors.Join(err, err2, err3)
}

// clients connects the account of each team.
func (h *Teams) clients(ctx context.Context) (all []client.Client, err error) {
	for i := range Count {
		cfg, err := Account(ctx, h.Lab, h.Admin, Namespace(i))
		if err != nil {
			return nil, err
		}
		c, err := client.New(cfg, client.Options{Scheme: h.Admin.Scheme()})
		if err != nil {
			return nil, fmt.Errorf("connecting a team: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// follow passes the last phases of benchmarks to those who wait for them.
func (h *Teams) follow(ctx context.Context) error {
	namespaces := map[string]cache.Config{}
	for i := range Count {
		namespaces[Namespace(i)] = cache.Config{}
	}
	watches, err := cache.New(h.Lab, cache.Options{Scheme: h.Admin.Scheme(), DefaultNamespaces: namespaces})
	if err != nil {
		return fmt.Errorf("watching benchmarks: %w", err)
	}
	informer, err := watches.GetInformer(ctx, &v1alpha1.Benchmark{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching benchmarks: %w", err)
	}
	see := func(obj any) {
		b, ok := obj.(*v1alpha1.Benchmark)
		if !ok || !b.Status.Phase.Finished() {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		key := b.Namespace + "/" + b.Name
		if end := h.ended[key]; end != nil {
			end <- b.Status.Phase
			delete(h.ended, key)
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}); err != nil {
		return fmt.Errorf("watching benchmarks: %w", err)
	}
	go func() { _ = watches.Start(ctx) }()
	if !watches.WaitForCacheSync(ctx) {
		return fmt.Errorf("watching benchmarks: %w", ctx.Err())
	}
	return nil
}

// submit makes benchmarks of a team, one after the other, until the context ends, and waits for
// the last one.
func (h *Teams) submit(ctx context.Context, c client.Client, namespace string, slot int, from time.Time) {
	for i := 0; ctx.Err() == nil; i++ {
		b := h.Benchmark(namespace, fmt.Sprintf("b-%d-%05d", slot, i))
		end := make(chan v1alpha1.BenchmarkPhase, 1)
		h.mu.Lock()
		h.ended[b.Namespace+"/"+b.Name] = end
		h.mu.Unlock()
		began := time.Now()
		if err := c.Create(context.WithoutCancel(ctx), b); err != nil {
			h.mu.Lock()
			h.run.Refused = append(h.run.Refused, err.Error())
			h.mu.Unlock()
			time.Sleep(time.Second) // As a person would.
			continue
		}
		h.mu.Lock()
		h.run.Create = append(h.run.Create, time.Since(began))
		h.mu.Unlock()
		select {
		case phase := <-end:
			h.mu.Lock()
			switch {
			case phase != v1alpha1.PhaseMeasured:
				h.run.Wrong = append(h.run.Wrong, b.Namespace+"/"+b.Name+" "+string(phase))
			case ctx.Err() == nil && time.Now().After(from):
				h.run.Measured++
				h.run.Wait = append(h.run.Wait, time.Since(began))
			}
			h.mu.Unlock()
		case <-time.After(h.Patience):
			h.mu.Lock()
			h.run.Wrong = append(h.run.Wrong, b.Namespace+"/"+b.Name+" did not end")
			h.mu.Unlock()
		}
	}
}
