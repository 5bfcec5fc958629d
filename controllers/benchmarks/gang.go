package benchmarks

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// IndexGang is the index of benchmarks by their gang.
const IndexGang = "spec.gang.name"

// GangName returns the name of the gang of a benchmark, for an index; nil if it has none.
func GangName(o client.Object) []string {
	if b, ok := o.(*v1alpha1.Benchmark); ok && b.Spec.Gang != nil {
		return []string{b.Spec.Gang.Name}
	}
	return nil
}

// wholeGang reports whether all members of the benchmark's gang have their beds, or had them since
// the benchmark was created: it may begin.
func (ls *leases) wholeGang(ctx context.Context, s *kit.Scope) (bool, error) {
	gang := s.Spec.Gang
	if gang == nil || kit.Begun(s.Benchmark) {
		return true, nil
	}
	var all v1alpha1.BenchmarkList
	if err := ls.client.List(ctx, &all, client.InNamespace(s.Namespace), client.MatchingFields{IndexGang: gang.Name}); err != nil {
		return false, fmt.Errorf("listing the members of gang %s: %w", gang.Name, err)
	}
	there := map[string]bool{gang.Role: true}
	for i := range all.Items {
		b := &all.Items[i]
		if b.UID == s.UID || there[b.Spec.Gang.Role] {
			continue
		}
		has := kit.Begun(b) && (!b.Status.Phase.Finished() || b.Status.StartTime != nil && !b.Status.StartTime.Before(&s.CreationTimestamp))
		if !has && !b.Status.Phase.Finished() {
			var err error
			if has, err = ls.hasBed(ctx, b); err != nil {
				return false, err
			}
		}
		there[b.Spec.Gang.Role] = has
	}
	n := 0
	for _, has := range there {
		if has {
			n++
		}
	}
	return n >= int(gang.Members), nil
}

// hasBed reports whether the API server has a lease of a benchmark.
func (ls *leases) hasBed(ctx context.Context, b *v1alpha1.Benchmark) (bool, error) {
	held, err := kit.HeldBeds(ctx, ls.client, string(b.UID))
	if err != nil || len(held) == 0 {
		return false, err
	}
	bed := &v1alpha1.TestBed{}
	if err := ls.live.Get(ctx, client.ObjectKeyFromObject(&held[0]), bed); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return kit.HasLease(bed, labobjects.RunOf(b)), nil
}
