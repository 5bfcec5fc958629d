package benchmarks

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// TestPollerOfAnEndedOperator lets a reconcile that outlives the poller follow a runner: it is not polled, since the poller waits for
// polls that began before its own end.
func TestPollerOfAnEndedOperator(t *testing.T) {
	p := NewPoller(nil, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Start(ended); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "team", Name: "b"}
	p.follow(key, "pod", kit.RunnerTarget{}, results.NewChecker(&runner.Config{}))
	if p.following(key, "pod") {
		t.Error("a runner is polled after the operator's end")
	}
}
