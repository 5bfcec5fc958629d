package operator

import (
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseName is the name of the lock among several operators.
const leaseName = "nodrop-operator"

// defaultRenewDeadline is the default of controller-runtime.
const defaultRenewDeadline = 10 * time.Second

// renewDeadline returns the time for which the leader tries to renew its lease, which bounds the requests of the lock
// as well.
func (c Config) renewDeadline() time.Duration {
	if c.RenewDeadline > 0 {
		return c.RenewDeadline
	}
	return defaultRenewDeadline
}

// leaseDuration returns the time after which another operator takes the lease of one that does not renew it.
func (c Config) leaseDuration() time.Duration { return c.renewDeadline() * 3 / 2 }

// lock is the lock of an operator that has a name, or nil. The holder of a lease is
// recognized by its name: an operator that was killed holds the lease when it starts again,
// and need not wait for its end.
func lock(rc *rest.Config, c Config) (resourcelock.Interface, error) {
	if !c.LeaderElect || c.Identity == "" {
		return nil, nil
	}
	l, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, c.Namespace, leaseName,
		resourcelock.ResourceLockConfig{Identity: c.Identity}, rc, c.renewDeadline())
	if err != nil {
		return nil, fmt.Errorf("building the lock among several operators: %w", err)
	}
	return l, nil
}
