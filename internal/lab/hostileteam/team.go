package hostileteam

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Team is the configuration of a hostile team.
type Team struct {
	// Namespace of the team, in which its account has the ClusterRole nodrop-edit or edit.
	Namespace string
	// Bed is a TestBed that the team may use, and Receiver the URL of its notifications.
	Bed, Receiver string
	// Objects is the number of objects of each kind that the team tries to make.
	Objects int
	// Writes is the number of changes of metadata per second.
	Writes int
	// OnlyObjects makes objects of NoDrop, and does nothing else: several teams that use all their rights exhaust the API server, by
	// ConfigMaps for example, which NoDrop does not bound.
	OnlyObjects bool
	// Page is the URL of the lab page; empty leaves it alone. PageName is the name in its
	// certificate, which Roots check, and Token is the token of the team's account.
	Page, PageName, Token string
	Roots                 *x509.CertPool
}

const (
	// Numbers of concurrent requests: makers for each kind of object, writers for changes of metadata,
	// and askers for admission and for pages.
	makers, writers, askers = 4, 32, 4
	// requestTimeout bounds a request.
	requestTimeout = 30 * time.Second
	// written is the number of benchmarks whose metadata change.
	written = 100
)

// attack is the state of a running Team.
type attack struct {
	Team
	c      client.Client
	counts *counts
	all    sync.WaitGroup
}

// Run attacks until the context ends, and reports what was accepted and refused. The client has no
// limit of its own.
func (team Team) Run(ctx context.Context, rc *rest.Config) (Report, error) {
	rc = rest.CopyConfig(rc)
	rc.QPS, rc.Timeout = -1, requestTimeout
	scheme, err := v1alpha1Scheme()
	if err != nil {
		return Report{}, err
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return Report{}, fmt.Errorf("connecting to the API server: %w", err)
	}
	a := &attack{Team: team, c: c, counts: newCounts()}
	began := time.Now()
	if err := a.begin(ctx); err != nil {
		return Report{}, err
	}
	for _, k := range kinds {
		a.spawn(ctx, makers, func(ctx context.Context, worker int) { a.make(ctx, k, team.Objects, worker) })
	}
	if !team.OnlyObjects {
		defer a.spawnOthers(ctx)()
	}
	a.all.Wait()
	return a.counts.report(time.Since(began)), nil
}

// spawnOthers starts what a team does in addition to making objects of NoDrop, and returns a function that closes its connections.
func (a *attack) spawnOthers(ctx context.Context) (end func()) {
	a.spawn(ctx, makers, func(ctx context.Context, worker int) { a.make(ctx, configMaps, min(a.Objects, mostConfigMaps), worker) })
	a.spawn(ctx, writers, a.write)
	a.spawn(ctx, askers, a.ask)
	a.spawn(ctx, 1, a.grow)
	if a.Page == "" {
		return func() {}
	}
	visitor := a.newVisitor()
	a.spawn(ctx, askers, func(ctx context.Context, worker int) { a.visit(ctx, visitor, worker) })
	return visitor.CloseIdleConnections
}

// spawn starts workers, which end with the context.
func (a *attack) spawn(ctx context.Context, n int, work func(ctx context.Context, worker int)) {
	for worker := range n {
		a.all.Go(func() { work(ctx, worker) })
	}
}

// begin makes the profile and the first benchmark, which everything else refers to.
func (a *attack) begin(ctx context.Context) error {
	for _, o := range []client.Object{a.profile("hostile"), a.benchmark("hostile", 0)} {
		if err := a.c.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("making the first objects of the team: %w", err)
		}
	}
	return nil
}

// make makes n objects of one kind at their largest. Every tenth is larger than allowed.
func (a *attack) make(ctx context.Context, k kind, n, worker int) {
	for i := worker; i < n && ctx.Err() == nil; i += makers {
		size := k.largest
		name := "make " + k.name
		if i%10 == 9 {
			size, name = tooLarge, "make too large "+k.name
		}
		a.counts.add(ctx, name, a.c.Create(ctx, k.build(a, fmt.Sprintf("hostile-%05d", i), size)))
	}
}

// write changes a label and an annotation of benchmarks of the team at the rate of the team.
func (a *attack) write(ctx context.Context, worker int) {
	if a.Writes == 0 {
		return
	}
	pace := time.NewTicker(time.Second * writers / time.Duration(a.Writes))
	defer pace.Stop()
	for i := worker; ctx.Err() == nil; i += writers {
		n := map[string]string{"team/a": fmt.Sprint(time.Now().UnixNano())}
		a.counts.add(ctx, "write metadata", a.patch(ctx, i%written, map[string]any{"annotations": n, "labels": n}))
		select {
		case <-ctx.Done():
		case <-pace.C:
		}
	}
}

// patch changes the metadata of one of the benchmarks; a benchmark that is not made yet is replaced by the first.
func (a *attack) patch(ctx context.Context, i int, metadata map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("writing a patch: %w", err)
	}
	b := &v1alpha1.Benchmark{}
	b.Namespace, b.Name = a.Namespace, fmt.Sprintf("hostile-%05d", i)
	err = a.c.Patch(ctx, b, client.RawPatch(types.MergePatchType, body))
	if apierrors.IsNotFound(err) {
		b.Name = "hostile"
		err = a.c.Patch(ctx, b, client.RawPatch(types.MergePatchType, body))
	}
	return err //nolint:wrapcheck // It is counted by its type.
}

// grow adds labels and owners to existing benchmarks until they have about 1 MiB.
func (a *attack) grow(ctx context.Context, _ int) {
	owner := map[string]string{"apiVersion": "v1", "kind": "Pod", "uid": "1", "name": strings.Repeat("x", 1<<20)}
	for i := 0; i < a.Objects && ctx.Err() == nil; i++ {
		n := i * 7 % a.Objects
		a.counts.add(ctx, "grow by labels", a.patch(ctx, n, map[string]any{"labels": labels(1 << 20)}))
		a.counts.add(ctx, "grow by owners", a.patch(ctx, n, map[string]any{"ownerReferences": []any{owner}}))
	}
}

// ask asks for the admission of benchmarks without making them: of one that is accepted, of one
// whose profile does not exist, and of one that selects beds.
func (a *attack) ask(ctx context.Context, worker int) {
	for i := worker; ctx.Err() == nil; i++ {
		b := a.benchmark(fmt.Sprintf("asked-%d-%d", worker, i), 0)
		name := "dry run"
		switch i % 3 {
		case 1:
			b.Spec.TrafficProfileName, name = "no-such-profile", "dry run without profile"
		case 2:
			b.Spec.TestBedName, b.Spec.TestBedSelector, name = "", manyBeds(), "dry run with selector"
		}
		a.counts.add(ctx, name, a.c.Create(ctx, b, client.DryRunAll))
	}
}

// unknownToken returns a token that the API server does not know.
func unknownToken() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }
