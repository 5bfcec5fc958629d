package allocation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/queue"
)

// Bounds of the lists in the status of the LabPolicy.
const (
	maxStandings = 256
	maxPools     = 32
)

// showPolicy writes how teams stand, at a bounded rate.
func (a *Allocator) showPolicy(ctx context.Context, s queue.Snapshot, now time.Time) {
	shown := &a.shown.policy
	if a.policy == nil || shown.writing || now.Sub(shown.time) < a.Refresh {
		return
	}
	status := v1alpha1.LabPolicyStatus{ObservedGeneration: a.policy.Generation, Teams: a.standings(s)}
	if equality.Semantic.DeepEqual(status, a.policy.Status) {
		return
	}
	shown.writing = true
	policy := a.policy
	a.begin(func() written {
		after := kit.Named(&v1alpha1.LabPolicy{}, policy)
		err := a.Client.Status().Patch(ctx, after, kit.MergePatch(map[string]any{"status": status}))
		if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			log.FromContext(ctx).Error(fmt.Errorf("storing the status of LabPolicy %s: %w", policy.Name, err), "The standings of teams could not be stored")
		}
		return func(now time.Time) {
			a.shown.policy = shownAt{time: now}
			if err == nil {
				a.applyPolicy(after.Name, after)
			}
		}
	})
}

// standings returns the standings of the teams, in the order of their names.
func (a *Allocator) standings(s queue.Snapshot) []v1alpha1.TeamStanding {
	of := map[string]*v1alpha1.TeamStanding{}
	get := func(name string) *v1alpha1.TeamStanding {
		if of[name] == nil {
			of[name] = &v1alpha1.TeamStanding{Name: name, Weight: int32(max(a.sharing.Weights[name], 1))}
		}
		return of[name]
	}
	for _, account := range a.sharing.Book.Accounts() {
		t, use := get(account.Team), a.sharing.Book.Use(account)
		if len(t.Pools) < maxPools {
			t.Pools = append(t.Pools, v1alpha1.PoolStanding{
				Pool: account.Pool, Due: minutes(use.Due), Had: minutes(use.Had), Behind: minutes(s.Standings[account].Behind),
			})
		}
	}
	for _, r := range a.runs() {
		get(r.Team).Running++
	}
	_, lines := a.queue.Lines()
	for namespace, line := range lines {
		get(a.teamOf(namespace).Name).Queued += int32(line.Length)
	}
	for name, d := range a.bedHours(s.Now) {
		get(name).BedHoursInWeek = int32(d / time.Hour)
	}
	all := make([]v1alpha1.TeamStanding, 0, len(of))
	for _, t := range of {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(x, y v1alpha1.TeamStanding) int { return strings.Compare(x.Name, y.Name) })
	return all[:min(len(all), maxStandings)]
}

// minutes is a duration in whole minutes.
func minutes(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d.Round(time.Minute)} }
